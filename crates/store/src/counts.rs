//! Counts and sums of a phase or of a part of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Requests and their outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Arrivals in the schedule; for a closed load the same as `sent`.
    pub intended: u64,
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Requests sent in the measurement that received a complete response, however late.
    pub completed: u64,
    /// Responses completed within the measurement; throughput is this number divided by
    /// `measure_ns`.
    pub completed_in_window: u64,
    /// Completed requests by status class: `2xx`, `3xx`, `4xx`, `5xx`.
    #[serde(default)]
    pub by_class: BTreeMap<String, u64>,
    /// Requests without a response by kind: `connect`, `reset`, `closed_early`, `timeout`,
    /// `protocol`.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Arrivals beyond the queue's limit, never sent.
    pub dropped: u64,
    /// The maximum length of the queue of arrivals.
    pub queued_max: u64,
    /// Responses that failed a check, by the text of the check.
    #[serde(default)]
    pub checks_failed: BTreeMap<String, u64>,
    /// Responses with at least one failed check; none if no check failed, in runs of earlier
    /// versions, and for load generators that do not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_checks: Option<u64>,
    pub connections_opened: u64,
    /// Bytes of requests handed to the kernel.
    pub bytes_sent: u64,
    /// Bytes of responses received.
    pub bytes_received: u64,
}

impl Counts {
    /// Returns the number of responses with at least one failed check. If it was not recorded, a
    /// response counts once for each check that it failed.
    pub fn responses_failing_checks(&self) -> u64 {
        self.failing_checks
            .unwrap_or_else(|| self.checks_failed.values().sum())
    }
}

/// Exact statistics of the values of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactSum {
    /// Number of values.
    pub count: u64,
    /// Their sum, saturating.
    pub sum_ns: u64,
    /// The smallest value.
    pub min_ns: u64,
    /// The largest value.
    pub max_ns: u64,
    /// Values beyond the histogram's range, recorded at its edge.
    pub clamped: u64,
}
