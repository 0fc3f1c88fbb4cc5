//! Judges whether a step held its objective.

use gatebench_model::{Bound, Objective};
use gatebench_store::{Histogram, PhaseRecord, StepOutcome, TaggedInterval};

use crate::common::digest::value_of_sent;
use crate::common::gates::thresholds::{ACHIEVED_MIN, FOREIGN_SHARE_MAX, STEAL_SHARE_MAX};

/// The tag of response times in the histograms of a phase, without the status class.
const RESPONSE: &str = "response";

/// The class of requests without a response.
const FAILED: &str = "failed";

/// Judges a step. It held if every percentile of the response time and the share of errors are
/// within their bounds, and 99 in 100 intended requests, or all but one, were sent and completed in
/// the measured time. Requests without a response count as slower than all others.
pub fn judge_step(
    objective: &Objective,
    phase: &PhaseRecord,
    histograms: &[TaggedInterval],
) -> StepOutcome {
    if holds(objective, phase, &response_times(phase, histograms)) {
        StepOutcome::Held
    } else {
        StepOutcome::Missed
    }
}

fn holds(objective: &Objective, phase: &PhaseRecord, response: &Histogram<u64>) -> bool {
    let unanswered = unanswered(phase);
    let kept = |(percentile, bound): &(f64, Bound)| {
        let value_ns = value_of_sent(response, *percentile, unanswered);
        value_ns.is_some_and(|value_ns| bound.holds(value_ns as f64))
    };
    !response.is_empty()
        && is_achieved(phase)
        && objective.errors.holds(error_share(phase))
        && objective.percentiles.iter().all(kept)
}

/// Reports whether the intended requests were sent and completed in the measured time. One request
/// may be in flight at the end: with fewer than a hundred requests, this does not show that the
/// rate was missed.
fn is_achieved(phase: &PhaseRecord) -> bool {
    let counts = &phase.counts;
    let done = counts.sent.min(counts.completed_in_window);
    let missing = counts.intended.saturating_sub(done) as f64;
    missing <= ((1.0 - ACHIEVED_MIN) * counts.intended as f64).max(1.0)
}

/// The number of intended requests without a response, including those that were never sent.
pub(super) fn unanswered(phase: &PhaseRecord) -> u64 {
    phase.counts.errors.values().sum::<u64>() + phase.counts.dropped
}

/// Share of the intended requests without a correct response.
pub(super) fn error_share(phase: &PhaseRecord) -> f64 {
    let failed = unanswered(phase) + phase.counts.responses_failing_checks();
    failed as f64 / phase.counts.intended.max(1) as f64
}

/// Reports whether other programs used the cores of the load.
pub(super) fn is_disturbed(phase: &PhaseRecord) -> bool {
    let machine = &phase.machine;
    let window_ns = machine.window_ns.max(1) as f64;
    let foreign = machine.foreign_cpu_ns as f64 / window_ns;
    let stolen = machine.steal_ns as f64 / window_ns / f64::from(machine.cores.max(1));
    machine.throttled_ns > 0 || foreign > FOREIGN_SHARE_MAX || stolen > STEAL_SHARE_MAX
}

