//! The busy time of the gateway's cores per request, next to the CPU time of its processes: loads
//! down, variants across.

use gatebench_analysis::findings::{Metric, PhaseLine, ScenarioFindings, VariantRow};
use gatebench_analysis::words::three_figures;
use serde::Serialize;

/// A load of all variants.
#[derive(Serialize)]
pub struct CoreRow {
    name: String,
    cells: Vec<String>,
}

/// The loads in which any gateway had cores of its own.
pub fn rows<'a>(
    scenario: &ScenarioFindings,
    variants: impl Iterator<Item = &'a str> + Clone,
) -> Vec<CoreRow> {
    let of = |variant: &str, phase: &str| {
        let mut rows = scenario.rows.iter();
        let row = rows.find(|row| row.variant == variant)?;
        cell(row, phase)
    };
    let row = |phase: &PhaseLine| {
        let cells = variants.clone().map(|variant| of(variant, &phase.name));
        let cells: Vec<Option<String>> = cells.collect();
        cells.iter().any(Option::is_some).then(|| CoreRow {
            name: phase.label.clone(),
            cells: cells
                .into_iter()
                .map(|it| it.unwrap_or_else(|| "–".into()))
                .collect(),
        })
    };
    scenario.phases.iter().filter_map(row).collect()
}

/// `9.41 µs, 0.62 µs of it softirq; processes 9.02 µs`.
fn cell(row: &VariantRow, phase: &str) -> Option<String> {
    let median = |metric| {
        let mut metrics = row.metrics.iter();
        let found = metrics.find(|it| it.metric == metric && it.phase == phase)?;
        let ns = found.estimate.as_ref()?.median;
        Some(format!("{} µs", three_figures(ns / 1e3)))
    };
    let busy = median(Metric::GatewayCoreBusyPerRequest)?;
    let softirq = median(Metric::GatewayCoreSoftirqPerRequest);
    let softirq = softirq.map(|it| format!(", {it} of it softirq"));
    let processes = median(Metric::GatewayCpuPerRequest).map(|it| format!("; processes {it}"));
    Some(busy + &softirq.unwrap_or_default() + &processes.unwrap_or_default())
}
