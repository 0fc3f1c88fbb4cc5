//! Judges gatebench's own figures by the rules of `gatebench audit`.
//!
//! The figures of each phase are written as tables with a single row, and judged by the same rules.
//! Only impossible figures trip the gate, not those that are merely misleading, such as the mean of
//! a closed loop.

use gatebench_audit::{Finding, Severity, audit_rows};
use gatebench_model::Variant;
use gatebench_store::PhaseRecord;

use super::consistency::{DEFECT, exact, over_groups, percentiles_and_sums};
use super::wire::streams_per_connection;
use super::{EVERYTHING, View};
use crate::common::cpu::{cores_busy, cpu_ns_per_request};
use crate::common::facts::{CurveMetric, Gate, Reason};
use crate::common::loads;

/// The shortest window in which CPU time is judged. The kernel may update the CPU time of a running
/// thread only once per tick, which is too coarse for shorter windows.
const CPU_WINDOW_NS_MIN: u64 = 1_000_000_000;

/// These percentiles are compared with each other, even if too few samples lie beyond them for a
/// report.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

pub(super) fn cannot_be_true(view: &View) -> Option<Reason> {
    // If sums and histograms disagree, another gate reports that.
    let agreeing = percentiles_and_sums(view).is_none();
    let metrics = CurveMetric::ALL.into_iter().filter(|_| agreeing);
    let sheets = metrics.filter_map(|it| times(view, it));
    let components = ["gateway", "upstream"].into_iter();
    let mut sheets = sheets
        .chain(external_figures(view.phase))
        .chain(components.filter_map(|it| cpu(view, it)));
    let found = sheets.find_map(Sheet::impossible)?;
    let message = format!(
        "{} cannot be true: {}.",
        found.row.as_deref().unwrap_or(&found.table),
        found.says
    );
    Some(view.invalid(Gate::CannotBeTrue, &EVERYTHING, message, DEFECT))
}

/// A table with one row. The first cell is the name of the row.
struct Sheet {
    headings: Vec<String>,
    row: Vec<String>,
}

impl Sheet {
    fn new(name: String) -> Self {
        Self {
            headings: vec!["figures".into()],
            row: vec![name],
        }
    }

    fn with(mut self, heading: impl Into<String>, value: impl ToString) -> Self {
        self.headings.push(heading.into());
        self.row.push(value.to_string());
        self
    }

    fn impossible(self) -> Option<Finding> {
        let name = self.row[0].clone();
        let mut found = audit_rows(&name, &self.headings, vec![self.row]).into_iter();
        found.find(|it| it.severity == Severity::Impossible)
    }
}

/// Mean, percentiles and maximum of a metric; for the response time of a closed load, also the
/// request rate and the requests that the connections can have in flight.
fn times(view: &View, metric: CurveMetric) -> Option<Sheet> {
    let phase = view.phase;
    let sum = exact(view, metric).filter(|sum| sum.count > 0 && sum.clamped == 0)?;
    let histogram = view.digest.get(&phase.name, metric)?;
    let mean = format!("{:.1}", sum.sum_ns as f64 / sum.count as f64);
    let name = format!("The '{}' times of {}", metric.word(), phase.name);
    let mut sheet = Sheet::new(name).with("mean ns", mean);
    // A percentile is known only to the width of its bucket. Every percentile and the longest value
    // are therefore taken at the upper end of their buckets.
    for quantile in QUANTILES {
        let heading = format!("p{} ns", quantile * 100.0);
        sheet = sheet.with(heading, histogram.value_at_quantile(quantile));
    }
    sheet = sheet.with("max ns", histogram.highest_equivalent(sum.max_ns));
    let connections = over_groups(phase, |closed| Some(loads::connections_max(closed)));
    if let (CurveMetric::Response, Some(connections)) = (metric, connections) {
        // The last request was sent before the end of the measurement, so its response ended at
        // most the longest response time after that end.
        let seconds = (phase.measure_ns + sum.max_ns) as f64 / 1e9;
        sheet = sheet
            .with("requests/s", format!("{:.3}", sum.count as f64 / seconds))
            .with("connections", connections * streams_per_connection(view));
    }
    Some(sheet)
}

fn external_figures(phase: &PhaseRecord) -> Option<Sheet> {
    let external = phase.external.as_ref()?;
    let name = format!("The figures of {} for {}", external.engine, phase.name);
    let extremes = [
        ("min", external.min_ns),
        ("mean", external.mean_ns),
        ("max", external.max_ns),
    ];
    let extremes = extremes.into_iter();
    let extremes = extremes.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let percentiles = external.percentiles_ns.iter();
    let percentiles = percentiles.map(|(percentile, value)| (format!("p{percentile}"), *value));
    let all = extremes.chain(percentiles);
    let with = |sheet: Sheet, (name, value)| sheet.with(format!("{name} ns"), value);
    Some(all.fold(Sheet::new(name), with))
}

/// CPU time of a component, compared with the number of cores that it was placed on.
fn cpu(view: &View, component: &str) -> Option<Sheet> {
    let phase = view.phase;
    let placement = &view.run?.0.plan.placement;
    let cores = match component {
        "gateway" => match view.variant()? {
            variant @ Variant::Gateway { .. } => variant.setup()?.gateway_cores(placement).len(),
            Variant::Direct | Variant::Attached { .. } => return None,
        },
        _ => placement.upstream.len(),
    };
    let window_ns = phase.usage.get(component)?.window_ns;
    if cores == 0 || window_ns < CPU_WINDOW_NS_MIN {
        return None;
    }
    let cpu_ns = cpu_ns_per_request(phase, component)?;
    let rate = cores_busy(phase, component)? * 1e9 / cpu_ns;
    let name = format!("The CPU time of the {component} in {}", phase.name);
    rate.is_finite().then(|| {
        Sheet::new(name)
            .with("requests/s", format!("{rate:.3}"))
            .with("cpu per request ns", format!("{cpu_ns:.3}"))
            .with("cores", cores)
    })
}
