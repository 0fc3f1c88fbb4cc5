//! The effect of a change or a failure on a load: the affected requests, the longest response time,
//! and the time to recovery.

use std::collections::BTreeMap;

use gatebench_model::load::FailingPart;
use gatebench_stats::is_trustworthy;
use gatebench_store::{ChangeRecord, FailureRecord, PhaseRecord, SecondHistogram, SeriesRow};

use super::facts::Metric;
use super::sum_of;

const SECOND_NS: u64 = 1_000_000_000;

/// The tag of the waiting times of requests without a complete response. It also covers responses
/// with a status outside 200 to 599.
const UNANSWERED: &str = "response.failed";

/// The requests that ended in one second.
#[derive(Default)]
struct Second {
    failed: u64,
    /// The longest time of any request, with or without a complete response.
    max_ns: u64,
    /// The largest 99th percentile among the classes of requests that did not fail.
    p99_ns: u64,
}

/// A change or failure in a phase. If a phase has both, the event lasts from the earlier start to
/// the later end.
struct Event {
    begin: u32,
    over_ns: u64,
}

impl Event {
    fn of(phase: &PhaseRecord) -> Option<Self> {
        let last_ns = |it: &ChangeRecord| it.again_ns.last().copied().unwrap_or(it.began_ns);
        let change = phase.change.as_ref().map(|it| (it.began_ns, last_ns(it)));
        let failure = phase.failure.as_ref().map(|it| (it.began_ns, it.over_ns));
        let both = [change, failure].into_iter().flatten();
        let (began_ns, over_ns) = both.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(Self {
            begin: second_of(began_ns),
            over_ns,
        })
    }
}

pub(crate) fn is_called(phase: &PhaseRecord) -> bool {
    phase.admin.as_ref().is_some_and(|it| it.changes() > 0)
}

/// Reports whether a phase has a change, a failure or changes through the admin interface. Any of
/// these may be the cause of the phase's failed requests.
pub(crate) fn is_disturbed(phase: &PhaseRecord) -> bool {
    phase.change.is_some() || phase.failure.is_some() || is_called(phase)
}

/// The second in which a phase's first change or failure began, including changes through the admin
/// interface.
fn begin_of(phase: &PhaseRecord) -> Option<u32> {
    let called = phase.admin.as_ref().filter(|_| is_called(phase));
    let begins = [
        Event::of(phase).map(|it| it.begin),
        // The first call is made after one interval.
        called.map(|it| second_of(it.every_ns)),
    ];
    begins.into_iter().flatten().min()
}

/// Counts of requests in the whole seconds before a change or failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beforehand {
    /// Requests without a complete response.
    pub(crate) unanswered: u64,
    /// Responses that failed at least one check.
    pub(crate) wrong: u64,
    /// All requests, with or without a complete response.
    pub(crate) ended: u64,
}

impl Beforehand {
    /// Counts the requests in the whole seconds before the phase's first change or failure, from
    /// the trial's time series and the phase's per-second histograms. Returns `None` if nothing
    /// changed or failed during the phase.
    pub(crate) fn of(
        phase: &PhaseRecord,
        rows: &[SeriesRow],
        seconds: &[SecondHistogram],
    ) -> Option<Self> {
        let begin = begin_of(phase)?;
        let rows = rows
            .iter()
            .filter(|row| row.phase == phase.name && row.second < begin);
        let (failed, completed) = rows.fold((0, 0), |(failed, completed), row| {
            (failed + row.failed, completed + row.completed)
        });
        let unanswered = seconds
            .iter()
            .filter(|it| it.tag == UNANSWERED && it.second < begin)
            .map(|it| it.histogram.len())
            .sum();
        Some(Self {
            unanswered,
            // A row counts both kinds of failures together.
            wrong: failed.saturating_sub(unanswered),
            ended: completed + unanswered,
        })
    }
}

