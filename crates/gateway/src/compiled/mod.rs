//! The configuration prepared for the event loop (validated, names resolved, prefixes indexed,
//! policies compiled) and the state that each worker keeps for it.

mod active;
mod balance;
mod document;
mod metrics;
mod target;
mod validate;

use std::net::SocketAddr;
use std::sync::Arc;

use gatebench_model::policy::{JwtPolicy, Policy, RedisCounting, RedisRateLimitPolicy};

use crate::config::{ConfigError, ConfigErrors, GatewayConfig, Route};
use crate::faults::{RouteDelay, delay_of};
use crate::message::Pages;
use crate::path::Router;
use crate::policy::{Chain, Compiler, Consumers};
use crate::soap::{Refresher, Soap, refresher};
pub(crate) use active::{ActiveConfig, Current};
pub use document::Document;
use metrics::Metrics;
use target::CompiledTarget;
pub(crate) use target::server_context;

/// The configuration that all workers share. Rate-limit buckets, metrics and recompiled definitions
/// have interior mutability.
#[derive(Debug)]
pub(crate) struct CompiledConfig {
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) router: Router,
    pub(crate) routes: Vec<CompiledRoute>,
    pub(crate) upstreams: Vec<CompiledUpstream>,
    /// The targets of all upstreams, numbered consecutively.
    pub(crate) targets: Vec<CompiledTarget>,
    pub(crate) consumers: Consumers,
    pub(crate) pages: Pages,
    /// The policies for which each worker keeps a cache of verified tokens, indexed by cache
    /// number.
    pub(crate) caches: Vec<JwtPolicy>,
    /// The rate limits that use Redis, indexed by limit number, each with its name in Redis.
    pub(crate) redis_limits: Vec<(String, RedisRateLimitPolicy)>,
    /// The numbers of the routes with a rate limit that uses Redis but does not make requests wait
    /// for Redis.
    pub(crate) asynchronous_limits: Vec<usize>,
    pub(crate) http2: bool,
    pub(crate) access_log: bool,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) limits: Limits,
}

#[derive(Debug)]
pub(crate) struct CompiledRoute {
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) strip_path: bool,
    /// `None` only if a mock responds to every request that the other policies allow.
    pub(crate) upstream: Option<usize>,
    pub(crate) waits: Waits,
    pub(crate) chain: Chain,
    pub(crate) delay: RouteDelay,
}

#[derive(Debug)]
pub(crate) struct CompiledUpstream {
    pub(crate) first_target: usize,
    /// The weight of each target. A configured target contributes one weight for each usable
    /// address of its host.
    pub(crate) weights: Vec<u32>,
}

/// The timeouts for an upstream: those of a route, or the defaults for all routes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waits {
    pub(crate) connect_ns: u64,
    pub(crate) upstream_ns: u64,
}

impl Waits {
    fn new(route: &Route, common: &Limits) -> Self {
        let own = route.timeouts.unwrap_or_default();
        let ns = |ms: Option<u32>, common_ns| ms.map_or(common_ns, |ms| u64::from(ms) * 1_000_000);
        Self {
            connect_ns: ns(own.connect_ms, common.waits.connect_ns),
            upstream_ns: ns(own.upstream_ms, common.waits.upstream_ns),
        }
    }
}

/// [`crate::Timeouts`] in nanoseconds, and the limits on the memory that clients can occupy in a
/// worker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) waits: Waits,
    pub(crate) client_idle_ns: u64,
    pub(crate) request_head_ns: u64,
    pub(crate) request_body_ns: u64,
    pub(crate) drain_ns: u64,
    /// The maximum size of one collected body, in bytes.
    pub(crate) collected_max: usize,
    /// The limit on the bytes held for one HTTP/2 connection (collected bodies and unread
    /// responses). Above this limit, requests of the connection may have to wait.
    pub(crate) connection_collected_max: usize,
    /// The maximum number of client connections per worker.
    pub(crate) connections_max: usize,
}

