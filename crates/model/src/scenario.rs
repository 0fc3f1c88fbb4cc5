//! A scenario: an upstream, the routes and policies in front of it, the requests that are sent and
//! what must come back.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The scenario's name: lower case, digits and hyphens.
    #[schemars(schema_with = "crate::words::name")]
    pub scenario: String,
    /// One line for people.
    pub title: String,
    /// The origin behind the gateway.
    pub upstream: UpstreamKind,
    /// What the gateway routes where, and the policies on the way.
    #[schemars(length(min = 1))]
    pub routes: Vec<Route>,
    /// Who may call, with their keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<Consumer>,
    /// The requests of the load, sent in turn.
    #[schemars(length(min = 1))]
    pub requests: Vec<Request>,
    /// Proof, before and after the load, that the policies act: good requests and bad ones.
    #[serde(default)]
    pub parity: Vec<ParityCase>,
}

impl Scenario {
    /// The words of the policies that any route uses.
    pub fn policies(&self) -> BTreeSet<&'static str> {
        self.routes
            .iter()
            .flat_map(|route| &route.policies)
            .map(Policy::kind)
            .collect()
    }

    /// The route that a path (with or without a query) takes: the longest prefix wins.
    pub fn route_of(&self, path: &str) -> Option<&Route> {
        self.routes
            .iter()
            .filter(|route| path_matches(&route.path, path))
            .max_by_key(|route| route.path.len())
    }

    /// Whether the load can be sent straight to the upstream: not where a gateway answers by itself.
    pub fn has_floor(&self) -> bool {
        self.requests.iter().all(|request| {
            self.route_of(&request.path)
                .is_some_and(|route| !route.answers())
        })
    }
}

/// Whether a path lies under the prefix of a route, which ends where a segment ends: `/json` holds
/// `/json` and `/json/valid`, not `/jsonx`.
pub(crate) fn path_matches(prefix: &str, path: &str) -> bool {
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    path.strip_prefix(prefix)
        .is_some_and(|rest| prefix.ends_with('/') || rest.is_empty() || rest.starts_with('/'))
}

/// An embedded upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamKind {
    /// `GET /ping` answers `ok`.
    Ping,
    /// Small JSON, sized bodies, delays, echo.
    GoBench,
    /// `/anything` echoes the request as JSON.
    Httpbin,
}

impl UpstreamKind {
    /// The word used in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::GoBench => "go-bench",
            Self::Httpbin => "httpbin",
        }
    }
}

/// A path prefix, the policies on it, and where it leads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The route's name, unique in the scenario.
    #[schemars(schema_with = "crate::words::name")]
    pub name: String,
    /// Path prefix, beginning with `/` and ending where a segment of the path ends.
    #[schemars(schema_with = "crate::words::path")]
    pub path: String,
    /// Whether the prefix is removed before the upstream sees the path.
    #[serde(default)]
    pub strip_path: bool,
    /// Policies in the order in which they act.
    #[serde(default)]
    pub policies: Vec<Policy>,
}

impl Route {
    /// The path that the upstream sees for a path that takes this route.
    pub fn upstream_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let rest = if self.strip_path {
            path.strip_prefix(&self.path).unwrap_or(path)
        } else {
            path
        };
        if rest.starts_with('/') {
            Cow::Borrowed(rest)
        } else {
            Cow::Owned(format!("/{rest}"))
        }
    }

    /// Whether the gateway answers by itself, so that nothing reaches the upstream.
    pub fn answers(&self) -> bool {
        self.policies
            .iter()
            .any(|policy| matches!(policy, Policy::Mock(_)))
    }
}

/// A policy of a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The request must carry the key of a consumer in this header, else 401.
    ApiKey(ApiKeyPolicy),
    /// The gateway answers by itself.
    Mock(MockPolicy),
}

impl Policy {
    /// The words of all policies.
    pub const KINDS: [&str; 2] = ["api_key", "mock"];

    /// The word used in files and in the list of what a gateway supports.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ApiKey(_) => "api_key",
            Self::Mock(_) => "mock",
        }
    }
}

/// Settings of `api_key`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiKeyPolicy {
    /// The header that carries the key.
    #[schemars(schema_with = "crate::words::header_name")]
    pub header: String,
}

/// Settings of `mock`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MockPolicy {
    /// Status of the answer.
    #[schemars(range(min = 200, max = 599))]
    pub status: u16,
    /// Its Content-Type.
    pub content_type: String,
    /// Its body.
    pub body: String,
}

