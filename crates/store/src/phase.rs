//! The record of a measured load, without its histograms and series.

use std::collections::BTreeMap;

use gatebench_model::Shape;
use gatebench_model::admin::AdminVerb;
use gatebench_model::load::FailingPart;
use serde::{Deserialize, Serialize};

use crate::agents::AgentsRecord;
use crate::counts::{Counts, ExactSum, GroupRecord, TimeFigures};
use crate::own_metrics::OwnMetricsRecord;

/// The record of a phase. Counts and usage cover the measurement, not the warm-up, unless stated
/// otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// The name of the phase in the load profile, or of a load that the study added.
    pub name: String,
    pub shape: Shape,
    /// The start of the measurement, counted from the trial's `started`.
    pub began_ns: u64,
    pub warm_up_ns: u64,
    /// The actual length of the measurement.
    pub measure_ns: u64,
    /// The duration of the drain, in which the last responses arrive.
    pub drained_ns: u64,
    pub counts: Counts,
    /// The groups in the scenario's order, if there are several groups or a group has several
    /// requests. Their counts add up to those of the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupRecord>,
    /// The time from opening a connection until requests can be sent on it, including the TLS
    /// handshake. Connections that were opened before the measurement are included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects: Option<TimeFigures>,
    /// The number of connections with a resumed TLS session; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<u64>,
    /// The exact sums that complement the histograms, by `metric.class`, such as `response.2xx`.
    #[serde(default)]
    pub sums: BTreeMap<String, ExactSum>,
    /// The numbers of responses that came from the upstream and of those that did not.
    #[serde(default)]
    pub trace: TraceCounts,
    #[serde(default)]
    pub engine: EngineFacts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<AgentsRecord>,
    /// The usage of each component: `gateway`, `upstream`, `engine`.
    #[serde(default)]
    pub usage: BTreeMap<String, Usage>,
    #[serde(default)]
    pub machine: MachineFacts,
    /// The growth of the upstream's ledger.
    #[serde(default)]
    pub ledger: LedgerDelta,
    /// The counts of requests and connections on the wire; `None` in runs that did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeRecord>,
    /// The failure of a target or of the control plane during the load; `None` if there was no
    /// failure, or if the load ended before the failure was over.
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
    /// The maximum rate of the bare network just before the load, if it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<CeilingRecord>,
    /// The figures of an external load generator; `None` if the built-in one sent the load.
    #[serde(default, alias = "foreign", skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalFigures>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRecord>,
    /// The outcome of an adaptive warm-up, which ends when the CPU time per request has settled;
    /// `None` if the length of the warm-up was fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive_warm_up: Option<WarmUpRecord>,
    /// The measurement in bins of a tenth of a second; `None` for measurements longer than ten
    /// minutes, and in runs that did not record bins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bins: Option<BinsRecord>,
    /// The role and outcome of the phase in a capacity search, if it is part of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepRecord>,
    /// The offered load as a percentage of the gateway's own saturation; 100 for the closed load
    /// that determined the saturation, `None` for loads of the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation_percent: Option<u32>,
}

/// A warm-up that ends when the CPU time per request has settled, but not before `min_ns`, and at
/// `max_ns` at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUpRecord {
    pub min_ns: u64,
    pub max_ns: u64,
    /// True if the CPU time per request had settled at the end of the warm-up.
    pub settled: bool,
}

/// A measurement in short bins, for testing whether it was steady. Each list has one value per bin;
/// the list for a component that cannot be observed is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinsRecord {
    /// The end of each bin, counted from the start of the measurement, which is the start of the
    /// first bin.
    pub ends_ns: Vec<u64>,
    pub responses: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateway_cpu_ns: Vec<u64>,
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
    /// The duration of the command, or of sending the signal. The gateway may take longer to apply
    /// the change.
    pub took_ns: u64,
    /// The time from the start of the change until a response on a new connection reflected the
    /// changed configuration; `None` if that never happened or cannot be observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_ns: Option<u64>,
    /// The times of the change's repetitions, counted from the start of the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again_ns: Vec<u64>,
    /// The periods in which the targets' weights did not change, in order; empty if the action does
    /// not change weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weighed: Vec<WeighedRecord>,
}

