//! Reconstructs the search from the recorded steps.

use gatebench_model::study::capacity::SATURATION;
use gatebench_model::{Plan, Shape};
use gatebench_stats::capacity;
use gatebench_stats::capacity::{Outcome, Tried};
use gatebench_store::{PhaseRecord, StepOutcome, StepRole, TrialRecord};

use super::judge::is_disturbed;
use crate::common::context::throughput_per_second;

/// The rates of the first repeat's first steps, as shares of saturation. They trace the curve below
/// the rate at which the search begins.
const CURVE_SHARES: [f64; 5] = [0.1, 0.2, 0.35, 0.5, 0.6];

/// The maximum number of attempts at a disturbed step; the last attempt always counts.
const DISTURBED_MAX: usize = 3;

/// Length of the steps that confirmed a result in earlier versions, as a multiple of the usual
/// length.
const CONFIRM_LENGTH: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NextStep {
    pub(super) rate_per_second: f64,
    pub(super) role: StepRole,
}

/// Returns the next step of an unfinished repeat, or `None` at its end. `earlier` contains the
/// completed repeats of the same gateway in the same scenario, ordered by start time. `current` is
/// the record of this repeat so far, which begins with the measurement of saturation. A disturbed
/// step is repeated up to twice, regardless of its outcome.
pub(super) fn next_step(
    plan: &Plan,
    earlier: &[TrialRecord],
    current: &TrialRecord,
) -> Option<NextStep> {
    if let Some(again) = disturbed_last(current) {
        return Some(again);
    }
    if earlier.is_empty()
        && let Some(rate_per_second) = next_of_curve(plan, current)
    {
        return Some(NextStep {
            rate_per_second,
            role: StepRole::Curve,
        });
    }
    let mut records: Vec<&TrialRecord> = earlier.iter().collect();
    let before: Vec<Vec<Tried>> = records.iter().map(|it| searched(it)).collect();
    records.push(current);
    let next = search(plan, &records)?.next(&before, &searched(current))?;
    Some(NextStep {
        rate_per_second: next.rate_per_second,
        role: match next.is_near {
            true => StepRole::Near,
            false => StepRole::Search,
        },
    })
}

/// Returns the result of these repeats; `None` if no saturation was measured, or no step was made.
pub(super) fn outcome(plan: &Plan, repeats: &[&TrialRecord]) -> Option<Outcome> {
    let all = repeats.iter().map(|record| tried(counted(record)));
    let all: Vec<Vec<Tried>> = all.filter(|it| !it.is_empty()).collect();
    capacity::outcome(&search(plan, repeats)?, &all)
}

fn search(plan: &Plan, repeats: &[&TrialRecord]) -> Option<capacity::Plan> {
    let asked = plan.study.capacity()?;
    let saturation = repeats.iter().find_map(|it| saturation_per_second(it))?;
    let (most, repeats) = (asked.rate_max_per_second, plan.blocks as usize);
    Some(capacity::Plan::around(saturation, most, repeats, plan.seed))
}

/// The throughput of the saturation phase of a trial; `None` if there is no such phase, or if no
/// request got a response.
pub(super) fn saturation_per_second(record: &TrialRecord) -> Option<f64> {
    let phase = record.phases.iter().find(|it| it.name == SATURATION)?;
    Some(throughput_per_second(phase)).filter(|rate| *rate > 0.0)
}

/// Reports whether longer steps confirmed a result, as in runs of earlier versions.
pub(super) fn has_confirmed(record: &TrialRecord) -> bool {
    steps(record).any(|phase| role(phase) == Some(StepRole::Confirm))
}

pub(super) fn steps(record: &TrialRecord) -> impl Iterator<Item = &PhaseRecord> {
    record.phases.iter().filter(|phase| phase.step.is_some())
}

/// The steps that count: all except disturbed attempts that were repeated.
pub(super) fn counted(record: &TrialRecord) -> impl Iterator<Item = &PhaseRecord> {
    let mut all = steps(record).peekable();
    let mut in_vain = 0;
    let mut counted = Vec::new();
    while let Some(step) = all.next() {
        let is_taken_again = all.peek().is_some_and(|next| is_same_step(step, next));
        if is_disturbed(step) && is_taken_again && in_vain + 1 < DISTURBED_MAX {
            in_vain += 1;
        } else {
            in_vain = 0;
            counted.push(step);
        }
    }
    counted.into_iter()
}

/// The steps that direct the search: those that count, except the ones that only trace the curve.
fn searched(record: &TrialRecord) -> Vec<Tried> {
    tried(counted(record).filter(|phase| role(phase) != Some(StepRole::Curve)))
}

fn tried<'a>(phases: impl Iterator<Item = &'a PhaseRecord>) -> Vec<Tried> {
    let of = |phase: &PhaseRecord| {
        Some(Tried {
            rate_per_second: rate(phase)?,
            held: phase.step?.outcome == StepOutcome::Held,
            length: match role(phase)? {
                StepRole::Confirm => CONFIRM_LENGTH,
                _ => 1.0,
            },
        })
    };
    phases.filter_map(of).collect()
}

/// The last step, if it must be repeated.
fn disturbed_last(record: &TrialRecord) -> Option<NextStep> {
    let all: Vec<&PhaseRecord> = steps(record).collect();
    let last = *all.last()?;
    let same = all.iter().rev().take_while(|it| is_same_step(it, last));
    let in_a_row = same.take_while(|it| is_disturbed(it)).count();
    (in_a_row % DISTURBED_MAX != 0).then_some(NextStep {
        rate_per_second: rate(last)?,
        role: role(last)?,
    })
}

fn is_same_step(one: &PhaseRecord, other: &PhaseRecord) -> bool {
    rate(one) == rate(other) && role(one) == role(other)
}

fn role(phase: &PhaseRecord) -> Option<StepRole> {
    phase.step.map(|step| step.role)
}

fn rate(phase: &PhaseRecord) -> Option<f64> {
    match &phase.shape {
        Shape::Open(open) => Some(open.rate_per_second),
        Shape::Closed(_) => None,
    }
}

fn next_of_curve(plan: &Plan, current: &TrialRecord) -> Option<f64> {
    let saturation = saturation_per_second(current)?;
    let most = plan.study.capacity()?.rate_max_per_second;
    let done = counted(current).filter(|phase| role(phase) == Some(StepRole::Curve));
    let rate = saturation * CURVE_SHARES.get(done.count())?;
    (rate < most.unwrap_or(f64::INFINITY)).then_some(rate)
}
