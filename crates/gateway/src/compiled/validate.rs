//! What a configuration of the right form may still get wrong.

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
    /// Looks at the meaning.
    ///
    /// # Errors
    /// All mistakes at once, each with its place.
    pub fn validate(&self) -> Result<(), ConfigErrors> {
        let mut mistakes = Mistakes::default();
        mistakes.listeners(self);
        mistakes.unique(
            "/upstreams",
            "upstream",
            self.upstreams.iter().map(|one| &one.name),
        );
        mistakes.unique(
            "/consumers",
            "consumer",
            self.consumers.iter().map(|one| &one.name),
        );
        mistakes.unique("/routes", "route", self.routes.iter().map(|one| &one.name));
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
        if let Some(metrics) = &self.metrics
            && !metrics.path.starts_with('/')
        {
            mistakes.add(
                "/metrics/path",
                "this is not a path; write for example \"/metrics\"",
            );
        }
        mistakes.timeouts(self);
        if self.connections_max == 0 {
            mistakes.add("/connections_max", "nobody could connect; write 1 or more");
        }
        if mistakes.0.is_empty() {
            Ok(())
        } else {
            Err(ConfigErrors(mistakes.0))
        }
    }
}

/// The upstreams that routes may name. There may be thousands of both, so they are gathered once.
struct Known<'a> {
    listed: Arc<[String]>,
    names: HashSet<&'a str>,
}

#[derive(Default)]
struct Mistakes(Vec<ConfigError>);

impl Mistakes {
    fn add(&mut self, at: impl Into<String>, message: impl Into<String>) {
        self.0.push(ConfigError::new(at, message));
    }

    fn listeners(&mut self, config: &GatewayConfig) {
        if config.listen.is_empty() {
            self.add(
                "/listen",
                "nothing to listen on; write an address such as \"127.0.0.1:8080\"",
            );
        }
        for (at, address) in config.listen.iter().enumerate() {
            if address.parse::<SocketAddr>().is_err() {
                let message = format!(
                    "\"{address}\" is not an IP address with a port; write it as \"127.0.0.1:8080\""
                );
                self.add(format!("/listen/{at}"), message);
            }
        }
        if !(1..=1024).contains(&config.workers) {
            self.add(
                "/workers",
                "the number of workers is not from 1 to 1024; write 1",
            );
        }
    }

