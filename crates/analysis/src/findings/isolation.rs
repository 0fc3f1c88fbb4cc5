//! Whether requests that fail harm others.

use gatebench_stats::Comparison;
use serde::Serialize;

use super::{Decision, Unit};

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
    /// What it means for whoever asked.
    pub decision: Decision,
    /// Why, in a sentence or more.
    pub text: String,
    /// The good group beside failing ones, over all blocks.
    pub beside_failing: IsolationCounts,
    /// The good group beside healthy ones.
    pub beside_healthy: IsolationCounts,
    /// What is compared.
    pub measures: Vec<IsolationMeasure>,
}

/// What became of the good group's requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IsolationCounts {
    /// Answers.
    pub answers: u64,
    /// Of these, those that failed a check.
    pub checks_failed: u64,
    /// Requests without an answer.
    pub errors: u64,
    /// Arrivals that were never sent.
    pub dropped: u64,
}

impl IsolationCounts {
    /// Requests that did not come to a good answer.
    pub fn harmed(&self) -> u64 {
        self.checks_failed + self.errors + self.dropped
    }
}

/// Something of the good group that should not change.
#[derive(Clone, Debug, Serialize)]
pub struct IsolationMeasure {
    /// Its name.
    pub title: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Whether it has a part in the decision.
    pub decides: bool,
    /// Each block in which both can be used.
    pub blocks: Vec<IsolationBlock>,
    /// Beside failing groups, over beside healthy ones.
    pub result: Comparison,
    /// Beside healthy groups once more, over the same: the noise of this machine.
    pub own: Option<Comparison>,
    /// What it says, in a sentence.
    pub text: String,
}

/// The values of one block.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct IsolationBlock {
    /// The block.
    pub block: u32,
    /// Beside failing groups.
    pub failing: f64,
    /// Beside healthy ones.
    pub healthy: f64,
}
