//! The agents that sent a load together.

use serde::{Deserialize, Serialize};

/// The agents of a load, and how far apart in time they began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsRecord {
    /// The difference between the largest and the smallest delay with which an agent sent its first
    /// request, relative to its schedule; `None` if nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread_ns: Option<u64>,
    /// The maximum error of the spread, in either direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_uncertainty_ns: Option<u64>,
    /// The agents in the order of the command line.
    pub each: Vec<AgentRecord>,
}

/// One agent, with the figures of its part of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// The place of the agent, as on the command line.
    pub place: String,
    /// The host name of the agent's machine.
    pub node: String,
    /// The number of event loops, one for each of the agent's cores.
    pub workers: u32,
    /// The kernel interface of the event loops.
    pub backend: String,
    pub intended: u64,
    pub sent: u64,
    pub completed: u64,
    pub dropped: u64,
    /// The median response time; `None` if there are too few responses, like the percentiles below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p50_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p99_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<u64>,
    /// The time for which the agent's machine was observed.
    pub window_ns: u64,
    /// The time that the hypervisor took from the cores of the workers.
    pub steal_ns: u64,
    /// The time for which a CPU limit throttled the agent.
    pub throttled_ns: u64,
    /// The halves of added latency, if the load was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halves: Option<HalvesRecord>,
    /// The maximum error, in either direction, of the difference between the agent's clock and that
    /// of the machine that ran gatebench.
    pub clock_uncertainty_ns: u64,
    /// The number of records that arrived, one for each second.
    pub records: u64,
    /// The total size of these records, in bytes.
    pub record_bytes: u64,
}

/// How well the two halves of the added latency are known: the times before and after the upstream
/// had an agent's requests. Each half is measured with the clocks of the agent and of the upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HalvesRecord {
    /// True if the agent and the upstream read the same clock.
    pub clock_is_shared: bool,
    /// The maximum error of the halves, in either direction; 0 for a shared clock.
    pub uncertainty_ns: u64,
    /// The number of requests whose halves are unknown.
    pub unknown: u64,
    /// True if one of the clocks was set during the load.
    pub clock_stepped: bool,
    /// True if the halves are left out, because the uncertainty exceeds a tenth of their median.
    pub left_out: bool,
}
