//! The record of one measured load, without its histograms and series.

use std::collections::BTreeMap;

use gatebench_model::Shape;
use gatebench_model::admin::AdminVerb;
use gatebench_model::load::FailingPart;
use serde::{Deserialize, Serialize};

use crate::agents::AgentsRecord;
use crate::counts::{Counts, ExactSum, GroupRecord, TimeFigures};
use crate::own_metrics::OwnMetricsRecord;

/// The record of a phase. Counts and usage cover the measurement, not the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Name of the phase in the load profile.
    pub name: String,
    /// The requested load.
    pub shape: Shape,
    /// Start of the measurement, counted from the trial's `started`.
    pub began_ns: u64,
    /// Length of the warm-up.
    pub warm_up_ns: u64,
    /// Actual length of the measurement.
    pub measure_ns: u64,
    /// The wait for responses after the measurement.
    pub drained_ns: u64,
    /// Requests and their outcomes.
    pub counts: Counts,
    /// The groups in the scenario's order, if there are several groups, or if one group has several
    /// requests. They add up to the counts of the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupRecord>,
    /// The time that connections took until they could send requests, including TLS. Connections
    /// opened before the measurement are included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<TimeFigures>,
    /// The number of connections with a resumed TLS session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<u64>,
    /// Exact sums in addition to the histograms, by `metric.class`, as in `response.2xx`.
    #[serde(default)]
    pub sums: BTreeMap<String, ExactSum>,
    /// The counts of responses by origin, derived from their nonces.
    #[serde(default)]
    pub trace: TraceCounts,
    /// The load generator's own figures.
    #[serde(default)]
    pub engine: EngineFacts,
    /// The agents, if several load generators sent the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsRecord>,
    /// The usage of each component: `gateway`, `upstream`, `engine`.
    #[serde(default)]
    pub usage: BTreeMap<String, Usage>,
    /// The state of the machine during the load.
    #[serde(default)]
    pub machine: MachineFacts,
    /// The growth of the upstream's ledger.
    #[serde(default)]
    pub ledger: LedgerDelta,
    /// Requests on the wire; none in runs that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireFacts>,
    /// The change to the gateway during the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeRecord>,
    /// The failure of the upstream during the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRecord>,
    /// True if the other gateways of the block had the same load at the same time, on the same
    /// cores.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub side_by_side: bool,
    /// The gateway's own metrics, if they were fetched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_metrics: Option<OwnMetricsRecord>,
    /// The calls to the gateway's admin interface during the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminLoadRecord>,
    /// The load average before the load, if the run waited for an idle machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<SettleRecord>,
    /// The rate of the bare network just before the load, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingRecord>,
    /// The figures of an external load generator; none if gatebench's own engine drove the phase.
    #[serde(default, alias = "foreign", skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalFigures>,
    /// Samples of the gateway's stacks, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRecord>,
    /// The warm-up, if it lasted until CPU time per request had settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive_warm_up: Option<WarmUpRecord>,
    /// The measurement in bins of a tenth of a second; none in runs that did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<BinsRecord>,
    /// The phase's step in a search for capacity, if it is part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepRecord>,
    /// The offered load as a percentage of the gateway's own saturation; 100 for the closed load
    /// that determined the saturation, none for loads of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation_percent: Option<u32>,
}

/// A warm-up with bounds, which ends when the CPU time per request has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUpRecord {
    /// The shortest length of the warm-up.
    pub min_ns: u64,
    /// The longest length of the warm-up.
    pub max_ns: u64,
    /// True if the CPU time per request had settled at the end of the warm-up.
    pub settled: bool,
}

/// A measurement in short bins, for tests of its steadiness. All lists have one value for each bin;
/// the list of a component that cannot be observed is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinsRecord {
    /// The end of each bin, counted from the start of the measurement, which is the start of the
    /// first bin.
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

