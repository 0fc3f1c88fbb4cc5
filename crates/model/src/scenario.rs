//! A scenario: an upstream, the routes and policies in front of it, the requests that are sent and
//! what must come back.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::AdminRounds;
use crate::data::{Source, WrittenSource};
use crate::group::{Group, Order};
use crate::policy::Policy;
use crate::repeat;
use crate::request::Request;
use crate::route::{Route, path_matches};
use crate::transport::Transport;

/// One scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The scenario's name: lower case, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub scenario: String,
    /// One line for people.
    pub title: String,
    /// The origin behind the gateway.
    pub upstream: UpstreamKind,
    /// What is spoken on the connections; plain HTTP/1.1 where it is not said.
    #[serde(default, skip_serializing_if = "Transport::is_plain")]
    pub transport: Transport,
    /// Whether the gateway logs each request.
    #[serde(default, skip_serializing_if = "is_false")]
    pub access_log: bool,
    /// What the gateway routes where, and the policies on the way.
    #[schemars(length(min = 1))]
    pub routes: Vec<Route>,
    /// Who may call, with their keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<Consumer>,
    /// Where the values in templates come from, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, WrittenSource>")]
    pub data: BTreeMap<String, Source>,
    /// Which of `requests` is next; groups say it each for themselves.
    #[serde(default, skip_serializing_if = "Order::is_in_turn")]
    pub order: Order,
    /// The requests of the load; instead of `groups`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub requests: Vec<Request>,
    /// Groups of requests that are sent at the same time and reported apart; instead of `requests`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub groups: Vec<Group>,
    /// Proof, before and after the load, that the policies act: good requests and bad ones.
    #[serde(default)]
    pub parity: Vec<ParityCase>,
    /// What a change of the configuration makes of it: the change `configure` of a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<Later>,
    /// Processes of the upstream, between which the gateway shares out the requests, by default in turn.
    #[serde(default = "one_target", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 16))]
    pub targets: u32,
    /// Further origins by name, each in a process of its own: a policy that chooses where a request goes names
    /// them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub more_upstreams: BTreeMap<String, UpstreamKind>,
    /// Weights of the targets, one list after the other: the first from the start, the next one with each change
    /// `weights` of a load, and after the last the first again. Without it all are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(inner(range(min = 1, max = 100))))]
    pub weights: Vec<Vec<u32>>,
    /// Upstreams that a gateway knows, by the names `origin-1`, `origin-2` and so on: the first route leads to the
    /// first, the next one to the second. All have the same targets.
    #[serde(default = "one_target", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub upstreams: u32,
    /// Whether the gateway may try another target when one fails, and leave one out for a while, by what
    /// means it has. Without it no gateway tries anything twice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failover: bool,
    /// What is done through the gateway's admin interface, after the loads and under them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminRounds>,
    /// The gateway's own metrics; off where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
}

/// What a scenario is after its change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Later {
    /// Routes that are new, or take the place of one of the same name.
    #[schemars(length(min = 1))]
    pub routes: Vec<Route>,
    /// What holds from then on, beside the cases that hold before. The change is in effect when the
    /// first of these is answered as it says.
    #[schemars(length(min = 1))]
    pub parity: Vec<ParityCase>,
}

/// What a gateway tells of itself, for Prometheus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// How often they are fetched under load, in whole seconds; without it never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrape_every: Option<HumanDuration>,
}

fn one_target() -> u32 {
    1
}

/// For serde, which passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(count: &u32) -> bool {
    *count == 1
}

