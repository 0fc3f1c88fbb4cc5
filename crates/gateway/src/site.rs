//! The configuration made ready for the loop: names looked up, prefixes indexed, keys hashed.

use std::net::{SocketAddr, ToSocketAddrs};

use crate::config::{ConfigError, ConfigErrors, GatewayConfig, Mock, Policy, TestDelay, Timeouts};
use crate::keys::Keys;
use crate::routes::RouteTable;

/// What all workers share; nothing in it changes.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) table: RouteTable,
    pub(crate) routes: Vec<SiteRoute>,
    pub(crate) upstreams: Vec<SiteUpstream>,
    /// The targets of all upstreams, numbered through.
    pub(crate) targets: Vec<SiteTarget>,
    pub(crate) keys: Keys,
    pub(crate) access_log: bool,
    pub(crate) limits: TimeoutsNs,
}

#[derive(Debug)]
pub(crate) struct SiteRoute {
    pub(crate) name: String,
    pub(crate) prefix: String,
    pub(crate) strip_path: bool,
    pub(crate) upstream: usize,
    pub(crate) stages: Vec<Stage>,
    pub(crate) delay: Option<TestDelay>,
}

/// One policy, ready.
#[derive(Debug)]
pub(crate) enum Stage {
    ApiKey { header: String },
    Mock(Mock),
}

#[derive(Debug)]
pub(crate) struct SiteUpstream {
    /// The number of its first target.
    pub(crate) first_target: usize,
    pub(crate) weights: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct SiteTarget {
    pub(crate) address: SocketAddr,
    /// Stands in for `Host` where a client of HTTP/1.0 sent none.
    pub(crate) authority: String,
    /// Idle connections kept to it by each worker.
    pub(crate) keepalive: usize,
}

/// [`Timeouts`] in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeoutsNs {
    pub(crate) connect_ns: u64,
    pub(crate) upstream_ns: u64,
    pub(crate) client_idle_ns: u64,
    pub(crate) request_head_ns: u64,
}

impl From<Timeouts> for TimeoutsNs {
    fn from(timeouts: Timeouts) -> Self {
        let ns = |ms: u32| u64::from(ms) * 1_000_000;
        Self {
            connect_ns: ns(timeouts.connect_ms),
            upstream_ns: ns(timeouts.upstream_ms),
            client_idle_ns: ns(timeouts.client_idle_ms),
            request_head_ns: ns(timeouts.request_head_ms),
        }
    }
}

impl Site {
    /// Makes a validated configuration ready.
    pub(crate) fn new(config: &GatewayConfig) -> Result<Self, ConfigErrors> {
        let mut targets = Vec::new();
        let mut upstreams = Vec::new();
        let mut mistakes = Vec::new();
        for (at, upstream) in config.upstreams.iter().enumerate() {
            let keepalive = upstream.keepalive as usize;
            upstreams.push(SiteUpstream {
                first_target: targets.len(),
                weights: upstream
                    .targets
                    .iter()
                    .map(|target| target.weight)
                    .collect(),
            });
            for (index, target) in upstream.targets.iter().enumerate() {
                match look_up(&target.address, target.port) {
                    Ok(address) => {
                        let authority = address.to_string();
                        targets.push(SiteTarget {
                            address,
                            authority,
                            keepalive,
                        });
                    }
                    Err(message) => mistakes.push(ConfigError::new(
                        format!("/upstreams/{at}/targets/{index}/address"),
                        message,
                    )),
                }
            }
        }
        if !mistakes.is_empty() {
            return Err(ConfigErrors(mistakes));
        }
        let keys = config.consumers.iter().flat_map(|consumer| &consumer.keys);
        Ok(Self {
            listen: config
                .listen
                .iter()
                .filter_map(|address| address.parse().ok())
                .collect(),
            table: RouteTable::new(config.routes.iter().map(|route| route.path.as_str())),
            routes: config
                .routes
                .iter()
                .map(|route| ready_route(route, config))
                .collect(),
            upstreams,
            targets,
            keys: Keys::new(keys.map(String::as_str)),
            access_log: config.access_log,
            limits: config.timeouts.into(),
        })
    }
}

fn ready_route(route: &crate::config::Route, config: &GatewayConfig) -> SiteRoute {
    let stages = route.policies.iter().map(|policy| match policy {
        Policy::ApiKey(api_key) => Stage::ApiKey {
            header: api_key.header.clone(),
        },
        Policy::Mock(mock) => Stage::Mock(mock.clone()),
    });
    let upstream = config
        .upstreams
        .iter()
        .position(|upstream| upstream.name == route.upstream);
    SiteRoute {
        name: route.name.clone(),
        prefix: route.path.clone(),
        strip_path: route.strip_path,
        upstream: upstream.expect("validation has found the route's upstream"),
        stages: stages.collect(),
        delay: route.test_delay,
    }
}

fn look_up(address: &str, port: u16) -> Result<SocketAddr, String> {
    let bare = address.trim_start_matches('[').trim_end_matches(']');
    let mut found = (bare, port).to_socket_addrs().map_err(|error| {
        format!("\"{address}\" cannot be looked up: {error}; write an IP address")
    })?;
    found
        .next()
        .ok_or_else(|| format!("\"{address}\" has no address; write an IP address"))
}
