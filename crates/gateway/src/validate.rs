//! What a configuration of the right form may still get wrong.

use std::collections::HashSet;
use std::net::SocketAddr;

use crate::config::{ConfigError, ConfigErrors, GatewayConfig, Policy, Route, Upstream};

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
        for (at, upstream) in self.upstreams.iter().enumerate() {
            mistakes.upstream(&format!("/upstreams/{at}"), upstream);
        }
        for (at, route) in self.routes.iter().enumerate() {
            mistakes.route(&format!("/routes/{at}"), route, self);
        }
        mistakes.timeouts(self);
        if mistakes.0.is_empty() {
            Ok(())
        } else {
            Err(ConfigErrors(mistakes.0))
        }
    }
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

    fn route(&mut self, at: &str, route: &Route, config: &GatewayConfig) {
        let path = &route.path;
        if !path.starts_with('/')
            || !path
                .bytes()
                .all(|b| b.is_ascii_graphic() && !b"?#".contains(&b))
        {
            let message = format!(
                "\"{path}\" is not a path prefix; write visible ASCII from \"/\" on, without ? and #"
            );
            self.add(format!("{at}/path"), message);
        }
        if !config
            .upstreams
            .iter()
            .any(|upstream| upstream.name == route.upstream)
        {
            let known: Vec<_> = config
                .upstreams
                .iter()
                .map(|one| one.name.as_str())
                .collect();
            let message = format!(
                "there is no upstream \"{}\"; write one of: {}",
                route.upstream,
                known.join(", ")
            );
            self.add(format!("{at}/upstream"), message);
        }
        for (index, policy) in route.policies.iter().enumerate() {
            self.policy(&format!("{at}/policies/{index}"), policy);
        }
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

    fn policy(&mut self, at: &str, policy: &Policy) {
        match policy {
            Policy::ApiKey(api_key) => {
                if !is_token(&api_key.header) {
                    let message = format!(
                        "\"{}\" is not a field name; write for example \"X-Api-Key\"",
                        api_key.header
                    );
                    self.add(format!("{at}/api_key/header"), message);
                }
            }
            Policy::Mock(mock) => {
                if !(200..=599).contains(&mock.status) {
                    self.add(
                        format!("{at}/mock/status"),
                        "the status is not from 200 to 599",
                    );
                }
                let content_type = &mock.content_type;
                if content_type.is_empty()
                    || content_type.bytes().any(|byte| byte.is_ascii_control())
                {
                    let message = "this is not a content type; write for example \"text/plain\"";
                    self.add(format!("{at}/mock/content_type"), message);
                }
                if matches!(mock.status, 204 | 304) && !mock.body.is_empty() {
                    let message = format!(
                        "an answer with status {} has no body; write \"\"",
                        mock.status
                    );
                    self.add(format!("{at}/mock/body"), message);
                }
            }
        }
    }

    fn timeouts(&mut self, config: &GatewayConfig) {
        let timeouts = &config.timeouts;
        for (name, value) in [
            ("connect_ms", timeouts.connect_ms),
            ("upstream_ms", timeouts.upstream_ms),
            ("client_idle_ms", timeouts.client_idle_ms),
            ("request_head_ms", timeouts.request_head_ms),
        ] {
            if value == 0 {
                self.add(
                    format!("/timeouts/{name}"),
                    "a timeout of 0 would always pass; write 1 or more",
                );
            }
        }
    }
}

/// A token of RFC 9110 5.6.2.
fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
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

    fn places(text: &str) -> Vec<String> {
        GatewayConfig::from_json(text)
            .unwrap_err()
            .0
            .into_iter()
            .map(|error| error.at)
            .collect()
    }

    #[test]
    fn a_good_file_is_read_whole() {
        let config = GatewayConfig::from_json(GOOD).unwrap();
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
    fn mistakes_of_form_come_together_with_their_places() {
        let text = GOOD
            .replace(r#""workers": 1"#, r#""workers": "one""#)
            .replace(r#""strip_path": false"#, r#""strip_prefix": false"#)
            .replace(r#""weight": 1"#, r#""weight": -1"#)
            .replace("mock", "mocked");
        let found = places(&text);
        assert_eq!(found.len(), 4, "{found:?}");
        for place in [
            "/workers",
            "/routes/0",
            "/upstreams/0/targets/0/weight",
            "/routes/0/policies/1",
        ] {
            assert!(found.iter().any(|at| at == place), "{place} in {found:?}");
        }
        assert_eq!(places("{"), [""]);
    }

    #[test]
    fn mistakes_of_meaning_come_together_with_their_places() {
        let text = GOOD
            .replace("127.0.0.1:1234", "localhost")
            .replace(r#""upstream": "origin""#, r#""upstream": "orig""#)
            .replace("\"/json\"", "\"json?\"")
            .replace("X-Api-Key", "X Api")
            .replace(r#""status": 200"#, r#""status": 199"#)
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
                "/routes/0/policies/0/api_key/header",
                "/routes/0/policies/1/mock/status",
                "/routes/0/test_delay/bimodal/every",
                "/timeouts/connect_ms",
            ]
        );
    }

    #[test]
    fn names_and_paths_are_unique() {
        let mut config = GatewayConfig::from_json(GOOD).unwrap();
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
