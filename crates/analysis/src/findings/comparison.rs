//! Two gateways set beside each other.

use gatebench_stats::{Comparison, Direction};
use serde::Serialize;

use super::{Metric, PhaseKind, SpoiledBlocks, Validity};

/// Two gateways on one metric, block by block.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonFindings {
    /// Label of the variant that is judged: the one that the plan names first.
    pub candidate: String,
    /// Label of the variant it is compared with.
    pub baseline: String,
    /// Name of the phase.
    pub phase: String,
    /// Its kind.
    pub kind: PhaseKind,
    /// Which metric.
    pub metric: Metric,
    /// Whether it is the metric that a choice is made on: CPU per request.
    pub primary: bool,
    /// Which values are good.
    pub direction: Direction,
    /// The smallest effect that matters: 0.02 is two per cent either way.
    pub smallest_effect: f64,
    /// Blocks in which neither side is invalid for the metric.
    pub blocks: Vec<u32>,
    /// Worst validity among them.
    pub validity: Validity,
    /// Missing blocks that a side spoiled; they count against it.
    #[serde(skip_serializing_if = "SpoiledBlocks::is_empty")]
    pub spoiled: SpoiledBlocks,
    /// Ratio, interval and verdict.
    pub result: Comparison,
    /// The comparison as a sentence, with its full stop.
    pub text: String,
}