/// For serde, which passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl Scenario {
    /// The words of the policies that any route uses.
    pub fn policies(&self) -> BTreeSet<&'static str> {
        self.all_routes()
            .flat_map(|route| &route.policies)
            .map(Policy::kind)
            .collect()
    }

    /// Whether a Redis is started with each trial: a limit counts in one, and the file does not say where.
    pub fn needs_redis(&self) -> bool {
        let mut policies = self.all_routes().flat_map(|route| &route.policies);
        policies.any(|policy| match policy {
            Policy::RedisRateLimit(limit) => limit.redis.is_none(),
            _ => false,
        })
    }

    /// The scenario whose limits count in the Redis at this address, where none is written.
    #[must_use]
    pub fn with_redis(mut self, address: SocketAddr) -> Self {
        let later = self.later.iter_mut().flat_map(|later| &mut later.routes);
        for route in self.routes.iter_mut().chain(later) {
            for policy in &mut route.policies {
                if let Policy::RedisRateLimit(limit) = policy {
                    limit.redis.get_or_insert_with(|| address.to_string());
                }
            }
        }
        self
    }

    /// The routes before and after a change.
    pub fn all_routes(&self) -> impl Iterator<Item = &Route> {
        let later = self.later.iter().flat_map(|later| &later.routes);
        self.routes.iter().chain(later)
    }

    /// What it is after its change; the same where none is written.
    pub fn changed(&self) -> Self {
        let mut changed = self.clone();
        let Some(later) = &self.later else {
            return changed;
        };
        for route in &later.routes {
            match changed.routes.iter_mut().find(|it| it.name == route.name) {
                Some(before) => *before = route.clone(),
                None => changed.routes.push(route.clone()),
            }
        }
        changed.parity.extend(later.parity.iter().cloned());
        changed
    }

    /// The route that a path (with or without a query) takes: the longest prefix wins.
    pub fn route_of(&self, path: &str) -> Option<&Route> {
        self.routes
            .iter()
            .filter(|route| path_matches(&route.path, path))
            .max_by_key(|route| route.path.len())
    }

    /// The groups of the load. `requests` at the top level are one group, called
    /// [`DEFAULT_GROUP`](crate::group::DEFAULT_GROUP), that has the whole load.
    pub fn groups(&self) -> Vec<Group> {
        if self.groups.is_empty() {
            let requests = self.requests.clone();
            vec![Group {
                order: self.order,
                ..Group::of_all(requests)
            }]
        } else {
            self.groups.clone()
        }
    }

    /// The requests of all groups, in the order in which they are written.
    pub fn load_requests(&self) -> impl Iterator<Item = &Request> {
        let grouped = self.groups.iter().flat_map(|group| &group.requests);
        self.requests.iter().chain(grouped)
    }

    /// Whether the gateway is to answer this request by itself, so that it never reaches the upstream.
    /// A parity case with the same request says so; without one, a route that answers does, and a
    /// check that demands a refusal (a status from 400 to 499) on a route with policies.
    pub fn gateway_answers(&self, request: &Request) -> bool {
        let same = |case: &&ParityCase| case.request.asks_the_same(request);
        if let Some(case) = self.parity.iter().find(same) {
            return !case.reaches_upstream;
        }
        self.route_of(&request.path).is_some_and(|route| {
            route.answers() || (!route.policies.is_empty() && request.wants_refusal())
        })
    }

    /// The reason why a gateway's added latency here is not comparable with that of a program that
    /// only copies bytes; none if it is: HTTP/1.1 without TLS, one target, routes without policies.
    pub fn incomparable_with_null(&self) -> Option<&'static str> {
        let has_policies = self.all_routes().any(|route| !route.policies.is_empty());
        let has_duties = self.access_log || self.metrics.is_some() || self.admin.is_some();
        let is_shared = self.targets > 1 || !self.more_upstreams.is_empty() || self.later.is_some();
        if has_policies {
            Some("its routes have policies")
        } else if !self.has_direct() {
            Some("the gateway answers by itself")
        } else if self.transport.needs().next().is_some() {
            Some("it does not use HTTP/1.1 without TLS on both sides")
        } else if has_duties {
            Some("the gateway does more than forward requests")
        } else if is_shared {
            Some("there are several targets, or they change")
        } else {
            None
        }
    }

    /// Whether the load can be sent straight to the upstream: not where a gateway answers by itself.
    pub fn has_direct(&self) -> bool {
        self.load_requests()
            .all(|request| self.route_of(&request.path).is_some() && !self.gateway_answers(request))
    }
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
    /// A SOAP service with four operations; its answers say `X-Soap-Region: soap1`.
    Calculator,
    /// The same in another place: `X-Soap-Region: soap2`.
    CalculatorSoap2,
}