/// A change to the gateway during the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// The name of the action in the gateway's folder.
    pub action: String,
    /// The start of the change, counted from the start of the measurement.
    pub began_ns: u64,
    /// Duration of the command, or of sending the signal. The gateway may take longer to apply it.
    pub took_ns: u64,
    /// Time from the start of the change until a response on a new connection reflected the changed
    /// configuration; none if that never happened or cannot be observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_ns: Option<u64>,
    /// The times of the change's repetitions, counted from the start of the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again_ns: Vec<u64>,
    /// For a change of weights: the weights and requests of each target between two changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<WeighedRecord>,
}

/// A period in which the targets' weights did not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedRecord {
    /// The requested weights.
    pub weights: Vec<u32>,
    /// Requests that each target received.
    pub requests: Vec<u64>,
}

/// Samples of the gateway's stacks in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// The file in the trial's folder: one line for each stack, with the CPU time of its samples in
    /// nanoseconds.
    pub file: String,
    /// The CPU time of all samples.
    pub sampled_ns: u64,
}

/// The wait for an idle machine before a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettleRecord {
    /// The limit of the load average per core over the last minute, below which the machine is
    /// idle.
    pub asked_load_per_core: f64,
    /// The load average per core at the end of the wait.
    pub load_per_core: f64,
    /// The length of the wait.
    pub waited_ns: u64,
    /// True if the machine became idle.
    pub settled: bool,
}

/// An exchange of messages between the engine's cores and the upstream's, over the same event
/// loops. The messages have the sizes of requests and responses; their contents are not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CeilingRecord {
    pub connections: u32,
    /// Size of a message to the upstream's cores in bytes: that of a request.
    pub asked_bytes: u64,
    /// Size of a message back in bytes: that of a response.
    pub answered_bytes: u64,
    /// Number of messages that came back.
    pub exchanges: u64,
    /// The length of the measurement.
    pub measure_ns: u64,
}

/// A failure of the upstream's first target, or of the gateway's control plane. Times count from
/// the start of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    /// The part that failed.
    #[serde(default, skip_serializing_if = "is_target")]
    pub part: FailingPart,
    /// The kind of failure: `slow`, `refusing`, `resetting`.
    pub how: String,
    /// The added delay of the target's responses, if the target was slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_ns: Option<u64>,
    /// Start of the failure.
    pub began_ns: u64,
    /// End of the failure.
    pub over_ns: u64,
    /// Requests that each target received; a failing target is the first one. `before` includes the
    /// warm-up.
    pub targets: Vec<TargetShare>,
    /// Requests that the targets received beyond those that were sent: each is a retry by the
    /// gateway. Each request that never reached a target hides one retry. Requests that a killed
    /// target received after its last report (about a millisecond) are not included.
    pub sent_again: u64,
}

// serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_target(part: &FailingPart) -> bool {
    *part == FailingPart::Target
}

/// Requests that one target received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetShare {
    /// Before the failure.
    pub before: u64,
    /// During the failure.
    pub during: u64,
    pub after: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The origin of the responses, derived from their nonces. The kinds are mutually exclusive, except
/// the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCounts {
    /// Responses with their own nonce and the upstream's times. `added` is measured on these.
    pub traced: u64,
    /// Responses without a nonce: cached or mocked.
    pub never_reached_upstream: u64,
    /// Of these, responses that the scenario expects from the gateway itself: mocks and refusals.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub meant_for_gateway: u64,
    /// Responses with their own nonce but without times: the gateway stripped the header.
    pub header_stripped: u64,
    /// Responses with another request's nonce: cached.
    pub foreign: u64,
    /// Nonces that the upstream received more than once: retries.
    pub repeated_at_upstream: u64,
}

/// The load generator's own figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// The event loop's backend: `io_uring` or `epoll`.
    pub backend: String,
    /// Number of workers, one per core.
    pub workers: u32,
    /// CPU time of the workers during the measurement.
    pub cpu_ns: u64,
    /// Time during which the workers were runnable but waited for a core.
    pub run_queue_wait_ns: u64,
}

