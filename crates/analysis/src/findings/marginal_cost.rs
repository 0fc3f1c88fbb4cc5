//! What grows with the number of routes, consumers or idle connections.

use gatebench_stats::{Difference, Estimate};
use serde::Serialize;

use super::{Metric, RowStatus, Unit};

/// Scenarios that are the same but for how many routes or consumers they have, or loads that are the same
/// but for how many idle connections they hold.
#[derive(Clone, Debug, Serialize)]
pub struct MarginalCostFindings {
    /// What the names of the scenarios have in common; of loads, their scenario.
    pub name: String,
    /// What there are different numbers of.
    pub what: MarginalUnit,
    /// What is told of each number.
    pub measures: Vec<MarginalCostMeasure>,
    /// The gateways in the plan's order.
    pub gateways: Vec<GatewayMarginalCosts>,
}

/// What there are different numbers of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarginalUnit {
    /// Routes.
    Routes,
    /// Consumers.
    Consumers,
    /// Connections whose users think between two requests.
    Connections,
    /// Upstreams, with a route each.
    Upstreams,
}

impl MarginalUnit {
    /// The word for one of them.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Routes => "route",
            Self::Consumers => "consumer",
            Self::Connections => "connection",
            Self::Upstreams => "upstream",
        }
    }
}

/// Something that may grow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarginalCostMeasure {
    /// Which metric.
    pub metric: Metric,
    /// Its unit.
    pub unit: Unit,
    /// The phase that it is measured in; none where each number is a phase of its own.
    pub phase: Option<String>,
    /// Its load in words; the time to readiness is that before the first load.
    pub load: Option<String>,
}

/// A gateway with different numbers of them.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayMarginalCosts {
    /// Label of the variant.
    pub variant: String,
    /// The numbers, the smallest first.
    pub points: Vec<MarginalCostPoint>,
    /// What each further one takes, for each measure: from the smallest to the largest number that
    /// was measured, paired by block; none where there are not two, or no block in common.
    pub each: Vec<Option<Difference>>,
}

/// A number of them.
#[derive(Clone, Debug, Serialize)]
pub struct MarginalCostPoint {
    /// How many there are.
    pub count: u32,
    /// The scenario.
    pub scenario: String,
    /// The phase, where each number is one of its own.
    pub phase: Option<String>,
    /// Whether there is anything to show.
    pub status: RowStatus,
    /// For each measure; none where it was not measured or no block may be used.
    pub values: Vec<Option<Estimate>>,
}
