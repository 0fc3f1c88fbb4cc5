//! CPU time in a phase: of its components, and of the gateway's cores.

use gatebench_store::PhaseRecord;

use crate::context::throughput_per_second;

/// Cores that a component kept busy in the measurement; none where it was not sampled.
pub(crate) fn cores_busy(phase: &PhaseRecord, component: &str) -> Option<f64> {
    let usage = phase
        .usage
        .get(component)
        .filter(|usage| usage.window_ns > 0)?;
    Some(usage.cpu_ns as f64 / usage.window_ns as f64)
}

/// CPU time over time, divided by requests over time: samples of CPU need not begin and end with the
/// measurement to the nanosecond.
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