/// The usage of a component's process tree during the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// CPU time between the first and the last sample of the measurement.
    pub cpu_ns: u64,
    /// Time between these two samples.
    pub window_ns: u64,
    /// The largest anonymous resident memory at any sample.
    pub rss_anon_bytes_max: u64,
    /// Proportional set size before the load; none if it could not be read.
    pub pss_before_bytes: Option<u64>,
    /// Proportional set size after the load.
    pub pss_after_bytes: Option<u64>,
    /// The largest number of open file descriptors at any sample.
    pub descriptors_max: u64,
    /// Voluntary context switches.
    pub switches_voluntary: u64,
    /// Involuntary context switches.
    pub switches_involuntary: u64,
    /// Time during which the component's threads were runnable but waited for a core.
    pub run_queue_wait_ns: u64,
    /// Processes in the tree at the first sample.
    pub processes: u32,
    /// Processes of the tree that ended during the measurement: crashes, or restarts of workers.
    #[serde(default)]
    pub processes_ended: u32,
    /// The effect of the CPU limit of the component's control group; none without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
}

/// The effect of a CPU limit on a component during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// Periods of the limit (usually 100 ms) in which the component had something to run.
    pub periods: u64,
    /// Of these, periods that ended with the component waiting for the next one.
    pub throttled_periods: u64,
    /// The component's wait, summed over cores.
    pub throttled_ns: u64,
}

/// The state of the machine during the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Time between the first and the last sample.
    pub window_ns: u64,
    /// Number of cores of the trial.
    pub cores: u32,
    /// Time that the hypervisor took from these cores, summed over cores.
    pub steal_ns: u64,
    /// Time during which a CPU limit of the cgroup stopped the run's processes.
    pub throttled_ns: u64,
    /// CPU time that processes outside the run used on these cores, summed over cores.
    pub foreign_cpu_ns: u64,
    /// The busy time of the gateway's cores, if nothing else in the run uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_cores: Option<CoreUsage>,
    /// The frequency of the gateway's cores; none if it is not visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_frequency: Option<CoreFrequency>,
}

/// The frequency of some cores at the start of a measurement, after each second, and at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreFrequency {
    /// The mean over cores and samples.
    pub mean_khz: u64,
    /// The range of each core.
    pub cores: Vec<FrequencyRange>,
}

/// The range of a core's frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrequencyRange {
    /// The core's number.
    pub core: usize,
    /// The lowest frequency.
    pub min_khz: u64,
    /// The highest frequency.
    pub max_khz: u64,
}

/// The busy time of some cores over all processes, as counted by the kernel in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreUsage {
    /// Time during which the cores were not idle, summed over cores, without the time that the
    /// hypervisor took.
    pub busy_ns: u64,
    /// The part of the busy time spent in softirqs.
    pub softirq_ns: u64,
    /// The part of the busy time spent in interrupts.
    pub irq_ns: u64,
    /// Differences smaller than this (a tick on each core) are not significant.
    pub resolution_ns: u64,
}

/// The growth of the upstream's ledger during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerDelta {
    /// Requests seen.
    pub requests: u64,
    /// Nonces seen for the first time.
    pub unique: u64,
    /// Nonces seen again.
    pub repeated: u64,
    pub connections_accepted: u64,
}

/// The role and the outcome of a phase in the search. The phase's shape contains its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    pub role: StepRole,
    pub outcome: StepOutcome,
}

/// The reason why a search for capacity tries a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// To draw the curve below the knee. The search itself does not use such a step.
    Curve,
    /// To find the neighbourhood of the result.
    Search,
    /// To refine the result.
    Near,
    /// To confirm the result, four times as long as the others; only in runs of earlier versions.
    Confirm,
}

