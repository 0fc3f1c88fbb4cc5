//! Calls of a gateway's admin interface, after the loads and during one.

use std::collections::BTreeMap;

use gatebench_model::admin::AdminVerb;
use serde::{Deserialize, Serialize};

/// What was done through an admin interface, round after round.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminRecord {
    /// Routes that there were besides.
    pub routes: u64,
    /// Rounds asked for.
    pub rounds: u32,
    /// How long each call took, from before its connection until its whole answer, round by round.
    pub took_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// How long after the begin of each call the gateway acted as it then should, seen on a new
    /// connection. Reading changes nothing.
    pub effective_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// Why the rounds ended before all were done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What was done through an admin interface while a load went on: the calls of a round, one after
/// the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminLoadRecord {
    /// Routes that there were besides.
    pub routes: u64,
    /// How often a call was due.
    pub every_ns: u64,
    /// How long each call took that was answered well, from when it was due until its whole answer.
    pub took_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// Calls that were not.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<AdminVerb, u64>,
    /// Calls that were due in the load and not made, since those before them took until its end.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unmade: BTreeMap<AdminVerb, u64>,
    /// What became of the first of those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl AdminLoadRecord {
    /// Calls that were made to change the gateway. Those that failed may have changed it, or tried.
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
