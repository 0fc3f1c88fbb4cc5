//! What a run says. Everything a report needs, computed; a report only lays it out.
//!
//! Numbers are in base units (nanoseconds, bytes, per second); [`crate::format::quantity`] writes
//! them for people.

mod ab_test;
mod capacity;
mod combined;
mod comparison;
mod cost;
mod cross_run;
mod curve;
mod document;
mod group;
mod history;
mod isolation;
mod marginal_cost;
mod proof;
mod section;
mod soak;
mod table;
mod trial;
mod validity;
mod wire;

use serde::Serialize;

// Findings are made of these; a report needs no other crate to read them.
pub use gatebench_model::{Placement, Variant};
pub use gatebench_stats::capacity::{Answer, Lapses, Rate, Sustained};
pub use gatebench_stats::doubling::Doubling;
pub use gatebench_stats::leak::{Because, Growth, LeakVerdict, Sample};
pub use gatebench_stats::{Comparison, Difference, Direction, Estimate, Interval, Method, Verdict};
pub use gatebench_store::{Status, Timestamp};

pub use ab_test::{AbTestFindings, Decision};
pub use capacity::{
    Bottleneck, CapacityFindings, CapacityPoint, CurveKnee, GatewayCapacity, ObjectiveBound,
    SizingFindings,
};
pub use combined::{
    CombinedFigures, CombinedFindings, ErrorLogFindings, RunFigures, SettledFindings, TrendPoint,
    VersionFindings, VersionTrend,
};
pub use comparison::ComparisonFindings;
pub use cost::{Cost, CostFigure, CostFindings, CostLine, CostMeasure, CostRole, GatewayCosts};
pub use cross_run::{
    CellFindings, CompareFindings, CompareMode, Control, RunDifference, RunLine, Weight,
};
pub use curve::{CurveMetric, CurvePoint, PercentileCurve};
pub use document::{
    Correction, CorrectionRow, DocumentCell, DocumentColumn, DocumentDoubt, DocumentFindings,
    DocumentGroup, DocumentRow, DocumentTable,
};
pub use group::{
    ExternalCheckResult, ExternalMetricResult, ExternalResults, ExternalThresholdResult,
    GroupFindings, PartEstimate, PartFigures, RouteFindings, SlowestRoutes, Slowness,
};
pub use history::{HistoryFindings, HistoryRun, SeriesChange, SeriesFindings, SeriesPoint};
pub use isolation::{IsolationBlock, IsolationCounts, IsolationFindings, IsolationMeasure};
pub use marginal_cost::{
    GatewayMarginalCosts, MarginalCostFindings, MarginalCostMeasure, MarginalCostPoint,
    MarginalUnit,
};
pub use proof::{
    Configuration, ConfigurationFile, Fact, ParityCaseFindings, ParityFindings, ParityMismatch,
};
pub use section::{FlameGraph, SectionFindings};
pub use soak::{SoakFindings, SoakQuantity, SoakSegment, SoakStretch, SoakWhat};
pub use table::{
    BlockValue, Metric, MetricFindings, PhaseKind, PhaseLine, RowStatus, ScenarioFindings, Unit,
    VariantRow,
};
pub use trial::{Failure, MissingTrial, TimelinePhase, TimelineSecond, TrialFindings};
pub use validity::{Aspect, Gate, Reason, SpoiledBlock, SpoiledBlocks, SpoiledSide, Validity};
pub use wire::{WireFact, WireFindings, WireName};

/// The findings of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Which run it was.
    pub run: RunFacts,
    /// One sentence per finding, the most important first; they open the report.
    pub headlines: Vec<Sentence>,
    /// What limits the findings: too few blocks for a verdict, an interrupted run, notes of the
    /// manifest.
    pub notes: Vec<String>,
    /// What the comparison comes to that the run was made for; none where it was made to measure.
    #[serde(rename = "duel")]
    pub ab_test: Option<AbTestFindings>,
    /// The highest rates that hold an objective; none where the run was not made to search them.
    pub capacity: Option<CapacityFindings>,
    /// What the endurance test comes to that the run was made for.
    pub soak: Option<SoakFindings>,
    /// What the tests of isolation come to that the run was made for.
    pub isolation: Vec<IsolationFindings>,
    /// The combined results of the specification that the run was made from.
    pub combined: Option<CombinedFindings>,
    /// What policies cost over the plain proxy; none where no scenario with policies has one beside it.
    pub costs: Option<CostFindings>,
    /// What grows with routes, consumers and idle connections, for each family of scenarios or loads that
    /// differ in their number.
    #[serde(rename = "scale")]
    pub marginal_costs: Vec<MarginalCostFindings>,
    /// What only some runs measure, each with a table of its own: the bare network, admin interfaces.
    pub sections: Vec<SectionFindings>,
    /// The scenarios in the plan's order.
    pub scenarios: Vec<ScenarioFindings>,
    /// Every trial that is on disk, in the order of the run.
    pub trials: Vec<TrialFindings>,
    /// Trials of the plan that are not on disk.
    pub missing: Vec<MissingTrial>,
    /// Trials that failed, with culprit and remedy, in the order of the run.
    pub failures: Vec<Failure>,
    /// Proof that the policies act, one entry per scenario and variant.
    pub parity: Vec<ParityFindings>,
    /// What each gateway was given, one entry per scenario and variant.
    pub configurations: Vec<Configuration>,
    /// Facts about the machine, flattened to lines, in the manifest's order.
    pub environment: Vec<Fact>,
}

/// Which run it was.
#[derive(Clone, Debug, Serialize)]
pub struct RunFacts {
    /// Name of the suite.
    pub suite: String,
    /// Its title.
    pub title: String,
    /// When the run began.
    pub created: Timestamp,
    /// How far it came.
    pub status: Status,
    /// Version of the gatebench that measured.
    pub gatebench: String,
    /// The event loop's backend, or an external load generator with its version.
    pub engine_backend: String,
    /// Seed of the order.
    pub seed: u64,
    /// Whether it was only to see that everything works.
    pub is_smoke: bool,
    /// Blocks asked for.
    pub blocks_planned: u32,
    /// Blocks of which every trial is on disk.
    pub blocks_complete: u32,
    /// Trials of the plan.
    pub trials_planned: u32,
    /// Trials on disk, failed and not supported ones included.
    pub trials_finished: u32,
    /// Which cores did what.
    pub placement: Placement,
    /// The command line that repeats the run, quoted for a shell.
    pub command: String,
    /// The gateways, in the order of the plan's variants.
    pub gateways: Vec<GatewayLine>,
}

/// A gateway of the run.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayLine {
    /// Label of the variant.
    pub variant: String,
    /// The name people know.
    pub title: String,
    /// Its version.
    pub version: String,
    /// The program, absolute.
    pub binary: String,
    /// SHA-256 of the program in lower-case hex.
    pub sha256: String,
    /// What a reader must know about it.
    pub notes: Vec<String>,
}

/// One sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sentence {
    /// The sentence, with its full stop.
    pub text: String,
    /// How it is to be taken.
    pub tone: Tone,
    /// The scenario it is about; none for the whole run.
    pub scenario: Option<String>,
    /// The variant it is about; none for more than one.
    pub variant: Option<String>,
}

/// How a sentence is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// A fact.
    Plain,
    /// A fact that limits others.
    Caution,
    /// Something failed or must not be used.
    Alarm,
}
