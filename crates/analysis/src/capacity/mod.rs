//! Searches for capacity. A search is a function of the steps on disk: what comes next while it runs, and what it
//! came to, are read from the same records, so that a report says what the run went by.

mod bottleneck;
mod curve;
mod gateway;
mod judge;
mod replay;
mod sizing;
mod words;

use gatebench_model::{Bound, Variant};
use gatebench_stats::capacity::Answer;
use gatebench_store::StoreError;

pub use judge::judge_step;
pub use replay::{NextStep, next_step};

use crate::context::Context;
use crate::findings::{
    CapacityFindings, GatewayCapacity, ObjectiveBound, Sentence, Tone, Validity,
};

/// What the search came to that a run was made for; none where it was made for something else.
pub(crate) fn findings(context: &Context) -> Result<Option<CapacityFindings>, StoreError> {
    let Some(capacity) = &context.plan.capacity else {
        return Ok(None);
    };
    let mut gateways = Vec::new();
    for scenario in &context.plan.scenarios {
        for variant in &context.plan.variants {
            if *variant != Variant::Floor {
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
    Ok(Some(CapacityFindings {
        objective: capacity.objective.to_string(),
        bounds: capacity.objective.percentiles.iter().map(bound).collect(),
        method: words::method(capacity, context.plan.blocks, confirmed),
        sizings: sizing::of_run(context, capacity, &gateways),
        gateways,
    }))
}

/// The answers, which open the report.
pub(crate) fn headlines(found: &CapacityFindings) -> Vec<Sentence> {
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
