//! Gates for the machine during the measurement: its load, its clock source, and the frequency of
//! its cores.

use gatebench_report::Unit;
use gatebench_report::format::{grouped, percent, quantity};

use super::thresholds::{
    FAST_CLOCK_SOURCES, FOREIGN_SHARE_MAX, FREQUENCY_SPREAD_MAX, STEAL_SHARE_MAX,
};
use super::{EVERYTHING, SPEED, View};
use crate::common::facts::{Aspect, Gate, PhaseKind, Reason};

/// When a control group has used up its CPU limit, the kernel stops its processes for the rest of
/// the limit's period, which lengthens the latency tail.
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

/// Rates and latencies include stolen time. CPU time per request includes it on a kernel without
/// PARAVIRT_TIME_ACCOUNTING; if a run does not record the option, it is assumed to be set.
pub(super) fn steal(view: &View) -> Option<Reason> {
    let machine = &view.phase.machine;
    let available_ns = machine.window_ns as f64 * f64::from(machine.cores);
    let share = machine.steal_ns as f64 / available_ns;
    (available_ns > 0.0 && share > STEAL_SHARE_MAX).then_some(())?;
    let message = format!("The hypervisor took {} of the cores' time.", percent(share));
    let remedy = "Use a dedicated machine, or repeat the measurement when the host is quieter.";
    let counts_stolen_time = view.run.is_some_and(|(context, _)| {
        let environment = &context.run.manifest().environment;
        environment["kernel"]["accounting"]["paravirt_time"] == "off"
    });
    let mut spoils = vec![Aspect::Throughput, Aspect::Latency];
    spoils.extend(counts_stolen_time.then_some(Aspect::CpuPerRequest));
    Some(view.limited(Gate::Steal, &spoils, message, remedy))
}

/// Another process on a pinned core takes CPU time from the measured components, and displaces
/// their data from the caches.
pub(super) fn foreign_process(view: &View) -> Option<Reason> {
    // Side by side, the other gateways' processes are expected on these cores, and any other
    // process disturbs all gateways equally.
    (view.kind() != PhaseKind::SideBySide).then_some(())?;
    let machine = &view.phase.machine;
    let share = machine.foreign_cpu_ns as f64 / machine.window_ns as f64;
    (machine.window_ns > 0 && share > FOREIGN_SHARE_MAX).then_some(())?;
    let message = format!(
        "Other processes used {} of one core's time on the pinned cores.",
        percent(share)
    );
    let remedy = "Stop other programs (top shows them), or move them to other cores.";
    Some(view.limited(Gate::ForeignProcess, &SPEED, message, remedy))
}

/// The hardware threads of a core compete for its execution units, so the CPU time of each grows
/// with the work of the others.
pub(super) fn shared_core(view: &View) -> Option<Reason> {
    let placement = &view.run?.0.plan.placement;
    (!view.is_direct() && placement.gateway_has_siblings()).then_some(())?;
    let message = "The load generator or the upstream ran on a hardware thread of the gateway's \
                   physical core, because no placement with this number of gateway cores avoids it.";
    let remedy =
        "Use a machine with more physical cores, or fewer CPUs for the gateway (--gateway-cores).";
    Some(view.limited(Gate::SharedCore, &SPEED, message, remedy))
}

/// The kernel abandons a clock source that it finds to be wrong. The times of the trial then come
/// from a wrong clock, or from two clocks.
pub(super) fn source_changed(view: &View) -> Option<Reason> {
    let source = view.run?.1.clock_source.as_ref()?;
    (source.began != source.ended).then_some(())?;
    let message = format!(
        "The clock source changed from {} to {} during the trial.",
        source.began, source.ended
    );
    let remedy = "Read the kernel's log (dmesg) for the reason, choose a stable clock source, and \
                  repeat the run.";
    Some(view.invalid(Gate::ClockSourceChanged, &SPEED, message, remedy))
}

/// The load generator reads the clock several times per request, so slow reads add to the latency.
pub(super) fn source_slow(view: &View) -> Option<Reason> {
    let (context, record) = view.run?;
    let environment = &context.run.manifest().environment;
    let of_run = environment["kernel"]["clock_source"].as_str();
    let of_trial = record.clock_source.as_ref();
    let source = of_trial.map_or(of_run, |it| Some(it.ended.as_str()))?;
    (!FAST_CLOCK_SOURCES.contains(&source)).then_some(())?;
    let message = format!(
        "The clock source is {source}, which is slow to read, and the clock is read several times for each request."
    );
    let remedy = "Choose a processor counter: write tsc (or kvm-clock, in a KVM guest) to \
                  /sys/devices/system/clocksource/clocksource0/current_clocksource.";
    Some(view.limited(Gate::ClockSourceSlow, &[Aspect::Latency], message, remedy))
}

/// At a different frequency, the same work takes a different amount of CPU time.
pub(super) fn frequency(view: &View) -> Option<Reason> {
    // Gateways that are measured side by side share their cores, and so their frequency.
    (view.kind() != PhaseKind::SideBySide).then_some(())?;
    let found = changed_within(view).or_else(|| differed_between(view))?;
    let remedy = "Set the governor to performance (cpupower frequency-set -g performance) and turn turbo off (write 1 \
                  to /sys/devices/system/cpu/intel_pstate/no_turbo, or 0 to /sys/devices/system/cpu/cpufreq/boost).";
    let spoils = [Aspect::CpuPerRequest];
    Some(view.limited(Gate::FrequencyChanged, &spoils, found, remedy))
}

fn changed_within(view: &View) -> Option<String> {
    let seen = view.phase.machine.gateway_frequency.as_ref()?;
    let ranges = seen.cores.iter();
    let ranges = ranges.map(|it| (it.core, (it.min_khz, it.max_khz)));
    let (core, range) = ranges.max_by(|a, b| spread(a.1).total_cmp(&spread(b.1)))?;
    (spread(range) > FREQUENCY_SPREAD_MAX).then(|| {
        format!(
            "The frequency of the gateway's cores changed: core {core} ran at {}.",
            in_words(range)
        )
    })
}

fn differed_between(view: &View) -> Option<String> {
    let own_khz = view.phase.machine.gateway_frequency.as_ref()?.mean_khz;
    let (context, record) = view.run?;
    let range = context.frequencies_khz(record, view.phase)?;
    (spread(range) > FREQUENCY_SPREAD_MAX).then(|| {
        format!(
            "The frequency of the gateway's cores changed: it averaged {} MHz in this trial, but \
             the averages of the block's gateways range from {}.",
            mhz(own_khz),
            in_words(range)
        )
    })
}

/// The highest frequency divided by the lowest, minus one.
fn spread(range_khz: (u64, u64)) -> f64 {
    let (min_khz, max_khz) = range_khz;
    max_khz as f64 / min_khz.max(1) as f64 - 1.0
}

fn in_words(range_khz: (u64, u64)) -> String {
    let (min_khz, max_khz) = range_khz;
    let apart = percent(spread(range_khz));
    format!("{} to {} MHz ({apart} apart)", mhz(min_khz), mhz(max_khz))
}

fn mhz(khz: u64) -> String {
    grouped(khz as f64 / 1_000.0)
}
