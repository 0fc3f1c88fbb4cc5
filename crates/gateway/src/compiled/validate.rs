//! Checks the meaning of a configuration that is correct in form.

mod policies;

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Arc;

use gatebench_model::Policy;

use super::{names, policy_errors};
use crate::config::{ConfigError, ConfigErrors, GatewayConfig, Paths, Route, Upstream};
use crate::path::{is_normal, is_path};
use crate::policy::Compiler;

impl GatewayConfig {
    /// Checks the rules that the types of the configuration cannot express.
    ///
    /// # Errors
    /// Returns all mistakes, each with its place.
    pub fn validate(&self) -> Result<(), ConfigErrors> {
        let mut mistakes = Mistakes::default();
        mistakes.listeners(self);
        mistakes.unique("upstream", self.upstreams.iter().map(|one| &one.name));
        mistakes.unique("consumer", self.consumers.iter().map(|one| &one.name));
        mistakes.unique("route", self.routes.iter().map(|one| &one.name));
        mistakes.paths(self);
        mistakes.keys(self);
        mistakes.passwords(self);
        for (at, upstream) in self.upstreams.iter().enumerate() {
            mistakes.upstream(&format!("/upstreams/{at}"), upstream);
        }
        let known = Known {
            listed: names(self),
            names: self.upstreams.iter().map(|one| one.name.as_str()).collect(),
        };
        for (at, route) in self.routes.iter().enumerate() {
            mistakes.route(at, route, &known);
        }
        let metrics = self.metrics.as_ref();
        if metrics.is_some_and(|metrics| !metrics.path.starts_with('/')) {
            let remedy = "write a path such as \"/metrics\"";
            mistakes.add("/metrics/path", "this is not a path", remedy);
        }
        mistakes.timeouts(self);
        if self.connections_max == 0 {
            let message = "with a limit of 0, no client could connect";
            mistakes.add("/connections_max", message, "write 1 or more");
        }
        ConfigError::unless(mistakes.0, ()).map_err(ConfigErrors)
    }
}

/// The upstreams that routes may name. There may be thousands of upstreams and routes, so the names
/// are collected only once.
struct Known<'a> {
    listed: Arc<[String]>,
    names: HashSet<&'a str>,
}

#[derive(Default)]
struct Mistakes(Vec<ConfigError>);

impl Mistakes {
    fn add(&mut self, at: impl AsRef<str>, message: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(ConfigError::new(message, remedy).below(at));
    }

    fn listeners(&mut self, config: &GatewayConfig) {
        if config.listen.is_empty() {
            let remedy = "write an address such as \"127.0.0.1:8080\"";
            self.add("/listen", "there is nothing to listen on", remedy);
        }
        for (at, address) in config.listen.iter().enumerate() {
            if address.parse::<SocketAddr>().is_err() {
                let message = format!("the address \"{address}\" is not an IP address with a port");
                let remedy = "write it as \"127.0.0.1:8080\"";
                self.add(format!("/listen/{at}"), message, remedy);
            }
        }
        if !(1..=1024).contains(&config.workers) {
            let message = "the number of workers is not between 1 and 1024";
            self.add("/workers", message, "write 1");
        }
    }

