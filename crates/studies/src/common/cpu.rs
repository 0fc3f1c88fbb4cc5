//! Computes the CPU time of a phase's components, and the gateway's memory.

use gatebench_model::Placement;
use gatebench_store::{GatewayFacts, PhaseRecord};

use super::context::throughput_per_second;

/// Cores that a component kept busy during the measurement; `None` if it was not sampled.
pub(crate) fn cores_busy(phase: &PhaseRecord, component: &str) -> Option<f64> {
    let usage = phase.usage.get(component)?;
    (usage.window_ns > 0).then(|| usage.cpu_ns as f64 / usage.window_ns as f64)
}

/// CPU time per request, computed from the number of busy cores and the throughput instead of from
/// totals, because the CPU samples may begin and end slightly before or after the measurement.
pub(crate) fn cpu_ns_per_request(phase: &PhaseRecord, component: &str) -> Option<f64> {
    let throughput = throughput_per_second(phase);
    (throughput > 0.0).then_some(())?;
    Some(cores_busy(phase, component)? * 1e9 / throughput)
}

/// Core time per request. `ns` is the core time in the window of the machine's samples.
pub(crate) fn core_ns_per_request(phase: &PhaseRecord, ns: u64) -> Option<f64> {
    let throughput = throughput_per_second(phase);
    let window_ns = phase.machine.window_ns;
    (throughput > 0.0 && window_ns > 0).then(|| ns as f64 / window_ns as f64 * 1e9 / throughput)
}

/// The share of their cores that the load generator and the upstream kept busy together; `None` if
/// they share no core. `engine` and `upstream` are the numbers of cores that each kept busy.
pub(crate) fn shared_busy(placement: &Placement, engine: f64, upstream: f64) -> Option<f64> {
    let of_upstream = placement.upstream.iter();
    let apart = of_upstream.filter(|core| !placement.engine.contains(core));
    let apart = apart.count();
    let cores = placement.engine.len() + apart;
    (apart < placement.upstream.len()).then(|| (engine + upstream) / cores.max(1) as f64)
}

/// The largest anonymous resident memory of the gateway; `None` if it was not sampled.
pub(crate) fn memory_bytes(phase: &PhaseRecord) -> Option<f64> {
    let bytes = phase.usage.get("gateway")?.rss_anon_bytes_max;
    (bytes > 0).then_some(bytes as f64)
}

/// The number of cores that a gateway could use: its number of workers if known, limited by the
/// number of cores that it was placed on (`placed`) and by its CPU limit.
pub(crate) fn usable_cores(gateway: Option<&GatewayFacts>, placed: usize) -> f64 {
    let usable = match gateway.map_or(0, |it| it.workers as usize) {
        0 => placed,
        workers => workers.min(placed),
    };
    let usable = usable.max(1) as f64;
    let limit = gateway.and_then(|it| it.limits.cpus());
    limit.map_or(usable, |limit| limit.min(usable))
}
