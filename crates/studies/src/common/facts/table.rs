//! The table of a scenario: rows, metrics and blocks.

use gatebench_model::Variant;
use gatebench_report::{Unit, Validity};
use gatebench_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::{
    Aspect, ComparisonFindings, ExternalResults, GroupFindings, PercentileCurve, Reason,
    ScenarioSummary, Sentence, SlowestRoutes, SpoiledBlock, WireFindings,
};

/// The findings of a scenario: its table, comparisons, curves and sentences.
#[derive(Clone, Debug, Serialize)]
pub struct ScenarioFindings {
    pub name: String,
    pub title: String,
    /// The first screen; `None` for a smoke run, if nothing was measured, or for a study other than
    /// measuring.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<ScenarioSummary>,
    pub phases: Vec<PhaseLine>,
    /// One row per variant, including the direct variant but not the null gateway, in the plan's
    /// order.
    pub rows: Vec<VariantRow>,
    /// The row of the null gateway; `None` if the plan has none, or if no trial of it is on disk
    /// except interrupted ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null: Option<VariantRow>,
    /// The groups by phase and variant, in the scenario's order; empty if there is only one group.
    pub groups: Vec<GroupFindings>,
    /// The slowest routes of each phase and variant; empty if no group has several routes.
    pub routes: Vec<SlowestRoutes>,
    /// Figures of an external load generator in addition to those in the rows, by phase and
    /// variant.
    pub external_results: Vec<ExternalResults>,
    /// The facts about the traffic on the wire, for each variant that recorded any, except the null
    /// gateway.
    pub wire: Vec<WireFindings>,
    /// Percentile curves, merged over the blocks by adding histograms.
    pub curves: Vec<PercentileCurve>,
    /// The pairs of gateways (in an A/B test, only those of the test) on every metric that can be
    /// compared, the deciding metric first. Empty if the run has too few blocks for a verdict.
    pub comparisons: Vec<ComparisonFindings>,
    /// The findings of this scenario as sentences; some or all of them are also headlines.
    pub sentences: Vec<Sentence>,
}

/// A phase, with its load as text.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseLine {
    pub name: String,
    pub kind: PhaseKind,
    /// The load with its changes, failures and duration: `64 connections, reload at 3s, 10s`.
    pub label: String,
}

/// The kind of a load, which determines the figures that it can measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseKind {
    /// A connection sends the next request when it has received a response. Measures throughput.
    Closed,
    /// Like [`Self::Closed`], but with a think time after each response. Measures the work that a
    /// given number of users causes.
    Paced,
    /// Requests are sent on a schedule, regardless of responses. Measures latency.
    Open,
    /// A load of any of these kinds, sent to all gateways of the block at the same time. Measures
    /// their CPU time in the same seconds.
    SideBySide,
}

/// One variant in one scenario.
#[derive(Clone, Debug, Serialize)]
pub struct VariantRow {
    pub variant: String,
    pub kind: Variant,
    pub status: RowStatus,
    /// Worst validity of the variant's completed trials; `None` if no trial was completed.
    pub validity: Option<Validity>,
    /// The worst reason of each gate and phase, the most severe first.
    pub reasons: Vec<Reason>,
    /// Blocks, and phases of blocks, that the gateway spoiled or may have spoiled. They count
    /// against it in comparisons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spoiled: Vec<SpoiledBlock>,
    pub metrics: Vec<MetricFindings>,
}

impl VariantRow {
    /// Returns a metric from the first phase of this kind that has it.
    pub fn metric(&self, kind: PhaseKind, metric: Metric) -> Option<&MetricFindings> {
        self.metrics
            .iter()
            .find(|found| found.metric == metric && found.kind == kind)
    }

    pub(crate) fn estimate(&self, kind: PhaseKind, metric: Metric) -> Option<&Estimate> {
        self.metric(kind, metric)?.estimate.as_ref()
    }

    pub(crate) fn metric_in(&self, phase: &str, metric: Metric) -> Option<&MetricFindings> {
        let mut metrics = self.metrics.iter();
        metrics.find(|found| found.metric == metric && found.phase == phase)
    }

    pub(crate) fn median_in(&self, phase: &str, metric: Metric) -> Option<f64> {
        Some(self.metric_in(phase, metric)?.estimate.as_ref()?.median)
    }
}

impl PhaseLine {
    /// The label up to its duration: `64 connections`, `5,000 requests/s`.
    pub fn load(&self) -> &str {
        let label = self.label.rsplit_once(", ");
        label.map_or(&self.label, |(load, _)| load)
    }
}

impl ScenarioFindings {
    pub fn rows_and_null(&self) -> impl Iterator<Item = &VariantRow> {
        self.rows.iter().chain(&self.null)
    }

    pub(crate) fn row(&self, variant: &str) -> Option<&VariantRow> {
        self.rows.iter().find(|row| row.variant == variant)
    }

