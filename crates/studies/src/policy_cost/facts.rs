//! The costs of policies on gateways.

use gatebench_report::{Unit, Validity};
use gatebench_stats::{Comparison, Difference, Direction, Estimate};
use serde::Serialize;

use crate::common::facts::{Metric, PhaseKind, RowStatus, SpoiledBlocks};

/// The cost of policies on each gateway.
#[derive(Clone, Debug, Serialize)]
pub struct CostFindings {
    /// The measures of each policy, the primary one first.
    pub measures: Vec<CostMeasure>,
    /// The gateways in the plan's order. All have lines for the same scenarios in the same order.
    pub gateways: Vec<GatewayCosts>,
}

/// A metric of the cost of policies, under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostMeasure {
    pub metric: Metric,
    pub unit: Unit,
    pub phase: String,
    pub kind: PhaseKind,
    /// The load of the phase as text: `5,000 requests/s`.
    pub load: String,
    pub direction: Direction,
}

/// The costs of policies on one gateway.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayCosts {
    /// Label of the variant.
    pub variant: String,
    /// First the requests that the gateway serves itself, then each plain proxy followed by the
    /// policies on the same requests, and finally the policies without a plain proxy.
    pub lines: Vec<CostLine>,
}

/// The costs of one scenario on a gateway.
#[derive(Clone, Debug, Serialize)]
pub struct CostLine {
    pub scenario: String,
    pub role: CostRole,
    /// The kinds of the scenario's policies, in the order of its routes, without duplicates; then
    /// its other needs that have a cost, such as TLS.
    pub policies: Vec<String>,
    pub status: RowStatus,
    /// A figure for each measure of [`CostFindings::measures`], in the same order.
    pub figures: Vec<CostFigure>,
}

/// The role of a scenario in the table of costs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CostRole {
    /// Requests that the gateway serves itself: their cost is that of a request without an
    /// upstream.
    Responses,
    /// A plain proxy: the same requests as in the lines below it, without policies.
    Plain,
    /// Policies, and the scenario that sends the same requests without them.
    Policy {
        /// Name of that scenario.
        baseline: String,
    },
    /// Policies on requests that the run never sends without policies.
    Alone,
}

/// The value of one measure for a scenario on a gateway.
#[derive(Clone, Debug, Serialize)]
pub struct CostFigure {
    /// The total: median and range over the blocks that are not invalid; `None` if there is no such
    /// block.
    pub total: Option<Estimate>,
    /// Worst validity among the blocks of the total; `Invalid` if no block is usable; `None` if the
    /// total was not measured.
    pub validity: Option<Validity>,
    /// Rank of the total among the gateways, by the verdicts of their comparisons; 1 is best.
    /// Gateways that no verdict separates share a rank. `None` with fewer than ten blocks, or with
    /// fewer than two compared gateways.
    pub rank: Option<usize>,
    /// The cost compared with the plain proxy; `None` for lines that are not policies, or if the
    /// two have no usable block in common.
    pub cost: Option<Cost>,
}

/// The difference between a policy and the plain proxy of the same gateway, paired by block.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    /// The difference in the unit of the measure. For latencies, it is the difference of two
    /// quantiles, not a quantile of differences.
    pub difference: Difference,
    /// The ratio with its verdict; `None` if a value is not positive.
    pub ratio: Option<Comparison>,
    /// Blocks in which neither side is invalid.
    pub blocks: Vec<u32>,
    /// Worst validity among these blocks.
    pub validity: Validity,
    /// Blocks that are missing because the gateway spoiled them, with or without the policy.
    #[serde(skip_serializing_if = "SpoiledBlocks::is_empty")]
    pub spoiled: SpoiledBlocks,
    /// Rank of the cost among the gateways; gateways whose intervals overlap share a rank. `None`
    /// if there is no interval, if the gateway itself spoiled a block, or if fewer than two
    /// gateways can be ranked.
    pub rank: Option<usize>,
}

impl CostFindings {
    /// The ratios of all costs. They are judged together with the comparisons of gateways on
    /// metrics other than the primary one.
    pub(crate) fn ratios(&self) -> impl Iterator<Item = &Comparison> {
        let lines = self.gateways.iter().flat_map(|gateway| &gateway.lines);
        let figures = lines.flat_map(|line| &line.figures);
        figures.filter_map(|figure| figure.cost.as_ref()?.ratio.as_ref())
    }
}

impl CostRole {
    pub(crate) fn baseline(&self) -> Option<&str> {
        match self {
            Self::Policy { baseline } => Some(baseline),
            Self::Responses | Self::Plain | Self::Alone => None,
        }
    }
}