/// The metrics of a phase with a change or failure; empty for other phases, and if no request ended
/// in a whole second before the change or failure.
pub(crate) fn of_phase(phase: &PhaseRecord, seconds: &[SecondHistogram]) -> Vec<(Metric, f64)> {
    let Some(event) = Event::of(phase) else {
        return Vec::new();
    };
    let at = event.begin;
    let all = by_second(seconds);
    let before = || all.range(..at).map(|(_, second)| second);
    let (Some(slowest_ns), Some(p99_ns)) = (
        before().map(|it| it.max_ns).max(),
        before().map(|it| it.p99_ns).max(),
    ) else {
        return Vec::new();
    };
    let after = || all.range(at..);
    let failed: u64 = after().map(|(_, second)| second.failed).sum();
    let slow: u64 = responses(seconds)
        .filter(|it| it.second >= at && !is_failure(it))
        .map(|it| beyond(it, slowest_ns))
        .sum();
    let worst_ns = after().map(|(_, second)| second.max_ns).max().unwrap_or(0);
    let mut found = vec![
        (Metric::ChangeErrors, failed as f64),
        (Metric::ChangeAffected, (failed + slow) as f64),
        (Metric::ChangeWorst, worst_ns as f64),
    ];
    let mut sound = all
        .range(second_of(event.over_ns)..)
        .filter(|(_, it)| it.failed == 0 && it.p99_ns <= p99_ns);
    // The second in which the event ended may itself be sound.
    let recovery_ns = sound.next().map(|(second, _)| {
        let sound_ns = u64::from(*second) * SECOND_NS;
        sound_ns.saturating_sub(event.over_ns)
    });
    found.extend(recovery_ns.map(|it| (Metric::ChangeRecovery, it as f64)));
    let effective_ns = phase.change.as_ref().and_then(|it| it.effective_ns);
    found.extend(effective_ns.map(|it| (Metric::ChangeEffective, it as f64)));
    if let Some(failure) = &phase.failure {
        found.extend(of_failure(failure, seconds));
    }
    found
}

/// The additional metrics of a failure. For a target: its share of the requests, and the number of
/// retries. For the control plane: its downtime. For both: the p99 of the added latency in the
/// whole seconds of the failure, if enough requests took longer.
fn of_failure(failure: &FailureRecord, seconds: &[SecondHistogram]) -> Vec<(Metric, f64)> {
    let mut found = Vec::new();
    if failure.part == FailingPart::ControlPlane {
        let down_ns = failure.over_ns.saturating_sub(failure.began_ns);
        found.push((Metric::ControlPlaneOutage, down_ns as f64));
    }
    if failure.part == FailingPart::Target {
        found.push((Metric::FailureSentAgain, failure.sent_again as f64));
        let during: u64 = failure.targets.iter().map(|it| it.during).sum();
        let ill = failure.targets.first().filter(|_| during > 0);
        found.extend(ill.map(|it| (Metric::FailureShare, it.during as f64 / during as f64)));
    }
    let whole = second_of(failure.began_ns) + 1..second_of(failure.over_ns);
    let added = seconds
        .iter()
        .filter(|it| whole.contains(&it.second) && it.tag.starts_with("added."));
    let p99 = sum_of(added.map(|it| &it.histogram));
    let p99 = p99.filter(|it| is_trustworthy(99.0, it.len()));
    found.extend(p99.map(|it| (Metric::FailureAdded, it.value_at_quantile(0.99) as f64)));
    found
}

fn second_of(at_ns: u64) -> u32 {
    u32::try_from(at_ns / SECOND_NS).unwrap_or(u32::MAX)
}

fn responses(seconds: &[SecondHistogram]) -> impl Iterator<Item = &SecondHistogram> {
    seconds.iter().filter(|it| it.tag.starts_with("response."))
}

/// True for requests without a complete response or with status 5xx.
fn is_failure(found: &SecondHistogram) -> bool {
    [UNANSWERED, "response.5xx"].contains(&found.tag.as_str())
}

fn by_second(seconds: &[SecondHistogram]) -> BTreeMap<u32, Second> {
    let mut all: BTreeMap<u32, Second> = BTreeMap::new();
    for found in responses(seconds) {
        let second = all.entry(found.second).or_default();
        second.max_ns = second.max_ns.max(found.histogram.max());
        if is_failure(found) {
            second.failed += found.histogram.len();
        } else {
            let p99_ns = found.histogram.value_at_quantile(0.99);
            second.p99_ns = second.p99_ns.max(p99_ns);
        }
    }
    all
}

/// The number of values above the bucket that contains `bound_ns`.
fn beyond(found: &SecondHistogram, bound_ns: u64) -> u64 {
    let histogram = &found.histogram;
    let bound_ns = histogram.highest_equivalent(bound_ns);
    if bound_ns >= histogram.max() {
        return 0;
    }
    histogram.len() - histogram.count_between(0, bound_ns)
}
