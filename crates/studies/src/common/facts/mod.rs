//! The facts about trials and scenarios from which the results of studies are computed.

mod comparison;
mod curve;
mod group;
mod run;
mod sentence;
mod summary;
mod table;
mod trial;
mod validity;
mod wire;

pub use comparison::ComparisonFindings;
pub use curve::{CurveMetric, CurvePoint, PercentileCurve};
pub use group::{
    ExternalCheckResult, ExternalMetricResult, ExternalResults, ExternalThresholdResult,
    GroupFindings, PartEstimate, PartFigures, RouteFindings, SlowestRoutes, Slowness,
};
pub use run::{GatewayLine, RunFacts};
pub use sentence::{Decision, Sentence};
pub use summary::{ScenarioSummary, SummaryColumn};
pub(crate) use table::row_of;
pub use table::{
    BlockValue, Metric, MetricFindings, PhaseKind, PhaseLine, RowStatus, ScenarioFindings,
    VariantRow,
};
pub use trial::{Failure, MissingTrial, TimelinePhase, TimelineSecond, TrialFindings};
pub(crate) use validity::Blame;
pub use validity::{Aspect, Gate, Reason, SpoiledBlock, SpoiledBlocks, SpoiledSide};
pub use wire::{WireFact, WireFindings, WireName};