/// Someone who may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Consumer {
    /// Unique name.
    #[schemars(schema_with = "crate::words::name")]
    pub name: String,
    /// Keys accepted by `api_key`.
    #[serde(default)]
    pub keys: Vec<String>,
}

/// One request of the load, or of a parity case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The method; GET where none is given.
    #[serde(default = "get")]
    #[schemars(schema_with = "crate::words::method")]
    pub method: String,
    /// Path and query, beginning with `/`.
    #[schemars(schema_with = "crate::words::path")]
    pub path: String,
    /// Headers besides Host, Content-Length and Connection, which are made.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// What each answer must be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
}

fn get() -> String {
    "GET".into()
}

/// The body of a request, written as a plain string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Body(String);

impl Body {
    /// A body of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The bytes to send.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// One condition on an answer. All conditions of a request must hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The status is this one.
    Status(#[schemars(range(min = 100, max = 599))] u16),
    /// A header is present and has exactly this value.
    Header(HeaderCheck),
    /// The whole body is exactly this text.
    BodyEquals(String),
    /// The body contains this text.
    BodyContains(String),
    /// The body is JSON, and the value at a path equals another.
    Json(JsonCheck),
}

/// A header and its value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HeaderCheck {
    /// Name, in any case.
    #[schemars(schema_with = "crate::words::header_name")]
    pub name: String,
    /// Exact value.
    pub equals: String,
}

/// A place in a JSON document and the value that must be there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonCheck {
    /// JSON Pointer (RFC 6901): `/result`, `/items/0/name`; the empty string is the whole document.
    #[schemars(schema_with = "crate::words::json_pointer")]
    pub path: String,
    /// The value, compared as JSON.
    pub equals: serde_json::Value,
}

/// One request with a known answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParityCase {
    /// What the case proves, in words.
    pub name: String,
    /// The request, with the checks its answer must pass.
    pub request: Request,
    /// Whether the request must reach the upstream; read from the upstream's ledger, not believed.
    pub reaches_upstream: bool,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::parse;

    const TEXT: &str = "
scenario: s
title: t
upstream: go-bench
routes:
  - {name: all, path: /, strip_path: true}
  - {name: size, path: /size, policies: [api_key: {header: X-Api-Key}]}
  - {name: hello, path: /size/hello, policies: [mock: {status: 200, content_type: text/plain, body: x}]}
consumers: [{name: a, keys: [k]}]
requests: [{path: /size/350B}]
";

    #[test]
    fn the_longest_prefix_wins_and_the_query_does_not_count() {
        let scenario: Scenario = parse("s.yaml", TEXT).unwrap();
        let name = |path| scenario.route_of(path).map(|route| route.name.as_str());
        assert_eq!(name("/size/350B"), Some("size"));
        assert_eq!(name("/size/hello?x"), Some("hello"));
        assert_eq!(name("/?q=/size"), Some("all"));
        assert_eq!(name("/sizes"), Some("all"));
        assert_eq!(name("elsewhere"), None);
    }

    #[test]
    fn a_stripped_path_still_begins_with_a_slash() {
        let mut route = parse::<Scenario>("s.yaml", TEXT).unwrap().routes.remove(1);
        assert_eq!(route.upstream_path("/size/350B"), "/size/350B");
        route.strip_path = true;
        assert_eq!(route.upstream_path("/size/350B"), "/350B");
        assert_eq!(route.upstream_path("/size"), "/");
        assert_eq!(route.upstream_path("/size?x=1"), "/?x=1");
    }

    #[test]
    fn the_policies_are_those_of_the_schema_and_of_the_routes() {
        let scenario: Scenario = parse("s.yaml", TEXT).unwrap();
        assert_eq!(scenario.policies(), BTreeSet::from(Policy::KINDS));
        let schema = crate::schema(crate::FileKind::Scenario);
        let branches = schema["$defs"]["Policy"]["oneOf"].as_array().unwrap();
        let words = branches
            .iter()
            .map(|branch| branch["required"][0].as_str().unwrap());
        assert!(words.eq(Policy::KINDS));
    }

    #[test]
    fn a_load_that_the_gateway_answers_has_no_floor() {
        let mut scenario: Scenario = parse("s.yaml", TEXT).unwrap();
        assert!(scenario.has_floor());
        scenario.requests[0].path = "/size/hello".into();
        assert!(!scenario.has_floor());
    }
}
