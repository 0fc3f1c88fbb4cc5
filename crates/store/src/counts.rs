//! The counts and sums of a phase or a part of it.

use std::collections::BTreeMap;

use gatebench_model::Shape;
use serde::{Deserialize, Serialize};

/// The counts of a load or a group. Unless stated otherwise, a count covers the requests that were
/// due in the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Arrivals that were due in the measurement; in a closed load, the same as `sent`.
    pub intended: u64,
    /// Requests that were due in the measurement and were sent, no matter how late.
    pub sent: u64,
    /// Requests that were due in the measurement and received a complete response, no matter how
    /// late.
    pub completed: u64,
    /// Responses completed within the measurement. This number divided by `measure_ns` is the
    /// throughput.
    pub completed_in_window: u64,
    /// Completed requests by status class: `2xx`, `3xx`, `4xx`, `5xx`, or `failed` for any other
    /// status.
    #[serde(default)]
    pub by_class: BTreeMap<String, u64>,
    /// Requests without a complete response, and failed attempts to connect, by kind: `connect`,
    /// `reset`, `closed_early`, `timeout`, `protocol`, `tls`. An external load generator may use
    /// other names.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Arrivals that were never sent, because the queue was full or the load ended first.
    pub dropped: u64,
    /// The maximum length that any queue reached; each worker has a queue for each group.
    pub queued_max: u64,
    /// Responses that failed a check, by the text of the check.
    #[serde(default)]
    pub checks_failed: BTreeMap<String, u64>,
    /// Responses with at least one failed check. `None` if no check failed, in runs of earlier
    /// versions, and for load generators that do not report this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_checks: Option<u64>,
    /// Connections that were established, including those that were opened before the measurement.
    pub connections_opened: u64,
    /// Bytes of the requests in `sent`, including their heads but not the overhead of TLS.
    pub bytes_sent: u64,
    /// Bytes that arrived within the measurement, including heads and the overhead of TLS.
    pub bytes_received: u64,
}

impl Counts {
    /// Returns the number of responses with at least one failed check. If this number was not
    /// recorded, a response counts once for each check that it failed.
    pub fn responses_failing_checks(&self) -> u64 {
        self.failing_checks
            .unwrap_or_else(|| self.checks_failed.values().sum())
    }
}

/// The exact statistics of a histogram's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactSum {
    pub count: u64,
    /// The sum of the values, saturating at the maximum of the type.
    pub sum_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    /// The number of values beyond the histogram's range, which are recorded at its edge.
    pub clamped: u64,
}

/// The record of one group of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    pub name: String,
    /// The group's share of the phase's load, or the group's own load.
    pub shape: Shape,
    pub counts: Counts,
    pub failing_checks: u64,
    /// The exact sums by `metric.class`, as in the phase.
    #[serde(default)]
    pub sums: BTreeMap<String, ExactSum>,
    #[serde(default)]
    pub response: TimeFigures,
    /// The group's requests, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteRecord>,
}

/// The record of one request of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteRecord {
    /// The request's name in the report.
    pub name: String,
    /// Requests that were due in the measurement and were sent, no matter how late.
    pub sent: u64,
    /// Requests among `sent` that received a complete response, no matter how late.
    pub completed: u64,
    pub failed: u64,
    pub failing_checks: u64,
    /// The response times of the requests in `sent` that ended; the percentiles have 2 significant
    /// digits. For a request without a complete response, the value is the time that it waited.
    #[serde(default)]
    pub response: TimeFigures,
}

/// The statistics of a set of times. A percentile with fewer than ten values beyond it is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeFigures {
    pub count: u64,
    /// The exact mean of the values; `None` if there are no values.
    pub mean_ns: Option<u64>,
    pub p50_ns: Option<u64>,
    pub p90_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p99_9_ns: Option<u64>,
    /// The exact maximum; `None` if there are no values.
    pub max_ns: Option<u64>,
}
