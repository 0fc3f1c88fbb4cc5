//! The effect of failing requests on other requests.

use gatebench_report::Unit;
use gatebench_stats::Comparison;
use serde::Serialize;

use crate::common::facts::Decision;

/// An isolation test of one gateway in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct IsolationFindings {
    /// Label of the gateway.
    pub variant: String,
    /// The scenario in which groups fail.
    pub scenario: String,
    /// The healthy twin of the scenario, in which every group sends good requests.
    pub healthy: String,
    /// The group that must not be harmed.
    pub group: String,
    pub decision: Decision,
    /// The decision and its reason, as one or more sentences.
    pub text: String,
    /// The counts of the good group next to failing groups, over all blocks.
    pub next_to_failing: IsolationCounts,
    /// The counts of the good group next to healthy groups, over all blocks of both healthy runs.
    pub next_to_healthy: IsolationCounts,
    pub measures: Vec<IsolationMeasure>,
}

/// The counts of the good group's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IsolationCounts {
    pub responses: u64,
    /// Responses that failed a check. They are included in [`Self::responses`].
    pub checks_failed: u64,
    /// Requests without a complete response.
    pub errors: u64,
    /// Arrivals that were never sent.
    pub dropped: u64,
}

impl IsolationCounts {
    /// The number of requests without a correct response.
    pub fn harmed(&self) -> u64 {
        self.checks_failed + self.errors + self.dropped
    }
}

/// A property of the good group that failing requests should not change.
#[derive(Clone, Debug, Serialize)]
pub struct IsolationMeasure {
    /// The name of the measure, such as `rate`.
    pub title: &'static str,
    pub unit: Unit,
    pub decides: bool,
    /// The complete blocks in which the value next to failing groups and the one next to healthy
    /// groups are both usable.
    pub blocks: Vec<IsolationBlock>,
    /// The value next to failing groups divided by that next to healthy groups.
    pub result: Comparison,
    /// The second value next to healthy groups divided by the first: the noise of this machine.
    pub own: Option<Comparison>,
    pub text: String,
}

/// The values of one block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IsolationBlock {
    pub block: u32,
    pub failing: f64,
    pub healthy: f64,
}
