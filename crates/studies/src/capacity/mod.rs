//! Searches for capacity. A search is a function of the steps on disk: both its next step and its
//! result are computed from the same records, so the report and the run agree.

mod chapter;
mod curve;
pub mod facts;
mod gateway;
mod judge;
mod replay;
mod sizing;
mod text;

use gatebench_model::{Bound, Capacity, LoadProfile, Plan, Study, Variant};
use gatebench_report::csv::name_of;
use gatebench_report::{Tone, Validity};
use gatebench_stats::capacity::Outcome;
use gatebench_store::{StepRecord, StoreError, TrialRecord};

use crate::choice::{Given, StudyChoice};
use crate::common::facts::Sentence;
use crate::common::loads::arrivals;
use crate::kind::{Analysed, FurtherLoad, Next, StudyFindings, StudyKind};
use facts::{CapacityFindings, GatewayCapacity, ObjectiveBound};
use judge::judge_step;
use replay::{NextStep, next_step};

impl StudyChoice for Capacity {
    fn load(&self) -> Option<LoadProfile> {
        Some(Self::load(self))
    }

    fn plan(&self, plan: &mut Plan, _given: Given<'_>) {
        plan.study = Study::Capacity(self.clone());
    }
}

impl StudyKind for Capacity {
    fn further_loads(&self) -> Option<String> {
        Some(in_words(self))
    }

    fn after_load(&self, plan: &Plan, earlier: &[TrialRecord], current: &TrialRecord) -> Next {
        let Some(next) = next_step(plan, earlier, current) else {
            return Next::Continue;
        };
        let name = name(replay::steps(current).count() + 1, &next);
        let phase = self.step(name, next.rate_per_second);
        let (role, objective) = (next.role, self.objective.clone());
        Next::Load(FurtherLoad::new(phase, true, move |record, histograms| {
            let outcome = judge_step(&objective, record, histograms);
            record.step = Some(StepRecord { role, outcome });
        }))
    }

    fn findings(&self, of: &Analysed<'_>) -> Result<StudyFindings, StoreError> {
        let (context, mut gateways) = (of.context, Vec::new());
        for (scenario, variant) in context.cells().filter(|(_, it)| **it != Variant::Direct) {
            gateways.extend(gateway::of(context, self, scenario, variant)?);
        }
        let bound = |(percentile, bound): &(f64, Bound)| ObjectiveBound {
            percentile: *percentile,
            sign: bound.operator.as_str(),
            below_ns: bound.value as u64,
        };
        let confirmed = context.records().any(replay::has_confirmed);
        let found = CapacityFindings {
            objective: self.objective.to_string(),
            bounds: self.objective.percentiles.iter().map(bound).collect(),
            method: text::method(self, context.plan.blocks, confirmed),
            sizings: sizing::of_run(context, self, &gateways),
            gateways,
        };
        let headlines = headlines(&found);
        Ok(StudyFindings::new(found, headlines))
    }
}

/// Describes the steps of the search, which follow the load.
fn in_words(capacity: &Capacity) -> String {
    let most = capacity.rate_max_per_second;
    let most = most.map_or_else(String::new, |rate| format!(", at most {rate}/s"));
    format!(
        "search   for the rate sustained with {}, in steps of {} with {}{most}; the outcome of each step sets \
         the next rate",
        capacity.objective,
        capacity.step,
        arrivals(capacity.arrivals)
    )
}

/// The name of a step, such as `near-07-21250`: its role, its number in the repeat, and its rate.
fn name(number: usize, next: &NextStep) -> String {
    let role = name_of(&next.role);
    format!("{role}-{number:02}-{:.0}", next.rate_per_second)
}

fn headlines(found: &CapacityFindings) -> Vec<Sentence> {
    let tone = |validity| match validity {
        Validity::Valid => Tone::Plain,
        Validity::Limited => Tone::Caution,
        Validity::Invalid => Tone::Alarm,
    };
    let sizings = found.sizings.iter();
    let sized =
        sizings.map(|it| Sentence::new(tone(it.validity), &it.text, Some(&it.scenario), None));
    let outcomes = found.gateways.iter().map(|it| {
        let tone = match it.validity {
            Validity::Valid if is_doubtful(it) => Tone::Caution,
            validity => tone(validity),
        };
        Sentence::new(tone, &it.text, Some(&it.scenario), Some(&it.variant))
    });
    sized.chain(outcomes).collect()
}

/// True if steps may miss the objective too often at any rate, or if the processes differ by more
/// than chance explains.
fn is_doubtful(found: &GatewayCapacity) -> bool {
    match &found.outcome {
        Some(Outcome::Found(found)) => found.may_lapse() || !found.deviating.is_empty(),
        Some(Outcome::Lapsing { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use gatebench_store::StepRole;

    use super::*;

    #[test]
    fn a_step_is_named_after_its_purpose_and_rate() {
        let next = NextStep {
            rate_per_second: 21_249.7,
            role: StepRole::Near,
        };
        assert_eq!(name(7, &next), "near-07-21250");
    }
}