/// A period in which the targets' weights did not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeighedRecord {
    pub weights: Vec<u32>,
    /// The number of requests that each target received.
    pub requests: Vec<u64>,
}

/// Samples of the gateway's stacks in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// The name of the file in the trial's folder. It has one line for each stack, with the CPU
    /// time of the stack's samples in nanoseconds.
    pub file: String,
    /// The CPU time of all samples.
    pub sampled_ns: u64,
}

/// The wait for an idle machine before a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SettleRecord {
    /// The limit of the one-minute load average per core. Below it, the machine counts as idle.
    pub asked_load_per_core: f64,
    /// The load average per core at the end of the wait.
    pub load_per_core: f64,
    pub waited_ns: u64,
    /// True if the machine became idle.
    pub settled: bool,
}

/// The maximum rate of the bare network: event loops on the load generator's cores and on the
/// upstream's cores exchange messages without parsing them. The messages are as large as the load's
/// first request and the response to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CeilingRecord {
    pub connections: u32,
    /// The size of each message to the upstream's cores, in bytes.
    pub asked_bytes: u64,
    /// The size of each message back, in bytes.
    pub answered_bytes: u64,
    /// The number of messages that came back.
    pub exchanges: u64,
    pub measure_ns: u64,
}

/// A failure of the upstream's first target, or of the gateway's control plane. Times are counted
/// from the start of the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureRecord {
    #[serde(default, skip_serializing_if = "is_target")]
    pub part: FailingPart,
    /// The kind of failure: `slow`, `refusing` or `resetting`.
    pub how: String,
    /// The delay added to the target's responses, if the target was slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_ns: Option<u64>,
    pub began_ns: u64,
    pub over_ns: u64,
    /// The requests that each target received. The failing target, if any, is the first. `before`
    /// includes the warm-up.
    pub targets: Vec<TargetShare>,
    /// The number of the gateway's retries: the requests that the targets received beyond those
    /// that got a response or failed at the load generator. Each request that never reached a
    /// target hides one retry. Requests that a killed target received after its last report are not
    /// included.
    pub sent_again: u64,
}

// The signature takes a reference because serde passes one.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_target(part: &FailingPart) -> bool {
    *part == FailingPart::Target
}

/// The requests that one target received before, during and after the failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetShare {
    pub before: u64,
    pub during: u64,
    pub after: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The numbers of responses that came from the upstream and of those that did not, according to the
/// nonces and the upstream's ledger. The kinds are mutually exclusive, except `meant_for_gateway`
/// and `repeated_at_upstream`. Repetitions in the warm-up are included. If requests carry no nonce,
/// only `never_reached_upstream` and `meant_for_gateway` are counted: the former is the number of
/// responses beyond the requests that the upstream received, or 0 if the upstream has no ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceCounts {
    /// Responses with their own nonce and the upstream's times, from which `added` is computed.
    pub traced: u64,
    /// Responses without times that did not come from the upstream, such as cached responses, mocks
    /// and refusals. If the upstream has no ledger, all responses without times are counted. If
    /// requests carry no nonce, see [`TraceCounts`].
    pub never_reached_upstream: u64,
    /// The responses among `never_reached_upstream` that the scenario expects from the gateway
    /// itself, such as mocks and refusals.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub meant_for_gateway: u64,
    /// Responses of the upstream that arrived without the nonce and the times, because the gateway
    /// stripped the header that contains them. If some requests never reached the upstream, this
    /// number is an estimate.
    pub header_stripped: u64,
    /// Responses with the nonce of another request, such as cached responses.
    pub foreign: u64,
    /// Requests whose nonce the upstream had already received, because the gateway sent retries.
    pub repeated_at_upstream: u64,
}

