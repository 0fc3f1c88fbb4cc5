//! A scenario: an upstream, the routes and policies in front of it, the requests, and the expected
//! responses.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use gatebench_config::{HumanDuration, schema_fragments};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::AdminRounds;
use crate::data::{Source, WrittenSource};
use crate::group::{Group, Order};
use crate::matrix::{self, Family};
use crate::policy::Policy;
use crate::repeat;
use crate::request::Request;
use crate::route::{Route, path_matches};
use crate::transport::Transport;

/// One scenario file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = matrix::describe)]
pub struct Scenario {
    /// The scenario's name: lowercase letters, digits and hyphens.
    #[schemars(schema_with = "schema_fragments::name")]
    pub scenario: String,
    /// A one-line description.
    pub title: String,
    /// The scenario's family, which the key `matrix` sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// The upstream behind the gateway.
    pub upstream: UpstreamKind,
    /// The protocols of the connections [default: plain HTTP/1.1].
    #[serde(default, skip_serializing_if = "Transport::is_plain")]
    pub transport: Transport,
    /// True if the gateway logs each request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub access_log: bool,
    /// The routes of the gateway, with their policies.
    #[schemars(length(min = 1))]
    pub routes: Vec<Route>,
    /// The policies at the beginning of every route's chain. When a scenario is read, they are
    /// copied into its routes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub global_policies: Vec<Policy>,
    /// The clients that authentication policies accept, with their credentials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub consumers: Vec<Consumer>,
    /// The sources of the values in templates, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, WrittenSource>")]
    pub data: BTreeMap<String, Source>,
    /// The order of `requests`; each group has its own.
    #[serde(default, skip_serializing_if = "Order::is_in_turn")]
    pub order: Order,
    /// The requests of the load, unless the scenario has `groups`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub requests: Vec<Request>,
    /// Groups of requests that are sent at the same time and reported separately, instead of
    /// `requests`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub groups: Vec<Group>,
    /// Valid and invalid requests that prove, before and after the load, that the policies work.
    #[serde(default)]
    pub parity: Vec<ParityCase>,
    /// The routes and cases that apply after a load's `configure` change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<Later>,
    /// The number of upstream processes. The gateway distributes the requests among them, by
    /// default in turn.
    #[serde(default = "one_target", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 16))]
    pub targets: u32,
    /// Additional upstreams by name, for policies that choose the upstream of a request. Each is a
    /// separate process.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub more_upstreams: BTreeMap<String, UpstreamKind>,
    /// Lists of target weights [default: all equal]. The first list applies from the start. Each
    /// `weights` change of a load switches to the next list, and from the last to the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(inner(range(min = 1, max = 100))))]
    pub weights: Vec<Vec<u32>>,
    /// The number of the gateway's upstreams. If there are several, they are named `origin-1`,
    /// `origin-2` and so on, and the routes lead to them in turn: the first route to the first
    /// upstream, the next route to the second. All have the same targets.
    #[serde(default = "one_target", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1, max = 10_000))]
    pub upstreams: u32,
    /// True if the gateway, when a target fails, must send the target's requests to another target
    /// and exclude the failed target for a while. If false, gateways must not retry requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failover: bool,
    /// The calls to the gateway's admin interface, during and after the loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminRounds>,
    /// True if the gateway gets its configuration from its control plane, a separate process,
    /// instead of from files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control_plane: bool,
    /// Effects that an imported configuration has, but for which gatebench has no policy. Only the
    /// gateway with this configuration supports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_understood: Vec<String>,
    /// The gateway's own metrics [default: off].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
}

/// The routes and parity cases of a scenario after its change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Later {
    /// Routes that are added, or replace the route with the same name.
    #[schemars(length(min = 1))]
    pub routes: Vec<Route>,
    /// The cases that apply after the change, in addition to those that apply before it. The change
    /// is in effect when the first of these cases gets the expected response.
    #[schemars(length(min = 1))]
    pub parity: Vec<ParityCase>,
}

/// The use of a gateway's own metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// The interval at which the metrics are fetched under load, in whole seconds [default: never].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrape_every: Option<HumanDuration>,
}

fn one_target() -> u32 {
    1
}

// serde calls this function with a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(count: &u32) -> bool {
    *count == 1
}