impl Limits {
    fn new(config: &GatewayConfig) -> Self {
        let timeouts = &config.timeouts;
        let ns = |ms: u32| u64::from(ms) * 1_000_000;
        Self {
            waits: Waits {
                connect_ns: ns(timeouts.connect_ms),
                upstream_ns: ns(timeouts.upstream_ms),
            },
            client_idle_ns: ns(timeouts.client_idle_ms),
            request_head_ns: ns(timeouts.request_head_ms),
            request_body_ns: ns(timeouts.request_body_ms),
            drain_ns: ns(timeouts.drain_ms),
            collected_max: config.collected_bytes_max as usize,
            connection_collected_max: config.connection_collected_bytes_max as usize,
            connections_max: config.connections_max as usize,
        }
    }
}

impl CompiledConfig {
    /// Prepares a validated configuration. Metrics and unchanged rate limits continue from the
    /// previous configuration.
    pub(crate) fn new(config: &GatewayConfig, before: Option<&Self>) -> Result<Self, ConfigErrors> {
        let mut mistakes = Vec::new();
        let (upstreams, targets) = upstreams(config, &mut mistakes);
        let (compiler, chains) = compile(config, &mut mistakes);
        if !mistakes.is_empty() {
            return Err(ConfigErrors(mistakes));
        }
        let limits = Limits::new(config);
        let routes = config.routes.iter().zip(chains);
        let mut routes: Vec<CompiledRoute> = routes
            .map(|(route, (_, chain))| ready_route(route, chain, config, &limits))
            .collect();
        let consumers = Consumers::new(&config.consumers);
        if let Some(before) = before {
            inherit(&mut routes, &consumers, before);
        }
        let listen = config.listen.iter();
        let prefixes = config.routes.iter();
        let prefixes = prefixes.map(|route| (route.path.as_str(), route.paths));
        Ok(Self {
            listen: listen.filter_map(|address| address.parse().ok()).collect(),
            router: Router::new(prefixes),
            routes,
            upstreams,
            targets,
            consumers,
            pages: compiler.pages,
            caches: compiler.caches,
            redis_limits: compiler.redis_limits,
            asynchronous_limits: asynchronous_limits(config),
            http2: config.http2,
            access_log: config.access_log,
            metrics: config.metrics.as_ref().map(|metrics| {
                let names = config.routes.iter().map(|route| route.name.as_str());
                let before = before.and_then(|compiled| compiled.metrics.as_ref());
                Metrics::new(&metrics.path, names, config.workers as usize, before)
            }),
            limits,
        })
    }

    pub(crate) fn is_metrics_path(&self, path: &str) -> bool {
        let metrics = self.metrics.as_ref();
        metrics.is_some_and(|metrics| metrics.path == path)
    }

    /// Starts the thread that recompiles the definitions of `soap` policies when they expire;
    /// returns `None` if there are no such policies.
    pub(crate) fn refresher(&self) -> Result<Option<Refresher>, ConfigErrors> {
        let routes = self.routes.iter();
        refresher(routes.filter_map(|route| route.chain.soap.as_ref())).map_err(|error| {
            let message =
                format!("the thread that compiles definitions cannot be started: {error}");
            ConfigErrors(vec![
                ConfigError::new(message, "raise the limit on threads").below("/routes"),
            ])
        })
    }
}

/// Checks a whole configuration. Also reports the mistakes that are found only when it is prepared,
/// such as those in host names, in definitions, and in the files that TLS needs.
///
/// # Errors
/// Returns all mistakes, without duplicates.
pub(crate) fn check(config: &GatewayConfig) -> Result<(), ConfigErrors> {
    let mut mistakes = Vec::new();
    let _ = upstreams(config, &mut mistakes);
    let (_, chains) = compile(config, &mut mistakes);
    for (at, chain) in &chains {
        let problems = chain.soap.iter().flat_map(Soap::problems);
        mistakes.extend(policy_errors(*at, problems));
    }
    let tls = config.tls.as_ref();
    let unserved = tls.and_then(|tls| server_context(tls, config.http2).err());
    mistakes.extend(unserved.into_iter().flat_map(|wrong| wrong.0));
    let mut found = config.validate().err().map_or(Vec::new(), |wrong| wrong.0);
    for mistake in mistakes {
        if !found.contains(&mistake) {
            found.push(mistake);
        }
    }
    ConfigError::unless(found, ()).map_err(ConfigErrors)
}