/// The judgement of a rate against its objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The step met the objective.
    Held,
    /// The step missed the objective.
    Missed,
    /// The step missed the objective, and something other than the gateway, the load generator and
    /// the upstream disturbed it; only in runs of earlier versions, which repeated such steps.
    /// Later versions derive disturbance from the machine's figures.
    Disturbed,
}

/// The figures that an external load generator printed for a phase. A figure that it does not print
/// is none or empty; no figure is derived from others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExternalFigures {
    /// The name of the load generator.
    pub engine: String,
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Responses per second over the load generator's own measurement period.
    pub rate_per_second: f64,
    /// Response times at the percentiles that the load generator printed, such as `99.9`.
    #[serde(default)]
    pub percentiles_ns: BTreeMap<String, u64>,
    /// The shortest response time.
    pub min_ns: Option<u64>,
    /// The mean response time.
    pub mean_ns: Option<u64>,
    /// The longest response time.
    pub max_ns: Option<u64>,
    /// Results of each check, with the groups that contain it: `login › status is 200`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, ExternalCheck>,
    /// Thresholds of the user's script; true if the threshold was met.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, bool>,
    /// Groups of the user's script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The load generator's other metrics, by name and statistic, in its own units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, BTreeMap<String, f64>>,
    /// Parts of the load that the load generator cannot express, or cannot express exactly.
    #[serde(default)]
    pub not_expressed: Vec<String>,
    /// Figures that gatebench's own engine measures but this load generator does not report.
    #[serde(default)]
    pub not_measured: Vec<String>,
}

/// The results of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalCheck {
    /// Number of passes; none if the load generator counts failures only.
    pub passed: Option<u64>,
    /// Number of failures.
    pub failed: u64,
}

/// The counts of one load, including warm-up and drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireFacts {
    /// Responses that the engine received.
    #[serde(rename = "answers")]
    pub responses: u64,
    /// Connections that the engine opened.
    pub client_connections: u64,
    /// The upstream's counts; none if the upstream is not gatebench's own.
    pub upstream: Option<UpstreamWire>,
    /// Observations of the gateway's processes; none for the direct variant or if the processes are
    /// not visible.
    pub gateway: Option<GatewayWire>,
}

/// The upstream's counts of one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamWire {
    /// Requests that the upstream began to receive.
    pub requests: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Requests over HTTP/1.0.
    pub http10: u64,
    /// Requests over HTTP/2.
    pub http2: u64,
    /// Number of field lines of all requests.
    pub fields: u64,
    /// Size of all heads in bytes.
    pub head_bytes: u64,
    /// Size of all bodies in bytes, without their framing.
    pub body_bytes: u64,
}

/// Observations of the gateway's processes before and after one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayWire {
    /// Growth of the files that the gateway writes, in bytes.
    pub written_bytes: u64,
    /// Number of threads after the load.
    pub threads: u32,
    /// Number of threads that did at least a twentieth of the work.
    pub threads_busy: u32,
}

/// The calls made through an admin interface during a load: each round makes its calls one after
/// the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminLoadRecord {
    /// Number of other routes.
    pub routes: u64,
    /// The interval between calls.
    pub every_ns: u64,
    /// Duration of each successful call, from its due time to the end of its response.
    pub took_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// Calls that failed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<AdminVerb, u64>,
    /// Calls that were due during the load but not made, because earlier calls lasted until the end
    /// of the load.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unmade: BTreeMap<AdminVerb, u64>,
    /// The first failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl AdminLoadRecord {
    /// Returns the number of calls that change the gateway. A failed call may have changed it too.
    pub fn changes(&self) -> u64 {
        let changing = AdminVerb::ALL
            .into_iter()
            .filter(|verb| *verb != AdminVerb::Read);
        let made = changing.map(|verb| {
            let took = self.took_ns.get(&verb).map_or(0, Vec::len) as u64;
            took + self.failed.get(&verb).copied().unwrap_or(0)
        });
        made.sum()
    }
}