    /// The load of a phase without its duration.
    pub fn load(&self, phase: &str) -> Option<&str> {
        let phase = self.phases.iter().find(|known| known.name == phase)?;
        Some(phase.load())
    }

    pub(crate) fn has_open(&self) -> bool {
        self.phase(PhaseKind::Open).is_some()
    }

    pub fn phase(&self, kind: PhaseKind) -> Option<&PhaseLine> {
        self.phases.iter().find(|phase| phase.kind == kind)
    }
}

pub(crate) fn row_of<'a>(
    scenarios: &'a [ScenarioFindings],
    scenario: &str,
    variant: &str,
) -> Option<&'a VariantRow> {
    let found = scenarios.iter().find(|it| it.name == scenario)?;
    found.row(variant)
}

/// The status of a variant's trials in a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RowStatus {
    /// At least one trial was completed.
    Measured,
    NotSupported {
        policies: Vec<String>,
    },
    /// No trial was completed, and at least one failed.
    Failed,
    /// No trial is on disk, or only interrupted trials are.
    Missing,
}

impl RowStatus {
    /// The text that replaces the cells if nothing was measured; `None` if anything was measured.
    pub(crate) fn absence(&self) -> Option<String> {
        match self {
            Self::Measured => None,
            Self::NotSupported { policies } => {
                Some(format!("not supported: {}", policies.join(", ")))
            }
            Self::Failed => Some("failed".into()),
            Self::Missing => Some("not measured".into()),
        }
    }
}

/// One metric of a variant in one phase.
#[derive(Clone, Debug, Serialize)]
pub struct MetricFindings {
    pub phase: String,
    pub kind: PhaseKind,
    pub metric: Metric,
    pub unit: Unit,
    /// Median and range over the blocks that are not invalid for this metric; `None` if there is no
    /// such block.
    pub estimate: Option<Estimate>,
    /// Worst validity among the blocks in the estimate; `Invalid` if there is no estimate.
    pub validity: Validity,
    /// All blocks in order, including invalid ones.
    pub blocks: Vec<BlockValue>,
}

/// A metric's value in one block.
#[derive(Clone, Debug, Serialize)]
pub struct BlockValue {
    /// Number of the block, from 1.
    pub block: u32,
    pub trial: u32,
    pub value: f64,
    pub validity: Validity,
}

/// A metric of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Responses per second during the measurement.
    Throughput,
    /// Throughput divided by that of the direct variant in the same block.
    #[serde(alias = "throughput_of_floor")]
    ThroughputOfDirect,
    /// In an open load, the number of requests that completed within the measurement, divided by
    /// the number of intended requests.
    AchievedRate,
    /// Responses per second of the gateway's CPU time: the throughput of one core that only the
    /// gateway uses.
    ThroughputPerCore,
    /// CPU time that the gateway's process tree uses per request.
    GatewayCpuPerRequest,
    /// Time per request for which the gateway's cores are busy, whether with processes, kernel
    /// threads, softirqs or interrupts. Available only if nothing else in the run uses these cores.
    GatewayCoreBusyPerRequest,
    /// The part of [`Self::GatewayCoreBusyPerRequest`] that is spent in softirqs.
    GatewayCoreSoftirqPerRequest,
    EngineCpuPerRequest,
    UpstreamCpuPerRequest,
    /// CPU time of the gateway divided by wall time: the number of busy cores.
    GatewayCores,
    /// Median of the latency that the variant adds to each request.
    AddedP50,
    AddedP90,
    AddedP99,
    AddedP999,
    /// Median response time, counted from the intended send time.
    ResponseP50,
    ResponseP90,
    ResponseP99,
    ResponseP999,
    /// Median response time minus the direct variant's median in the same block: a difference of
    /// quantiles, not the quantile of a difference.
    #[serde(alias = "response_p50_over_floor")]
    ResponseP50OverDirect,
    /// Like [`Self::ResponseP50OverDirect`], for the 99th percentiles.
    #[serde(alias = "response_p99_over_floor")]
    ResponseP99OverDirect,
    /// Median added latency minus the null gateway's median in the same block: a difference of
    /// quantiles.
    AddedP50OverNull,
    /// Like [`Self::AddedP50OverNull`], for the 99th percentiles.
    AddedP99OverNull,
    /// 99th percentile of the lateness: the actual minus the intended send time.
    LatenessP99,
    /// The largest anonymous resident memory of the gateway.
    GatewayRssAnonMax,
    /// The time from the start of the gateway until it is ready.
    GatewayStart,
    /// Requests without a complete response or with status 5xx, from the second of a change or
    /// failure onward.
    ChangeErrors,
    /// The requests of [`Self::ChangeErrors`], and those that took longer than every request in the
    /// whole seconds before the change or failure.
    ChangeAffected,
    /// The longest time of any request, with or without a complete response, from the second of a
    /// change or failure onward.
    ChangeWorst,
    /// The time from the last change, or from the end of a failure, to the start of the first sound
    /// second: one without failed requests, and with a 99th percentile no higher than the highest
    /// before the event. Zero if the event ended in a sound second; absent if none followed.
    ChangeRecovery,
    /// The time from a change to the configuration until the gateway applies it to a new
    /// connection.
    ChangeEffective,
    /// Requests that the failing target received during the failure, divided by those that all
    /// targets received during it.
    FailureShare,
    /// In a phase with a failing target, the requests that the targets received, minus those that
    /// ended with or without a response.
    FailureSentAgain,
    /// 99th percentile of the latency that the gateway added in the whole seconds of the failure.
    /// The time that the failing target took is excluded.
    FailureAdded,
    ControlPlaneOutage,
    /// Requests without a complete response.
    Errors,
    /// Responses that failed a check.
    ChecksFailed,
    /// Arrivals that were never sent.
    Dropped,
}