    fn unique<'a>(&mut self, at: &str, what: &str, names: impl Iterator<Item = &'a String>) {
        let mut seen = HashSet::new();
        for (index, name) in names.enumerate() {
            if name.is_empty() {
                self.add(
                    format!("{at}/{index}/name"),
                    format!("the {what} has no name; give it one"),
                );
            } else if !seen.insert(name) {
                let message = format!("there is another {what} named \"{name}\"; rename one");
                self.add(format!("{at}/{index}/name"), message);
            }
        }
    }

    fn paths(&mut self, config: &GatewayConfig) {
        let mut seen = HashSet::new();
        for (at, route) in config.routes.iter().enumerate() {
            if !seen.insert(&route.path) {
                let message = format!(
                    "another route has the path \"{}\" too; change one",
                    route.path
                );
                self.add(format!("/routes/{at}/path"), message);
            }
        }
    }

    fn keys(&mut self, config: &GatewayConfig) {
        let mut seen = HashSet::new();
        for (at, consumer) in config.consumers.iter().enumerate() {
            for (index, key) in consumer.keys.iter().enumerate() {
                let place = format!("/consumers/{at}/keys/{index}");
                if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
                    self.add(
                        place,
                        "a key is visible ASCII without blanks, at least one character",
                    );
                } else if !seen.insert(key) {
                    self.add(
                        place,
                        "another consumer, or this one, has the same key; change one",
                    );
                }
            }
        }
    }

    fn passwords(&mut self, config: &GatewayConfig) {
        let mut policies = config.routes.iter().flat_map(|route| &route.policies);
        let are_told = policies.any(|policy| matches!(policy, Policy::ConsumerHeader(_)));
        for (at, consumer) in config.consumers.iter().enumerate() {
            if are_told
                && !consumer
                    .name
                    .bytes()
                    .all(|byte| matches!(byte, b' '..=b'~'))
            {
                let message = "the name goes into a header; write it in visible ASCII";
                self.add(format!("/consumers/{at}/name"), message);
            }
            if consumer.password.is_some() && consumer.name.contains(':') {
                let message =
                    "the name of a user ends at the first colon (RFC 7617); write it without one";
                self.add(format!("/consumers/{at}/name"), message);
            }
        }
    }

    fn upstream(&mut self, at: &str, upstream: &Upstream) {
        if upstream.targets.iter().all(|target| target.weight == 0) {
            let message = "no target has a weight above 0; name at least one that has";
            self.add(format!("{at}/targets"), message);
        }
        for (index, target) in upstream.targets.iter().enumerate() {
            if target.port == 0 {
                let message = "a port of 0 cannot be connected to; write the upstream's port";
                self.add(format!("{at}/targets/{index}/port"), message);
            }
            if target.weight > 65_535 {
                self.add(
                    format!("{at}/targets/{index}/weight"),
                    "the weight is above 65535",
                );
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
            let message = match is_path(path) {
                true => format!(
                    "\"{path}\" is not in its normal form, so no path of a request begins with it; \
                     write the normal form, or add \"paths\": \"verbatim\""
                ),
                false => format!(
                    "\"{path}\" is not the beginning of a path; write it as in a URL, from \"/\" on and \
                     without a query"
                ),
            };
            self.add(format!("{at}/path"), message);
        }
        self.upstream_of(&at, route, known);
        let own = route.timeouts.unwrap_or_default();
        self.waits(
            &format!("{at}/timeouts"),
            [
                ("connect_ms", own.connect_ms),
                ("upstream_ms", own.upstream_ms),
            ],
        );
        for (index, policy) in route.policies.iter().enumerate() {
            self.policy(&format!("{at}/policies/{index}"), policy);
        }
        let mut compiler = Compiler {
            is_check: true,
            upstreams: Arc::clone(&known.listed),
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
        let every = route
            .test_delay
            .and_then(|delay| delay.bimodal)
            .map(|bimodal| bimodal.every);
        if every == Some(0) {
            self.add(
                format!("{at}/test_delay/bimodal/every"),
                "every 0th request is none; write 10",
            );
        }
    }

    fn upstream_of(&mut self, at: &str, route: &Route, known: &Known<'_>) {
        let Some(name) = &route.upstream else {
            let is_mock = |policy: &Policy| matches!(policy, Policy::Mock(_));
            if !route.policies.iter().any(is_mock) {
                let message = "the route has no upstream; name one, or let a `mock` answer";
                self.add(at, message);
            }
            return;
        };
        if !known.names.contains(name.as_str()) {
            let known = known.listed.join(", ");
            let message = format!("there is no upstream \"{name}\"; write one of: {known}");
            self.add(format!("{at}/upstream"), message);
        }
    }

    fn timeouts(&mut self, config: &GatewayConfig) {
        let timeouts = &config.timeouts;
        self.waits(
            "/timeouts",
            [
                ("connect_ms", Some(timeouts.connect_ms)),
                ("upstream_ms", Some(timeouts.upstream_ms)),
                ("client_idle_ms", Some(timeouts.client_idle_ms)),
                ("request_head_ms", Some(timeouts.request_head_ms)),
                ("request_body_ms", Some(timeouts.request_body_ms)),
                ("drain_ms", Some(timeouts.drain_ms)),
            ],
        );
    }

    fn waits<const N: usize>(&mut self, at: &str, values: [(&str, Option<u32>); N]) {
        for (name, value) in values {
            if value == Some(0) {
                self.add(
                    format!("{at}/{name}"),
                    "a timeout of 0 would always pass; write 1 or more",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const GOOD: &str = r#"{
        "listen": ["127.0.0.1:1234", "[::1]:0"], "workers": 1, "access_log": false,
        "upstreams": [{"name": "origin", "keepalive": 64,
                       "targets": [{"address": "127.0.0.1", "port": 1, "weight": 1}]}],
        "consumers": [{"name": "alice", "keys": ["k"]}],
        "routes": [{"name": "json", "path": "/json", "strip_path": false, "upstream": "origin",
                    "policies": [{"api_key": {"header": "X-Api-Key"}},
                                 {"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}}],
                    "test_delay": {"request_ns": 1, "response_ns": 2,
                                   "bimodal": {"every": 10, "request_ns": 3, "response_ns": 4}}}],
        "timeouts": {"connect_ms": 1}
    }"#;

    /// Where the mistakes of a text of the right form are.
    fn places(text: &str) -> Vec<String> {
        let config: GatewayConfig = serde_json::from_str(text).unwrap();
        let ConfigErrors(errors) = config.validate().unwrap_err();
        errors.into_iter().map(|error| error.at).collect()
    }

    #[test]
    fn a_good_file_is_read_whole() {
        let config = GatewayConfig::parse(GOOD).unwrap();
        assert_eq!(
            (config.timeouts.connect_ms, config.timeouts.upstream_ms),
            (1, 30_000)
        );
        assert_eq!(config.routes[0].policies.len(), 2);
        assert_eq!(
            config.routes[0].test_delay.unwrap().bimodal.unwrap().every,
            10
        );
    }

    #[test]
    fn mistakes_of_meaning_come_together_with_their_places() {
        let text = GOOD
            .replace("127.0.0.1:1234", "localhost")
            .replace(r#""upstream": "origin""#, r#""upstream": "orig""#)
            .replace("\"/json\"", "\"json?\"")
            .replace("text/plain", r"text\u0001plain")
            .replace(r#""connect_ms": 1"#, r#""connect_ms": 0"#)
            .replace(r#""weight": 1"#, r#""weight": 0"#)
            .replace(r#"["k"]"#, r#"["k", "k", "ä"]"#)
            .replace(r#""every": 10"#, r#""every": 0"#);
        assert_eq!(
            places(&text),
            [
                "/listen/0",
                "/consumers/0/keys/1",
                "/consumers/0/keys/2",
                "/upstreams/0/targets",
                "/routes/0/path",
                "/routes/0/upstream",
                "/routes/0/policies/1/mock/content_type",
                "/routes/0/test_delay/bimodal/every",
                "/timeouts/connect_ms",
            ]
        );
    }

    #[test]
    fn policies_are_held_to_their_meaning() {
        let policies = r#"[
            {"rate_limit": {"limit": 1, "window": "0s", "per": "header"}},
            {"rate_limit": {"limit": 1, "window": "1s", "header": "X-Client"}},
            {"request_headers": {"set": {"Host": "x"}, "add": {"A b": "1", "C": "\u000a"}}},
            {"basic_auth": {"realm": "a \"quote\""}},
            {"jwt": {"keys": [{"hs256": {"secret": "short"}}]}},
            {"request_json": {"remove": ["/a"], "add": {"/a/b": 1}}}
        ]"#;
        let start = GOOD.find("[{\"api_key").unwrap();
        let end = GOOD.find("\"test_delay\"").unwrap();
        let text = [&GOOD[..start], policies, ", ", &GOOD[end..]].concat();
        let at = |place: &str| format!("/routes/0/policies/{place}");
        let expected = [
            at("0/rate_limit/window"),
            at("0/rate_limit"),
            at("1/rate_limit/header"),
            at("2/request_headers"),
            at("2/request_headers"),
            at("2/request_headers"),
            at("3/basic_auth/realm"),
            at("4/jwt/keys/0"),
            at("5/request_json"),
        ];
        assert_eq!(places(&text), expected);
    }

    #[cfg(not(feature = "soap"))]
    #[test]
    fn a_policy_that_was_left_out_of_the_build_names_its_feature() {
        for (policy, place) in [
            (r#"{"soap": {"request": {}}}"#, "soap"),
            (
                r#"{"response_xslt": {"stylesheet": "<a/>"}}"#,
                "response_xslt",
            ),
        ] {
            let text = GOOD.replace(r#"{"api_key": {"header": "X-Api-Key"}}"#, policy);
            let config: GatewayConfig = serde_json::from_str(&text).unwrap();
            let ConfigErrors(errors) = config.validate().unwrap_err();
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert_eq!(errors[0].at, format!("/routes/0/policies/0/{place}"));
            assert!(errors[0].message.contains("feature `soap`"), "{errors:?}");
        }
    }

    #[test]
    fn names_and_paths_are_unique() {
        let mut config = GatewayConfig::parse(GOOD).unwrap();
        config.routes.push(config.routes[0].clone());
        config.upstreams.push(config.upstreams[0].clone());
        let ConfigErrors(errors) = config.validate().unwrap_err();
        let found: Vec<_> = errors.iter().map(|error| error.at.as_str()).collect();
        assert_eq!(
            found,
            ["/upstreams/1/name", "/routes/1/name", "/routes/1/path"]
        );
    }
}
