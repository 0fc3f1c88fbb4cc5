//! The gate of steady state: a figure over a phase stands for the phase only if it did not move.

use gatebench_stats::{Trend, trend};
use gatebench_store::{PhaseRecord, SeriesRow};

use super::thresholds::{LATENCY_DRIFT_MAX, THROUGHPUT_DRIFT_MAX, TREND_P_MAX};
use super::{View, says};
use crate::findings::{Aspect, Gate, PhaseKind, Reason, Validity};
use crate::words::{decimals, percent};

/// Tests throughput in a closed load, and the median response time where the pace is set.
pub(super) fn not_steady(view: &View) -> Option<Reason> {
    // What is changed on purpose need not be steady.
    (view.phase.change.is_none() && view.phase.failure.is_none()).then_some(())?;
    let rows = whole_seconds(view.series, view.phase);
    let (values, bound, what, aspect): (Vec<f64>, _, _, _) = match view.kind() {
        // What is compared is of the same seconds, however they were.
        PhaseKind::SideBySide => return None,
        PhaseKind::Closed => (
            rows.map(|row| row.completed as f64).collect(),
            THROUGHPUT_DRIFT_MAX,
            "throughput",
            Aspect::Throughput,
        ),
        PhaseKind::Paced | PhaseKind::Open => (
            rows.filter_map(|row| row.response_p50_ns)
                .map(|p50| p50 as f64)
                .collect(),
            LATENCY_DRIFT_MAX,
            "median response time",
            Aspect::Latency,
        ),
    };
    let Trend { p, drift } = trend(&values)?;
    (p < TREND_P_MAX && drift.abs() > bound).then_some(())?;
    let direction = if drift > 0.0 { "rose" } else { "fell" };
    let message = format!(
        "The {what} {direction} by {} of its median over {} seconds (Mann-Kendall p = {}).",
        percent(drift.abs()),
        values.len(),
        decimals(p, 3)
    );
    let remedy = "Lengthen the warm-up of the load profile, and look at the timeline.";
    Some(view.reason(
        Gate::NotSteady,
        Validity::Limited,
        &[aspect],
        says(message, remedy),
    ))
}

/// The rows of a phase without a last second that the measurement did not fill.
pub(crate) fn whole_seconds<'a>(
    series: &'a [SeriesRow],
    phase: &'a PhaseRecord,
) -> impl Iterator<Item = &'a SeriesRow> {
    let whole = phase.measure_ns / 1_000_000_000;
    series
        .iter()
        .filter(move |row| row.phase == phase.name && u64::from(row.second) < whole)
}