    fn unique<'a>(&mut self, what: &str, names: impl Iterator<Item = &'a String>) {
        let mut seen = HashSet::new();
        for (index, name) in names.enumerate() {
            let at = format!("/{what}s/{index}/name");
            if name.is_empty() {
                self.add(at, format!("the {what} has no name"), "give it one");
            } else if !seen.insert(name) {
                let message = format!("there is another {what} named \"{name}\"");
                self.add(at, message, "rename one");
            }
        }
    }

    fn paths(&mut self, config: &GatewayConfig) {
        let mut seen = HashSet::new();
        for (at, route) in config.routes.iter().enumerate() {
            if !seen.insert(&route.path) {
                let message = format!("another route has the path \"{}\" too", route.path);
                self.add(format!("/routes/{at}/path"), message, "change one");
            }
        }
    }

    fn keys(&mut self, config: &GatewayConfig) {
        let mut seen = HashSet::new();
        for (at, consumer) in config.consumers.iter().enumerate() {
            for (index, key) in consumer.keys.iter().enumerate() {
                let place = format!("/consumers/{at}/keys/{index}");
                if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                    let message = "this is not a valid key";
                    let remedy = "write one or more visible ASCII characters, without spaces";
                    self.add(place, message, remedy);
                } else if !seen.insert(key) {
                    let message = "this key occurs more than once among the consumers";
                    self.add(place, message, "change one of the keys");
                }
            }
        }
    }

    fn passwords(&mut self, config: &GatewayConfig) {
        let mut policies = config.routes.iter().flat_map(|route| &route.policies);
        let are_sent = policies.any(|policy| matches!(policy, Policy::ConsumerHeader(_)));
        for (at, consumer) in config.consumers.iter().enumerate() {
            let at = format!("/consumers/{at}/name");
            let mut bytes = consumer.name.bytes();
            if are_sent && !bytes.all(|byte| matches!(byte, b' '..=b'~')) {
                let message =
                    "the name is sent in a header, where only visible ASCII and spaces are allowed";
                self.add(&at, message, "write it in visible ASCII");
            }
            if consumer.password.is_some() && consumer.name.contains(':') {
                let message = "a user name ends at the first colon (RFC 7617)";
                self.add(&at, message, "write the name without a colon");
            }
        }
    }

    fn upstream(&mut self, at: &str, upstream: &Upstream) {
        if upstream.targets.iter().all(|target| target.weight == 0) {
            let message = "no target has a weight above 0";
            let remedy = "give at least one target a weight above 0";
            self.add(format!("{at}/targets"), message, remedy);
        }
        for (index, target) in upstream.targets.iter().enumerate() {
            if target.port == 0 {
                let message = "the gateway cannot connect to port 0";
                let remedy = "write the upstream's port";
                self.add(format!("{at}/targets/{index}/port"), message, remedy);
            }
            if target.weight > 65_535 {
                let at = format!("{at}/targets/{index}/weight");
                self.add(at, "the weight is above 65535", "write 65535 or less");
            }
        }
    }

    fn route(&mut self, number: usize, route: &Route, known: &Known<'_>) {
        let at = format!("/routes/{number}");
        let path = &route.path;
        let is_prefix = match route.paths {
            Paths::Strict => is_normal(path),
            Paths::Verbatim => is_path(path),
        };
        if !is_prefix {
            let (what, remedy) = match is_path(path) {
                true => (
                    "is not in its normal form, so no request path begins with it",
                    "write the normal form, or add \"paths\": \"verbatim\"",
                ),
                false => (
                    "is not the beginning of a path",
                    "write it as in a URL, beginning with \"/\" and without a query",
                ),
            };
            self.add(format!("{at}/path"), format!("\"{path}\" {what}"), remedy);
        }
        self.upstream_of(&at, route, known);
        let own = route.timeouts.unwrap_or_default();
        self.timeout(&format!("{at}/timeouts/connect_ms"), own.connect_ms);
        self.timeout(&format!("{at}/timeouts/upstream_ms"), own.upstream_ms);
        for (index, policy) in route.policies.iter().enumerate() {
            self.policy(&format!("{at}/policies/{index}/{}", policy.kind()), policy);
        }
        let mut compiler = Compiler {
            is_check: true,
            upstreams: Arc::clone(&known.listed),
            paths: route.paths,
            ..Compiler::default()
        };
        if let Err(wrong) = compiler.chain(&route.policies) {
            self.0.extend(policy_errors(number, wrong));
        }
        #[cfg(feature = "faults")]
        self.test_delay(&at, route);
    }

    #[cfg(feature = "faults")]
    fn test_delay(&mut self, at: &str, route: &Route) {
        let bimodal = route.test_delay.and_then(|delay| delay.bimodal);
        if bimodal.is_some_and(|bimodal| bimodal.every == 0) {
            let at = format!("{at}/test_delay/bimodal/every");
            self.add(at, "0 selects no request", "write 10");
        }
    }

    fn upstream_of(&mut self, at: &str, route: &Route, known: &Known<'_>) {
        let Some(name) = &route.upstream else {
            let is_mock = |policy: &Policy| matches!(policy, Policy::Mock(_));
            if !route.policies.iter().any(is_mock) {
                let remedy = "name an upstream, or add a `mock` policy";
                self.add(at, "the route has no upstream", remedy);
            }
            return;
        };
        if !known.names.contains(name.as_str()) {
            let message = format!("there is no upstream \"{name}\"");
            let remedy = format!("write one of: {}", known.listed.join(", "));
            self.add(format!("{at}/upstream"), message, remedy);
        }
    }

    fn timeouts(&mut self, config: &GatewayConfig) {
        let timeouts = &config.timeouts;
        for (name, value) in [
            ("connect_ms", timeouts.connect_ms),
            ("upstream_ms", timeouts.upstream_ms),
            ("client_idle_ms", timeouts.client_idle_ms),
            ("request_head_ms", timeouts.request_head_ms),
            ("request_body_ms", timeouts.request_body_ms),
            ("drain_ms", timeouts.drain_ms),
        ] {
            self.timeout(&format!("/timeouts/{name}"), Some(value));
        }
    }

    fn timeout(&mut self, at: &str, value: Option<u32>) {
        if value == Some(0) {
            self.add(at, "a timeout of 0 would always expire", "write 1 or more");
        }
    }
}
