//! Parts of a load that are reported apart: its groups, and their routes.

use std::collections::BTreeMap;

use gatebench_model::Shape;
use serde::{Deserialize, Serialize};

use crate::counts::{Counts, ExactSum};

/// What one group of a phase came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupRecord {
    /// Name of the group in the scenario.
    pub name: String,
    /// Its part of the phase's load, or the load of its own.
    pub shape: Shape,
    /// Requests and what became of them.
    pub counts: Counts,
    /// Answers of which at least one check failed.
    pub failing_checks: u64,
    /// Exact sums, by `metric.class` as those of the phase.
    #[serde(default)]
    pub sums: BTreeMap<String, ExactSum>,
    /// Response times of its answers.
    #[serde(default)]
    pub response: TimeFigures,
    /// Its requests, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteRecord>,
}

/// What one request of a group came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteRecord {
    /// Its name in figures.
    pub name: String,
    /// Requests handed to the kernel.
    pub sent: u64,
    /// Requests that got a whole answer, however late.
    pub completed: u64,
    /// Requests without an answer.
    pub failed: u64,
    /// Answers of which at least one check failed.
    pub failing_checks: u64,
    /// Response times of all that were sent, those without an answer at what was waited for it; read
    /// at 2 significant digits.
    #[serde(default)]
    pub response: TimeFigures,
}

/// The figures of many times. A percentile with fewer than ten values beyond it is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeFigures {
    /// Values.
    pub count: u64,
    /// Their exact mean; none without a value.
    #[serde(default)]
    pub mean_ns: Option<u64>,
    /// The median.
    #[serde(default)]
    pub p50_ns: Option<u64>,
    /// The 90th percentile.
    #[serde(default)]
    pub p90_ns: Option<u64>,
    /// The 99th percentile.
    #[serde(default)]
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    #[serde(default)]
    pub p99_9_ns: Option<u64>,
    /// The exact greatest; none without a value.
    #[serde(default)]
    pub max_ns: Option<u64>,
}
