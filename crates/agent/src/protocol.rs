//! The coordinator's requests to an agent, and the agent's responses.

use serde::{Deserialize, Serialize};

use crate::order::Order;
use crate::totals::WireOutcome;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    /// Asks for the agent's [`Facts`].
    Introduce,
    /// Prepares a load and opens its connections. The agent sends an empty response at once, before
    /// the connections are up.
    Prepare(Box<Order>),
    /// The response is true once all connections are up.
    IsReady,
    /// The response is the time on the agent's `CLOCK_MONOTONIC`, in nanoseconds.
    Ping,
    /// Sets the start of the load, on the agent's clock. The load starts only if [`Ask::Confirm`]
    /// follows. The response is empty.
    StartAt { at_ns: u64 },
    /// Confirms the start; sent after all agents have acknowledged it. The response is empty, or an
    /// error if the start time has already passed.
    Confirm,
    /// Acknowledges the first `after` records, which the agent then forgets. Returns all later
    /// records as [`Progress`]; a repeated request returns them again.
    Records { after: u64 },
    /// Ends the load early. The agent sends an empty response at once, before the load has ended.
    Stop,
    /// Ends the load, and returns its [`Totals`].
    Finish,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The value of `NODE_NAME`, which a pod sets to the name of its node; the machine's host name
    /// if it is not set.
    pub(crate) node: String,
    /// The cores that the agent may use, in ascending order.
    pub(crate) cores: Vec<usize>,
    /// The kernel interface that workers use by default: `io_uring` if the kernel allows it,
    /// otherwise `epoll`.
    pub(crate) backend: String,
}

/// The records that the coordinator has not acknowledged, and the state of the load.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Progress {
    /// The number of the first of these records, counted from 0.
    pub(crate) first: u64,
    /// The records, each a [`crate::record::Record`] in JSON.
    pub(crate) records: Vec<String>,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) queued: u64,
    /// True if the load has ended, so no more records will follow.
    pub(crate) is_over: bool,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) outcome: WireOutcome,
    pub(crate) records: u64,
    /// SHA-256 of all records, each followed by a line feed, in hexadecimal.
    pub(crate) sha256: String,
    pub(crate) health: Health,
}

/// Disturbances of an agent by its machine during a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The time from the confirmation of the start until the coordinator fetched the results,
    /// shortly after the load ended. The times below refer to this period.
    pub window_ns: u64,
    /// The number of cores that the workers use.
    pub cores: u32,
    /// The total time that the hypervisor took from these cores.
    pub steal_ns: u64,
    /// The time for which a CPU limit throttled the agent.
    pub throttled_ns: u64,
}
