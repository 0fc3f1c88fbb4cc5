//! The comparison of two gateways.

use gatebench_report::Validity;
use gatebench_stats::{Comparison, Direction};
use serde::Serialize;

use super::{Metric, PhaseKind, ScenarioFindings, SpoiledBlocks};

/// Two gateways compared on one metric, block by block.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonFindings {
    /// Label of the judged variant: the first of the two in the plan.
    pub candidate: String,
    pub baseline: String,
    pub phase: String,
    pub kind: PhaseKind,
    pub metric: Metric,
    /// True for the metric that decides: CPU per request, unless an A/B test chooses another one.
    pub primary: bool,
    pub direction: Direction,
    /// The smallest effect that matters: 0.02 is two percent in either direction.
    pub smallest_effect: f64,
    /// Blocks in which both sides have a value that is not invalid.
    pub blocks: Vec<u32>,
    /// Worst validity among these blocks; `Invalid` if there are none. In an A/B test, blocks that
    /// lack one of the two baseline processes count too.
    pub validity: Validity,
    /// For each side, the blocks that have no value because this side spoiled them, or may have
    /// spoiled them. They count against it.
    #[serde(skip_serializing_if = "SpoiledBlocks::is_empty")]
    pub spoiled: SpoiledBlocks,
    pub result: Comparison,
    /// The comparison as a sentence, followed by another one if a side spoiled blocks.
    pub text: String,
}

impl ComparisonFindings {
    /// The load of the compared phase without its duration, or the phase's name if the scenario has
    /// no such phase.
    pub(crate) fn load<'a>(&'a self, scenario: &'a ScenarioFindings) -> &'a str {
        scenario.load(&self.phase).unwrap_or(&self.phase)
    }

    pub(crate) fn is_of(&self, candidate: &str, baseline: &str) -> bool {
        self.candidate == candidate && self.baseline == baseline
    }

    /// The number of paired blocks, followed by a mark if any of them is limited.
    pub(crate) fn counted_blocks(&self) -> String {
        format!("{}{}", self.blocks.len(), self.validity.mark())
    }
}
