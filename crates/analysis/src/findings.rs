//! What a run says. Everything a report needs, computed; a report only lays it out.
//!
//! Numbers are in base units (nanoseconds, bytes, per second); [`crate::words::quantity`] writes
//! them for people.

use std::collections::BTreeMap;

pub use gatebench_model::{Placement, Variant};
pub use gatebench_stats::Estimate;
pub use gatebench_store::{Status, Timestamp};
use serde::Serialize;

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
    /// The event loop's backend.
    pub engine_backend: String,
    /// Seed of the order.
    pub seed: u64,
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

/// What was found in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioFindings {
    /// Name.
    pub name: String,
    /// Title.
    pub title: String,
    /// The loads, in order.
    pub phases: Vec<PhaseLine>,
    /// One row per variant, in the plan's order (the floor where the plan put it).
    pub rows: Vec<VariantRow>,
    /// Percentile curves, merged over the blocks by adding histograms.
    pub curves: Vec<PercentileCurve>,
    /// The findings of this scenario, a subset of the headlines and more.
    pub sentences: Vec<Sentence>,
}

/// A load in words.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseLine {
    /// Name of the phase.
    pub name: String,
    /// `closed` or `open`.
    pub kind: PhaseKind,
    /// `64 connections, 10s` or `5,000 requests/s, 10s`.
    pub label: String,
}

/// Who decides when a request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// An answer lets the next request go: measures capacity.
    Closed,
    /// The clock does: measures latency.
    Open,
}

/// One variant in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct VariantRow {
    /// Label.
    pub variant: String,
    /// What stands between engine and upstream.
    pub kind: Variant,
    /// Whether there is anything to show.
    pub status: RowStatus,
    /// Worst validity of its completed trials; none without one.
    pub validity: Option<Validity>,
    /// Why it is not valid, each reason once, the worst first.
    pub reasons: Vec<Reason>,
    /// What was measured, by phase and metric.
    pub metrics: Vec<MetricFindings>,
}

impl VariantRow {
    /// A metric in the first phase of a kind that has it.
    pub fn metric(&self, kind: PhaseKind, metric: Metric) -> Option<&MetricFindings> {
        self.metrics
            .iter()
            .find(|found| found.metric == metric && found.kind == kind)
    }
}

/// Whether a row has anything to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RowStatus {
    /// At least one trial was completed.
    Measured,
    /// The gateway lacks policies of the scenario.
    NotSupported {
        /// Words of the policies.
        policies: Vec<String>,
    },
    /// No trial was completed, and at least one failed.
    Failed,
    /// No trial is on disk.
    Missing,
}

/// One metric of a variant in one phase.
#[derive(Clone, Debug, Serialize)]
pub struct MetricFindings {
    /// Name of the phase.
    pub phase: String,
    /// Its kind.
    pub kind: PhaseKind,
    /// Which metric.
    pub metric: Metric,
    /// Unit of all values.
    pub unit: Unit,
    /// Median and range over the blocks that are not invalid for this metric; none where there is
    /// no such block.
    pub estimate: Option<Estimate>,
    /// Worst validity among the blocks in the estimate; `Invalid` where there is no estimate.
    pub validity: Validity,
    /// The blocks, in order, the invalid ones too.
    pub blocks: Vec<BlockValue>,
}

/// One block of a metric.
#[derive(Clone, Debug, Serialize)]
pub struct BlockValue {
    /// Block, from 1.
    pub block: u32,
    /// Number of the trial.
    pub trial: u32,
    /// The value, in the metric's unit.
    pub value: f64,
    /// Whether this value may be used.
    pub validity: Validity,
}

/// What is measured of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Answers per second of the measurement.
    Throughput,
    /// Throughput over the floor's in the same block.
    ThroughputOfFloor,
    /// Completed over intended, in an open load.
    AchievedRate,
    /// CPU time of the gateway's process tree per request.
    GatewayCpuPerRequest,
    /// CPU time of the engine per request.
    EngineCpuPerRequest,
    /// CPU time of the upstream per request.
    UpstreamCpuPerRequest,
    /// CPU time of the gateway over wall time: cores busy.
    GatewayCores,
    /// What stands between engine and upstream adds, request by request: median.
    AddedP50,
    /// The same, 90th percentile.
    AddedP90,
    /// The same, 99th percentile.
    AddedP99,
    /// The same, 99.9th percentile.
    AddedP999,
    /// Response time from the intended send: median.
    ResponseP50,
    /// The same, 90th percentile.
    ResponseP90,
    /// The same, 99th percentile.
    ResponseP99,
    /// The same, 99.9th percentile.
    ResponseP999,
    /// Median response time minus the floor's median in the same block: a difference of quantiles,
    /// not the quantile of a difference.
    ResponseP50OverFloor,
    /// The same for the 99th percentiles.
    ResponseP99OverFloor,
    /// How late requests left: 99th percentile.
    LatenessP99,
    /// Most anonymous resident memory of the gateway.
    GatewayRssAnonMax,
    /// From the start of the gateway to readiness.
    GatewayStart,
    /// Requests without an answer.
    Errors,
    /// Answers that failed a check.
    ChecksFailed,
    /// Arrivals that were never sent.
    Dropped,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds of wall time.
    Nanoseconds,
    /// Nanoseconds of CPU time per request.
    CpuNanosecondsPerRequest,
    /// Requests per second.
    RequestsPerSecond,
    /// Bytes.
    Bytes,
    /// Cores kept busy.
    Cores,
    /// A ratio; 1 is equal.
    Ratio,
    /// A number of things.
    Count,
}

