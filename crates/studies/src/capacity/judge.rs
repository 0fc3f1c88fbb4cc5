//! Judges whether a step met its objective.

use gatebench_model::{Bound, Objective};
use gatebench_store::{Histogram, PhaseRecord, StepOutcome, TaggedInterval};

use crate::common::digest::{is_answered, value_of_sent};
use crate::common::facts::CurveMetric;
use crate::common::gates::thresholds::{ACHIEVED_MIN, FOREIGN_SHARE_MAX, STEAL_SHARE_MAX};
use crate::common::sum_of;

/// Judges a step. A step meets the objective if every percentile of the response time and the share
/// of errors are within their bounds. In addition, 99 % of the intended requests, or all but one,
/// must have been sent and completed in the measured time. Requests without a response count as
/// slower than all others.
pub fn judge_step(
    objective: &Objective,
    phase: &PhaseRecord,
    histograms: &[TaggedInterval],
) -> StepOutcome {
    let held = response_times(phase, histograms).is_some_and(|response| {
        let kept = |(percentile, bound): &(f64, Bound)| {
            let value_ns = value_of_sent(&response, *percentile, unanswered(phase));
            value_ns.is_some_and(|value_ns| bound.holds(value_ns as f64))
        };
        !response.is_empty()
            && is_achieved(phase)
            && objective.errors.holds(error_share(phase))
            && objective.percentiles.iter().all(kept)
    });
    match held {
        true => StepOutcome::Held,
        false => StepOutcome::Missed,
    }
}

/// Reports whether the intended requests were sent and completed in the measured time. One request
/// may still be in flight at the end, so one missing request is allowed even if it is more than 1 %
/// of the intended requests.
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

pub(super) fn error_share(phase: &PhaseRecord) -> f64 {
    let failed = unanswered(phase) + phase.counts.responses_failing_checks();
    failed as f64 / phase.counts.intended.max(1) as f64
}

/// Reports whether other programs, the hypervisor or a CPU limit took CPU time from the load.
pub(super) fn is_disturbed(phase: &PhaseRecord) -> bool {
    let machine = &phase.machine;
    let window_ns = machine.window_ns.max(1) as f64;
    let foreign = machine.foreign_cpu_ns as f64 / window_ns;
    let stolen = machine.steal_ns as f64 / window_ns / f64::from(machine.cores.max(1));
    machine.throttled_ns > 0 || foreign > FOREIGN_SHARE_MAX || stolen > STEAL_SHARE_MAX
}

/// The response times of a phase, over all classes of responses; `None` if there is no histogram.
fn response_times(phase: &PhaseRecord, histograms: &[TaggedInterval]) -> Option<Histogram<u64>> {
    let is_own = |it: &&TaggedInterval| {
        let tag = it.tag.strip_prefix(&phase.name);
        let tag = tag.and_then(|tag| tag.strip_prefix('.'));
        tag.is_some_and(|tag| is_answered(tag, CurveMetric::Response))
    };
    sum_of(histograms.iter().filter(is_own).map(|it| &it.histogram))
}

#[cfg(test)]
mod tests {
    use gatebench_model::Shape;
    use gatebench_model::load::Open;
    use gatebench_store::Counts;

    use super::*;

    const FAST_NS: u64 = 9_900_000;
    const SLOW_NS: u64 = 10_100_000;

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

    /// 98 of 100 responses take 1 ms and two take `slow_ns`. The histograms of failed requests and
    /// of another phase, which do not count, contain only times of one second.
    fn intervals(slow_ns: u64) -> Vec<TaggedInterval> {
        let interval = |tag: &str, value, count| {
            let mut histogram = Histogram::new(3).unwrap();
            histogram.record_n(value, count).unwrap();
            TaggedInterval {
                tag: tag.into(),
                start_ns: 0,
                duration_ns: 1,
                histogram,
            }
        };
        vec![
            interval("search-1.response.2xx", 1_000_000, 3_920),
            interval("search-1.response.3xx", slow_ns, 80),
            interval("search-1.response.failed", 1_000_000_000, 4_000),
            interval("search-10.response.2xx", 1_000_000_000, 4_000),
        ]
    }

    fn holds(change: impl Fn(&mut PhaseRecord), slow_ns: u64) -> bool {
        let objective: Objective = "p99<10ms, errors<0.1%".parse().unwrap();
        let mut phase = phase();
        change(&mut phase);
        judge_step(&objective, &phase, &intervals(slow_ns)) == StepOutcome::Held
    }

    #[test]
    fn every_bound_counts() {
        assert!(holds(|_| {}, FAST_NS));
        assert!(!holds(|_| {}, SLOW_NS));
        let wrong = |phase: &mut PhaseRecord| {
            phase.counts.checks_failed.insert("status is 200".into(), 5);
        };
        assert!(!holds(wrong, FAST_NS), "5 of 4,000 is more than 0.1 %");
        // Each of three responses fails two checks.
        let twice_wrong = |phase: &mut PhaseRecord| {
            let counts = &mut phase.counts;
            counts.checks_failed = [("status is 200".into(), 3), ("body is x".into(), 3)].into();
            counts.failing_checks = Some(3);
        };
        assert!(holds(twice_wrong, FAST_NS), "3 of 4,000 is less than 0.1 %");
        let late = |phase: &mut PhaseRecord| phase.counts.completed_in_window = 3_900;
        assert!(!holds(late, FAST_NS), "fewer than 99 of 100 in time");
        let few = |missing: u64| {
            move |phase: &mut PhaseRecord| {
                phase.counts.intended = 40;
                phase.counts.completed_in_window = 40 - missing;
            }
        };
        assert!(holds(few(1), FAST_NS));
        assert!(!holds(few(2), FAST_NS));
        assert!(!holds(|phase| phase.counts.dropped = 10, FAST_NS));
    }

    #[test]
    fn requests_without_a_response_count_as_slowest() {
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
        // If another 0.7 % of the requests get no response, the percentile falls on a slow request.
        assert_eq!(judged(30, 0), StepOutcome::Missed);
        assert_eq!(judged(0, 30), StepOutcome::Missed);
        assert_eq!(judged(10, 5), StepOutcome::Held);
    }

    #[test]
    fn a_disturbance_is_detected_for_any_outcome() {
        let foreign = |phase: &mut PhaseRecord| phase.machine.foreign_cpu_ns = 400_000_000;
        assert!(holds(foreign, FAST_NS));
        assert!(!holds(foreign, SLOW_NS));
        let mut disturbed = phase();
        assert!(!is_disturbed(&disturbed));
        foreign(&mut disturbed);
        assert!(is_disturbed(&disturbed));
        let mut stolen = phase();
        stolen.machine.steal_ns = 100_000_000;
        assert!(is_disturbed(&stolen));
    }
}
