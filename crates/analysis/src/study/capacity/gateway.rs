//! The capacity of one gateway in one scenario.

use gatebench_model::{Capacity, Scenario, Variant};
use gatebench_stats::capacity::Answer;
use gatebench_stats::median;
use gatebench_store::{
    Outcome, PhaseRecord, StepOutcome, StepRole, StoreError, StoredTrial, TrialRecord,
};

use super::bottleneck;
use super::judge::is_disturbed;
use super::replay::{self, counted, saturation_per_second, steps};
use super::{curve, text};
use crate::context::Context;
use crate::cpu::cpu_ns_per_request;
use crate::findings::{Bottleneck, GatewayCapacity, Validity};
use crate::gates::thresholds::DIRECT_SHARE_MAX;

/// The result of the repeats of a gateway; none if none of them is on disk.
pub(super) fn of(
    context: &Context,
    capacity: &Capacity,
    scenario: &Scenario,
    variant: &Variant,
) -> Result<Option<GatewayCapacity>, StoreError> {
    let trials = trials(context, &scenario.scenario, variant.label());
    if trials.is_empty() {
        return Ok(None);
    }
    let records = trials.iter().map(|trial| &trial.record);
    let mut completed: Vec<&TrialRecord> = records
        .filter(|record| record.outcome == Outcome::Completed)
        .collect();
    // The order in which each went on from those before it.
    completed.sort_by_key(|record| record.started);
    let answer = replay::answer(context.plan, &completed);
    let curve = curve::of_trials(&trials)?;
    let cores = completed.first().map_or(1.0, |record| {
        bottleneck::cores(context.plan, variant, record)
    });
    let bottleneck = bottleneck::of_repeats(context.plan, variant, &completed);
    let direct_per_second = direct_rate(context, &scenario.scenario);
    let rate = answer.as_ref().and_then(rate_of);
    let limits = limits(bottleneck, &completed, rate, direct_per_second);
    let mut found = GatewayCapacity {
        scenario: scenario.scenario.clone(),
        variant: variant.label().to_owned(),
        cores,
        validity: match (&answer, limits.is_empty()) {
            (None, _) => Validity::Invalid,
            (Some(_), true) => Validity::Valid,
            (Some(_), false) => Validity::Limited,
        },
        limits,
        bottleneck,
        repeats_planned: context.plan.blocks,
        per_core_per_second: rate.map(|rate| rate / cores),
        cpu_ns_per_request: cpu_at_the_answer(&completed),
        memory_bytes: memory(&trials),
        saturation_per_second: median_of(
            completed
                .iter()
                .filter_map(|record| saturation_per_second(record)),
        ),
        direct_per_second,
        knee: curve::knee_of(&curve),
        curve,
        answer,
        text: String::new(),
    };
    found.text = text::answer(&found, capacity, context.plan.scenarios.len() > 1);
    Ok(Some(found))
}

/// The rate that is sustained, or that is sustained at least.
pub(super) fn rate_of(answer: &Answer) -> Option<f64> {
    match answer {
        Answer::Found(found) => Some(found.rate.rate_per_second),
        Answer::AtLeast {
            rate_per_second, ..
        } => Some(*rate_per_second),
        Answer::Below { .. } | Answer::Lapsing { .. } => None,
    }
}

fn trials<'a>(context: &Context<'a>, scenario: &str, variant: &str) -> Vec<&'a StoredTrial> {
    let of_cell = |trial: &&StoredTrial| {
        let of = &trial.record.trial;
        of.scenario == scenario && of.variant == variant
    };
    context.trials().iter().filter(of_cell).collect()
}

/// The median throughput of the connections without a gateway.
fn direct_rate(context: &Context, scenario: &str) -> Option<f64> {
    let direct = trials(context, scenario, Variant::Direct.label());
    median_of(
        direct
            .iter()
            .filter_map(|trial| saturation_per_second(&trial.record)),
    )
}

/// Why an answer is no more than a lower bound.
fn limits(
    bottleneck: Option<Bottleneck>,
    completed: &[&TrialRecord],
    rate: Option<f64>,
    direct_per_second: Option<f64>,
) -> Vec<String> {
    let mut limits = Vec::new();
    if let Some(text) = bottleneck.and_then(text::full) {
        limits.push(text.into());
    }
    let of_all = || completed.iter().flat_map(|record| counted(record));
    let disturbed = of_all().filter(|phase| is_disturbed(phase)).count();
    if 2 * disturbed > of_all().count() {
        limits.push(text::DISTURBED.into());
    }
    if let (Some(rate), Some(direct)) = (rate, direct_per_second)
        && rate > DIRECT_SHARE_MAX * direct
        && bottleneck != Some(Bottleneck::Gateway)
    {
        limits.push(text::near_direct(rate / direct));
    }
    limits
}

/// CPU time per request in the last step near the answer that held, by median over the repeats.
fn cpu_at_the_answer(completed: &[&TrialRecord]) -> Option<f64> {
    let near = |phase: &&PhaseRecord| {
        phase.step.is_some_and(|step| {
            matches!(step.role, StepRole::Near | StepRole::Confirm)
                && step.outcome == StepOutcome::Held
        })
    };
    median_of(completed.iter().filter_map(|record| {
        let last = steps(record).filter(near).last()?;
        cpu_ns_per_request(last, "gateway")
    }))
}

fn memory(trials: &[&StoredTrial]) -> Option<f64> {
    let phases = trials.iter().flat_map(|trial| &trial.record.phases);
    let used =
        phases.filter_map(|phase| Some(phase.usage.get("gateway")?.rss_anon_bytes_max as f64));
    used.filter(|bytes| *bytes > 0.0).reduce(f64::max)
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(&values.collect::<Vec<_>>())
}