/// A percentile curve, down to the last percentile that at least 10 values lie beyond.
#[derive(Clone, Debug, Serialize)]
pub struct PercentileCurve {
    /// Label of the variant.
    pub variant: String,
    /// Name of the phase.
    pub phase: String,
    /// Its kind; curves of closed phases are latency at saturation and labelled so.
    pub kind: PhaseKind,
    /// What is plotted.
    pub metric: CurveMetric,
    /// Title of the curve for a legend.
    pub label: String,
    /// Values in the merged histogram.
    pub samples: u64,
    /// The last percentile that may be printed, in 0 to 100.
    pub trusted_percentile: f64,
    /// Blocks that were merged: those that are not invalid for latency.
    pub blocks: Vec<u32>,
    /// Worst validity among these blocks.
    pub validity: Validity,
    /// Points in rising order.
    pub points: Vec<CurvePoint>,
}

/// What a curve plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveMetric {
    /// Added latency per request.
    Added,
    /// Response time from the intended send.
    Response,
    /// Service time from the actual send.
    Service,
    /// Actual minus intended send.
    Lateness,
}

/// A point of a percentile curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// In 0 to 100.
    pub percentile: f64,
    /// Value at this percentile.
    pub latency_ns: u64,
}

/// May it be used?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// Yes.
    Valid,
    /// With the limit that is named.
    Limited,
    /// No.
    Invalid,
}

/// Why something is limited or invalid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reason {
    /// The gate that tripped.
    pub gate: Gate,
    /// How bad it is.
    pub validity: Validity,
    /// What it spoils; the rest still stands.
    pub spoils: Vec<Aspect>,
    /// The phase; none for the whole trial.
    pub phase: Option<String>,
    /// What was seen, as a sentence with its numbers and full stop.
    pub message: String,
    /// What to do, as a sentence with its full stop.
    pub remedy: String,
}

/// What a reason spoils.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// Throughput and capacity.
    Throughput,
    /// All latencies.
    Latency,
    /// CPU time per request.
    CpuPerRequest,
    /// Memory.
    Memory,
}

/// The validity gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Engine CPU near its share.
    EngineSaturated,
    /// The engine waited for its core.
    EngineWaited,
    /// Requests left late.
    EngineLate,
    /// Throughput near what the upstream alone delivers.
    UpstreamNearFloor,
    /// Arrivals were dropped.
    ArrivalsDropped,
    /// Fewer requests were sent than intended.
    RateNotAchieved,
    /// Answers failed their checks.
    ChecksFailed,
    /// Requests got no answer.
    RequestErrors,
    /// Parity held before the load and not after it.
    ParityLost,
    /// A process of the gateway ended.
    GatewayRestarted,
    /// A CPU limit stopped the processes.
    Throttled,
    /// The hypervisor took time.
    Steal,
    /// Another process used the pinned cores.
    ForeignProcess,
    /// The series has a trend.
    NotSteady,
    /// A closed load did not saturate the gateway.
    GatewayNotSaturated,
    /// Percentiles, means and rates contradict each other.
    Inconsistent,
    /// The upstream saw requests more than once.
    Retries,
    /// Answers did not come from the upstream.
    NeverReachedUpstream,
    /// Times of the upstream were stripped.
    HeaderStripped,
    /// Values beyond the histogram's range.
    Clamped,
    /// The trial failed or was interrupted.
    NotCompleted,
}