impl Metric {
    /// The title, the unit, and the aspect on which the metric's validity depends. Counts, the
    /// start time, and the metrics of changes and failures depend on none.
    fn facts(self) -> (&'static str, (Unit, Option<Aspect>)) {
        use Metric as M;
        let rate = (Unit::RequestsPerSecond, Some(Aspect::Throughput));
        let share = (Unit::Ratio, Some(Aspect::Throughput));
        let cpu = (Unit::CpuNanosecondsPerRequest, Some(Aspect::CpuPerRequest));
        let latency = (Unit::Nanoseconds, Some(Aspect::Latency));
        let tail = (Unit::Nanoseconds, Some(Aspect::LatencyTail));
        let time = (Unit::Nanoseconds, None);
        let count = (Unit::Count, None);
        match self {
            M::Throughput => ("throughput", rate),
            M::ThroughputOfDirect => ("throughput ÷ direct throughput", share),
            M::AchievedRate => ("completed ÷ intended requests", share),
            M::ThroughputPerCore => (
                "throughput per gateway core",
                (Unit::RequestsPerSecond, Some(Aspect::CpuPerRequest)),
            ),
            M::GatewayCpuPerRequest => ("gateway CPU per request", cpu),
            M::GatewayCoreBusyPerRequest => ("busy time of gateway cores per request", cpu),
            M::GatewayCoreSoftirqPerRequest => ("softirq part of the busy time", cpu),
            M::EngineCpuPerRequest => ("load generator CPU per request", cpu),
            M::UpstreamCpuPerRequest => ("upstream CPU per request", cpu),
            M::GatewayCores => (
                "gateway cores busy",
                (Unit::Cores, Some(Aspect::CpuPerRequest)),
            ),
            M::AddedP50 => ("added latency p50", latency),
            M::AddedP90 => ("added latency p90", latency),
            M::AddedP99 => ("added latency p99", latency),
            M::AddedP999 => ("added latency p99.9", tail),
            M::ResponseP50 => ("response time p50", latency),
            M::ResponseP90 => ("response time p90", latency),
            M::ResponseP99 => ("response time p99", latency),
            M::ResponseP999 => ("response time p99.9", tail),
            M::ResponseP50OverDirect => ("response p50 minus direct p50", latency),
            M::ResponseP99OverDirect => ("response p99 minus direct p99", latency),
            M::AddedP50OverNull => ("added p50 minus the null gateway's p50", latency),
            M::AddedP99OverNull => ("added p99 minus the null gateway's p99", latency),
            M::LatenessP99 => ("send lateness p99", latency),
            M::GatewayRssAnonMax => (
                "gateway memory (RssAnon)",
                (Unit::Bytes, Some(Aspect::Memory)),
            ),
            M::GatewayStart => ("time until the gateway is ready", time),
            M::ChangeErrors => ("failures from the change on", count),
            M::ChangeAffected => ("requests affected by the change", count),
            M::ChangeWorst => ("longest response from the change on", time),
            M::ChangeRecovery => ("time from the change to recovery", time),
            M::ChangeEffective => ("time from the change to its effect", time),
            M::FailureShare => ("share of the failing target", (Unit::Ratio, None)),
            M::FailureSentAgain => ("requests sent again", count),
            M::FailureAdded => ("added latency p99 during the failure", time),
            M::ControlPlaneOutage => ("outage of the control plane", time),
            M::Errors => ("requests without a response", count),
            M::ChecksFailed => ("responses that failed a check", count),
            M::Dropped => ("arrivals dropped", count),
        }
    }

    pub fn title(self) -> &'static str {
        self.facts().0
    }

    pub(crate) fn unit(self) -> Unit {
        self.facts().1.0
    }

    pub(crate) fn aspect(self) -> Option<Aspect> {
        self.facts().1.1
    }
}
