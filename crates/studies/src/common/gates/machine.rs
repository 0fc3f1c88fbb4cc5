//! Gates for the machine during the measurement.

use gatebench_report::Unit;
use gatebench_report::format::{percent, quantity};

use super::thresholds::{FOREIGN_SHARE_MAX, STEAL_SHARE_MAX};
use super::{EVERYTHING, SPEED, View};
use crate::common::facts::{Aspect, Gate, PhaseKind, Reason};

/// A CPU limit stops all processes for the rest of its period, so the limit causes the tail of the
/// latencies.
pub(super) fn throttled(view: &View) -> Option<Reason> {
    let throttled_ns = view.phase.machine.throttled_ns;
    (throttled_ns > 0).then_some(())?;
    let message = format!(
        "A CPU limit stopped the run's processes for {}.",
        quantity(throttled_ns as f64, Unit::Nanoseconds)
    );
    let remedy =
        "Raise or remove the CPU limit (cgroup cpu.max, docker --cpus) of this environment.";
    Some(view.invalid(Gate::Throttled, &EVERYTHING, message, remedy))
}

/// Rates and latencies include stolen time. CPU time per request does so on a kernel without
/// PARAVIRT_TIME_ACCOUNTING; a run that does not record the option is treated as one that has it.
pub(super) fn steal(view: &View) -> Option<Reason> {
    let machine = &view.phase.machine;
    let available_ns = machine.window_ns as f64 * f64::from(machine.cores);
    let share = machine.steal_ns as f64 / available_ns;
    (available_ns > 0.0 && share > STEAL_SHARE_MAX).then_some(())?;
    let message = format!("The hypervisor took {} of the cores' time.", percent(share));
    let remedy = "Use a dedicated machine, or repeat when the host is quieter.";
    let counts_stolen_time = view.run.is_some_and(|(context, _)| {
        let environment = &context.run.manifest().environment;
        environment["kernel"]["accounting"]["paravirt_time"] == "off"
    });
    let mut spoils = vec![Aspect::Throughput, Aspect::Latency];
    spoils.extend(counts_stolen_time.then_some(Aspect::CpuPerRequest));
    Some(view.limited(Gate::Steal, &spoils, message, remedy))
}

/// Another process on the core takes time and cache.
pub(super) fn foreign_process(view: &View) -> Option<Reason> {
    // The processes of other gateways belong on these cores, and other processes disturb all
    // gateways equally.
    (view.kind() != PhaseKind::SideBySide).then_some(())?;
    let machine = &view.phase.machine;
    let share = machine.foreign_cpu_ns as f64 / machine.window_ns as f64;
    (machine.window_ns > 0 && share > FOREIGN_SHARE_MAX).then_some(())?;
    let message = format!(
        "Other processes used {} of a core on the pinned cores.",
        percent(share)
    );
    let remedy = "Stop other programs (top shows them), or leave other cores to them.";
    Some(view.limited(Gate::ForeignProcess, &SPEED, message, remedy))
}

/// Two threads of a core compete for its execution units, so the CPU time of each grows with the
/// work of the other.
pub(super) fn shared_core(view: &View) -> Option<Reason> {
    let placement = &view.run?.0.plan.placement;
    (!view.is_direct() && placement.gateway_has_siblings()).then_some(())?;
    let message = "The load generator or the upstream ran on a thread of the gateway's physical core, because \
                   no other layout exists.";
    let remedy =
        "Use a machine with more physical cores, or fewer CPUs for the gateway (--gateway-cores).";
    Some(view.limited(Gate::SharedCore, &SPEED, message, remedy))
}