/// One trial that is on disk.
#[derive(Clone, Debug, Serialize)]
pub struct TrialFindings {
    /// Number, from 1.
    pub number: u32,
    /// Block, from 1.
    pub block: u32,
    /// Scenario.
    pub scenario: String,
    /// Variant.
    pub variant: String,
    /// Its folder in the run directory, as in `trials/0001-proxy-json-nginx-b1`.
    pub folder: String,
    /// When it began.
    pub started: Timestamp,
    /// How long it took.
    pub duration_ns: u64,
    /// How it ended, in a word or two: `completed`, `not supported`, `failed`, `interrupted`.
    pub outcome: String,
    /// Worst of its reasons.
    pub validity: Validity,
    /// Why; empty for a valid one.
    pub reasons: Vec<Reason>,
    /// Its warnings.
    pub warnings: Vec<String>,
    /// Its phases with their seconds.
    pub timeline: Vec<TimelinePhase>,
}

/// The seconds of a phase.
#[derive(Clone, Debug, Serialize)]
pub struct TimelinePhase {
    /// Name of the phase.
    pub phase: String,
    /// Its kind.
    pub kind: PhaseKind,
    /// Begin of the measurement, counted from the trial's begin.
    pub began_ns: u64,
    /// Seconds in order.
    pub seconds: Vec<TimelineSecond>,
}

/// A second of a phase. What was not sampled is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineSecond {
    /// Second of the measurement, from 0.
    pub second: u32,
    /// Answers in it.
    pub completed: u64,
    /// Failures in it.
    pub failed: u64,
    /// Median response time.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the response time.
    pub response_p99_ns: Option<u64>,
    /// Cores that the gateway kept busy.
    pub gateway_cores: Option<f64>,
    /// Anonymous resident memory of the gateway.
    pub gateway_rss_anon_bytes: Option<u64>,
    /// Cores that the engine kept busy.
    pub engine_cores: Option<f64>,
    /// Cores that the upstream kept busy.
    pub upstream_cores: Option<f64>,
}

/// A trial of the plan that is not on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingTrial {
    /// Number, from 1.
    pub number: u32,
    /// Block, from 1.
    pub block: u32,
    /// Scenario.
    pub scenario: String,
    /// Variant.
    pub variant: String,
}

/// A trial that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Number of the trial.
    pub trial: u32,
    /// Block.
    pub block: u32,
    /// Scenario.
    pub scenario: String,
    /// Variant.
    pub variant: String,
    /// Whose fault it is, in words.
    pub culprit: String,
    /// What happened.
    pub reason: String,
    /// What to do.
    pub remedy: String,
    /// The phase it happened in.
    pub phase: Option<String>,
}

/// Proof that the policies of a scenario act in a variant.
#[derive(Clone, Debug, Serialize)]
pub struct ParityFindings {
    /// Scenario.
    pub scenario: String,
    /// Variant.
    pub variant: String,
    /// Whether every case passed in every trial, before and after the load. None where it was never
    /// tried.
    pub holds: Option<bool>,
    /// Trials in which it was tried.
    pub trials: u32,
    /// The cases.
    pub cases: Vec<ParityCaseFindings>,
    /// Routes that should answer.
    pub routes_expected: u32,
    /// The fewest that did in any trial.
    pub routes_answering: u32,
}

/// A parity case over all trials of a variant.
#[derive(Clone, Debug, Serialize)]
pub struct ParityCaseFindings {
    /// What it proves.
    pub name: String,
    /// Times it passed.
    pub passed: u32,
    /// Times it was tried.
    pub tried: u32,
    /// The first failure, side by side; none where all passed.
    pub failure: Option<ParityMismatch>,
}

/// What was sent, what came, and what should have come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParityMismatch {
    /// Number of the trial.
    pub trial: u32,
    /// Whether it was before the load or after it.
    pub after_load: bool,
    /// The request.
    pub sent: String,
    /// The answer.
    pub received: String,
    /// What was expected.
    pub expected: String,
}

/// What a gateway was given.
#[derive(Clone, Debug, Serialize)]
pub struct Configuration {
    /// Scenario.
    pub scenario: String,
    /// Variant.
    pub variant: String,
    /// The trial whose files are shown; ports differ between trials, the rest does not.
    pub trial: u32,
    /// Version of the gateway.
    pub version: String,
    /// Workers asked for.
    pub workers: u32,
    /// Commands that were run, each quoted for a shell, in order.
    pub commands: Vec<String>,
    /// Rendered files by path.
    pub files: BTreeMap<String, ConfigurationFile>,
}

/// A rendered file.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigurationFile {
    /// SHA-256 in lower-case hex.
    pub sha256: String,
    /// Its text; none where the file is no longer in the run directory.
    pub text: Option<String>,
}

/// A fact about the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// What, as a path: `cpu.model`.
    pub name: String,
    /// The value.
    pub value: String,
}