impl Scenario {
    pub fn policies(&self) -> BTreeSet<&'static str> {
        self.all_policies().map(Policy::kind).collect()
    }

    pub(crate) fn all_policies(&self) -> impl Iterator<Item = &Policy> {
        self.all_routes().flat_map(|route| &route.policies)
    }

    /// Reports whether a rate limit names no Redis server, so that each trial needs its own.
    pub fn needs_redis(&self) -> bool {
        self.all_policies()
            .any(|it| matches!(it, Policy::RedisRateLimit(limit) if limit.redis.is_none()))
    }

    /// Sets this Redis address in the limits that name no server.
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

    /// The routes that apply before or after a change.
    pub fn all_routes(&self) -> impl Iterator<Item = &Route> {
        let later = self.later.iter().flat_map(|later| &later.routes);
        self.routes.iter().chain(later)
    }

    /// Returns the scenario after its change, or the same scenario if it has none.
    pub fn changed(&self) -> Self {
        let mut changed = self.clone();
        if let Some(later) = &self.later {
            for route in &later.routes {
                match changed.routes.iter_mut().find(|it| it.name == route.name) {
                    Some(before) => before.clone_from(route),
                    None => changed.routes.push(route.clone()),
                }
            }
            changed.parity.extend(later.parity.iter().cloned());
        }
        changed
    }

    /// Returns the route of a path, with or without a query. The longest prefix wins.
    pub fn route_of(&self, path: &str) -> Option<&Route> {
        self.routes
            .iter()
            .filter(|route| path_matches(&route.path, path))
            .max_by_key(|route| route.path.len())
    }

    /// The groups of the load. Requests at the top level form a single group, named
    /// [`DEFAULT_GROUP`](crate::group::DEFAULT_GROUP), which gets the whole load.
    pub fn groups(&self) -> Vec<Group> {
        if !self.groups.is_empty() {
            return self.groups.clone();
        }
        vec![Group {
            order: self.order,
            ..Group::of_all(self.requests.clone())
        }]
    }

    /// All requests of the load, in the order of the file.
    pub fn load_requests(&self) -> impl Iterator<Item = &Request> {
        let grouped = self.groups.iter().flat_map(|group| &group.requests);
        self.requests.iter().chain(grouped)
    }

    /// Reports whether the gateway itself must respond to this request, so that the request never
    /// reaches the upstream. If a parity case has the same request, that case decides. Otherwise,
    /// the gateway must respond on a route with a mock, and on a route with policies if a check
    /// requires or permits a refusal (a status from 400 to 499).
    pub fn gateway_responds_to(&self, request: &Request) -> bool {
        let same = |case: &&ParityCase| case.request.asks_the_same(request);
        if let Some(case) = self.parity.iter().find(same) {
            return !case.reaches_upstream;
        }
        self.route_of(&request.path).is_some_and(|route| {
            route.responds_itself() || (!route.policies.is_empty() && request.wants_refusal())
        })
    }

    /// Returns the reason why a gateway's added latency in this scenario is not comparable with
    /// that of a program that only copies bytes. Returns `None` if it is comparable, that is, if
    /// the scenario uses HTTP/1.1 without TLS and a single upstream process, its routes have no
    /// policies and never change, and the gateway forwards every request and has no other duties,
    /// such as an access log.
    pub fn incomparable_with_null(&self) -> Option<&'static str> {
        let has_policies = self.all_policies().next().is_some();
        let has_duties =
            self.access_log || self.metrics.is_some() || self.admin.is_some() || self.control_plane;
        let is_shared = self.targets > 1 || !self.more_upstreams.is_empty() || self.later.is_some();
        if has_policies {
            Some("the routes have policies")
        } else if !self.has_direct() {
            Some("the gateway itself responds to some requests")
        } else if self.transport.needs().next().is_some() {
            Some("the scenario does not use plain HTTP/1.1 on both sides")
        } else if has_duties {
            Some("the gateway does more than forward requests")
        } else if is_shared {
            Some("there are several targets or upstreams, or the routes change")
        } else {
            None
        }
    }

    /// Reports whether the load can be sent straight to the upstream: a route matches each request,
    /// and the gateway itself responds to none.
    pub fn has_direct(&self) -> bool {
        self.load_requests().all(|request| {
            self.route_of(&request.path).is_some() && !self.gateway_responds_to(request)
        })
    }
}

/// An embedded upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UpstreamKind {
    /// `GET /ping` returns `ok`.
    Ping,
    /// Serves small JSON and XML documents, bodies of a given size, delayed responses and echoes.
    GoBench,
    /// Serves some of httpbin's paths, such as `/anything`, which echoes the request as JSON.
    Httpbin,
    /// A SOAP service with four operations; its responses have `X-Soap-Region: soap1`.
    Calculator,
    /// The same service in another region, with `X-Soap-Region: soap2`.
    CalculatorSoap2,
    /// Serves every path, with status 200 and 2 bytes unless the request names a status or a size.
    Any,
}

impl UpstreamKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::GoBench => "go-bench",
            Self::Httpbin => "httpbin",
            Self::Calculator => "calculator",
            Self::CalculatorSoap2 => "calculator-soap2",
            Self::Any => "any",
        }
    }
}

/// A client that authentication policies accept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = repeat::describe)]
pub struct Consumer {
    /// The client's name, unique in the scenario.
    #[schemars(schema_with = "schema_fragments::client_template")]
    pub name: String,
    /// Keys accepted by `api_key`.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The password accepted by `basic_auth`, with the name as the user.
    #[serde(default)]
    pub password: Option<String>,
}

/// One request with a known response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = repeat::describe)]
pub struct ParityCase {
    /// The property that the case proves, as text.
    pub name: String,
    /// The request, with the checks that its response must pass. It is sent literally, without
    /// values of `data`, because its response must be known.
    pub request: Request,
    /// True if the request must reach the upstream, as the upstream's ledger shows.
    pub reaches_upstream: bool,
    /// The size of the body that the upstream must have received, according to its ledger. Use it
    /// only with `when: before`, because requests may still be in flight after the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_body_bytes: Option<u64>,
    /// The times at which the case is tested.
    #[serde(default, skip_serializing_if = "When::is_both")]
    pub when: When,
}

impl ParityCase {
    /// A case that is tested before and after the load.
    pub fn new(name: impl Into<String>, request: Request, reaches_upstream: bool) -> Self {
        Self {
            name: name.into(),
            request,
            reaches_upstream,
            ..Self::default()
        }
    }
}

/// The times at which a parity case is tested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Before the load and again after it.
    #[default]
    Both,
    /// Only before the load, for a case that uses up a resource, such as a rate limit.
    Before,
}

impl When {
    fn is_both(&self) -> bool {
        *self == Self::Both
    }
}
