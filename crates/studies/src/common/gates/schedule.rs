//! Gates for the schedule of an open load: dropped requests, a rate that was not reached, and late
//! requests.

use gatebench_report::Unit;
use gatebench_report::format::{counted, grouped, percent, quantity};

use super::View;
use super::thresholds::{ACHIEVED_MIN, LATENESS_P99_NS_MAX, LATENESS_P999_NS_MAX};
use crate::common::digest::trusted_percentile;
use crate::common::facts::{Aspect, CurveMetric, Gate, PhaseKind, Reason};

/// The aspects that depend on the rate. CPU per request is included because it is compared at an
/// equal rate.
const AT_A_RATE: [Aspect; 3] = [Aspect::Latency, Aspect::Throughput, Aspect::CpuPerRequest];

/// A request that is never sent has no latency, although it would have been among the slowest.
pub(super) fn dropped(view: &View) -> Option<Reason> {
    let dropped = view.phase.counts.dropped;
    (dropped > 0).then_some(())?;
    let message = format!(
        "The load generator dropped {}, because the queue was full or the load ended first.",
        counted(dropped, "arrival")
    );
    let remedy = "Lower the rate below saturation, or allow more connections.";
    Some(view.invalid(Gate::ArrivalsDropped, &AT_A_RATE, message, remedy))
}

/// A latency at a rate is valid only if the rate was reached.
pub(super) fn rate_not_achieved(view: &View) -> Option<Reason> {
    let counts = &view.phase.counts;
    if view.kind() != PhaseKind::Open || counts.intended == 0 {
        return None;
    }
    let reached = counts.sent.min(counts.completed_in_window);
    let share = reached as f64 / counts.intended as f64;
    (share < ACHIEVED_MIN).then_some(())?;
    let message = format!(
        "Of {} intended requests, {} were sent and {} completed within the measurement: {} of the rate.",
        grouped(counts.intended as f64),
        grouped(counts.sent as f64),
        grouped(counts.completed_in_window as f64),
        percent(share)
    );
    let remedy = "Lower the rate below saturation.";
    Some(view.invalid(Gate::RateNotAchieved, &AT_A_RATE, message, remedy))
}

/// The response time includes the lateness, but the gateway may not have caused all of it.
pub(super) fn late(view: &View) -> Option<Reason> {
    let lateness = lateness(view, 99.0)?;
    (lateness > LATENESS_P99_NS_MAX && !are_held(view, lateness)).then_some(())?;
    let message = format!(
        "One request in 100 was sent more than {} late; response times include this delay.",
        quantity(lateness, Unit::Nanoseconds)
    );
    Some(is_late(view, Aspect::Latency, message))
}

/// Requests that wait for a free connection wait for the gateway. Added latency starts at the send
/// and excludes this wait, so a gateway that stalls would look fast.
pub(super) fn connections_held(view: &View) -> Option<Reason> {
    let lateness = lateness(view, 99.0)?;
    (lateness > LATENESS_P99_NS_MAX && are_held(view, lateness)).then_some(())?;
    let message = format!(
        "One request in 100 waited more than {} for a free connection, while the gateway held all of them; added \
         latency excludes this wait.",
        quantity(lateness, Unit::Nanoseconds)
    );
    let remedy = "Lower the rate below saturation, or find out why the gateway stalls.";
    let spoils = [Aspect::Latency, Aspect::LatencyTail];
    Some(view.invalid(Gate::ConnectionsHeld, &spoils, message, remedy))
}

/// Reports whether requests to a gateway were sent late because no connection was free: some
/// requests were queued, and the load generator waited for its core for less time than the
/// lateness.
fn are_held(view: &View, lateness_ns: f64) -> bool {
    let waited_ns = view.phase.engine.run_queue_wait_ns as f64;
    let has_gateway = view.run.is_some() && !view.is_direct();
    has_gateway && view.phase.counts.queued_max > 0 && waited_ns < lateness_ns
}

/// Like [`late`], for the 99.9th percentile; lower percentiles remain valid.
pub(super) fn tail_late(view: &View) -> Option<Reason> {
    let lateness = lateness(view, 99.9)?;
    let is_reported = late(view).or_else(|| connections_held(view)).is_some();
    (lateness > LATENESS_P999_NS_MAX && !is_reported).then_some(())?;
    let message = format!(
        "One request in 1,000 was sent more than {} late; the 99.9th percentile of the response time includes this delay.",
        quantity(lateness, Unit::Nanoseconds)
    );
    Some(is_late(view, Aspect::LatencyTail, message))
}

/// A percentile of the send lateness in nanoseconds; `None` if the load is not open, or if too few
/// requests lie beyond the percentile.
fn lateness(view: &View, percentile: f64) -> Option<f64> {
    (view.kind() == PhaseKind::Open).then_some(())?;
    let histogram = view.digest.get(&view.phase.name, CurveMetric::Lateness)?;
    trusted_percentile(histogram, percentile)
}

fn is_late(view: &View, spoils: Aspect, message: String) -> Reason {
    let remedy = "Lower the rate, allow more connections, or give the load generator its own core.";
    view.limited(Gate::EngineLate, &[spoils], message, remedy)
}
