//! The costs that grow with the number of routes, consumers, upstreams or idle connections.

use gatebench_report::Unit;
use gatebench_stats::{Difference, Estimate};
use serde::Serialize;

use crate::common::facts::{Metric, RowStatus};

/// Scenarios that differ only in their number of routes, consumers or upstreams, or loads that
/// differ only in their number of idle connections.
#[derive(Clone, Debug, Serialize)]
pub struct MarginalCostFindings {
    /// The common part of the scenarios' names; for loads, the name of their scenario.
    pub name: String,
    pub what: MarginalUnit,
    pub measures: Vec<MarginalCostMeasure>,
    /// The gateways, in the plan's order.
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
    /// Upstreams, each with one route.
    Upstreams,
}

impl MarginalUnit {
    pub fn noun(self) -> &'static str {
        match self {
            Self::Routes => "route",
            Self::Consumers => "consumer",
            Self::Connections => "connection",
            Self::Upstreams => "upstream",
        }
    }
}

/// A quantity that may grow with the number of units.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarginalCostMeasure {
    pub metric: Metric,
    pub unit: Unit,
    /// The phase in which the quantity is measured; `None` if each number has a separate phase.
    pub phase: Option<String>,
    /// The load of the phase as text; `None` if each number has a separate phase. The time until
    /// the gateway is ready belongs to the first phase, but is measured before it.
    pub load: Option<String>,
}

/// A gateway, measured with different numbers of units.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayMarginalCosts {
    /// Label of the variant.
    pub variant: String,
    /// The points, in ascending order of [`MarginalCostPoint::count`].
    pub points: Vec<MarginalCostPoint>,
    /// The cost of each additional unit, for each measure: between the smallest and the largest
    /// measured number, paired by block. `None` if fewer than two numbers were measured, or if they
    /// have no block in common.
    pub each: Vec<Option<Difference>>,
}

/// The figures of a gateway with one number of units.
#[derive(Clone, Debug, Serialize)]
pub struct MarginalCostPoint {
    pub count: u32,
    pub scenario: String,
    /// The phase with this number, if each number has a separate phase.
    pub phase: Option<String>,
    pub status: RowStatus,
    /// A value for each measure; `None` if it was not measured or no block is usable.
    pub values: Vec<Option<Estimate>>,
}