impl UpstreamKind {
    /// The word used in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::GoBench => "go-bench",
            Self::Httpbin => "httpbin",
            Self::Calculator => "calculator",
            Self::CalculatorSoap2 => "calculator-soap2",
        }
    }
}

/// Someone who may call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = repeat::describe)]
pub struct Consumer {
    /// Unique name.
    #[schemars(schema_with = "schema_fragments::name_template")]
    pub name: String,
    /// Keys accepted by `api_key`.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The password accepted by `basic_auth`, with the name as the user.
    #[serde(default)]
    pub password: Option<String>,
}

/// One request with a known answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = repeat::describe)]
pub struct ParityCase {
    /// What the case proves, in words.
    pub name: String,
    /// The request, with the checks its answer must pass. It is sent as it is written: what is known
    /// to be answered does not come from `data`.
    pub request: Request,
    /// Whether the request must reach the upstream; read from the upstream's ledger, not believed.
    pub reaches_upstream: bool,
    /// How many bytes of body the upstream must have seen of it, by its ledger. Of no request of the load that may still be
    /// on its way: with `when: before`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_body_bytes: Option<u64>,
    /// When the case is tried.
    #[serde(default, skip_serializing_if = "When::is_both")]
    pub when: When,
}

/// When a parity case is tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Before the load and again after it.
    #[default]
    Both,
    /// Before the load only: what it proves is used up, as a rate limit is.
    Before,
}

impl When {
    fn is_both(&self) -> bool {
        *self == Self::Both
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_config::parse;

    use super::*;

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
    fn the_policies_are_those_of_the_routes_and_their_words_those_of_the_schema() {
        let scenario: Scenario = parse("s.yaml", TEXT).unwrap();
        assert_eq!(scenario.policies(), BTreeSet::from(["api_key", "mock"]));
        let schema = crate::schema(crate::FileKind::Scenario);
        let branches = schema["$defs"]["Policy"]["oneOf"].as_array().unwrap();
        let words = branches
            .iter()
            .map(|branch| branch["required"][0].as_str().unwrap());
        assert!(words.eq(Policy::KINDS));
    }

    #[test]
    fn a_load_that_the_gateway_answers_has_no_direct_variant() {
        let mut scenario: Scenario = parse("s.yaml", TEXT).unwrap();
        assert!(scenario.has_direct());
        scenario.requests[0].path = "/size/hello".into();
        assert!(!scenario.has_direct());
    }

    #[test]
    fn a_refusal_is_the_gateways_unless_a_parity_case_says_otherwise() {
        let mut scenario: Scenario = parse("s.yaml", TEXT).unwrap();
        let mut request = scenario.requests[0].clone();
        assert!(!scenario.gateway_answers(&request));
        request.checks = vec![crate::Check::Status(401)];
        assert!(scenario.gateway_answers(&request));
        let elsewhere = Request {
            path: "/other".into(),
            ..request.clone()
        };
        assert!(
            !scenario.gateway_answers(&elsewhere),
            "no policy refuses it"
        );
        scenario.parity = vec![ParityCase {
            name: "the upstream refuses".into(),
            request: request.clone(),
            reaches_upstream: true,
            upstream_body_bytes: None,
            when: When::Both,
        }];
        assert!(!scenario.gateway_answers(&request));
        scenario.parity[0].reaches_upstream = false;
        scenario.requests = vec![request];
        assert!(!scenario.has_direct());
    }
}
