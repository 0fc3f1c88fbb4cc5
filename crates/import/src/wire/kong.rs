//! kong.yml.

use std::collections::{BTreeMap, BTreeSet};

use gatebench_config::{Data, Node, read_tree};
use serde_json::json;

use super::edits::{Edits, literal};
use super::tree::{each_mapping, new_entry, removable};
use super::{Language, OwnConfig, TARGET, TARGET_HOST, TARGET_PORT, scenario};
use crate::error::ImportError;
use crate::log::Log;

const UPSTREAM: &str = "the upstream here is gatebench's";
const ONE_TARGET: &str = "the upstream here has one address, which Kong accepts only once";
const PLAIN: &str = "the upstream here speaks HTTP without TLS";
const DECK: &str = "only deck reads it";
const LOCAL: &str = "a limit counts in memory, not in the user's Redis";
const OUTSIDE: &str = "plug-ins reach nothing but the upstream here";

/// Keys that deck adds to a declarative configuration.
const OF_DECK: [&str; 5] = ["_info", "_konnect", "_workspace", "_comment", "_ignore"];

/// Settings of a service that need the upstream's certificate.
const OF_TLS: [&str; 4] = [
    "tls_verify",
    "tls_verify_depth",
    "ca_certificates",
    "client_certificate",
];

/// The upstream to which plug-ins route requests by their content.
const OTHER_TARGET: &str = "{{ (upstreams | last).targets[0] | endpoint }}";

pub(super) fn wire(file: &str, text: &str) -> Result<OwnConfig, ImportError> {
    let root = read_tree(file, text).map_err(Box::new)?;
    let mut log = Log::new(file, text);
    let api = crate::kong::read(text, file, &mut log)?;
    log.finish()?;
    let mut edits = Edits::new(file, text);
    for entry in root
        .entries()
        .iter()
        .filter(|it| OF_DECK.contains(&it.key.as_str()))
    {
        edits.remove(&removable(text, &root, entry), DECK);
    }
    let upstreams: BTreeSet<&str> = root
        .list("upstreams")
        .iter()
        .filter_map(|it| it.get("name").and_then(Node::text))
        .collect();
    each_mapping(&root, &mut |node| reference_by_name(node, &mut edits));
    for service in root.list("services") {
        service_addresses(text, service, &upstreams, &mut edits);
    }
    // Kong refuses an upstream with duplicate targets.
    let only = format!("[{{\"target\": \"{TARGET}\"}}]");
    for upstream in root.list("upstreams") {
        if let Some(targets) = upstream.get("targets") {
            edits.replace(&targets.span, only.clone(), ONE_TARGET);
        }
    }
    let mut plugins: BTreeSet<String> = BTreeSet::new();
    each_mapping(&root, &mut |node| {
        if let (Some(name), Some(config)) =
            (node.get("name").and_then(Node::text), node.get("config"))
        {
            plugins.insert(name.to_owned());
            each_mapping(config, &mut |config| plugin_addresses(config, &mut edits));
        }
    });
    // Kong recognises a JSON file by its name.
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

/// Replaces a reference that is a mapping, as deck accepts it, with the name or the id in it.
fn reference_by_name(node: &Node, edits: &mut Edits<'_>) {
    for key in ["service", "route", "consumer"] {
        let reference = node.get(key).filter(|it| matches!(it.data, Data::Map(_)));
        let name = reference.and_then(crate::kong::name_in);
        if let (Some(reference), Some(name)) = (reference, name) {
            edits.replace(&reference.span, literal(&json!(name).to_string()), DECK);
        }
    }
}

/// Kong loads a plug-in only if it is on this list; `bundled` stands for its own plug-ins.
fn environment(plugins: &BTreeSet<String>) -> BTreeMap<String, String> {
    let own = plugins
        .iter()
        .filter(|name| name.starts_with("soap-xml-"))
        .map(String::as_str);
    let all: Vec<&str> = std::iter::once("bundled").chain(own).collect();
    BTreeMap::from([("KONG_PLUGINS".to_owned(), all.join(","))])
}

fn service_addresses(
    text: &str,
    service: &Node,
    upstreams: &BTreeSet<&str>,
    edits: &mut Edits<'_>,
) {
    if let Some(url) = service.get("url") {
        let words = url.text().unwrap_or_default();
        let rest = words.split_once("://").map_or(words, |(_, rest)| rest);
        let path = literal(rest.find('/').map_or("", |at| &rest[at..]));
        edits.replace(&url.span, format!("\"http://{TARGET}{path}\""), UPSTREAM);
    }
    let secure = ["https", "tls", "grpcs"];
    if let Some(protocol) = service
        .get("protocol")
        .filter(|it| secure.contains(&it.text().unwrap_or_default()))
    {
        edits.replace(&protocol.span, "\"http\"", PLAIN);
    }
    for entry in service
        .entries()
        .iter()
        .filter(|it| OF_TLS.contains(&it.key.as_str()))
    {
        edits.remove(&removable(text, service, entry), PLAIN);
    }
    let Some(host) = service.get("host") else {
        return;
    };
    let is_upstream = host.text().is_some_and(|host| upstreams.contains(host));
    if is_upstream {
        return;
    }
    edits.replace(&host.span, format!("\"{TARGET_HOST}\""), UPSTREAM);
    match service.get("port") {
        Some(port) => edits.replace(&port.span, TARGET_PORT, UPSTREAM),
        None => {
            edits.insert_entry(new_entry(text, service, "port"), TARGET_PORT, UPSTREAM);
        }
    }
}

/// Replaces addresses in the settings of a plug-in: a measurement must not send anything to the
/// user's servers.
fn plugin_addresses(config: &Node, edits: &mut Edits<'_>) {
    for entry in config.entries() {
        let is_route = entry.key == "URL";
        for value in std::iter::once(&entry.value).chain(entry.value.items()) {
            let Some(url) = value.text().filter(|it| is_address(&entry.key, it)) else {
                continue;
            };
            let rest = url.split_once("://").map_or("", |(_, rest)| rest);
            let path = literal(rest.find('/').map_or("", |at| &rest[at..]));
            let target = if is_route { OTHER_TARGET } else { TARGET };
            let why = if is_route { UPSTREAM } else { OUTSIDE };
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

/// Reports whether a setting is the address of a server.
fn is_address(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let words = ["url", "endpoint", "uri"];
    let is_url = value.starts_with("http://") || value.starts_with("https://");
    is_url && words.iter().any(|word| key.contains(word))
}
