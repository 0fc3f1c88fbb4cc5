//! What one measured load left behind, besides its histograms and series.

use std::collections::BTreeMap;

use gatebench_model::Shape;
use serde::{Deserialize, Serialize};

use crate::admin::AdminLoadRecord;
use crate::counts::{Counts, ExactSum};
use crate::external::ExternalFigures;
use crate::group::{GroupRecord, TimeFigures};
use crate::step::StepRecord;
use crate::wire::WireFacts;

/// The record of a phase. Counts and usage cover the measurement, not the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Name of the phase in the load profile.
    pub name: String,
    /// The load that was asked for.
    pub shape: Shape,
    /// Begin of the measurement, counted from the trial's `started`.
    pub began_ns: u64,
    /// Length of the warm-up.
    pub warm_up_ns: u64,
    /// Length of the measurement as it really was.
    pub measure_ns: u64,
    /// How long answers were waited for after the measurement.
    pub drained_ns: u64,
    /// Requests and what became of them.
    pub counts: Counts,
    /// The groups, in the scenario's order, where there are several or one has several requests; they
    /// add up to the counts of the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupRecord>,
    /// How long connections took until requests could be sent, TLS included, those made before the
    /// measurement too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<TimeFigures>,
    /// Connections whose TLS session was resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<u64>,
    /// Exact sums beside the histograms, by `metric.class`, as in `response.2xx`.
    #[serde(default)]
    pub sums: BTreeMap<String, ExactSum>,
    /// What the nonces told.
    #[serde(default)]
    pub trace: TraceCounts,
    /// The engine's own account.
    #[serde(default)]
    pub engine: EngineFacts,
    /// What each component used: `gateway`, `upstream`, `engine`.
    #[serde(default)]
    pub usage: BTreeMap<String, Usage>,
    /// What the machine did meanwhile.
    #[serde(default)]
    pub machine: MachineFacts,
    /// What the upstream's ledger gained.
    #[serde(default)]
    pub ledger: LedgerDelta,
    /// How requests went over the wire; none in runs that did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireFacts>,
    /// What was done to the gateway meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeRecord>,
    /// What happened to the upstream meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRecord>,
    /// Whether the other gateways of the block had the same load at the same time, on the same cores.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub side_by_side: bool,
    /// What the gateway told of itself, where it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_metrics: Option<OwnMetricsRecord>,
    /// What was done through the gateway's admin interface meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminLoadRecord>,
    /// How quiet the machine was before the load, where it was waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<SettleRecord>,
    /// What the bare network carried just before, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingRecord>,
    /// The figures of an external load generator; none where gatebench's own engine drove the phase.
    #[serde(default, alias = "foreign", skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalFigures>,
    /// What was sampled of the gateway's stacks, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRecord>,
    /// The warm-up, if it lasted until CPU time per request had settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive_warm_up: Option<WarmUpRecord>,
    /// The measurement in bins of a tenth of a second; none in runs that did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<BinsRecord>,
    /// What it was in a search for capacity; none where it is no step of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepRecord>,
    /// The share of the gateway's own saturation that was offered, in per cent; 100 for the closed
    /// load that found it. None for loads of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation_percent: Option<u32>,
}

/// A warm-up with bounds, which ends when the CPU time per request has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUpRecord {
    /// Its shortest length.
    pub min_ns: u64,
    /// Its longest length.
    pub max_ns: u64,
    /// True if the CPU time per request had settled at its end.
    pub settled: bool,
}

/// A measurement in short bins, on which its steadiness is tested. All lists have one value for each
/// bin; those of a component that cannot be seen are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinsRecord {
    /// The end of each bin, from the start of the measurement, at which the first one begins.
    pub ends_ns: Vec<u64>,
    /// Responses in each bin.
    pub responses: Vec<u64>,
    /// CPU time of the gateway.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateway_cpu_ns: Vec<u64>,
    /// CPU time of the upstream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstream_cpu_ns: Vec<u64>,
}

/// Something that was done to the gateway while it was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// The name of the action in the gateway's folder.
    pub action: String,
    /// When it began, counted from the begin of the measurement.
    pub began_ns: u64,
    /// How long the command took, or the signal to be sent. The gateway may be at it for longer.
    pub took_ns: u64,
    /// From its begin until a new connection was answered as the changed configuration says; none where
    /// nothing of it can be seen, or it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_ns: Option<u64>,
    /// When it was done again, counted from the begin of the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again_ns: Vec<u64>,
    /// Where weights were changed: what each target was to have and had between two changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<WeighedRecord>,
}

/// A time in which the targets had the same weights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedRecord {
    /// The weights that were asked for.
    pub weights: Vec<u32>,
    /// Requests that each target saw.
    pub requests: Vec<u64>,
}

/// Samples of the gateway's stacks in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// The file in the trial's folder: a line for each stack, and the CPU time that its samples stand for, in
    /// nanoseconds.
    pub file: String,
    /// That of all samples.
    pub sampled_ns: u64,
}

/// How a machine became quiet before a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettleRecord {
    /// The load average per core, of the last minute, below which it is quiet.
    pub asked_load_per_core: f64,
    /// The load average per core when the waiting ended.
    pub load_per_core: f64,
    /// How long it was waited for.
    pub waited_ns: u64,
    /// Whether it became quiet.
    pub settled: bool,
}

/// Messages as large as requests and answers, back and forth between the engine's cores and the upstream's, by the
/// same event loops; nobody reads what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CeilingRecord {
    /// Connections.
    pub connections: u32,
    /// Bytes of a message there: those of a request.
    pub asked_bytes: u64,
    /// Bytes of a message back: those of an answer.
    pub answered_bytes: u64,
    /// Messages that came back.
    pub exchanges: u64,
    /// In how long a time.
    pub measure_ns: u64,
}

