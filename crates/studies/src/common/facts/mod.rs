//! The facts about trials and scenarios from which studies compute their results.

mod comparison;
mod curve;
mod group;
mod run;
mod sentence;
mod table;
mod validity;
mod wire;

pub use comparison::ComparisonFindings;
pub use curve::{CurveMetric, CurvePoint, PercentileCurve};
pub use group::{
    ExternalCheckResult, ExternalMetricResult, ExternalResults, ExternalThresholdResult,
    GroupFindings, PartEstimate, PartFigures, RouteFindings, SlowestRoutes, Slowness,
};
pub use run::{
    Failure, GatewayLine, MissingTrial, RunFacts, TimelinePhase, TimelineSecond, TrialFindings,
};
pub use sentence::{Decision, ScenarioSummary, Sentence, SummaryColumn};
pub(crate) use table::row_of;
pub use table::{
    BlockValue, Metric, MetricFindings, PhaseKind, PhaseLine, RowStatus, ScenarioFindings,
    VariantRow,
};
pub(crate) use validity::Blame;
pub use validity::{Aspect, Gate, Reason, SpoiledBlock, SpoiledBlocks, SpoiledSide};
pub use wire::{WireFact, WireFindings, WireName};
