//! The search, played again from the steps that were recorded.

use gatebench_model::Plan;
use gatebench_model::capacity::SATURATION;
use gatebench_stats::capacity::{self, Outcome, Phase, Search, Step};
use gatebench_store::{PhaseRecord, StepOutcome, StepRole, TrialRecord};

use crate::context::throughput_per_second;

/// Rates that the first repeat begins with, as shares of saturation: the curve below where the search looks.
const CURVE_SHARES: [f64; 5] = [0.1, 0.2, 0.35, 0.5, 0.6];

/// A step that is to be taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextStep {
    /// Arrivals per second.
    pub rate_per_second: f64,
    /// What it is for.
    pub role: StepRole,
}

/// The next step of a repeat that is under way; none where the repeat has ended. `earlier` are the completed repeats
/// of the same cell in the order of the run, `current` is what this one has measured so far: its saturation first.
pub fn next_step(plan: &Plan, earlier: &[TrialRecord], current: &TrialRecord) -> Option<NextStep> {
    if earlier.is_empty()
        && let Some(rate_per_second) = next_of_curve(plan, current)
    {
        return Some(NextStep {
            rate_per_second,
            role: StepRole::Curve,
        });
    }
    let mut records: Vec<&TrialRecord> = earlier.iter().collect();
    let before = replayed(plan, &records).map_or(0, |search| repeat(&search).unwrap_or(usize::MAX));
    records.push(current);
    let search = replayed(plan, &records)?;
    match search.next() {
        Step::Try {
            rate_per_second,
            phase,
            repeat,
        } if repeat == before => Some(NextStep {
            rate_per_second,
            role: match phase {
                Phase::Short => StepRole::Search,
                Phase::Long => StepRole::Confirm,
            },
        }),
        _ => None,
    }
}

/// The search as these repeats left it; none where no saturation was measured to begin from.
pub(super) fn replayed(plan: &Plan, repeats: &[&TrialRecord]) -> Option<Search> {
    let asked = plan.capacity.as_ref()?;
    let saturation = repeats
        .iter()
        .find_map(|record| saturation_per_second(record))?;
    let blocks = plan.blocks as usize;
    let search = capacity::Plan::around(saturation, asked.rate_max_per_second, blocks, plan.seed);
    let mut search = Search::new(search)?;
    for step in repeats.iter().flat_map(|record| steps(record)) {
        let Some(step) = step.step.filter(|step| step.role != StepRole::Curve) else {
            continue;
        };
        search.record(match step.outcome {
            StepOutcome::Held => Outcome::Held,
            StepOutcome::Missed => Outcome::Missed,
            StepOutcome::Disturbed => Outcome::Disturbed,
        });
    }
    Some(search)
}

/// What the connections got in the beginning of a trial; none where nothing was answered.
pub(super) fn saturation_per_second(record: &TrialRecord) -> Option<f64> {
    let phase = record
        .phases
        .iter()
        .find(|phase| phase.name == SATURATION)?;
    Some(throughput_per_second(phase)).filter(|rate| *rate > 0.0)
}

/// The phases that are steps.
pub(super) fn steps(record: &TrialRecord) -> impl Iterator<Item = &PhaseRecord> {
    record.phases.iter().filter(|phase| phase.step.is_some())
}

/// Which repeat the search is in; none where it has ended.
fn repeat(search: &Search) -> Option<usize> {
    match search.next() {
        Step::Try { repeat, .. } => Some(repeat),
        Step::Done(_) => None,
    }
}

fn next_of_curve(plan: &Plan, current: &TrialRecord) -> Option<f64> {
    let saturation = saturation_per_second(current)?;
    let most = plan
        .capacity
        .as_ref()?
        .rate_max_per_second
        .unwrap_or(f64::INFINITY);
    let is_curve =
        |phase: &&PhaseRecord| phase.step.is_some_and(|step| step.role == StepRole::Curve);
    let done = steps(current).filter(is_curve).count();
    let share = CURVE_SHARES.get(done)?;
    Some(saturation * share).filter(|rate| *rate < most)
}
