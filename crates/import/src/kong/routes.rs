//! Converts services and routes.

use std::collections::BTreeMap;

use gatebench_config::{Data, Node};

use super::access::Groups;
use super::plugins::{Effects, Plugin};
use super::{TokenSecrets, name_in};
use crate::api::{Api, Routes};
use crate::keys::Keys;
use crate::log::Log;
use crate::name::numbered;
use crate::regex_sample;

/// Settings of a service that are read separately, or that have no effect in a scenario.
const OF_SERVICE: [&str; 19] = [
    "_comment",
    "id",
    "tags",
    "url",
    "protocol",
    "port",
    "path",
    "retries",
    "connect_timeout",
    "read_timeout",
    "write_timeout",
    "enabled",
    "tls_verify",
    "tls_verify_depth",
    "ca_certificates",
    "client_certificate",
    "created_at",
    "updated_at",
    "tls_sans",
];

/// Settings of a route that are read separately, or that have no effect in a scenario.
const OF_ROUTE: [&str; 14] = [
    "_comment",
    "id",
    "tags",
    "preserve_host",
    "regex_priority",
    "path_handling",
    "https_redirect_status_code",
    "request_buffering",
    "response_buffering",
    "service",
    "snis",
    "created_at",
    "updated_at",
    "priority",
];

pub(super) struct Reader<'n> {
    /// Plug-ins at the top level of the file.
    plugins: Vec<Plugin<'n>>,
    secrets: TokenSecrets,
    groups: Groups,
    routes: Routes,
    /// The plug-ins of each service, by the service's name and identifier.
    of_service: BTreeMap<String, Vec<Plugin<'n>>>,
}

impl<'n> Reader<'n> {
    pub(super) fn new(plugins: Vec<Plugin<'n>>, secrets: TokenSecrets, groups: Groups) -> Self {
        Self {
            plugins,
            secrets,
            groups,
            routes: Routes::default(),
            of_service: BTreeMap::new(),
        }
    }

    pub(super) fn service(&mut self, node: &'n Node, api: &mut Api, log: &mut Log<'_>) {
        let mut keys = Keys::of(node, "the service", log);
        let enabled = node.get("enabled").and_then(Node::flag);
        if enabled == Some(false) {
            return;
        }
        let host = keys.text("host", log);
        let url = keys.text("url", log);
        if host.is_none() && url.is_none() {
            let message = "the service has neither `url` nor `host`";
            log.problem(&keys.span, message, "add `url: http://HOST:PORT/PATH`");
        }
        let name = keys.text("name", log);
        let id = node.text_of("id").map(str::to_owned);
        let mut plugins = Plugin::read_all(keys.list("plugins", log), log);
        let names: Vec<String> = name.iter().chain(&id).cloned().collect();
        let bound = self.plugins.iter().filter(|it| it.is_of("service", &names));
        plugins.extend(bound.cloned());
        for name in &names {
            self.of_service.insert(name.clone(), plugins.clone());
        }
        let address = host.or(url).unwrap_or_default();
        let service = format!("{} {address}", name.unwrap_or_default());
        for route in keys.list("routes", log) {
            self.route(route, &service, &plugins, api, log);
        }
        keys.ignore(&OF_SERVICE);
        let of = format!(" of the service {service}");
        api.not_understood.extend(keys.not_understood(&of, log));
    }

    /// Converts a route at the top level of the file, which names its service.
    pub(super) fn route_at_top(&mut self, node: &'n Node, api: &mut Api, log: &mut Log<'_>) {
        let service = node.get("service").and_then(name_in);
        let plugins = service.and_then(|name| self.of_service.get(name)).cloned();
        let (service, plugins) = (service.unwrap_or_default(), plugins.unwrap_or_default());
        self.route(node, service, &plugins, api, log);
    }

