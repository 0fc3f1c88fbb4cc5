//! Imports the configuration file of APISIX's standalone mode.

mod plugins;

use std::collections::{BTreeMap, BTreeSet};

use gatebench_config::{Data, Entry, Node, read_tree};
use gatebench_model::Consumer;

use crate::api::{Api, Routes};
use crate::error::ImportError;
use crate::folder::Folder;
use crate::keys::Keys;
use crate::log::Log;
use crate::name::{check_user_name, numbered, slug};
use crate::options::Options;
use plugins::Effects;
pub(crate) use plugins::mock_status;

/// Settings of a route that are read separately or ignored.
const OF_ROUTE: [&str; 14] = [
    "id",
    "desc",
    "labels",
    "priority",
    "status",
    "timeout",
    "enable_websocket",
    "upstream",
    "upstream_id",
    "service_id",
    "plugin_config_id",
    "create_time",
    "update_time",
    "hosts",
];

pub(crate) fn import(text: &str, options: &Options) -> Result<Folder, ImportError> {
    let mut log = Log::new(&options.file, text);
    let api = read(text, &options.file, &mut log)?;
    api.write_with_config(log, "apisix", "apisix.yaml", text, options)
}

pub(crate) fn read(text: &str, file: &str, log: &mut Log<'_>) -> Result<Api, ImportError> {
    let root = read_tree(file, text).map_err(Box::new)?;
    let mut keys = Keys::of(&root, "the file", log);
    let mut api = Api::default();
    consumers(keys.list("consumers", log), &mut api, log);
    let shared = Shared {
        services: by_id(keys.list("services", log)),
        configs: by_id(keys.list("plugin_configs", log)),
        global: keys.list("global_rules", log).iter().collect(),
    };
    let mut routes = Routes::default();
    for route in keys.list("routes", log) {
        read_route(route, &shared, &mut routes, &mut api, log);
    }
    api.routes = routes.all;
    keys.ignore(&["upstreams", "ssls", "plugin_metadata", "plugins"]);
    keys.ignore(&["secrets", "deployment"]);
    api.not_understood.extend(keys.not_understood("", log));
    Ok(api)
}

/// Objects that can apply to several routes.
struct Shared<'n> {
    services: BTreeMap<String, &'n Node>,
    configs: BTreeMap<String, &'n Node>,
    global: Vec<&'n Node>,
}

fn by_id(nodes: &[Node]) -> BTreeMap<String, &Node> {
    let with_id = |node| Some((identifier(Node::get(node, "id")?)?, node));
    nodes.iter().filter_map(with_id).collect()
}

/// Identifiers may be numbers.
fn identifier(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(text.clone()),
        Data::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

fn read_route<'n>(
    node: &'n Node,
    shared: &Shared<'n>,
    routes: &mut Routes,
    api: &mut Api,
    log: &mut Log<'_>,
) {
    let mut keys = Keys::of(node, "the route", log);
    let span = keys.span.clone();
    let id = node.get("id").and_then(identifier);
    let name = keys.text("name", log).or(id);
    let name = name.unwrap_or_else(|| "route".into());
    if node.get("status").and_then(Node::number) == Some(0.0) {
        return;
    }
    let referred = |key: &str, all: &BTreeMap<String, &'n Node>| {
        all.get(&identifier(node.get(key)?)?).copied()
    };
    let service = referred("service_id", &shared.services);
    let config = referred("plugin_config_id", &shared.configs);
    let shared = shared.global.iter().copied().chain(service).chain(config);
    let plugins = shared.chain([node]).flat_map(|it| it.mapping("plugins"));
    let plugins: BTreeMap<&str, &Entry> = plugins.map(|it| (&*it.key, it)).collect();
    keys.ignore(&["plugins"]);
    let mut paths: BTreeSet<String> = keys.texts("uris", log).into_iter().collect();
    paths.extend(keys.text("uri", log));
    if paths.is_empty() {
        let message = "the route has neither `uri` nor `uris`";
        log.problem(&span, message, "add `uri: /PATH/*`");
    }
    let prefixes: BTreeSet<&str> = paths.iter().map(|path| prefix(path)).collect();
    let methods = keys.texts("methods", log);
    let get = methods.iter().any(|it| it == "GET");
    let host = node.list("hosts").first().and_then(Node::text);
    let host = keys.text("host", log).or(host.map(str::to_owned));
    if host.is_some() || !methods.is_empty() {
        let what = "a route that matches a host or method: other gateways match only its path";
        log.simplified(&span, what);
    }
    keys.ignore(&OF_ROUTE);
    let not_understood = keys.not_understood(&format!(" of the route {name}"), log);
    let service_name = service.and_then(|it| it.text_of("name"));
    for (index, prefix) in prefixes.into_iter().enumerate() {
        let Some(added) = routes.add(&numbered(&name, index), prefix, &span, log) else {
            continue;
        };
        let effects = Effects::of(&plugins, &added.route.path, log);
        api.has_metrics |= effects.has_metrics;
        added.route.strip_path = effects.strips_path;
        added.route.policies = effects.policies;
        added.not_understood.clone_from(&not_understood);
        added.not_understood.extend(effects.not_understood);
        added.service = service_name.unwrap_or_default().to_owned();
        if let Some(method) = methods.first().filter(|_| !get) {
            added.method.clone_from(method);
        }
        if let Some(host) = &host {
            added.headers.insert("Host".into(), host.replace('*', "a"));
        }
    }
}

/// Returns the prefix of a path that may end in `*` or contain parameters such as `:id`.
fn prefix(path: &str) -> &str {
    let end = path.find(['*', ':']).unwrap_or(path.len());
    let prefix = &path[..end];
    let without_slash = prefix.strip_suffix('/').filter(|it| !it.is_empty());
    without_slash.unwrap_or(prefix)
}

fn consumers(nodes: &[Node], api: &mut Api, log: &mut Log<'_>) {
    for node in nodes {
        let mut keys = Keys::of(node, "the consumer", log);
        let name = keys.required("username", log).unwrap_or_default();
        let mut consumer = Consumer {
            name: slug(&name),
            ..Consumer::default()
        };
        for entry in node.mapping("plugins") {
            let mut config = Keys::of(&entry.value, format!("the plug-in {}", entry.key), log);
            match entry.key.as_str() {
                "key-auth" => consumer.keys.extend(config.required("key", log)),
                "basic-auth" => {
                    consumer.name = config.required("username", log).unwrap_or_default();
                    check_user_name(&consumer.name, &config.span, log);
                    consumer.password = config.required("password", log);
                }
                other => {
                    let what = format!("the plug-in {other} of the consumer {name}");
                    let words = log.not_understood(&entry.key_span, what);
                    api.not_understood.push(words);
                }
            }
        }
        if !consumer.keys.is_empty() || consumer.password.is_some() {
            api.consumers.push(consumer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_is_a_prefix() {
        for (path, expected) in [
            ("/a/*", "/a"),
            ("/a", "/a"),
            ("/*", "/"),
            ("/a/:id/b", "/a"),
        ] {
            assert_eq!(prefix(path), expected, "{path}");
        }
    }
}
