//! The agents that sent a load together.

use serde::{Deserialize, Serialize};

/// The agents of a load, and how far apart they began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsRecord {
    /// The difference between the largest and the smallest delay with which an agent sent its first
    /// request, relative to its schedule; none if nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread_ns: Option<u64>,
    /// The spread is known to within this many nanoseconds either way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_uncertainty_ns: Option<u64>,
    /// The agents in the order of the command line.
    pub each: Vec<AgentRecord>,
}

/// One agent, with the figures of its own part of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its place, as on the command line.
    pub place: String,
    /// The host name of its machine.
    pub node: String,
    /// Its event loops, one for each of its cores.
    pub workers: u32,
    /// The kernel interface of its event loops.
    pub backend: String,
    pub intended: u64,
    pub sent: u64,
    pub completed: u64,
    pub dropped: u64,
    /// Percentiles of the requests with a response; none if there are too few.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p50_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p99_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<u64>,
    /// The length of the observation of its machine.
    pub window_ns: u64,
    /// Time that the hypervisor took from the cores of its workers.
    pub steal_ns: u64,
    /// Time for which a CPU limit throttled it.
    pub throttled_ns: u64,
    /// The halves of added latency, if the load was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halves: Option<HalvesRecord>,
    /// The difference between its clock and that of the machine that ran gatebench is known to
    /// within this many nanoseconds either way.
    pub clock_uncertainty_ns: u64,
    /// The records that arrived, one for each second.
    pub records: u64,
    /// The length of these records in bytes.
    pub record_bytes: u64,
}

/// The two halves of the latency of an agent's requests, before and after the upstream had them.
/// They belong to the clocks of the agent and of the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HalvesRecord {
    /// True if both read the same clock.
    pub clock_is_shared: bool,
    /// The halves are known to within this many nanoseconds either way; 0 for a shared clock.
    pub uncertainty_ns: u64,
    /// Requests whose halves are unknown.
    pub unknown: u64,
    /// True if one of the clocks was set during the load.
    pub clock_stepped: bool,
    /// True if the halves are left out, because the uncertainty exceeds a tenth of their median.
    pub left_out: bool,
}
