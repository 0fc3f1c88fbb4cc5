//! Gates for the load generator and the upstream: if they are the bottleneck, the result describes
//! them instead of the gateway.

use gatebench_report::Unit;
use gatebench_report::format::{percent, quantity};

use super::thresholds::{DIRECT_SHARE_MAX, ENGINE_BUSY_MAX, ENGINE_WAIT_MAX};
use super::{View, gateway};
use crate::common::context::throughput_per_second;
use crate::common::cpu::{cores_busy, shared_busy};
use crate::common::facts::{Aspect, Gate, PhaseKind, Reason};

/// The aspect that is spoiled in a phase of this kind if the load generator or the upstream is at
/// its limit. CPU per request remains valid.
fn spoiled(kind: PhaseKind) -> [Aspect; 1] {
    match kind {
        PhaseKind::Closed => [Aspect::Throughput],
        PhaseKind::Paced | PhaseKind::Open | PhaseKind::SideBySide => [Aspect::Latency],
    }
}

/// If the load generator and the upstream share a core, the load generator gets only the time that
/// the upstream leaves. If the gateway is busier than the load generator in a closed load, the
/// gateway is the bottleneck, and the gate does not apply.
pub(super) fn engine_saturated(view: &View) -> Option<Reason> {
    if view.seeks_own_limit() {
        return None;
    }
    let engine = engine_cores_busy(view)?;
    let placement = view.run.map(|(context, _)| &context.plan.placement);
    let upstream = cores_busy(view.phase, "upstream").unwrap_or(0.0);
    let (share, whose) = match placement.and_then(|it| shared_busy(it, engine, upstream)) {
        Some(share) => (share, "The load generator and the upstream kept their"),
        None => {
            let workers = view.phase.engine.workers as usize;
            let cores = placement.map_or(workers, |it| it.engine.len()).max(1);
            (engine / cores as f64, "The load generator kept its")
        }
    };
    let gateway_is_busier = gateway::busy_share(view).is_some_and(|own| own > share);
    (share >= ENGINE_BUSY_MAX && !gateway_is_busier).then_some(())?;
    let meaning = match (view.run, view.kind()) {
        (Some(_), _) => "CPU per request is still valid",
        (None, PhaseKind::Open) => "response times include the resulting delays",
        (None, _) => "the target may sustain a higher rate",
    };
    let message = format!("{whose} cores {} busy; {meaning}.", percent(share));
    let remedy = "Give the load generator more cores, or run it on another machine.";
    let spoils = spoiled(view.kind());
    Some(view.limited(Gate::EngineSaturated, &spoils, message, remedy))
}

/// The number of cores that the load generator kept busy, from the probe's samples or, if there are
/// none, from the load generator's own count.
fn engine_cores_busy(view: &View) -> Option<f64> {
    let own = &view.phase.engine;
    let measure_ns = view.phase.measure_ns;
    cores_busy(view.phase, "engine").or_else(|| {
        (own.cpu_ns > 0 && measure_ns > 0).then(|| own.cpu_ns as f64 / measure_ns as f64)
    })
}

/// Responses wait unread while the load generator is in the run queue. If a closed load
/// nevertheless kept the gateway busy, this does not matter: the throughput is the gateway's.
pub(super) fn engine_waited(view: &View) -> Option<Reason> {
    let engine = &view.phase.engine;
    if view.seeks_own_limit() || view.phase.measure_ns == 0 || gateway::is_saturated(view) {
        return None;
    }
    let available_ns = view.phase.measure_ns as f64 * f64::from(engine.workers.max(1));
    let share = engine.run_queue_wait_ns as f64 / available_ns;
    (share > ENGINE_WAIT_MAX).then_some(())?;
    let message = format!(
        "The load generator waited {} of the time for its core.",
        percent(share)
    );
    let remedy =
        "Give the load generator its own core or, if the load has a fixed rate, lower the rate.";
    let spoils = spoiled(view.kind());
    Some(view.limited(Gate::EngineWaited, &spoils, message, remedy))
}

/// A result close to the direct variant's throughput describes the load generator and the upstream
/// rather than the gateway.
pub(super) fn upstream_near_direct(view: &View) -> Option<Reason> {
    if view.seeks_own_limit() {
        return None;
    }
    let (context, record) = view.run?;
    let trial = &record.trial;
    let direct = context.direct_per_second(&trial.scenario, trial.block)?;
    let throughput = throughput_per_second(view.phase);
    (direct > 0.0 && throughput > DIRECT_SHARE_MAX * direct).then_some(())?;
    let message = format!(
        "The rate of {} is {} of what the load generator and the upstream reach without a gateway.",
        quantity(throughput, Unit::RequestsPerSecond),
        percent(throughput / direct)
    );
    let remedy = "Give the load generator and the upstream more cores, or the gateway fewer.";
    let spoils = spoiled(view.kind());
    Some(view.limited(Gate::UpstreamNearDirect, &spoils, message, remedy))
}
