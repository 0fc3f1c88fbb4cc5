//! The bounds of the validity gates, with the reasons for them.

/// The number of requests that a load must send before its speed can be judged. Fewer requests show
/// only whether something works. The first requests of a process are slower than others, and a
/// single request among thirty is a share of 3 %, which is more than the smallest difference that
/// matters.
pub const REQUESTS_MIN: u64 = 30;

/// The share of its cores that the load generator (together with the upstream, if they share cores)
/// may keep busy. The time that a response takes in the load generator grows with 1 ÷ (1 − busy);
/// at this bound, it is almost seven times as long as in an idle load generator.
pub const ENGINE_BUSY_MAX: f64 = 0.85;

/// The share of time that the load generator's threads may spend runnable but not running. Sharing
/// a core with the upstream causes a share of 1 to 9 % at 5,000 requests/s; a share of one fifth is
/// visible above the noise of a percentile.
pub const ENGINE_WAIT_MAX: f64 = 0.20;

/// The shortest load outside a run in which the load generator's shares of CPU time are judged.
pub const SHARE_WINDOW_NS_MIN: u64 = 250_000_000;

/// The lateness that 99 of 100 requests of an open load must not exceed. A millisecond is more than
/// most gateways add at rates below their knee.
pub const LATENESS_P99_NS_MAX: f64 = 1e6;

/// The lateness that 999 of 1,000 requests of an open load must not exceed for a valid 99.9th
/// percentile.
pub const LATENESS_P999_NS_MAX: f64 = LATENESS_P99_NS_MAX;

/// The share of the direct variant's throughput above which a result begins to describe the load
/// generator and the upstream rather than the gateway.
pub const DIRECT_SHARE_MAX: f64 = 0.70;

/// The share of the intended requests that an open load must send and complete.
pub const ACHIEVED_MIN: f64 = 0.99;

/// The share of requests without a response above which a phase is invalid. At one in a thousand,
/// the 99.9th percentile is already a request without a response.
pub const ERROR_SHARE_MAX: f64 = 0.001;

/// Connections that may be reopened, as a share of the requests. A gateway that replaces each
/// connection after a hundred requests has a share of one percent.
pub const RECONNECT_SHARE_MAX: f64 = 0.01;

/// The number of bytes per response that a gateway may write to files. Even a short line of an
/// access log, with only an address and a time, is longer.
pub const WRITTEN_BYTES_MAX: f64 = 10.0;

/// The share of time that the hypervisor may take: one percent is half of the smallest effect that
/// matters.
pub const STEAL_SHARE_MAX: f64 = 0.01;

/// The largest accepted relative difference between an agent's median response time and that of the
/// others. The medians of equal agents differ by a few percent.
pub const AGENT_P50_SHARE_MAX: f64 = 0.10;

/// The share of one core that processes outside the run may use on the pinned cores.
pub const FOREIGN_SHARE_MAX: f64 = 0.05;

/// Clock sources that take tens of nanoseconds to read: processor counters, and clocks that
/// hypervisors derive from them. Other sources take microseconds or only count ticks.
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

/// The largest accepted relative difference between a core's frequencies within a phase, or between
/// the gateways' frequencies in a block. CPU time changes by about as much, and gateways may differ
/// by less than that.
pub const FREQUENCY_SPREAD_MAX: f64 = 0.05;

/// The share of its cores that a gateway must keep busy in a load that measures its capacity.
pub const GATEWAY_BUSY_MIN: f64 = 0.80;

/// The p-value below which a series with a value for each second has a trend. The shortest series
/// that can show a trend has five values: its p-value is 0.017 if each value exceeds the previous
/// one.
pub const TREND_P_MAX: f64 = 0.02;

/// The p-value below which bins of 100 ms count as drifting. Combined with the minimum drift, it
/// marks 0.1 to 2.1 % of steady phases as unsteady, depending on the correlation of their bins.
pub const DRIFT_P_MAX: f64 = 0.005;

/// Responses that a bin must have on average for a usable cost per request.
pub const BIN_RESPONSES_MIN: f64 = 10.0;

/// The largest accepted drift of the CPU time per request over a phase, relative to its median.
pub const CPU_DRIFT_MAX: f64 = 0.05;

/// The largest accepted drift of the throughput over a phase, relative to its median.
pub const THROUGHPUT_DRIFT_MAX: f64 = 0.05;

/// The largest accepted drift of the median response time over a phase, relative to the median of
/// its seconds. Medians of one second vary more than counts.
pub const LATENCY_DRIFT_MAX: f64 = 0.10;

/// The largest accepted relative difference between a histogram's mean and the exact mean. Three
/// significant digits allow 0.1 %; a larger difference means that values were lost.
pub const MEAN_ERROR_MAX: f64 = 0.005;

/// The accepted range of the requests in flight (by Little's law) in a closed load, relative to the
/// number that its connections can have in flight. Correct phases of three seconds are at 0.99 to
/// 1.00; slow responses at the edges of a phase lower the value.
pub const LITTLE_RANGE: (f64, f64) = (0.90, 1.05);

/// The largest accepted relative difference between the mean size of a phase's responses and the
/// run's median.
pub const RESPONSE_BYTES_ERROR_MAX: f64 = 0.05;

/// The share of a trial's responses that may be missing in a required access log.
pub const UNLOGGED_SHARE_MAX: f64 = 0.01;
