//! Access lists: the groups that consumers belong to, and the groups that a route accepts or
//! rejects.

use std::collections::{BTreeMap, BTreeSet};

use gatebench_config::Node;
use gatebench_model::Consumer;

use crate::keys::Keys;
use crate::log::Log;

/// The groups of each client, by the client's name.
#[derive(Default)]
pub(super) struct Groups(BTreeMap<String, BTreeSet<String>>);

impl Groups {
    /// Adds the group in an entry of `acls` to the groups of a consumer's clients.
    pub(super) fn add(
        &mut self,
        acl: &Node,
        clients: impl IntoIterator<Item = String>,
        log: &mut Log<'_>,
    ) {
        let group = Keys::of(acl, "the entry of `acls`", log).required("group", log);
        for client in clients {
            let groups = self.0.entry(client).or_default();
            groups.extend(group.clone());
        }
    }

    pub(super) fn accepted_by(&self, list: &AccessList, clients: &[Consumer]) -> BTreeSet<String> {
        let is_in = |client: &str, list: &[String]| {
            let groups = self.0.get(client);
            groups.is_some_and(|groups| list.iter().any(|group| groups.contains(group)))
        };
        let names = clients.iter().map(|client| &client.name);
        let accepted = names.filter(|name| match list {
            AccessList::Allow(list) => is_in(name, list),
            AccessList::Deny(list) => !is_in(name, list),
        });
        accepted.cloned().collect()
    }
}

/// The groups in the settings of the `acl` plug-in.
#[derive(Clone)]
pub(super) enum AccessList {
    Allow(Vec<String>),
    Deny(Vec<String>),
}

impl AccessList {
    /// Parses the settings of the plug-in. Before Kong 2.1, the lists had other names.
    pub(super) fn read(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Self {
        let mut list = |name, old| {
            let groups = keys.texts(name, log);
            [groups, keys.texts(old, log)].concat()
        };
        let (allow, deny) = (list("allow", "whitelist"), list("deny", "blacklist"));
        match allow.is_empty() {
            true => Self::Deny(deny),
            false => Self::Allow(allow),
        }
    }
}
