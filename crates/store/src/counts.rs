//! Counts and sums of a phase or of a part of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Requests and what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Arrivals that the schedule held; for a closed load the same as `sent`.
    pub intended: u64,
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Requests sent in the measurement that got a whole answer, however late.
    pub completed: u64,
    /// Answers that were whole within the measurement; throughput is this over `measure_ns`.
    pub completed_in_window: u64,
    /// Completed requests by status class: `2xx`, `3xx`, `4xx`, `5xx`.
    #[serde(default)]
    pub by_class: BTreeMap<String, u64>,
    /// Requests without an answer by kind: `connect`, `reset`, `closed_early`, `timeout`,
    /// `protocol`.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// Arrivals beyond the queue's bound, never sent.
    pub dropped: u64,
    /// The longest the queue of arrivals was.
    pub queued_max: u64,
    /// Answers that failed a check, by the text of the check.
    #[serde(default)]
    pub checks_failed: BTreeMap<String, u64>,
    /// Answers of which at least one check failed; none where no check did, in the runs of earlier
    /// versions, and of engines that do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_checks: Option<u64>,
    /// Connections opened.
    pub connections_opened: u64,
    /// Bytes of requests handed to the kernel.
    pub bytes_sent: u64,
    /// Bytes of answers received.
    pub bytes_received: u64,
}

impl Counts {
    /// Answers of which at least one check failed. Where that was not recorded, an answer counts
    /// once for each check that it failed.
    pub fn answers_failing_checks(&self) -> u64 {
        self.failing_checks
            .unwrap_or_else(|| self.checks_failed.values().sum())
    }
}

/// An exact account of the values of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactSum {
    /// Values.
    pub count: u64,
    /// Their sum, saturating.
    pub sum_ns: u64,
    /// The smallest.
    pub min_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// Values beyond the histogram's range, recorded at its edge.
    pub clamped: u64,
}
