//! What a change did to a load: how many requests noticed it, how long the worst waited, and when it was
//! over.

use std::collections::BTreeMap;

use gatebench_store::{PhaseRecord, SecondHistogram};

use crate::findings::Metric;

const SECOND_NS: u64 = 1_000_000_000;

/// The response times of one second, those of failed requests told apart.
#[derive(Default)]
struct Second {
    failed: u64,
    /// The longest of any request, with an answer or without.
    max_ns: u64,
    /// The largest 99th percentile of any class of answers.
    p99_ns: u64,
}

/// The figures of a phase in which something was changed; none of other phases, and where no whole
/// second lies before the change.
pub(crate) fn of_phase(phase: &PhaseRecord, seconds: &[SecondHistogram]) -> Vec<(Metric, f64)> {
    let Some(change) = &phase.change else {
        return Vec::new();
    };
    let at = u32::try_from(change.began_ns / SECOND_NS).unwrap_or(u32::MAX);
    let responses = || seconds.iter().filter(|it| it.tag.starts_with("response."));
    let mut all: BTreeMap<u32, Second> = BTreeMap::new();
    for found in responses() {
        let second = all.entry(found.second).or_default();
        second.max_ns = second.max_ns.max(found.histogram.max());
        if found.tag == "response.failed" {
            second.failed += found.histogram.len();
        } else {
            let p99_ns = found.histogram.value_at_quantile(0.99);
            second.p99_ns = second.p99_ns.max(p99_ns);
        }
    }
    let before = || all.range(..at).map(|(_, second)| second);
    let (Some(slowest_ns), Some(p99_ns)) = (
        before().map(|it| it.max_ns).max(),
        before().map(|it| it.p99_ns).max(),
    ) else {
        return Vec::new();
    };
    let after = || all.range(at..);
    let failed: u64 = after().map(|(_, second)| second.failed).sum();
    let slow: u64 = responses()
        .filter(|it| it.second >= at && it.tag != "response.failed")
        .map(|it| beyond(it, slowest_ns))
        .sum();
    let worst_ns = after().map(|(_, second)| second.max_ns).max().unwrap_or(0);
    let mut found = vec![
        (Metric::ChangeErrors, failed as f64),
        (Metric::ChangeAffected, (failed + slow) as f64),
        (Metric::ChangeWorst, worst_ns as f64),
    ];
    let mut sound = after().filter(|(_, it)| it.failed == 0 && it.p99_ns <= p99_ns);
    // The second of the change is as before only if the change was not noticed in it.
    let recovery_ns = sound.next().map(|(second, _)| {
        let sound_ns = u64::from(*second) * SECOND_NS;
        sound_ns.saturating_sub(change.began_ns)
    });
    found.extend(recovery_ns.map(|it| (Metric::ChangeRecovery, it as f64)));
    found
}

/// Values that are larger than what `bound_ns` may have been recorded as.
fn beyond(found: &SecondHistogram, bound_ns: u64) -> u64 {
    let histogram = &found.histogram;
    let bound_ns = histogram.highest_equivalent(bound_ns);
    if bound_ns >= histogram.max() {
        return 0;
    }
    histogram.len() - histogram.count_between(0, bound_ns)
}
