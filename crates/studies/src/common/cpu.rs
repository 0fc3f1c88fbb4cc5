//! CPU time in a phase: of its components, and of the gateway's cores.

use gatebench_store::{GatewayFacts, PhaseRecord};

use super::context::throughput_per_second;

/// Cores that a component kept busy in the measurement; none if it was not sampled.
pub(crate) fn cores_busy(phase: &PhaseRecord, component: &str) -> Option<f64> {
    let usage = phase
        .usage
        .get(component)
        .filter(|usage| usage.window_ns > 0)?;
    Some(usage.cpu_ns as f64 / usage.window_ns as f64)
}

/// CPU time over time, divided by requests over time: samples of CPU need not begin and end with
/// the measurement to the nanosecond.
pub(crate) fn cpu_ns_per_request(phase: &PhaseRecord, component: &str) -> Option<f64> {
    let throughput = throughput_per_second(phase);
    (throughput > 0.0).then_some(())?;
    Some(cores_busy(phase, component)? * 1e9 / throughput)
}

/// Time of cores in the window of the machine's samples, for a request.
pub(crate) fn core_ns_per_request(phase: &PhaseRecord, ns: u64) -> Option<f64> {
    let throughput = throughput_per_second(phase);
    let window_ns = phase.machine.window_ns;
    (throughput > 0.0 && window_ns > 0).then(|| ns as f64 / window_ns as f64 * 1e9 / throughput)
}

/// The cores that a gateway could use: one for each worker if it has a number of them, at most the
/// cores that it was `placed` on and its CPU limit.
pub(crate) fn usable_cores(gateway: Option<&GatewayFacts>, placed: usize) -> f64 {
    let workers = gateway.map_or(0, |it| it.workers as usize);
    let usable = if workers > 0 {
        workers.min(placed)
    } else {
        placed
    };
    let usable = usable.max(1) as f64;
    let limit = gateway.and_then(|it| it.limits.cpus());
    limit.map_or(usable, |limit| limit.min(usable))
}
