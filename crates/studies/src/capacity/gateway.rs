//! The capacity of one gateway in one scenario, and its bottleneck: the component whose cores were
//! at their limit in the steps that missed the objective.

use gatebench_model::{Capacity, Plan, Scenario, Variant};
use gatebench_report::Validity;
use gatebench_stats::capacity::Outcome;
use gatebench_stats::median;
use gatebench_store::{PhaseRecord, StepOutcome, StepRole, StoreError, StoredTrial, TrialRecord};

use super::facts::{Bottleneck, GatewayCapacity};
use super::judge::is_disturbed;
use super::replay::{counted, saturation_per_second, steps};
use super::{curve, replay, text};
use crate::common::context::Context;
use crate::common::cpu::{cores_busy, cpu_ns_per_request, memory_bytes, shared_busy, usable_cores};
use crate::common::gates::thresholds::{DIRECT_SHARE_MAX, ENGINE_BUSY_MAX, ENGINE_WAIT_MAX};

/// The busy share from which a gateway's cores are considered full. A gateway misses an objective
/// for a percentile before its cores are fully busy, because requests queue: at 70 % utilization of
/// an M/M/1 queue, a request takes about three times as long as in an empty one.
const GATEWAY_FULL: f64 = 0.70;

/// The result of a gateway's repeats; `None` if no repeat is on disk.
pub(super) fn of(
    context: &Context,
    capacity: &Capacity,
    scenario: &Scenario,
    variant: &Variant,
) -> Result<Option<GatewayCapacity>, StoreError> {
    let trials = context.trials_of(&scenario.scenario, variant.label());
    let trials: Vec<&StoredTrial> = trials.collect();
    if trials.is_empty() {
        return Ok(None);
    }
    let completed = context.completed_of(&scenario.scenario, variant.label());
    let mut completed: Vec<&TrialRecord> = completed.collect();
    // The repeats are sorted by start, because each continued from the results of the earlier ones.
    completed.sort_by_key(|record| record.started);
    let outcome = replay::outcome(context.plan, &completed);
    let curve = curve::of_trials(&trials)?;
    let cores = |record: &&TrialRecord| cores(context.plan, variant, record);
    let cores = completed.first().map_or(1.0, cores);
    let bottleneck = bottleneck_of(context.plan, variant, &completed);
    let direct_per_second = direct_rate(context, &scenario.scenario);
    let rate = outcome.as_ref().and_then(rate_of);
    let limits = limits(bottleneck, &completed, rate, direct_per_second);
    let phases = trials.iter().flat_map(|trial| &trial.record.phases);
    let saturations = completed.iter().filter_map(|it| saturation_per_second(it));
    let mut found = GatewayCapacity {
        scenario: scenario.scenario.clone(),
        variant: variant.label().to_owned(),
        cores,
        validity: match (&outcome, limits.is_empty()) {
            (None, _) => Validity::Invalid,
            (Some(_), true) => Validity::Valid,
            (Some(_), false) => Validity::Limited,
        },
        limits,
        bottleneck,
        repeats_planned: context.plan.blocks,
        per_core_per_second: rate.map(|rate| rate / cores),
        cpu_ns_per_request: cpu_at_the_rate(&completed),
        memory_bytes: phases.filter_map(memory_bytes).reduce(f64::max),
        saturation_per_second: median_of(saturations),
        direct_per_second,
        knee: curve::knee_of(&curve),
        curve,
        outcome,
        text: String::new(),
    };
    found.text = text::outcome(&found, capacity, context.plan.scenarios.len() > 1);
    Ok(Some(found))
}

pub(super) fn rate_of(outcome: &Outcome) -> Option<f64> {
    match outcome {
        Outcome::Found(found) => Some(found.rate.rate_per_second),
        Outcome::AtLeast {
            rate_per_second, ..
        } => Some(*rate_per_second),
        Outcome::Below { .. } | Outcome::Lapsing { .. } => None,
    }
}

fn direct_rate(context: &Context, scenario: &str) -> Option<f64> {
    let trials = context.trials_of(scenario, Variant::Direct.label());
    median_of(trials.filter_map(|trial| saturation_per_second(&trial.record)))
}

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

