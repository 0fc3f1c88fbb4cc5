//! Adapts envoy.yaml, a bootstrap with static resources, to a trial.

mod listeners;
mod routes;

use std::collections::BTreeMap;

use gatebench_config::{Diagnostics, Node, read_tree};

use super::edits::Edits;
use super::tree::{mappings, removable};
use super::{Language, MOVED, OwnConfig, PLAIN, TARGET_HOST, TARGET_PORT, UPSTREAM, scenario};
use crate::error::ImportError;
use listeners::Listeners;

const ADMIN: &str = "the admin interface of a trial uses a free port";

pub(super) fn wire(file: &str, text: &str) -> Result<OwnConfig, ImportError> {
    let root = read_tree(file, text).map_err(Box::new)?;
    if let Some(entry) = root.entry("dynamic_resources") {
        let help = "write listeners and clusters under `static_resources`, for example from `/config_dump`";
        let message = "resources come from a control plane, which is not part of the file";
        let problem = entry.problem(message, help);
        return Err(Box::new(Diagnostics::new(file, text, vec![problem])).into());
    }
    let listeners = Listeners::of(&root);
    let hints = routes::hints(listeners.measured(&root));
    if hints.is_empty() {
        let remedy = "name a file with a listener whose HTTP routes lead to a cluster";
        return Err(ImportError::nothing(
            file,
            "Envoy has no route to a cluster in this file",
            remedy,
        ));
    }
    let beyond = text.contains("local_ratelimit").then_some(429);
    let mut edits = Edits::new(file, text);
    listeners.edit(text, &root, &mut edits);
    if let Some(address) = root.at(&["admin", "address", "socket_address"]) {
        socket_address(address, "\"127.0.0.1\"", "0", ADMIN, &mut edits);
    }
    let clusters = root.at(&["static_resources", "clusters"]);
    for cluster in clusters.map(Node::items).unwrap_or_default() {
        cluster_addresses(text, cluster, &mut edits);
    }
    mappings(&root).for_each(|node| paths_of_logs(node, &mut edits));
    // Envoy recognizes a JSON file by its name.
    let (text, changes) = edits.finish_as_json();
    Ok(OwnConfig {
        language: Language::Envoy,
        text,
        changes,
        environment: BTreeMap::new(),
        has_tls: listeners.has_tls,
        scenario: scenario::of_hints(file, &hints, listeners.has_tls, beyond),
    })
}

fn cluster_addresses(text: &str, cluster: &Node, edits: &mut Edits<'_>) {
    let host = format!("\"{TARGET_HOST}\"");
    for address in mappings(cluster).filter_map(|it| it.get("socket_address")) {
        socket_address(address, &host, TARGET_PORT, UPSTREAM, edits);
    }
    for key in ["transport_socket", "transport_socket_matches"] {
        if let Some(entry) = cluster.entry(key) {
            edits.remove(&removable(text, cluster, entry), PLAIN);
        }
    }
}

fn socket_address(
    address: &Node,
    host: &str,
    port: &str,
    why: &'static str,
    edits: &mut Edits<'_>,
) {
    for (key, new) in [("address", host), ("port_value", port)] {
        if let Some(value) = address.get(key) {
            edits.replace(&value.span, new, why);
        }
    }
}

/// Moves access logs to the folder of the trial, unless they are standard streams.
fn paths_of_logs(node: &Node, edits: &mut Edits<'_>) {
    let kind = node.get("@type").and_then(Node::text).unwrap_or_default();
    let path = node.get("path").filter(|_| kind.ends_with("FileAccessLog"));
    let is_stream = |it: &Node| it.text().is_some_and(|path| path.starts_with("/dev/std"));
    if let Some(path) = path.filter(|it| !is_stream(it)) {
        edits.replace(&path.span, "\"{{ work }}/access.log\"", MOVED);
    }
}