    fn route(
        &mut self,
        node: &'n Node,
        service: &str,
        of_service: &[Plugin<'n>],
        api: &mut Api,
        log: &mut Log<'_>,
    ) {
        let mut keys = Keys::of(node, "the route", log);
        let span = keys.span.clone();
        let name = keys.text("name", log);
        let protocols = keys.texts("protocols", log);
        let is_http = |it: &String| it == "http" || it == "https";
        if !protocols.is_empty() && !protocols.iter().any(is_http) {
            let what = format!(
                "a route that accepts only {}: it gets no requests",
                protocols.join(", ")
            );
            log.simplified(&span, what);
            return;
        }
        api.has_tls |= !protocols.is_empty() && protocols.iter().all(|it| it == "https");
        let mut own = Plugin::read_all(keys.list("plugins", log), log);
        let id = node.text_of("id").map(str::to_owned);
        let names: Vec<String> = name.iter().cloned().chain(id).collect();
        let bound = self.plugins.iter().filter(|it| it.is_of("route", &names));
        own.extend(bound.cloned());
        let conditions = Conditions::read(&mut keys, log);
        let strip_path = keys.flag("strip_path", log).unwrap_or(true);
        keys.ignore(&OF_ROUTE);
        let of = format!(" of the route {}", name.as_deref().unwrap_or_default());
        let mut not_understood = keys.not_understood(&of, log);
        let acting = acting(&self.plugins, of_service, &own);
        let mut effects = Effects::of(&acting, &self.secrets, log);
        not_understood.append(&mut effects.not_understood);
        api.has_metrics |= effects.has_metrics;
        let access = effects.access.as_ref();
        let clients = access.map(|list| self.groups.accepted_by(list, &api.consumers));
        for (index, path) in conditions.paths.iter().enumerate() {
            let name = numbered(name.as_deref().unwrap_or("route"), index);
            let Some(added) = self.routes.add(&name, &path.prefix, &span, log) else {
                continue;
            };
            added.sample.clone_from(&path.sample);
            added.method.clone_from(&conditions.method);
            added.headers.clone_from(&conditions.headers);
            added.clients.clone_from(&clients);
            added.service = service.to_owned();
            added.route.strip_path = strip_path && added.route.path != "/";
            added.route.policies.clone_from(&effects.policies);
            added.not_understood.clone_from(&not_understood);
        }
    }

    pub(super) fn finish(self, api: &mut Api, log: &mut Log<'_>) {
        for plugin in self.plugins.iter().filter(|it| it.is_of_consumer()) {
            let what = format!("the plug-in {} of a consumer", plugin.name);
            let words = log.not_understood(&plugin.span, what);
            api.not_understood.push(words);
        }
        api.routes = self.routes.all;
    }
}

/// Returns the plug-ins that apply to a route. If several have the same name, only the one with the
/// most specific binding applies.
fn acting<'n>(
    all: &[Plugin<'n>],
    of_service: &[Plugin<'n>],
    own: &[Plugin<'n>],
) -> Vec<Plugin<'n>> {
    let global = all.iter().filter(|it| it.is_global());
    let mut acting: BTreeMap<&str, Plugin<'n>> = BTreeMap::new();
    for plugin in global.chain(of_service).chain(own) {
        acting.insert(plugin.name.as_str(), plugin.clone());
    }
    acting.into_values().filter(|it| it.is_enabled).collect()
}

struct RoutePath {
    prefix: String,
    sample: String,
}

impl RoutePath {
    fn plain(path: &str) -> Self {
        Self {
            prefix: path.to_owned(),
            sample: path.to_owned(),
        }
    }
}

struct Conditions {
    paths: Vec<RoutePath>,
    method: String,
    headers: BTreeMap<String, String>,
}

impl Conditions {
    fn read(keys: &mut Keys<'_>, log: &mut Log<'_>) -> Self {
        let span = keys.span.clone();
        let nodes = keys.list("paths", log);
        let read = nodes.iter().filter_map(|node| path(node, log));
        let mut paths: Vec<RoutePath> = read.collect();
        if nodes.is_empty() {
            paths.push(RoutePath::plain("/"));
        }
        let methods = keys.texts("methods", log);
        let method = match methods.iter().any(|it| it == "GET") {
            true => None,
            false => methods.first().cloned(),
        };
        let mut headers = BTreeMap::new();
        if let Some(host) = keys.texts("hosts", log).first() {
            headers.insert("Host".to_owned(), host.replace('*', "a"));
        }
        for entry in keys.node("headers").map(Node::entries).unwrap_or_default() {
            let value = match &entry.value.data {
                Data::List(items) => items.first(),
                _ => Some(&entry.value),
            };
            let value = value.and_then(|value| log.text_of(value, "the value of a header"));
            let sample = value.and_then(|value| match value.strip_prefix("~*") {
                Some(expression) => regex_sample::sample(expression),
                None => Some(value),
            });
            headers.extend(sample.map(|sample| (entry.key.clone(), sample)));
        }
        if !headers.is_empty() || !methods.is_empty() {
            let what =
                "a route that matches a host, header or method: other gateways match only its path";
            log.simplified(&span, what);
        }
        Self {
            paths,
            method: method.unwrap_or_else(|| "GET".into()),
            headers,
        }
    }
}

/// Converts a path to a prefix and a sample. Returns `None` if the path is not text, or if it is an
/// expression for which no sample is known.
fn path(node: &Node, log: &mut Log<'_>) -> Option<RoutePath> {
    let text = log.text_of(node, "a path")?;
    // Before format 3.0, an expression differs from a plain path only in its characters.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._~-%".contains(c);
    let expression = match text.strip_prefix('~') {
        Some(expression) => expression,
        None if text.chars().all(is_plain) => return Some(RoutePath::plain(&text)),
        None => &text,
    };
    // The suffix also matches the end of the path, so it adds no segment to the sample.
    let segments = expression.strip_suffix("(?:/|$)").unwrap_or(expression);
    Some(RoutePath {
        sample: regex_sample::sample_of(segments, &text, &node.span, log)?,
        prefix: regex_sample::literal_prefix(expression),
    })
}
