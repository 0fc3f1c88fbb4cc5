//! CPU time in a phase: that of the components, and that of the gateway's cores.

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

/// The CPU time per second divided by the requests per second, because the CPU samples may begin
/// and end slightly before or after the measurement.
pub(crate) fn cpu_ns_per_request(phase: &PhaseRecord, component: &str) -> Option<f64> {
    let throughput = throughput_per_second(phase);
    (throughput > 0.0).then_some(())?;
    Some(cores_busy(phase, component)? * 1e9 / throughput)
}

/// Core time per request, from the window of the machine's samples.
pub(crate) fn core_ns_per_request(phase: &PhaseRecord, ns: u64) -> Option<f64> {
    let throughput = throughput_per_second(phase);
    let window_ns = phase.machine.window_ns;
    (throughput > 0.0 && window_ns > 0).then(|| ns as f64 / window_ns as f64 * 1e9 / throughput)
}

/// The number of cores that a gateway could use: its number of workers if it has one, limited by
/// the cores that it was `placed` on and by its CPU limit.
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