/// Figures about the load generator itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    /// The event loop's backend, `io_uring` or `epoll`, or the name of an external load generator.
    pub backend: String,
    /// The number of workers, one per core; for an external load generator, the number of its
    /// cores.
    pub workers: u32,
    /// The CPU time of the workers during the measurement, or of the external load generator.
    pub cpu_ns: u64,
    /// The time that the workers were runnable but waited for a core.
    pub run_queue_wait_ns: u64,
}

/// The resource usage of a component's process tree during the measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The CPU time between the first and the last sample. For the built-in load generator, it is
    /// the CPU time of the workers during the measurement.
    pub cpu_ns: u64,
    /// The time between these two samples. For the built-in load generator, and for the gateway and
    /// the upstream under an external one, it is the length of the measurement.
    pub window_ns: u64,
    /// The largest anonymous resident memory at any sample.
    pub rss_anon_bytes_max: u64,
    /// The proportional set size before the load; `None` if it could not be read.
    pub pss_before_bytes: Option<u64>,
    /// The proportional set size after the load; `None` if it could not be read.
    pub pss_after_bytes: Option<u64>,
    pub descriptors_max: u64,
    pub switches_voluntary: u64,
    pub switches_involuntary: u64,
    /// The time that the component's threads were runnable but waited for a core.
    pub run_queue_wait_ns: u64,
    /// The number of processes in the tree at the first sample.
    pub processes: u32,
    /// The number of processes in the tree that ended during the measurement, because they crashed
    /// or were restarted.
    #[serde(default)]
    pub processes_ended: u32,
    /// The effect of the CPU limit of the component's cgroup; `None` if there is no limit, or if
    /// none of its periods elapsed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
}

/// The effect of a CPU limit on a component during the measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling {
    /// The number of the limit's periods, usually of 100 ms, in which the component had something
    /// to run.
    pub periods: u64,
    /// The number of these periods in which the component used up its quota and had to wait for the
    /// next period.
    pub throttled_periods: u64,
    /// The time that the component waited, summed over cores.
    pub throttled_ns: u64,
}

/// The state of the machine during the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// The time between the first and the last sample.
    pub window_ns: u64,
    /// The number of cores assigned to the trial.
    pub cores: u32,
    /// The time that the hypervisor took from these cores, summed over cores.
    pub steal_ns: u64,
    /// The time for which the cgroup's CPU limit stopped the run's processes.
    pub throttled_ns: u64,
    /// The CPU time that processes outside the run used on these cores, summed over cores.
    pub foreign_cpu_ns: u64,
    /// The busy time of the gateway's cores, if no other part of the run uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_cores: Option<CoreUsage>,
    /// The frequency of the gateway's cores; `None` if it is not visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway_frequency: Option<CoreFrequency>,
}

/// The frequency of some cores over the samples of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreFrequency {
    /// The mean over cores and samples.
    pub mean_khz: u64,
    pub cores: Vec<FrequencyRange>,
}

/// The range of a core's frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrequencyRange {
    pub core: usize,
    pub min_khz: u64,
    pub max_khz: u64,
}

/// The busy time of some cores, summed over all processes. The kernel counts it in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreUsage {
    /// The time that the cores were not idle, summed over cores, excluding the time that the
    /// hypervisor took.
    pub busy_ns: u64,
    /// The part of the busy time spent in softirqs.
    pub softirq_ns: u64,
    /// The part of the busy time spent in interrupts.
    pub irq_ns: u64,
    /// The smallest meaningful difference between two of these values: one tick per core.
    pub resolution_ns: u64,
}

/// The growth of the upstream's ledger over one load, including the warm-up and the drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerDelta {
    pub requests: u64,
    /// The number of requests whose nonce was received for the first time or is not tracked by the
    /// ledger. Requests whose nonce is too old for the ledger are not counted.
    pub unique: u64,
    /// The number of requests whose nonce had been received before.
    pub repeated: u64,
    pub connections_accepted: u64,
}

