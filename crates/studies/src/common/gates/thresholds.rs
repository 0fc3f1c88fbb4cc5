//! The bounds of the validity gates, each with its reason.

/// Requests that a load must send for a statement on speed. Fewer show only whether something
/// works: the first of a process are slower than any other, and one in thirty is more than what
/// gateways differ by.
pub const REQUESTS_MIN: u64 = 30;

/// Share of its cores that the engine (with the upstream, if they share) may keep busy. Above
/// it, waiting for the core grows with 1 ÷ (1 − busy), here sevenfold, and belongs to the engine.
pub const ENGINE_BUSY_MAX: f64 = 0.85;

/// Share of the time that the engine's threads may be runnable without a core. Sharing a core with
/// the upstream costs one to nine per cent at 5,000 requests/s; a fifth is no longer lost in the
/// noise of a percentile.
pub const ENGINE_WAIT_MAX: f64 = 0.20;

/// The shortest measurement whose shares of CPU time are more than chance.
pub const SHARE_WINDOW_NS_MIN: u64 = 250_000_000;

/// Lateness that 99 in 100 sends of an open load must keep. The response time includes it; a
/// millisecond is more than what gateways add at rates below their knee.
pub const LATENESS_P99_NS_MAX: f64 = 1e6;

/// Lateness that 999 in 1,000 sends of an open load must keep for a valid 99.9th percentile: the
/// same bound, one nine further.
pub const LATENESS_P999_NS_MAX: f64 = LATENESS_P99_NS_MAX;

/// Share of the direct variant's throughput at which a result begins to describe the upstream
/// rather than the gateway.
pub const DIRECT_SHARE_MAX: f64 = 0.70;

/// Share of the intended requests that an open load must send and complete.
pub const ACHIEVED_MIN: f64 = 0.99;

/// Share of requests that may get no response before a phase is invalid. At one in a thousand, the
/// 99.9th percentile is already one of them.
pub const ERROR_SHARE_MAX: f64 = 0.001;

/// Connections that may be opened again, as a share of the requests: a gateway that replaces a
/// connection after a hundred requests spends a hundredth of them on it.
pub const RECONNECT_SHARE_MAX: f64 = 0.01;

/// Bytes that a gateway may write to files for each response: the shortest line of an access log,
/// with an address or a time, is longer.
pub const WRITTEN_BYTES_MAX: f64 = 10.0;

/// Share of time that the hypervisor may take: a per cent is half of the smallest effect that
/// matters.
pub const STEAL_SHARE_MAX: f64 = 0.01;

/// Share of one core that processes outside the run may use on the pinned cores.
pub const FOREIGN_SHARE_MAX: f64 = 0.05;

/// Clock sources whose reads take tens of nanoseconds: counters of the processor, and clocks that
/// hypervisors derive from them. Others are devices, whose reads take microseconds, or count ticks.
pub const FAST_CLOCK_SOURCES: [&str; 9] = [
    "tsc",
    "tsc-early",
    "kvm-clock",
    "xen",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "riscv_clocksource",
    "timebase",
    "tod",
];

/// Relative difference of frequencies of a core, in a phase or between the gateways of a block:
/// the same work then takes other CPU time by about as much, and gateways differ by less.
pub const FREQUENCY_SPREAD_MAX: f64 = 0.05;

/// Share of its cores that a gateway must keep busy in a load that claims its capacity.
pub const GATEWAY_BUSY_MIN: f64 = 0.80;

/// p below which a series has a trend. Five seconds, the shortest series that can show one, reach
/// 0.017 when every second is higher than the one before.
pub const TREND_P_MAX: f64 = 0.02;

/// p below which bins of a tenth of a second drift. Together with the drift that matters it calls
/// 0.1 to 2.1 % of steady phases unsteady, depending on the correlation of their bins.
pub const DRIFT_P_MAX: f64 = 0.005;

/// Responses that a bin must have on average for a usable cost per request.
pub const BIN_RESPONSES_MIN: f64 = 10.0;

/// Drift of the CPU time per request over a phase that matters.
pub const CPU_DRIFT_MAX: f64 = 0.05;

/// Drift of the throughput over a phase that matters.
pub const THROUGHPUT_DRIFT_MAX: f64 = 0.05;

/// Drift of the median response time over a phase that matters; medians of one second vary more
/// than counts do.
pub const LATENCY_DRIFT_MAX: f64 = 0.10;

/// Relative difference of a histogram's mean from the exact mean. Three significant digits allow
/// a thousandth; more means that values were lost.
pub const MEAN_ERROR_MAX: f64 = 0.005;

/// The range of the result of Little's law for a closed load, relative to its connections. Sound
/// phases of three seconds give 0.99 to 1.00; slow responses around the edges of a phase take more
/// off.
pub const LITTLE_RANGE: (f64, f64) = (0.90, 1.05);

/// Relative difference of the bytes of a response from the run's median.
pub const RESPONSE_BYTES_ERROR_MAX: f64 = 0.05;

/// The share of a trial's responses that may be missing in a required access log.
pub const UNLOGGED_SHARE_MAX: f64 = 0.01;
