//! The plots of a scenario, with their captions.

use gatebench_analysis::findings::{
    Metric, PhaseKind, PhaseLine, ScenarioFindings, TrialFindings, Validity,
};
use gatebench_analysis::words::grouped;
use serde::Serialize;

use crate::chapter::Chart;
use crate::palette::Palette;
use crate::plots::dots::{self, DotRow};
use crate::plots::percentiles::{self as curves};
use crate::plots::timeline;
use crate::problems::word;
use crate::table::metric_in;

/// The percentile panels of a phase.
#[derive(Serialize)]
pub struct Percentiles {
    /// The load.
    label: String,
    /// Whether latency here follows from throughput.
    closed: bool,
    panels: Vec<Chart>,
}

/// The trials of a variant.
#[derive(Serialize)]
pub struct TimelineRow {
    variant: String,
    class: String,
    trials: Vec<TimelineView>,
}

#[derive(Serialize)]
struct TimelineView {
    block: u32,
    number: u32,
    /// Shown where the trial is not valid.
    validity: Option<&'static str>,
    svg: String,
}

/// What is plotted of a phase: throughput where it is measured, CPU and latency at an equal rate.
fn plotted(kind: PhaseKind, has_open: bool) -> &'static [(Metric, &'static str, &'static str)] {
    const THROUGHPUT: (Metric, &str, &str) = (Metric::Throughput, "Throughput", "more is better");
    const CPU: (Metric, &str, &str) = (
        Metric::GatewayCpuPerRequest,
        "Gateway CPU per request",
        "less is better",
    );
    const P50: (Metric, &str, &str) = (Metric::AddedP50, "Added latency, p50", "less is better");
    const P99: (Metric, &str, &str) = (Metric::AddedP99, "Added latency, p99", "less is better");
    match (kind, has_open) {
        (PhaseKind::Closed, true) => &[THROUGHPUT],
        (PhaseKind::Closed, false) => &[THROUGHPUT, CPU],
        (PhaseKind::Paced | PhaseKind::SideBySide, _) => &[CPU],
        (PhaseKind::Open, _) => &[CPU, P50, P99],
    }
}

/// The plots of blocks.
pub fn dot_figures(anchor: &str, scenario: &ScenarioFindings, palette: &Palette) -> Vec<Chart> {
    let has_open = scenario
        .phases
        .iter()
        .any(|phase| phase.kind == PhaseKind::Open);
    let mut figures = Vec::new();
    for phase in &scenario.phases {
        for (metric, title, good) in plotted(phase.kind, has_open) {
            let id = format!("{anchor}-d{}", figures.len());
            let rows = dot_rows(scenario, phase, *metric);
            if let Some(svg) = dots::plot(&id, title, &rows, palette) {
                figures.push(Chart {
                    caption: (*title).to_owned(),
                    aside: format!("{} · {good}", phase.label),
                    svg,
                    ..Chart::default()
                });
            }
        }
    }
    figures
}

fn dot_rows<'a>(
    scenario: &'a ScenarioFindings,
    phase: &PhaseLine,
    metric: Metric,
) -> Vec<DotRow<'a>> {
    scenario
        .rows
        .iter()
        .filter_map(|row| {
            let found = metric_in(row, &phase.name, metric)?;
            Some(DotRow {
                variant: &row.variant,
                found,
            })
        })
        .collect()
}

/// The percentile panels: of open loads where there are any, else of closed ones.
pub fn percentiles(
    anchor: &str,
    scenario: &ScenarioFindings,
    palette: &Palette,
) -> Vec<Percentiles> {
    let has_open = scenario
        .phases
        .iter()
        .any(|phase| phase.kind == PhaseKind::Open);
    let shown = |phase: &&PhaseLine| phase.kind == PhaseKind::Open || !has_open;
    scenario
        .phases
        .iter()
        .filter(shown)
        .enumerate()
        .map(|(index, phase)| {
            let prefix = format!("{anchor}-p{index}");
            Percentiles {
                label: phase.label.clone(),
                closed: phase.kind == PhaseKind::Closed,
                panels: curves::panels(&prefix, scenario, &phase.name, palette)
                    .into_iter()
                    .map(|panel| panel_view(panel, palette))
                    .collect(),
            }
        })
        .filter(|percentiles| !percentiles.panels.is_empty())
        .collect()
}

fn panel_view(panel: curves::Panel, palette: &Palette) -> Chart {
    Chart {
        class: palette.class(&panel.variant),
        aside: format!("{} requests", grouped(panel.samples as f64)),
        caption: panel.variant,
        svg: panel.svg,
        ..Chart::default()
    }
}

/// The seconds of every trial, one row per variant.
pub fn timelines(
    anchor: &str,
    scenario: &ScenarioFindings,
    trials: &[TrialFindings],
    palette: &Palette,
) -> Vec<TimelineRow> {
    let mut own: Vec<&TrialFindings> = trials
        .iter()
        .filter(|trial| trial.scenario == scenario.name && !trial.timeline.is_empty())
        .collect();
    own.sort_by_key(|trial| (trial.block, trial.number));
    let Some(axes) = timeline::Axes::over(&own) else {
        return Vec::new();
    };
    let view = |trial: &&TrialFindings| TimelineView {
        block: trial.block,
        number: trial.number,
        validity: (trial.validity != Validity::Valid).then(|| word(trial.validity)),
        svg: timeline::plot(
            &format!("{anchor}-t{}", trial.number),
            trial,
            &axes,
            &palette.class(&trial.variant),
        ),
    };
    scenario
        .rows
        .iter()
        .map(|row| TimelineRow {
            variant: row.variant.clone(),
            class: palette.class(&row.variant),
            trials: own
                .iter()
                .filter(|trial| trial.variant == row.variant)
                .map(view)
                .collect(),
        })
        .filter(|row| !row.trials.is_empty())
        .collect()
}
