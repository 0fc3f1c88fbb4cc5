//! The effect of failing requests on others.

use gatebench_report::Unit;
use gatebench_stats::Comparison;
use serde::Serialize;

use crate::common::facts::Decision;

/// A test of isolation of one gateway in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct IsolationFindings {
    /// Label of the gateway.
    pub variant: String,
    /// The scenario in which groups fail.
    pub scenario: String,
    /// The same with every group sending good requests.
    pub healthy: String,
    /// The group that must not be harmed.
    pub group: String,
    pub decision: Decision,
    /// Why, in a sentence or more.
    pub text: String,
    /// The good group next to failing ones, over all blocks.
    pub beside_failing: IsolationCounts,
    /// The good group next to healthy ones.
    pub beside_healthy: IsolationCounts,
    /// The subject of a comparison.
    pub measures: Vec<IsolationMeasure>,
}

/// The counts of the good group's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IsolationCounts {
    #[serde(rename = "answers")]
    pub responses: u64,
    /// Of these, those that failed a check.
    pub checks_failed: u64,
    /// Requests without a response.
    pub errors: u64,
    /// Arrivals that were never sent.
    pub dropped: u64,
}

impl IsolationCounts {
    /// Requests without a good response.
    pub fn harmed(&self) -> u64 {
        self.checks_failed + self.errors + self.dropped
    }
}

/// Something of the good group that should not change.
#[derive(Clone, Debug, Serialize)]
pub struct IsolationMeasure {
    /// Its name.
    pub title: &'static str,
    pub unit: Unit,
    /// True if it has a part in the decision.
    pub decides: bool,
    /// Each block in which both can be used.
    pub blocks: Vec<IsolationBlock>,
    /// The value next to failing groups over that next to healthy ones.
    pub result: Comparison,
    /// Next to healthy groups once more, over the same: the noise of this machine.
    pub own: Option<Comparison>,
    /// The result, in a sentence.
    pub text: String,
}

/// The values of one block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IsolationBlock {
    pub block: u32,
    /// Next to failing groups.
    pub failing: f64,
    /// Next to healthy ones.
    pub healthy: f64,
}