/// The role and the outcome of a phase in the search for capacity. The phase's shape contains the
/// rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    pub role: StepRole,
    pub outcome: StepOutcome,
}

/// The reason why a search for capacity tries a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// The step adds a point to the curve, at a rate below the one at which the search begins. The
    /// next rates do not depend on this step, but the result does.
    Curve,
    /// The step finds the approximate result.
    Search,
    /// The step refines the result.
    Near,
    /// The step confirms the result and lasts four times as long as the others. Only runs of
    /// earlier versions have such steps.
    Confirm,
}

/// The result of a step, measured against its objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    Held,
    Missed,
    /// The step missed the objective, and something other than the gateway, the load generator and
    /// the upstream disturbed it. Only runs of earlier versions have this outcome. This version
    /// derives disturbances from the machine's figures.
    Disturbed,
}

/// The figures that an external load generator printed for a phase. A figure that it does not print
/// is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExternalFigures {
    pub engine: String,
    pub command: Vec<String>,
    /// The number of responses, divided by the length of the load generator's own measurement
    /// period in seconds.
    pub rate_per_second: f64,
    /// The response times at the percentiles that the load generator printed, such as `99.9`.
    #[serde(default)]
    pub percentiles_ns: BTreeMap<String, u64>,
    pub min_ns: Option<u64>,
    pub mean_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// The results by check. The name of a check includes the groups that contain it: `login ›
    /// status is 200`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub checks: BTreeMap<String, ExternalCheck>,
    /// The thresholds of the user's script; true for each that was met.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub thresholds: BTreeMap<String, bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// The load generator's other metrics, by name and statistic, in its own units.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, BTreeMap<String, f64>>,
    /// The parts of the load that the load generator cannot express exactly, or at all.
    #[serde(default)]
    pub not_expressed: Vec<String>,
    /// The figures that the built-in load generator measures but this one does not report.
    #[serde(default)]
    pub not_measured: Vec<String>,
}

/// The results of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalCheck {
    /// The number of passes; `None` if the load generator counts only failures.
    pub passed: Option<u64>,
    pub failed: u64,
}

/// The counts of one load, including the warm-up and the drain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireFacts {
    /// The number of responses that the load generator received.
    #[serde(alias = "answers")]
    pub responses: u64,
    /// The number of connections that the load generator opened.
    pub client_connections: u64,
    /// The upstream's counts; `None` if the upstream is not gatebench's own.
    pub upstream: Option<UpstreamWire>,
    /// The observations of the gateway's processes; `None` for the direct variant, or if the
    /// processes are not visible.
    pub gateway: Option<GatewayWire>,
}

/// The upstream's counts of one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamWire {
    /// The number of requests that the upstream began to receive.
    pub requests: u64,
    pub connections: u64,
    pub http10: u64,
    pub http2: u64,
    /// The number of field lines in all requests.
    pub fields: u64,
    /// The total size of all request heads, in bytes.
    pub head_bytes: u64,
    /// The total size of all request bodies without their framing, in bytes.
    pub body_bytes: u64,
}

/// Observations of the gateway's processes before and after one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayWire {
    /// The growth of the files that the gateway writes, in bytes.
    pub written_bytes: u64,
    /// The number of threads after the load.
    pub threads: u32,
    /// The number of threads that used at least a twentieth of the CPU time of all threads.
    pub threads_busy: u32,
}

/// The calls to an admin interface during a load, made one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminLoadRecord {
    /// The number of the scenario's routes, not counting the one that the calls change.
    pub routes: u64,
    pub every_ns: u64,
    /// The duration of each successful call, from its due time to the end of its response.
    pub took_ns: BTreeMap<AdminVerb, Vec<u64>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<AdminVerb, u64>,
    /// The number of calls that were due during the load but were not made, because earlier calls
    /// lasted until the end of the load.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unmade: BTreeMap<AdminVerb, u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl AdminLoadRecord {
    /// Returns the number of calls that change the gateway. Failed calls are included, because they
    /// may have changed it too.
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
