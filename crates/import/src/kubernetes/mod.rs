//! Imports Gateways and HTTPRoutes of the Gateway API from one or more YAML documents.

pub(crate) mod documents;
mod filters;

use std::collections::BTreeMap;

use gatebench_config::{Data, Node};

use crate::api::{Api, Routes};
use crate::defaults;
use crate::error::ImportError;
use crate::folder::{Folder, SUITE_FILE};
use crate::keys::Keys;
use crate::log::Log;
use crate::name::numbered;
use crate::options::Options;
use crate::regex_sample::{self, sample_of};
use filters::Effects;

/// The gateways of the suite. They support the policies to which the core filters of the Gateway
/// API are converted.
const GATEWAYS: [&str; 4] = ["reference", "nginx", "haproxy", "envoy"];

/// Kinds of resources that the import skips, because the routes and their sample requests do not
/// depend on them.
const IGNORED: [&str; 12] = [
    "GatewayClass",
    "Service",
    "Deployment",
    "Namespace",
    "ReferenceGrant",
    "ConfigMap",
    "Secret",
    "ServiceAccount",
    "Pod",
    "Certificate",
    "Issuer",
    "ClusterIssuer",
];

const OTHER_ROUTES: [&str; 4] = ["GRPCRoute", "TCPRoute", "TLSRoute", "UDPRoute"];

pub(crate) fn import(text: &str, options: &Options) -> Result<Folder, ImportError> {
    let mut log = Log::new(&options.file, text);
    let api = read(text, &options.file, &mut log)?;
    let mut folder = Folder {
        notes: log.finish()?,
        ..Folder::default()
    };
    let comments = [format!("Imported from {}.", options.file)];
    let title = format!("{}, imported from the Gateway API", options.name);
    let scenarios = api.write(&title, &comments, options, &mut folder)?;
    let gateways = defaults::gateways(&GATEWAYS);
    let suite = defaults::suite(options, &title, gateways, scenarios, "tour");
    folder.add(SUITE_FILE, &[], &suite)?;
    Ok(folder)
}

pub(crate) fn read(text: &str, file: &str, log: &mut Log<'_>) -> Result<Api, ImportError> {
    let mut reader = Reader::default();
    for document in documents::read(file, text)? {
        reader.resource(&document, log);
    }
    reader.api.routes = reader.routes.all;
    Ok(reader.api)
}

#[derive(Default)]
struct Reader {
    api: Api,
    routes: Routes,
}

impl Reader {
    fn resource(&mut self, node: &Node, log: &mut Log<'_>) {
        if matches!(node.data, Data::Null) {
            return;
        }
        let mut keys = Keys::of(node, "the resource", log);
        let kind = keys.required("kind", log).unwrap_or_default();
        match kind.as_str() {
            "List" => {
                for item in node.list("items") {
                    self.resource(item, log);
                }
            }
            "Gateway" => self.gateway(node),
            "HTTPRoute" => self.route(node, log),
            kind if IGNORED.contains(&kind) || kind.is_empty() => {}
            kind if OTHER_ROUTES.contains(&kind) => {
                log.simplified(&node.head(), format!("a {kind}: it gets no requests"));
            }
            kind => {
                let words = log.not_understood(&node.head(), format!("the resource {kind}"));
                self.api.not_understood.push(words);
            }
        }
    }

    /// Makes clients use TLS if all listeners of the Gateway use HTTPS.
    fn gateway(&mut self, node: &Node) {
        let listeners = node.at(&["spec", "listeners"]).map(Node::items);
        let listeners = listeners.unwrap_or_default();
        let is_tls = |it: &Node| it.text_of("protocol") == Some("HTTPS");
        self.api.has_tls |= !listeners.is_empty() && listeners.iter().all(is_tls);
    }

    fn route(&mut self, node: &Node, log: &mut Log<'_>) {
        let name = node.at(&["metadata", "name"]).and_then(Node::text);
        let name = name.unwrap_or("route");
        let Some(spec) = node.get("spec") else {
            let message = "the HTTPRoute has no `spec`";
            log.problem(&node.head(), message, "add `spec:` with `rules:`");
            return;
        };
        let mut keys = Keys::of(spec, "`spec`", log);
        let hosts = keys.texts("hostnames", log);
        let rules = keys.list("rules", log);
        for (number, rule) in rules.iter().enumerate() {
            let name = match rules.len() {
                1 => name.to_owned(),
                _ => format!("{name}-{}", number + 1),
            };
            self.rule(&name, rule, hosts.first(), log);
        }
    }