/// Returns the compiled policies of each route, with the route's number. Routes whose policies do
/// not compile are left out, and their mistakes are added to `mistakes`.
fn compile(
    config: &GatewayConfig,
    mistakes: &mut Vec<ConfigError>,
) -> (Compiler, Vec<(usize, Chain)>) {
    let mut compiler = Compiler {
        consumers: config.consumers.len(),
        upstreams: names(config),
        collected_max: config.collected_bytes_max as usize,
        ..Compiler::default()
    };
    let mut chains = Vec::new();
    for (at, route) in config.routes.iter().enumerate() {
        compiler.route.clone_from(&route.name);
        compiler.stripped = route.strip_path.then(|| route.path.clone());
        compiler.paths = route.paths;
        match compiler.chain(&route.policies) {
            Ok(chain) => chains.push((at, chain)),
            Err(wrong) => mistakes.extend(policy_errors(at, wrong)),
        }
    }
    (compiler, chains)
}

/// Carries rate-limit counts over from the previous routes with the same names.
fn inherit(routes: &mut [CompiledRoute], consumers: &Consumers, before: &CompiledConfig) {
    for route in routes {
        let then = before.routes.iter().find(|then| then.name == route.name);
        if let Some(then) = then {
            let chain = &mut route.chain;
            chain.inherit(&then.chain, consumers, &before.consumers);
        }
    }
}

fn asynchronous_limits(config: &GatewayConfig) -> Vec<usize> {
    let is_asynchronous = |policy: &Policy| matches!(policy, Policy::RedisRateLimit(limit) if limit.counting == RedisCounting::Asynchronous);
    let routes = config.routes.iter().enumerate();
    let found = routes.filter(|(_, route)| route.policies.iter().any(is_asynchronous));
    found.map(|(at, _)| at).collect()
}

/// Returns the names of the upstreams, indexed by upstream number.
pub(crate) fn names(config: &GatewayConfig) -> Arc<[String]> {
    let upstreams = config.upstreams.iter();
    upstreams.map(|upstream| upstream.name.clone()).collect()
}

/// Prefixes the places of mistakes in a route's policies with the place of the policies.
pub(crate) fn policy_errors(
    route: usize,
    wrong: impl IntoIterator<Item = ConfigError>,
) -> impl Iterator<Item = ConfigError> {
    let place = format!("/routes/{route}/policies");
    wrong.into_iter().map(move |wrong| wrong.below(&place))
}

fn upstreams(
    config: &GatewayConfig,
    mistakes: &mut Vec<ConfigError>,
) -> (Vec<CompiledUpstream>, Vec<CompiledTarget>) {
    let mut upstreams = Vec::new();
    let mut targets = Vec::new();
    for (at, upstream) in config.upstreams.iter().enumerate() {
        let ready = target::ready(upstream)
            .map(|found| found.map_err(|wrong| wrong.below(format!("/upstreams/{at}"))));
        let ready = ConfigError::gather(ready, mistakes).into_iter().flatten();
        let (weights, ready): (Vec<_>, Vec<_>) = ready.unzip();
        upstreams.push(CompiledUpstream {
            first_target: targets.len(),
            weights,
        });
        targets.extend(ready);
    }
    (upstreams, targets)
}

fn ready_route(
    route: &Route,
    chain: Chain,
    config: &GatewayConfig,
    limits: &Limits,
) -> CompiledRoute {
    let position = |name: &String| {
        let found = config.upstreams.iter().position(|one| one.name == *name);
        found.expect("validation has found the route's upstream")
    };
    CompiledRoute {
        name: route.name.clone(),
        prefix: route.path.clone(),
        strip_path: route.strip_path,
        upstream: route.upstream.as_ref().map(position),
        waits: Waits::new(route, limits),
        chain,
        delay: delay_of(route),
    }
}
