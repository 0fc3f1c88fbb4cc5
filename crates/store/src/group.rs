//! Parts of a load that are reported separately: its groups, and their routes.

use std::collections::BTreeMap;

use gatebench_model::Shape;
use serde::{Deserialize, Serialize};

use crate::counts::{Counts, ExactSum};

/// The record of one group of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Name of the group in the scenario.
    pub name: String,
    /// Its share of the phase's load, or its own load.
    pub shape: Shape,
    /// Requests and their outcomes.
    pub counts: Counts,
    /// Number of responses with at least one failed check.
    pub failing_checks: u64,
    /// Exact sums by `metric.class`, as in the phase.
    #[serde(default)]
    pub sums: BTreeMap<String, ExactSum>,
    /// Response times of its responses.
    #[serde(default)]
    pub response: TimeFigures,
    /// Its requests, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteRecord>,
}

/// The record of one request of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteRecord {
    /// Its name in the report.
    pub name: String,
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Requests that received a complete response, however late.
    pub completed: u64,
    /// Requests without a response.
    pub failed: u64,
    /// Responses with at least one failed check.
    pub failing_checks: u64,
    /// Response times of all requests that were sent, with 2 significant digits. For a request
    /// without a response, the length of the wait.
    #[serde(default)]
    pub response: TimeFigures,
}

/// The statistics of a set of times. A percentile with fewer than ten values beyond it is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeFigures {
    /// Number of values.
    pub count: u64,
    /// Their exact mean; none if there are no values.
    pub mean_ns: Option<u64>,
    /// The median.
    pub p50_ns: Option<u64>,
    /// The 90th percentile.
    pub p90_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// The exact maximum; none if there are no values.
    pub max_ns: Option<u64>,
}