    fn rule(&mut self, name: &str, node: &Node, host: Option<&String>, log: &mut Log<'_>) {
        let mut keys = Keys::of(node, "the rule", log);
        let matches = keys.list("matches", log);
        let effects = Effects::of(keys.list("filters", log), log);
        let service = backend(keys.list("backendRefs", log));
        keys.ignore(&["timeouts", "name"]);
        let mut not_understood = effects.not_understood;
        not_understood.extend(keys.not_understood(&format!(" of the rule {name}"), log));
        let read = matches.iter().filter_map(|it| Condition::read(it, log));
        let mut conditions: Vec<Condition> = read.collect();
        if matches.is_empty() {
            conditions.push(Condition::any(node));
        }
        for (index, condition) in conditions.into_iter().enumerate() {
            let (name, prefix) = (numbered(name, index), &condition.prefix);
            let Some(added) = self.routes.add(&name, prefix, &condition.span, log) else {
                continue;
            };
            added.sample = condition.sample;
            added.method = condition.method;
            added.headers = condition.headers;
            if let Some(host) = host {
                added.headers.insert("Host".into(), host.replace('*', "a"));
            }
            added.service.clone_from(&service);
            added.route.strip_path = effects.strips_path && added.route.path != "/";
            added.route.policies.clone_from(&effects.policies);
            added.not_understood.clone_from(&not_understood);
        }
    }
}

fn backend(references: &[Node]) -> String {
    let name = references.first().and_then(|it| it.text_of("name"));
    name.unwrap_or_default().to_owned()
}

/// A condition of a rule, and a request that meets it.
struct Condition {
    span: std::ops::Range<usize>,
    prefix: String,
    sample: String,
    method: String,
    headers: BTreeMap<String, String>,
}

impl Condition {
    /// Returns the condition of a rule without conditions, which every request meets.
    fn any(node: &Node) -> Self {
        Self {
            span: node.head(),
            prefix: "/".into(),
            sample: "/".into(),
            method: "GET".into(),
            headers: BTreeMap::new(),
        }
    }

    /// Parses a condition. Returns `None` if no request that meets it is known.
    fn read(node: &Node, log: &mut Log<'_>) -> Option<Self> {
        let mut condition = Self::any(node);
        let mut keys = Keys::of(node, "the match", log);
        if let Some(mut path) = keys.keys("path", log) {
            let value = path.text("value", log).unwrap_or_else(|| "/".into());
            match path.text("type", log).as_deref() {
                None | Some("PathPrefix" | "Exact") => {
                    condition.prefix.clone_from(&value);
                    condition.sample = value;
                }
                Some("RegularExpression") => {
                    condition.prefix = regex_sample::literal_prefix(&value);
                    condition.sample = sample_of(&value, &value, &path.span, log)?;
                }
                Some(other) => {
                    let message = format!("unknown path type {other}");
                    let help = "write PathPrefix, Exact or RegularExpression";
                    log.problem(&path.span, message, help);
                }
            }
            if !condition.sample.starts_with('/') {
                let message = "the path does not begin with /";
                log.problem(&path.span, message, "write a path such as /api");
            }
        }
        let span = keys.span.clone();
        let method = keys.text("method", log);
        for header in keys.list("headers", log) {
            condition.header(header, log);
        }
        let mut query = Vec::new();
        for parameter in keys.list("queryParams", log) {
            let mut parameter = Keys::of(parameter, "the parameter", log);
            let pair = parameter.name_and_value(log);
            query.extend(pair.map(|(name, value)| format!("{name}={value}")));
        }
        if !query.is_empty() {
            condition.sample += &format!("?{}", query.join("&"));
        }
        if method.is_some() || !condition.headers.is_empty() || !query.is_empty() {
            let what =
                "a rule that matches a method, header or query: other gateways match only its path";
            log.simplified(&span, what);
        }
        condition.method = method.unwrap_or_else(|| "GET".into());
        Some(condition)
    }

    fn header(&mut self, node: &Node, log: &mut Log<'_>) {
        let mut keys = Keys::of(node, "the header", log);
        let pair = keys.name_and_value(log);
        let is_expression = keys.text("type", log).as_deref() == Some("RegularExpression");
        let sample = pair.and_then(|(name, value)| match is_expression {
            true => Some((name, regex_sample::sample(&value)?)),
            false => Some((name, value)),
        });
        self.headers.extend(sample);
    }
}
