//! The costs that grow with the number of routes, consumers or idle connections.

use gatebench_report::Unit;
use gatebench_stats::{Difference, Estimate};
use serde::Serialize;

use crate::common::facts::{Metric, RowStatus};

/// Scenarios that are the same but for how many routes or consumers they have, or loads that are
/// the same but for how many idle connections they hold.
#[derive(Clone, Debug, Serialize)]
pub struct MarginalCostFindings {
    /// The common part of the scenarios' names; for loads, the name of their scenario.
    pub name: String,
    /// The unit whose number differs.
    pub what: MarginalUnit,
    pub measures: Vec<MarginalCostMeasure>,
    /// The gateways in the plan's order.
    pub gateways: Vec<GatewayMarginalCosts>,
}

/// The unit whose number differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MarginalUnit {
    Routes,
    Consumers,
    /// Connections whose users think between two requests.
    Connections,
    /// Upstreams, with a route each.
    Upstreams,
}

impl MarginalUnit {
    /// The name of one of them.
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
    pub unit: Unit,
    /// The phase that it is measured in; none if each number is a separate phase.
    pub phase: Option<String>,
    /// Its load as text; the time to readiness is that before the first load.
    pub load: Option<String>,
}

/// A gateway with different numbers of them.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayMarginalCosts {
    /// Label of the variant.
    pub variant: String,
    /// The numbers, the smallest first.
    pub points: Vec<MarginalCostPoint>,
    /// The cost of each further one, for each measure: from the smallest to the largest number that
    /// was measured, paired by block; none if there are not two, or no block in common.
    pub each: Vec<Option<Difference>>,
}

/// A number of them.
#[derive(Clone, Debug, Serialize)]
pub struct MarginalCostPoint {
    /// Their number.
    pub count: u32,
    pub scenario: String,
    /// The phase, if each number is a separate one.
    pub phase: Option<String>,
    /// The status of its trials.
    pub status: RowStatus,
    /// For each measure; none if it was not measured or no block may be used.
    pub values: Vec<Option<Estimate>>,
}