fn cpu_at_the_rate(completed: &[&TrialRecord]) -> Option<f64> {
    let near = |phase: &&PhaseRecord| {
        let near = phase
            .step
            .filter(|it| matches!(it.role, StepRole::Near | StepRole::Confirm));
        near.is_some_and(|step| step.outcome == StepOutcome::Held)
    };
    median_of(completed.iter().filter_map(|record| {
        let last = steps(record).filter(near).last()?;
        cpu_ns_per_request(last, "gateway")
    }))
}

fn median_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(&values.collect::<Vec<_>>())
}

/// See [`GatewayCapacity::bottleneck`]. Steps that only trace the curve are ignored.
fn bottleneck_of(plan: &Plan, variant: &Variant, repeats: &[&TrialRecord]) -> Option<Bottleneck> {
    let missed = |roles: &[StepRole]| {
        let all = repeats
            .iter()
            .flat_map(|record| counted(record).map(move |phase| (*record, phase)));
        let missed = all.filter(|(_, phase)| {
            let step = phase.step.as_ref();
            step.is_some_and(|step| roles.contains(&step.role) && step.outcome != StepOutcome::Held)
        });
        let each = missed.map(|(record, phase)| of_step(plan, cores(plan, variant, record), phase));
        most_frequent(&each.collect::<Vec<_>>())
    };
    missed(&[StepRole::Near, StepRole::Confirm]).or_else(|| missed(&[StepRole::Search]))
}

fn cores(plan: &Plan, variant: &Variant, record: &TrialRecord) -> f64 {
    let placement = &plan.placement;
    let own = variant.setup().map(|it| it.gateway_cores(placement).len());
    let placed = own.unwrap_or(placement.gateway.len());
    usable_cores(record.gateway.as_ref(), placed)
}

fn of_step(plan: &Plan, gateway_cores: f64, phase: &PhaseRecord) -> Bottleneck {
    let gateway = cores_busy(phase, "gateway").map_or(0.0, |busy| busy / gateway_cores);
    let (who, share) = fullest_instrument(plan, phase);
    let waited_ns = phase.engine.run_queue_wait_ns as f64;
    let engine_ns = phase.measure_ns.max(1) as f64 * f64::from(phase.engine.workers.max(1));
    let is_waiting = waited_ns / engine_ns > ENGINE_WAIT_MAX;
    if share >= ENGINE_BUSY_MAX && share > gateway {
        who
    } else if gateway >= GATEWAY_FULL {
        Bottleneck::Gateway
    } else if is_waiting && !is_disturbed(phase) {
        // The load generator waited for a core although nothing outside the run took CPU time.
        match who {
            Bottleneck::EngineAndUpstream => who,
            _ => Bottleneck::Engine,
        }
    } else {
        Bottleneck::Nothing
    }
}

/// Returns the load generator or the upstream, whichever has the busier cores, and their busy
/// share. If the two share cores, returns both.
fn fullest_instrument(plan: &Plan, phase: &PhaseRecord) -> (Bottleneck, f64) {
    let placement = &plan.placement;
    let busy = |component| cores_busy(phase, component).unwrap_or(0.0);
    let (engine, upstream) = (busy("engine"), busy("upstream"));
    if let Some(share) = shared_busy(placement, engine, upstream) {
        return (Bottleneck::EngineAndUpstream, share);
    }
    let engine = engine / placement.engine.len().max(1) as f64;
    let upstream = upstream / placement.upstream.len().max(1) as f64;
    match engine >= upstream {
        true => (Bottleneck::Engine, engine),
        false => (Bottleneck::Upstream, upstream),
    }
}

/// Returns the first of the most frequent bottlenecks.
fn most_frequent(all: &[Bottleneck]) -> Option<Bottleneck> {
    let count = |wanted: &Bottleneck| all.iter().filter(|it| *it == wanted).count();
    // `max_by_key` returns the last of several maxima, so the order is reversed.
    all.iter().rev().max_by_key(|it| count(it)).copied()
}
