//! Searches for capacity. A search is a function of the steps on disk: its next step while it runs,
//! and its result, are computed from the same records, so the report and the run agree.

mod bottleneck;
mod curve;
mod gateway;
mod judge;
mod replay;
mod sizing;
mod text;

use gatebench_model::{Bound, Capacity, Plan, Variant};
use gatebench_stats::capacity::Answer;
use gatebench_store::{StepRole, StoreError, TrialRecord};

pub(super) use judge::judge_step;

use self::replay::{NextStep, next_step};
use super::{FurtherLoad, Next};
use crate::context::Context;
use crate::findings::{
    CapacityFindings, GatewayCapacity, ObjectiveBound, Sentence, Tone, Validity,
};

/// Returns what comes after the last load of a repeat: the next step of the search, if it has one.
pub(super) fn after_load(
    plan: &Plan,
    capacity: &Capacity,
    earlier: &[TrialRecord],
    current: &TrialRecord,
) -> Next {
    let Some(next) = next_step(plan, earlier, current) else {
        return Next::Continue;
    };
    let name = name(replay::steps(current).count() + 1, &next);
    let phase = capacity.step(name, next.rate_per_second);
    FurtherLoad::step(phase, next.role, capacity.objective.clone())
}

/// `near-07-21250`: the role, the number of the step in the repeat, and its rate.
fn name(number: usize, next: &NextStep) -> String {
    let role = match next.role {
        StepRole::Curve => "curve",
        StepRole::Search => "search",
        StepRole::Near => "near",
        StepRole::Confirm => "confirm",
    };
    format!("{role}-{number:02}-{:.0}", next.rate_per_second)
}

/// The result of the search.
pub(super) fn findings(
    context: &Context,
    capacity: &Capacity,
) -> Result<CapacityFindings, StoreError> {
    let mut gateways = Vec::new();
    for scenario in &context.plan.scenarios {
        for variant in &context.plan.variants {
            if *variant != Variant::Direct {
                gateways.extend(gateway::of(context, capacity, scenario, variant)?);
            }
        }
    }
    let bound = |(percentile, bound): &(f64, Bound)| ObjectiveBound {
        percentile: *percentile,
        sign: bound.operator.as_str(),
        below_ns: bound.value as u64,
    };
    let confirmed = context
        .trials()
        .iter()
        .any(|trial| replay::has_confirmed(&trial.record));
    Ok(CapacityFindings {
        objective: capacity.objective.to_string(),
        bounds: capacity.objective.percentiles.iter().map(bound).collect(),
        method: text::method(capacity, context.plan.blocks, confirmed),
        sizings: sizing::of_run(context, capacity, &gateways),
        gateways,
    })
}

/// The answers, which open the report.
pub(super) fn headlines(found: &CapacityFindings) -> Vec<Sentence> {
    let tone = |validity| match validity {
        Validity::Valid => Tone::Plain,
        Validity::Limited => Tone::Caution,
        Validity::Invalid => Tone::Alarm,
    };
    let sized = found.sizings.iter().map(|it| Sentence {
        text: it.text.clone(),
        tone: tone(it.validity),
        scenario: Some(it.scenario.clone()),
        variant: None,
    });
    let answers = found.gateways.iter().map(|it| Sentence {
        text: it.text.clone(),
        tone: match it.validity {
            Validity::Valid if is_doubtful(it) => Tone::Caution,
            validity => tone(validity),
        },
        scenario: Some(it.scenario.clone()),
        variant: Some(it.variant.clone()),
    });
    sized.chain(answers).collect()
}

/// Reports whether the steps contradict the stated probability of holding the rate.
fn is_doubtful(found: &GatewayCapacity) -> bool {
    match &found.answer {
        Some(Answer::Found(found)) => found.may_lapse() || !found.deviating.is_empty(),
        Some(Answer::Lapsing { .. }) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
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
