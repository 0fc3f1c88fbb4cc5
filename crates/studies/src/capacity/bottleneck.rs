//! The bottleneck: the component that was full at the rates that missed the objective.

use gatebench_model::{Plan, Variant};
use gatebench_store::{PhaseRecord, StepOutcome, StepRole, TrialRecord};

use super::facts::Bottleneck;
use super::judge::is_disturbed;
use super::replay::counted;
use crate::common::cpu::{cores_busy, shared_busy, usable_cores};
use crate::common::gates::thresholds::{ENGINE_BUSY_MAX, ENGINE_WAIT_MAX};

/// The share of its cores above which a gateway is called full. A gateway misses an objective for a
/// percentile before its cores are fully busy, because requests queue: at 70 % utilisation, a
/// request takes about three times as long as in an idle gateway.
const GATEWAY_FULL: f64 = 0.70;

/// The component that was full in most of the missed steps near the result or, if there are none,
/// in most of the other missed steps; none if no step missed.
pub(super) fn of_repeats(
    plan: &Plan,
    variant: &Variant,
    repeats: &[&TrialRecord],
) -> Option<Bottleneck> {
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

/// The cores that a gateway could use in a trial.
pub(super) fn cores(plan: &Plan, variant: &Variant, record: &TrialRecord) -> f64 {
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
        // The load generator waited for a core that no process outside the run used.
        match who {
            Bottleneck::EngineAndUpstream => who,
            _ => Bottleneck::Engine,
        }
    } else {
        Bottleneck::Nothing
    }
}

/// Load generator or upstream, whichever has the busier cores; both together if they share cores.
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

/// Returns the most frequent bottleneck; of equally frequent ones, the first.
fn most_frequent(all: &[Bottleneck]) -> Option<Bottleneck> {
    let count = |wanted: &Bottleneck| all.iter().filter(|it| *it == wanted).count();
    // `max_by_key` returns the last of several maxima, so the order is reversed.
    all.iter().rev().max_by_key(|it| count(it)).copied()
}
