//! Adapts kong.yml to a trial.

use std::collections::{BTreeMap, BTreeSet};

use gatebench_config::{Data, Node, read_tree};
use serde_json::json;

use super::edits::{Edits, literal};
use super::tree::{mappings, new_entry, removable};
use super::{Language, OwnConfig, PLAIN, TARGET, TARGET_HOST, TARGET_PORT, UPSTREAM, scenario};
use crate::error::ImportError;
use crate::log::Log;
use crate::name::path_of_url;

const ONE_TARGET: &str = "gatebench's upstream has one address, which Kong accepts only once";
const DECK: &str = "only decK accepts this";
const LOCAL: &str = "requests are counted in memory, not in your Redis or database";
const OUTSIDE: &str = "plug-ins may reach only gatebench's upstream";

/// Top-level keys that are meant for decK.
const OF_DECK: [&str; 5] = ["_info", "_konnect", "_workspace", "_comment", "_ignore"];

/// Settings of a service that concern TLS to the upstream.
const OF_TLS: [&str; 4] = [
    "tls_verify",
    "tls_verify_depth",
    "ca_certificates",
    "client_certificate",
];

/// The template for the address of the upstream to which plug-ins route requests by content.
const OTHER_TARGET: &str = "{{ (upstreams | last).targets[0] | endpoint }}";

pub(super) fn wire(file: &str, text: &str) -> Result<OwnConfig, ImportError> {
    let root = read_tree(file, text).map_err(Box::new)?;
    let mut log = Log::new(file, text);
    let api = crate::kong::read(text, file, &mut log)?;
    log.finish()?;
    let mut edits = Edits::new(file, text);
    remove(&OF_DECK, text, &root, DECK, &mut edits);
    let upstreams: BTreeSet<&str> = root
        .list("upstreams")
        .iter()
        .filter_map(|it| it.get("name").and_then(Node::text))
        .collect();
    mappings(&root).for_each(|node| reference_by_name(node, &mut edits));
    for service in root.list("services") {
        service_addresses(text, service, &upstreams, &mut edits);
    }
    let only = format!("[{{\"target\": \"{TARGET}\"}}]");
    for upstream in root.list("upstreams") {
        if let Some(targets) = upstream.get("targets") {
            edits.replace(&targets.span, only.clone(), ONE_TARGET);
        }
    }
    let mut plugins: BTreeSet<String> = BTreeSet::new();
    for node in mappings(&root) {
        let name = node.get("name").and_then(Node::text);
        if let (Some(name), Some(config)) = (name, node.get("config")) {
            plugins.insert(name.to_owned());
            mappings(config).for_each(|config| plugin_addresses(config, &mut edits));
        }
    }
    // Kong recognizes a JSON file by its name.
    let (text, changes) = edits.finish_as_json();
    Ok(OwnConfig {
        language: Language::Kong,
        text,
        changes,
        environment: environment(&plugins),
        has_tls: api.has_tls,
        scenario: scenario::of_api(file, &api),
    })
}

/// Replaces a reference that is a mapping, which only decK accepts, with the name or ID in the
/// mapping.
fn reference_by_name(node: &Node, edits: &mut Edits<'_>) {
    for key in ["service", "route", "consumer"] {
        let reference = node.get(key).filter(|it| matches!(it.data, Data::Map(_)));
        let name = reference.and_then(crate::kong::name_in);
        if let (Some(reference), Some(name)) = (reference, name) {
            edits.replace(&reference.span, literal(&json!(name).to_string()), DECK);
        }
    }
}

/// Returns the environment with the list of plug-ins to load. `bundled` stands for Kong's own
/// plug-ins.
fn environment(plugins: &BTreeSet<String>) -> BTreeMap<String, String> {
    let own = plugins
        .iter()
        .filter(|name| name.starts_with("soap-xml-"))
        .map(String::as_str);
    let all: Vec<&str> = std::iter::once("bundled").chain(own).collect();
    BTreeMap::from([("KONG_PLUGINS".to_owned(), all.join(","))])
}

fn remove(keys: &[&str], text: &str, mapping: &Node, why: &'static str, edits: &mut Edits<'_>) {
    for entry in mapping.entries() {
        if keys.contains(&entry.key.as_str()) {
            edits.remove(&removable(text, mapping, entry), why);
        }
    }
}

fn service_addresses(
    text: &str,
    service: &Node,
    upstreams: &BTreeSet<&str>,
    edits: &mut Edits<'_>,
) {
    if let Some(url) = service.get("url") {
        let path = literal(path_of_url(url.text().unwrap_or_default()));
        edits.replace(&url.span, format!("\"http://{TARGET}{path}\""), UPSTREAM);
    }
    let secure = ["https", "tls", "grpcs"];
    let is_secure = |it: &&Node| it.text().is_some_and(|it| secure.contains(&it));
    if let Some(protocol) = service.get("protocol").filter(is_secure) {
        edits.replace(&protocol.span, "\"http\"", PLAIN);
    }
    remove(&OF_TLS, text, service, PLAIN, edits);
    let is_upstream = |it: &Node| it.text().is_some_and(|it| upstreams.contains(it));
    let Some(host) = service.get("host").filter(|it| !is_upstream(it)) else {
        return;
    };
    edits.replace(&host.span, format!("\"{TARGET_HOST}\""), UPSTREAM);
    match service.get("port") {
        Some(port) => edits.replace(&port.span, TARGET_PORT, UPSTREAM),
        None => edits.insert_entry(new_entry(text, service, "port"), TARGET_PORT, UPSTREAM),
    }
}

/// Replaces addresses in a plug-in's settings, because a measurement must not send anything to the
/// user's servers.
fn plugin_addresses(config: &Node, edits: &mut Edits<'_>) {
    for entry in config.entries() {
        let (target, why) = match entry.key == "URL" {
            true => (OTHER_TARGET, UPSTREAM),
            false => (TARGET, OUTSIDE),
        };
        for value in std::iter::once(&entry.value).chain(entry.value.items()) {
            let Some(url) = value.text().filter(|it| is_address(&entry.key, it)) else {
                continue;
            };
            let path = literal(path_of_url(url));
            edits.replace(&value.span, format!("\"http://{target}{path}\""), why);
        }
        let is_shared =
            entry.key == "policy" && matches!(entry.value.text(), Some("redis" | "cluster"));
        if is_shared {
            edits.replace(&entry.value.span, "\"local\"", LOCAL);
        }
        let is_host = matches!(entry.key.as_str(), "host" | "redis_host" | "server");
        if is_host && matches!(entry.value.data, Data::Text(_)) {
            edits.replace(&entry.value.span, "\"127.0.0.1\"", OUTSIDE);
        }
    }
}

fn is_address(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let words = ["url", "endpoint", "uri"];
    let is_url = value.starts_with("http://") || value.starts_with("https://");
    is_url && words.iter().any(|word| key.contains(word))
}
