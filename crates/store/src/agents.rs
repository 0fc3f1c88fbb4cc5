//! The agents that sent a load together.

use serde::{Deserialize, Serialize};

/// The agents that sent a load, and the spread of their start times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentsRecord {
    /// The spread of the agents' start times: the longest delay of an agent's first request,
    /// compared with its schedule, minus the shortest. `None` if nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread_ns: Option<u64>,
    /// The maximum error of `start_spread_ns`: the sum of the agents' two largest clock
    /// uncertainties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_uncertainty_ns: Option<u64>,
    /// The agents, in the order given on the command line.
    pub each: Vec<AgentRecord>,
}

/// One agent, with the figures of its part of the load.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// The agent's location, as given on the command line.
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
    /// The median response time. This and the percentiles below are `None` if there are too few
    /// responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p50_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p99_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<u64>,
    /// The time from the confirmation of the start until the results were fetched, shortly after
    /// the end of the load. `steal_ns` and `throttled_ns` were counted over this time.
    pub window_ns: u64,
    /// The time that the hypervisor took from the workers' cores.
    pub steal_ns: u64,
    /// The time for which a CPU limit throttled the agent.
    pub throttled_ns: u64,
    /// The uncertainty of the halves of the added latency; `None` if no response was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halves: Option<HalvesRecord>,
    /// The maximum error, in either direction, of the difference between the agent's clock and that
    /// of the machine that ran gatebench.
    pub clock_uncertainty_ns: u64,
    /// The number of the agent's records that arrived, one for each second of the load; 0 if the
    /// agent was lost.
    pub records: u64,
    /// The total size of these records, in bytes.
    pub record_bytes: u64,
}

/// The uncertainty of the two halves of the added latency: the time from sending a request until
/// the upstream has received it, and the time from the upstream's response until the agent has
/// received it. Each half is the difference between a time on the agent's clock and one on the
/// upstream's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HalvesRecord {
    pub clock_is_shared: bool,
    /// The maximum error of the known halves, in either direction; 0 for a shared clock.
    pub uncertainty_ns: u64,
    /// The number of requests whose halves are unknown.
    pub unknown: u64,
    /// True if one of the clocks was stepped during the load.
    pub clock_stepped: bool,
    /// True if the halves are left out, because their uncertainty exceeds a tenth of the smaller of
    /// their two medians, or because no halves were measured.
    pub left_out: bool,
}
