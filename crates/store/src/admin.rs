//! Calls of a gateway's admin interface, after the loads and during one.

use std::collections::BTreeMap;

use gatebench_model::admin::AdminVerb;
use serde::{Deserialize, Serialize};

/// The calls made through an admin interface, in rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminRecord {
    /// Number of other routes.
    pub routes: u64,
    /// Requested rounds.
    pub rounds: u32,
    /// Duration of each call, from before its connection to the end of its response, by round.
    pub took_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// Time from the start of each call until the gateway behaved accordingly, observed on a new
    /// connection. Calls that only read change nothing and have no such time.
    pub effective_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// The reason why the rounds ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The calls made through an admin interface during a load: the calls of each round, one after the
/// other.
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
    /// Calls that were due during the load but not made, because earlier calls lasted until its
    /// end.
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
