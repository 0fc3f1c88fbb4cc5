//! Gates for numbers that must agree with each other.

use gatebench_model::Shape;
use gatebench_model::load::Closed;
use gatebench_report::format::{counted, grouped};
use gatebench_stats::concurrency;
use gatebench_store::{ExactSum, PhaseRecord};

use super::thresholds::{LITTLE_RANGE, MEAN_ERROR_MAX, RESPONSE_BYTES_ERROR_MAX};
use super::wire::streams_per_connection;
use super::{EVERYTHING, View};
use crate::common::context::{bytes_per_response, throughput_per_second};
use crate::common::digest::answered_sums;
use crate::common::facts::{Aspect, CurveMetric, Gate, Reason};

pub(super) const DEFECT: &str =
    "These figures contradict each other: report the defect, and attach the run directory.";

/// The exact sums of a metric, merged over the classes of responses; `None` if the phase has none.
/// Responses with a status outside 200 to 599 are left out.
pub(super) fn exact(view: &View, metric: CurveMetric) -> Option<ExactSum> {
    let sums = answered_sums(view.phase, metric).copied();
    sums.reduce(|a, b| ExactSum {
        count: a.count + b.count,
        sum_ns: a.sum_ns.saturating_add(b.sum_ns),
        min_ns: a.min_ns.min(b.min_ns),
        max_ns: a.max_ns.max(b.max_ns),
        clamped: a.clamped + b.clamped,
    })
}

/// Values above the histogram's range are recorded at its upper edge, so percentiles there are
/// lower bounds.
pub(super) fn clamped(view: &View) -> Option<Reason> {
    let clamped: u64 = view.phase.sums.values().map(|sum| sum.clamped).sum();
    (clamped > 0).then_some(())?;
    let message = format!(
        "Latency histograms clamped {} to the upper end of their range.",
        counted(clamped, "value")
    );
    let remedy = "Read the highest percentiles as lower bounds.";
    Some(view.limited(Gate::Clamped, &[Aspect::Latency], message, remedy))
}

/// Each histogram must contain as many values as the exact sum counts, with nearly the same mean,
/// and its percentiles must be in order between the exact extremes.
pub(super) fn percentiles_and_sums(view: &View) -> Option<Reason> {
    let mut metrics = CurveMetric::ALL.into_iter();
    let problem = metrics.find_map(|metric| disagreement(view, metric))?;
    Some(view.invalid(Gate::Inconsistent, &[Aspect::Latency], problem, DEFECT))
}

fn disagreement(view: &View, metric: CurveMetric) -> Option<String> {
    let word = metric.word();
    let exact = exact(view, metric)?;
    let Some(histogram) = view.digest.get(&view.phase.name, metric) else {
        return Some(format!(
            "{} values were summed, but there is no histogram '{word}'.",
            exact.count
        ));
    };
    if histogram.len() != exact.count {
        let counted = grouped(histogram.len() as f64);
        let summed = grouped(exact.count as f64);
        return Some(format!(
            "The histogram '{word}' contains {counted} values, but its sum covers {summed}."
        ));
    }
    if exact.clamped > 0 {
        return None;
    }
    let mean = exact.sum_ns as f64 / exact.count as f64;
    if (histogram.mean() - mean).abs() > MEAN_ERROR_MAX * mean.max(1.0) + 1.0 {
        let (found, mean) = (format!("{:.0}", histogram.mean()), format!("{mean:.0}"));
        return Some(format!(
            "The mean of the histogram '{word}' is {found} ns, but the exact mean is {mean} ns."
        ));
    }
    let ordered = [0.5, 0.9, 0.99, 0.999].map(|q| histogram.value_at_quantile(q));
    let in_order = ordered.is_sorted() && ordered[0] >= histogram.lowest_equivalent(exact.min_ns);
    let below_max = ordered[3] <= histogram.highest_equivalent(exact.max_ns);
    (!in_order || !below_max)
        .then(|| format!("The percentiles of the histogram '{word}' are out of order."))
}

/// A number of connections, summed over all groups of a phase; `None` if it is not known for a
/// group, or if a group has an open load.
pub(super) fn over_groups(
    phase: &PhaseRecord,
    connections: fn(&Closed) -> Option<u32>,
) -> Option<u64> {
    let of = |shape: &Shape| match shape {
        Shape::Closed(closed) => connections(closed).map(u64::from),
        Shape::Open(_) => None,
    };
    if phase.groups.is_empty() {
        return of(&phase.shape);
    }
    phase.groups.iter().map(|group| of(&group.shape)).sum()
}

/// The number of connections of a closed load; `None` if the load has further settings, such as a
/// think time or stages, with which a connection may be without a request in flight.
fn always_busy(closed: &Closed) -> Option<u32> {
    let connections = closed.connections;
    (*closed == Closed::new(connections)).then_some(connections)
}

/// In a closed load, throughput × mean response time must be close to the number of requests that
/// the connections can have in flight. A phase with requests without a response is not tested,
/// because such requests occupy a connection but have no response time.
pub(super) fn littles_law(view: &View) -> Option<Reason> {
    let connections = over_groups(view.phase, always_busy)? * streams_per_connection(view);
    if view.phase.counts.errors.values().any(|count| *count > 0) {
        return None;
    }
    let response = exact(view, CurveMetric::Response)?;
    let mean_ns = response.sum_ns as f64 / response.count as f64;
    let found = concurrency(throughput_per_second(view.phase), mean_ns);
    let share = found / connections as f64;
    let (low, high) = LITTLE_RANGE;
    (!(low..=high).contains(&share)).then_some(())?;
    let message = format!(
        "Throughput × mean response time gives {found:.1} requests in flight (Little's law), but the load keeps {} in flight.",
        grouped(connections as f64)
    );
    let spoils = [Aspect::Throughput, Aspect::Latency];
    Some(view.limited(Gate::Inconsistent, &spoils, message, DEFECT))
}

/// The counts of the status classes must add up to the number of completed requests, and the mean
/// size of a response must be close to the median over the run's blocks.
pub(super) fn counts_and_bytes(view: &View) -> Option<Reason> {
    let counts = &view.phase.counts;
    let classes: u64 = counts.by_class.values().sum();
    if !counts.by_class.is_empty() && classes != counts.completed {
        let (completed, classes) = (grouped(counts.completed as f64), grouped(classes as f64));
        let message = format!("{completed} requests completed, but {classes} have a status class.");
        return Some(view.invalid(Gate::Inconsistent, &EVERYTHING, message, DEFECT));
    }
    let (context, record) = view.run?;
    let usual = context.response_bytes(record, view.phase)?;
    let bytes = bytes_per_response(view.phase)?;
    ((bytes - usual).abs() > RESPONSE_BYTES_ERROR_MAX * usual).then_some(())?;
    let message = format!(
        "Responses had {bytes:.1} bytes on average, compared with {usual:.1} in the run's median block."
    );
    let remedy = "Look for responses that differ, such as error messages with the expected status, \
         or varying headers.";
    Some(view.limited(Gate::Inconsistent, &EVERYTHING, message, remedy))
}
