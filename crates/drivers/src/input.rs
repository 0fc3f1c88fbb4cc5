//! From a scenario and where it runs to the one input model that every folder is rendered from.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::path::Path;

use gatebench_model::gateway::{
    CONTRACT_VERSION, GatewayInput, InputRoute, Listener, ListenerTls, MetricsPort, Target,
    Upstream, UpstreamTls,
};
use gatebench_model::{Route, Scenario};

/// Idle connections to the upstream that every gateway is told to keep, unless the load needs more.
pub const UPSTREAM_KEEPALIVE: u32 = 64;

/// The name of a scenario's own upstream.
const ORIGIN: &str = "origin";

/// Where the trial's certificate and its key lie in the working folder, in PEM, where a scenario asks
/// for TLS; whoever starts the gateway puts them there. The certificate is its own authority.
pub const CERTIFICATE_FILE: &str = "certificate.pem";
/// See [`CERTIFICATE_FILE`].
pub const KEY_FILE: &str = "certificate.pem.key";
/// A name that the certificate is for.
pub const SERVER_NAME: &str = "localhost";

/// What a gateway is connected to, and with what means.
#[derive(Clone, Debug)]
pub struct Wiring<'a> {
    /// The program found.
    pub binary: &'a Path,
    /// The working folder, absolute.
    pub work: &'a Path,
    /// Where clients connect.
    pub listen: SocketAddr,
    /// Where the upstream listens.
    pub targets: &'a [SocketAddr],
    /// Where the scenario's further upstreams listen, by their names.
    pub more_upstreams: &'a [(String, SocketAddr)],
    /// Idle upstream connections kept.
    pub keepalive: u32,
    /// Cores it runs on; it gets one worker for each, at least one.
    pub cores: &'a [usize],
    /// Whether each request is logged.
    pub access_log: bool,
    /// Where it tells of itself, if it is to.
    pub metrics: Option<SocketAddr>,
}

/// The input of a scenario: routes with the longest prefix first, its upstream before further ones, one listener.
pub fn input_for(scenario: &Scenario, wiring: &Wiring<'_>) -> GatewayInput {
    let target = |address: &SocketAddr| Target {
        address: address.ip().to_string(),
        port: address.port(),
        weight: 1,
    };
    let transport = scenario.transport;
    let file = |name| wiring.work.join(name).display().to_string();
    let upstream = |name: &str, targets: &[SocketAddr]| Upstream {
        name: name.into(),
        keepalive: wiring.keepalive,
        targets: targets.iter().map(target).collect(),
        tls: transport.upstream_tls.then(|| UpstreamTls {
            authority: file(CERTIFICATE_FILE),
            server_name: SERVER_NAME.into(),
        }),
    };
    let more = wiring.more_upstreams.iter();
    let more = more.map(|(name, address)| upstream(name, &[*address]));
    GatewayInput {
        contract: CONTRACT_VERSION,
        binary: wiring.binary.display().to_string(),
        work: wiring.work.display().to_string(),
        workers: u32::try_from(wiring.cores.len()).unwrap_or(u32::MAX).max(1),
        cores: wiring.cores.to_vec(),
        listeners: vec![Listener {
            name: "main".into(),
            address: wiring.listen.ip().to_string(),
            port: wiring.listen.port(),
            tls: transport.tls.then(|| ListenerTls {
                certificate: file(CERTIFICATE_FILE),
                key: file(KEY_FILE),
            }),
            http2: transport.http2_streams.is_some(),
        }],
        routes: input_routes(&scenario.routes),
        all_routes: input_routes(scenario.all_routes()),
        consumers: scenario.consumers.clone(),
        upstreams: std::iter::once(upstream(ORIGIN, wiring.targets))
            .chain(more)
            .collect(),
        access_log: wiring.access_log,
        failover: scenario.failover,
        changes: scenario.later.is_some(),
        metrics: wiring.metrics.map(|at| MetricsPort {
            address: at.ip().to_string(),
            port: at.port(),
        }),
    }
}

/// The input of a scenario after its change: as before, with other routes.
pub fn changed_input_for(scenario: &Scenario, wiring: &Wiring<'_>) -> GatewayInput {
    GatewayInput {
        routes: input_routes(&scenario.changed().routes),
        ..input_for(scenario, wiring)
    }
}

fn input_routes<'a>(routes: impl IntoIterator<Item = &'a Route>) -> Vec<InputRoute> {
    let mut routes: Vec<InputRoute> = routes.into_iter().map(input_route).collect();
    routes.sort_by_key(|route| Reverse(route.path.len()));
    routes
}

fn input_route(route: &Route) -> InputRoute {
    InputRoute {
        name: route.name.clone(),
        path: route.path.clone(),
        strip_path: route.strip_path,
        upstream: ORIGIN.into(),
        policies: route.policies.clone(),
    }
}
