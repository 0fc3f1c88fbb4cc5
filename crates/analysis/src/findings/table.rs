//! The table of a scenario: rows, metrics, blocks.

use gatebench_model::Variant;
use gatebench_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::{
    ComparisonFindings, ExternalResults, GroupFindings, PercentileCurve, Reason, Sentence,
    SlowestRoutes, SpoiledBlock, Validity, WireFindings,
};

/// What was found in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioFindings {
    /// Name.
    pub name: String,
    /// Title.
    pub title: String,
    /// The loads, in order.
    pub phases: Vec<PhaseLine>,
    /// One row per variant, in the plan's order (the direct variant where the plan put it).
    pub rows: Vec<VariantRow>,
    /// The null gateway's, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null: Option<VariantRow>,
    /// The groups by phase, variant and the scenario's order; empty where there is but one.
    pub groups: Vec<GroupFindings>,
    /// The slowest routes of each phase and variant; empty where no group has several.
    pub routes: Vec<SlowestRoutes>,
    /// Figures of an external load generator besides those in the rows, by phase and variant.
    #[serde(rename = "told")]
    pub external_results: Vec<ExternalResults>,
    /// How requests went over the wire, a row for each variant that was measured.
    pub wire: Vec<WireFindings>,
    /// Percentile curves, merged over the blocks by adding histograms.
    pub curves: Vec<PercentileCurve>,
    /// Every pair of gateways on every metric that can be compared, the primary one first; empty
    /// where the run has too few blocks for a verdict.
    pub comparisons: Vec<ComparisonFindings>,
    /// The findings of this scenario, a subset of the headlines and more.
    pub sentences: Vec<Sentence>,
}

/// A load in words.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseLine {
    /// Name of the phase.
    pub name: String,
    /// `closed`, `paced` or `open`.
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
    /// Users think after each answer, so that they set the pace: tells what so many users take.
    Paced,
    /// The clock does: measures latency.
    Open,
    /// Either, while the other gateways of the block have the same load: measures CPU time beside theirs.
    SideBySide,
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
    /// Blocks that it spoiled itself, and phases of them; they count against it where gateways are
    /// compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spoiled: Vec<SpoiledBlock>,
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

impl PhaseLine {
    /// The load without its duration: `64 connections`, `5,000 requests/s`.
    pub fn load(&self) -> &str {
        let label = self.label.rsplit_once(", ");
        label.map_or(&self.label, |(load, _)| load)
    }
}

impl ScenarioFindings {
    /// The rows, and that of the null gateway after them.
    pub fn rows_and_null(&self) -> impl Iterator<Item = &VariantRow> {
        self.rows.iter().chain(&self.null)
    }

    /// The load of a phase without its duration.
    pub fn load(&self, phase: &str) -> Option<&str> {
        let phase = self.phases.iter().find(|known| known.name == phase)?;
        Some(phase.load())
    }

    /// The first phase of a kind.
    pub fn phase(&self, kind: PhaseKind) -> Option<&PhaseLine> {
        self.phases.iter().find(|phase| phase.kind == kind)
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Answers per second of the measurement.
    Throughput,
    /// Throughput over the direct variant's in the same block.
    #[serde(rename = "throughput_of_floor")]
    ThroughputOfDirect,
    /// Completed over intended, in an open load.
    AchievedRate,
    /// Answers per second of CPU time of the gateway: the throughput of a core that it has to itself.
    ThroughputPerCore,
    /// CPU time of the gateway's process tree per request.
    GatewayCpuPerRequest,
    /// Busy time of the gateway's cores per request, from any process, including softirq,
    /// interrupts and kernel threads. Only if nothing else of the run uses these cores.
    GatewayCoreBusyPerRequest,
    /// Of that, softirq.
    GatewayCoreSoftirqPerRequest,
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
    /// Median response time minus the direct variant's median in the same block: a difference of
    /// quantiles, not the quantile of a difference.
    #[serde(rename = "response_p50_over_floor")]
    ResponseP50OverDirect,
    /// The same for the 99th percentiles.
    #[serde(rename = "response_p99_over_floor")]
    ResponseP99OverDirect,
    /// Median added latency minus the null gateway's median in the same block: a difference of
    /// quantiles.
    AddedP50OverNull,
    /// The same for the 99th percentiles.
    AddedP99OverNull,
    /// How late requests left: 99th percentile.
    LatenessP99,
    /// Most anonymous resident memory of the gateway.
    GatewayRssAnonMax,
    /// From the start of the gateway to readiness.
    GatewayStart,
    /// Requests without a right answer from the second of a change on.
    ChangeErrors,
    /// Those, and answers slower than the slowest before the change.
    ChangeAffected,
    /// The longest response time from the second of a change on.
    ChangeWorst,
    /// From a change, or the end of a failure, to the first second that is as those before it: without a
    /// failure, and with a 99th percentile that is not above that of every second before. None where there
    /// is no such second.
    ChangeRecovery,
    /// From a change of the configuration until a new connection was served by it.
    ChangeEffective,
    /// Of the requests that targets saw while one was ill, the share that went to that one.
    FailureShare,
    /// Requests that targets saw beyond those that were sent, in a phase in which one was ill.
    FailureSentAgain,
    /// What the gateway added in the whole seconds in which a target was ill, 99th percentile. What
    /// the ill one took is not in it.
    FailureAdded,
    /// Requests without an answer.
    Errors,
    /// Answers that failed a check.
    ChecksFailed,
    /// Arrivals that were never sent.
    Dropped,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Bits per second.
    BitsPerSecond,
    /// Cores kept busy.
    Cores,
    /// A ratio; 1 is equal.
    Ratio,
    /// A number of things.
    Count,
}