fn response_times(phase: &PhaseRecord, histograms: &[TaggedInterval]) -> Histogram<u64> {
    let mut sum = super::curve::empty();
    for interval in histograms {
        let mut parts = interval.tag.split('.');
        let of = (parts.next(), parts.next(), parts.next());
        let counts = matches!(of, (Some(name), Some(RESPONSE), Some(class)) if name == phase.name && class != FAILED);
        if counts {
            // A histogram that grows accepts every value of another one.
            let _ = sum.add(&interval.histogram);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_model::Shape;
    use gatebench_model::load::Open;
    use gatebench_store::Counts;

    use super::*;

    fn phase() -> PhaseRecord {
        let shape = serde_json::to_value(Shape::Open(Open::new(1_000.0))).unwrap();
        let mut phase: PhaseRecord = serde_json::from_value(serde_json::json!({
            "name": "search-1", "shape": shape, "began_ns": 0, "warm_up_ns": 0, "measure_ns": 4_000_000_000_u64,
            "drained_ns": 0, "counts": Counts::default()
        }))
        .unwrap();
        phase.counts.intended = 4_000;
        phase.counts.sent = 4_000;
        phase.counts.completed_in_window = 4_000;
        phase.machine.window_ns = 4_000_000_000;
        phase.machine.cores = 2;
        phase
    }

    /// 98 of 100 requests take 1 ms and two take `slow_ns`. A request without a response waits for
    /// a second.
    fn intervals(slow_ns: u64) -> Vec<TaggedInterval> {
        let interval = |tag: &str, values: &[(u64, u64)]| {
            let mut histogram = super::super::curve::empty();
            values
                .iter()
                .for_each(|(value, count)| histogram.record_n(*value, *count).unwrap());
            TaggedInterval {
                tag: tag.into(),
                start_ns: 0,
                duration_ns: 1,
                histogram,
            }
        };
        vec![
            interval(
                "search-1.response.2xx",
                &[(1_000_000, 3_920), (slow_ns, 80)],
            ),
            interval("search-1.response.failed", &[(1_000_000_000, 4_000)]),
            interval("search-10.response.2xx", &[(1_000_000_000, 4_000)]),
        ]
    }

    fn judged(change: impl Fn(&mut PhaseRecord), slow_ns: u64) -> StepOutcome {
        let objective: Objective = "p99<10ms, errors<0.1%".parse().unwrap();
        let mut phase = phase();
        change(&mut phase);
        judge_step(&objective, &phase, &intervals(slow_ns))
    }

    #[test]
    fn every_bound_counts() {
        assert_eq!(judged(|_| {}, 9_900_000), StepOutcome::Held);
        assert_eq!(judged(|_| {}, 10_100_000), StepOutcome::Missed);
        let wrong = |phase: &mut PhaseRecord| {
            phase.counts.checks_failed.insert("status is 200".into(), 5);
        };
        assert_eq!(
            judged(wrong, 1_000_000),
            StepOutcome::Missed,
            "5 of 4,000 is more than 0.1 %"
        );
        // Each of three responses fails two checks.
        let twice_wrong = |phase: &mut PhaseRecord| {
            let counts = &mut phase.counts;
            counts.checks_failed = [("status is 200".into(), 3), ("body is x".into(), 3)].into();
            counts.failing_checks = Some(3);
        };
        assert_eq!(
            judged(twice_wrong, 1_000_000),
            StepOutcome::Held,
            "3 of 4,000 is less than 0.1 %"
        );
        let late = |phase: &mut PhaseRecord| phase.counts.completed_in_window = 3_900;
        assert_eq!(
            judged(late, 1_000_000),
            StepOutcome::Missed,
            "fewer than 99 of 100 in time"
        );
        let few = |missing: u64| {
            move |phase: &mut PhaseRecord| {
                phase.counts.intended = 40;
                phase.counts.completed_in_window = 40 - missing;
            }
        };
        assert_eq!(judged(few(1), 1_000_000), StepOutcome::Held);
        assert_eq!(judged(few(2), 1_000_000), StepOutcome::Missed);
        let dropped = |phase: &mut PhaseRecord| phase.counts.dropped = 10;
        assert_eq!(judged(dropped, 1_000_000), StepOutcome::Missed);
    }

    #[test]
    fn requests_without_a_response_are_slower_than_any() {
        // 2 % of the responses are too slow, so the 97.5th percentile is within its bound.
        let objective: Objective = "p97.5<10ms, errors<1%".parse().unwrap();
        let judged = |unanswered: u64, dropped: u64| {
            let mut phase = phase();
            phase.counts.intended += unanswered + dropped;
            phase.counts.sent += unanswered;
            phase.counts.errors.insert("timeout".into(), unanswered);
            phase.counts.dropped = dropped;
            judge_step(&objective, &phase, &intervals(20_000_000))
        };
        assert_eq!(judged(0, 0), StepOutcome::Held);
        // With another 0.7 % without a response, the percentile is that of a slow request.
        assert_eq!(judged(30, 0), StepOutcome::Missed);
        assert_eq!(judged(0, 30), StepOutcome::Missed);
        assert_eq!(judged(10, 5), StepOutcome::Held);
    }

    #[test]
    fn a_disturbance_is_seen_whatever_the_outcome() {
        let foreign = |phase: &mut PhaseRecord| phase.machine.foreign_cpu_ns = 400_000_000;
        assert_eq!(judged(foreign, 9_900_000), StepOutcome::Held);
        assert_eq!(judged(foreign, 10_100_000), StepOutcome::Missed);
        let mut disturbed = phase();
        assert!(!is_disturbed(&disturbed));
        foreign(&mut disturbed);
        assert!(is_disturbed(&disturbed));
        let mut stolen = phase();
        stolen.machine.steal_ns = 100_000_000;
        assert!(is_disturbed(&stolen));
    }
}
