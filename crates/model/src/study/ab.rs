//! A/B tests, which run two gateways, one of them twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Phase, Shape};

/// Two variants to compare, and a third that is identical to the second. Any difference between the
/// second and the third is therefore machine noise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AbTest {
    /// Label of the variant under test.
    pub candidate: String,
    /// Label of the variant that the candidate is compared with.
    pub baseline: String,
    /// Label of the baseline's second instance.
    pub again: String,
    /// The deciding metric.
    pub metric: DecisiveMetric,
    /// The maximum number of deciding blocks. No further deciding block is measured once the test
    /// is decided. The error rate of the verdict allows for an analysis after every deciding block.
    pub blocks_max: u32,
    /// True if blocks up to `blocks_max` have only the deciding phases, and later blocks only the
    /// others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides_first: bool,
}

/// The metrics that can decide a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisiveMetric {
    /// CPU time of the gateway per request, from a phase that loads the gateways side by side. If
    /// there is no such phase, the CPU time comes from an open load or, if there is none, from a
    /// closed load.
    #[default]
    Cpu,
    /// Responses per second of the closed load.
    Throughput,
    /// Median of the time that the gateway adds to each request of a load at a fixed rate.
    AddedP50,
    /// 99th percentile of the time that the gateway adds to each request of a load at a fixed rate.
    AddedP99,
    /// Peak anonymous memory of the gateway.
    Memory,
}

impl DecisiveMetric {
    /// Reports whether a phase is the preferred source of this metric. Returns false for memory,
    /// which every phase measures.
    pub fn is_taken_from(self, phase: &Phase) -> bool {
        match self {
            Self::Cpu => phase.side_by_side,
            Self::Throughput => !phase.side_by_side && matches!(phase.shape, Shape::Closed(_)),
            Self::AddedP50 | Self::AddedP99 => {
                !phase.side_by_side && matches!(phase.shape, Shape::Open(_))
            }
            Self::Memory => false,
        }
    }
}

impl AbTest {
    /// Reports whether a block measures the deciding metric.
    pub fn decides_in(&self, block: u32) -> bool {
        !self.decides_first || block <= self.blocks_max
    }

    pub fn has_phase(&self, block: u32, phase: &Phase) -> bool {
        !self.decides_first || self.decides_in(block) == self.metric.is_taken_from(phase)
    }

    /// Reports whether the test compares these two variants: the two gateways, or the baseline with
    /// itself.
    pub fn has(&self, candidate: &str, baseline: &str) -> bool {
        (candidate == self.candidate && baseline == self.baseline)
            || (candidate == self.baseline && baseline == self.again)
    }
}