/// A time in which the first target of the upstream was ill. Times count from the begin of the
/// measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// What it did: `slow`, `refusing`, `resetting`.
    pub how: String,
    /// How much later it answered, where it was slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_ns: Option<u64>,
    /// When it became ill.
    pub began_ns: u64,
    /// When it was well again.
    pub over_ns: u64,
    /// Requests that each target saw, the ill one first. The warm-up is before.
    pub targets: Vec<TargetShare>,
    /// Requests that the targets saw beyond those that were sent: each was sent again by the gateway.
    /// What never reached a target hides as many; and where a target was killed, what it saw between its last
    /// account and its end (a millisecond or so) is not among them.
    pub sent_again: u64,
}

/// Requests that one target saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetShare {
    /// Before the failure.
    pub before: u64,
    /// While it lasted.
    pub during: u64,
    /// After it.
    pub after: u64,
}

/// What a gateway's own metrics said over a phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnMetricsRecord {
    /// How often they were fetched.
    pub scrapes: u64,
    /// Of these, how many were not answered in time or not with 200.
    pub failed: u64,
    /// Bytes of the largest answer.
    pub bytes_max: u64,
    /// The longest that one took.
    pub took_ns_max: u64,
    /// Requests by which its own count grew from the first to the last.
    pub requests: u64,
    /// Answers that the engine counted between the two.
    pub answers: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What the nonces told about each answer. The five kinds exclude each other, save the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCounts {
    /// Own nonce with the upstream's times: what `added` was measured on.
    pub traced: u64,
    /// No nonce: a cached or mocked answer.
    pub never_reached_upstream: u64,
    /// Of these, answers that the scenario wants the gateway itself to give: mocks and refusals.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub meant_for_gateway: u64,
    /// Own nonce without times: the gateway stripped the header.
    pub header_stripped: u64,
    /// Another request's nonce: a cached answer.
    pub foreign: u64,
    /// Nonces that the upstream saw more than once: retries.
    pub repeated_at_upstream: u64,
}

/// The engine's own account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// The event loop's backend: `io_uring` or `epoll`.
    pub backend: String,
    /// Workers, one per core.
    pub workers: u32,
    /// CPU time of the workers in the measurement.
    pub cpu_ns: u64,
    /// Time the workers were runnable and waited for a core.
    pub run_queue_wait_ns: u64,
}

/// What a component's process tree used during the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time between the first and the last sample in the measurement.
    pub cpu_ns: u64,
    /// Time between these two samples.
    pub window_ns: u64,
    /// Most anonymous resident memory seen at a sample.
    pub rss_anon_bytes_max: u64,
    /// Proportional set size before the load; none where it could not be read.
    #[serde(default)]
    pub pss_before_bytes: Option<u64>,
    /// Proportional set size after the load.
    #[serde(default)]
    pub pss_after_bytes: Option<u64>,
    /// Most open descriptors seen at a sample.
    pub descriptors_max: u64,
    /// Voluntary context switches.
    pub switches_voluntary: u64,
    /// Involuntary context switches.
    pub switches_involuntary: u64,
    /// Time its threads were runnable and waited for a core.
    pub run_queue_wait_ns: u64,
    /// Processes in the tree at the first sample.
    pub processes: u32,
    /// Processes of the tree that ended in the measurement: crashes, restarts of workers.
    #[serde(default)]
    pub processes_ended: u32,
    /// What a CPU limit of its control group did; none where it has no such limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
}

/// What a CPU limit did to a component during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// Periods of the limit (mostly 100 ms) in which the component had something to run.
    pub periods: u64,
    /// Of these, those that ended with the component waiting for the next.
    pub throttled_periods: u64,
    /// How long it waited, summed over cores.
    pub throttled_ns: u64,
}

/// What the machine did meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Time between the first and the last sample.
    pub window_ns: u64,
    /// Cores that the trial was pinned to.
    pub cores: u32,
    /// Time that the hypervisor took from these cores, summed.
    pub steal_ns: u64,
    /// Time that a CPU limit of the cgroup stopped the run's processes.
    pub throttled_ns: u64,
    /// CPU time that processes outside the run took on these cores, summed.
    pub foreign_cpu_ns: u64,
    /// The busy time of the gateway's cores, if nothing else of the run is on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_cores: Option<CoreUsage>,
    /// The frequency of the gateway's cores; none where it is not visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_frequency: Option<CoreFrequency>,
}

/// The frequency of some cores at the begin of a measurement, at each of its seconds and at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreFrequency {
    /// The mean over cores and samples.
    pub mean_khz: u64,
    /// The range of each core.
    pub cores: Vec<FrequencyRange>,
}

/// The frequencies that were seen of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrequencyRange {
    /// The core's number.
    pub core: usize,
    /// The lowest.
    pub min_khz: u64,
    /// The highest.
    pub max_khz: u64,
}

/// The busy time of some cores, from any process: the kernel's count in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreUsage {
    /// Time they were not idle, summed, without what the hypervisor took.
    pub busy_ns: u64,
    /// Of that, softirq.
    pub softirq_ns: u64,
    /// Of that, interrupts.
    pub irq_ns: u64,
    /// Differences below this mean nothing: a tick on each of the cores.
    pub resolution_ns: u64,
}

/// What the upstream's ledger gained in the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerDelta {
    /// Requests seen.
    pub requests: u64,
    /// Nonces seen for the first time.
    pub unique: u64,
    /// Nonces seen again.
    pub repeated: u64,
    /// Connections accepted.
    pub connections_accepted: u64,
}
