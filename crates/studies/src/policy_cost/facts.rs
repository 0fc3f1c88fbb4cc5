//! The cost of policies: each compared with the plain proxy of the same gateway, block by block.

use gatebench_report::{Unit, Validity};
use gatebench_stats::{Comparison, Difference, Direction, Estimate};
use serde::Serialize;

use crate::common::facts::{Metric, PhaseKind, RowStatus, SpoiledBlocks};

/// The cost of policies at each gateway.
#[derive(Clone, Debug, Serialize)]
pub struct CostFindings {
    /// The measures of each policy, the primary one first.
    pub measures: Vec<CostMeasure>,
    /// The gateways in the plan's order; the lines of all are the same scenarios in the same order.
    pub gateways: Vec<GatewayCosts>,
}

/// Something that policies cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostMeasure {
    /// Which metric.
    pub metric: Metric,
    pub unit: Unit,
    /// The phase that it is measured in.
    pub phase: String,
    pub kind: PhaseKind,
    /// Its load as text: `5,000 requests/s`.
    pub load: String,
    /// Which values are good.
    pub direction: Direction,
}

/// The policies at one gateway.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayCosts {
    /// Label of the variant.
    pub variant: String,
    /// The requests that the gateway serves itself; then each plain proxy, followed by the policies
    /// on the same requests; then the policies without a plain proxy.
    pub lines: Vec<CostLine>,
}

/// A scenario at a gateway.
#[derive(Clone, Debug, Serialize)]
pub struct CostLine {
    /// Name of the scenario.
    pub scenario: String,
    /// The role of the scenario.
    pub role: CostRole,
    /// Words of its policies, in their order.
    pub policies: Vec<String>,
    /// The status of its trials.
    pub status: RowStatus,
    /// A figure for each measure of [`CostFindings::measures`], in their order.
    pub figures: Vec<CostFigure>,
}

/// The role of a scenario in the table of costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CostRole {
    /// The gateway serves the requests itself: the least cost of a request.
    #[serde(rename = "answers")]
    Responses,
    /// The same requests as those of the policies below it, without a policy.
    Plain,
    /// Policies, and the scenario that sends the same requests without them.
    Policy {
        /// Name of that scenario.
        baseline: String,
    },
    /// Policies on requests that no scenario of the run sends without them.
    Alone,
}

/// A measure of a scenario at a gateway.
#[derive(Clone, Debug, Serialize)]
pub struct CostFigure {
    /// The whole: median and range over the blocks that are not invalid; none if there is no such
    /// block.
    pub total: Option<Estimate>,
    /// Worst validity among the blocks of the whole; `Invalid` where it was measured in none that
    /// may be used; none if it was not measured.
    pub validity: Option<Validity>,
    /// Rank of the whole among the gateways by the verdicts of their comparisons, 1 for the best;
    /// gateways that no verdict separates share one. None below ten blocks, and if fewer than two
    /// gateways are compared.
    pub rank: Option<usize>,
    /// The addition to the plain proxy; none for lines that are no policy, and if the two have
    /// no block in common that may be used.
    pub cost: Option<Cost>,
}

/// The difference between a policy and the plain proxy of the same gateway, paired by block.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// In the unit of the measure. Of latencies it is the difference of two quantiles, and nothing
    /// else.
    pub difference: Difference,
    /// As a ratio, with the verdict; none if a value is not positive.
    pub ratio: Option<Comparison>,
    /// Blocks in which neither side is invalid.
    pub blocks: Vec<u32>,
    /// Worst validity among them.
    pub validity: Validity,
    /// Missing blocks that the gateway spoiled with the policy, or without.
    #[serde(skip_serializing_if = "SpoiledBlocks::is_empty")]
    pub spoiled: SpoiledBlocks,
    /// Rank of the cost among the gateways; those whose intervals overlap share one. None without
    /// an interval, for a gateway that spoiled a block itself, and where fewer than two can be
    /// ranked.
    pub rank: Option<usize>,
}

impl CostFindings {
    /// The ratios of all costs, which are judged together with the run's comparisons.
    pub(crate) fn ratios(&self) -> impl Iterator<Item = &Comparison> {
        let lines = self.gateways.iter().flat_map(|gateway| &gateway.lines);
        let figures = lines.flat_map(|line| &line.figures);
        figures.filter_map(|figure| figure.cost.as_ref()?.ratio.as_ref())
    }
}

impl CostRole {
    /// The scenario that sends the same requests without policies.
    pub(crate) fn baseline(&self) -> Option<&str> {
        match self {
            Self::Policy { baseline } => Some(baseline),
            Self::Responses | Self::Plain | Self::Alone => None,
        }
    }
}

impl CostLine {
    /// The scenario that sends the same requests without policies.
    pub fn baseline(&self) -> Option<&str> {
        self.role.baseline()
    }
}
