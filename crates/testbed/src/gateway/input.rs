//! Builds the input for a folder's templates from a scenario and the addresses of a trial.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::path::Path;

use gatebench_model::gateway::{
    CONTRACT_VERSION, Endpoint, GatewayInput, InputRoute, Listener, ListenerTls, Target, Upstream,
    UpstreamTls,
};
use gatebench_model::{Route, Scenario};

use crate::wire::SERVER_NAME;

/// The number of idle upstream connections that a gateway is configured to keep, unless a load may
/// need more.
pub(crate) const UPSTREAM_KEEPALIVE: u32 = 64;

/// The name of a scenario's own upstream, or the prefix of the names if there are several.
const ORIGIN: &str = "origin";

/// The file in the working folder with the trial's self-signed certificate, in PEM.
pub(crate) const CERTIFICATE_FILE: &str = "certificate.pem";
/// The file with the private key of [`CERTIFICATE_FILE`], in PEM.
pub(crate) const KEY_FILE: &str = "certificate.pem.key";

/// The trial's addresses and resources, which a gateway's templates use.
#[derive(Clone, Debug)]
pub struct Wiring<'a> {
    pub binary: &'a Path,
    pub version: &'a str,
    /// The absolute path of the working folder.
    pub work: &'a Path,
    pub listen: SocketAddr,
    /// The addresses of the scenario's own upstream, one for each target.
    pub targets: &'a [SocketAddr],
    /// The addresses of the scenario's further upstreams, by name.
    pub more_upstreams: &'a [(String, SocketAddr)],
    /// The number of idle upstream connections that the gateway keeps.
    pub keepalive: u32,
    /// The cores that the gateway runs on, with one worker per core; one worker if the list is
    /// empty.
    pub cores: &'a [usize],
    pub access_log: bool,
    /// The address for the gateway's metrics, if the scenario enables them.
    pub metrics: Option<SocketAddr>,
    /// The samples per second that the gateway's own profiler takes; none if the profiler is off.
    pub profile: Option<u32>,
    /// The address that the gateway's control plane listens on, if the scenario uses one.
    pub control_plane: Option<SocketAddr>,
    /// The address of PostgreSQL, if the gateway needs a database.
    pub database: Option<SocketAddr>,
    /// An index into the scenario's lists of weights.
    pub weights: usize,
}

/// Returns the input for a scenario, with one listener. Routes with longer prefixes come first, and
/// the scenario's own upstreams come before further ones.
pub fn input_for(scenario: &Scenario, wiring: &Wiring<'_>) -> GatewayInput {
    let names = upstream_names(scenario.upstreams);
    let weights = scenario.weights.get(wiring.weights);
    let global = scenario.global_policies.len();
    let target = |(index, address): (usize, &SocketAddr)| Target {
        address: address.ip().to_string(),
        port: address.port(),
        weight: weights.and_then(|all| all.get(index)).copied().unwrap_or(1),
    };
    let transport = scenario.transport;
    let file = |name| wiring.work.join(name).display().to_string();
    let upstream = |name: &str, targets: &[SocketAddr]| Upstream {
        name: name.into(),
        keepalive: wiring.keepalive,
        targets: targets.iter().enumerate().map(target).collect(),
        tls: transport.upstream_tls.then(|| UpstreamTls {
            authority: file(CERTIFICATE_FILE),
            server_name: SERVER_NAME.into(),
        }),
    };
    let own = names.iter().map(|name| upstream(name, wiring.targets));
    let more = wiring.more_upstreams.iter();
    let more = more.map(|(name, address)| upstream(name, &[*address]));
    GatewayInput {
        contract: CONTRACT_VERSION,
        binary: wiring.binary.display().to_string(),
        version: wiring.version.to_owned(),
        prefix: prefix_of(wiring.binary).display().to_string(),
        work: wiring.work.display().to_string(),
        cwd: "/proc/self/cwd".into(),
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
        routes: input_routes(&scenario.routes, &names, global),
        all_routes: input_routes(scenario.all_routes(), &names, global),
        // The policies are copied from a route, because only the policies of routes contain the
        // address of the Redis server that was started.
        global_policies: (scenario.routes.iter().take(1))
            .flat_map(|route| route.policies.iter().take(global).cloned())
            .collect(),
        later_routes: Vec::new(),
        consumers: scenario.consumers.clone(),
        upstreams: own.chain(more).collect(),
        access_log: wiring.access_log,
        failover: scenario.failover,
        changes: scenario.later.is_some() || !scenario.weights.is_empty(),
        weights_change: !scenario.weights.is_empty(),
        metrics: wiring.metrics.map(endpoint),
        profile: wiring.profile,
        admin: scenario.admin.is_some(),
        control_plane: wiring.control_plane.map(endpoint),
        database: wiring.database.map(endpoint),
    }
}

fn endpoint(at: SocketAddr) -> Endpoint {
    Endpoint {
        address: at.ip().to_string(),
        port: at.port(),
    }
}

/// Returns the prefix that a program is installed under: `/usr` for `/usr/sbin/nginx`.
pub(super) fn prefix_of(program: &Path) -> &Path {
    let folder = program.parent().and_then(Path::parent);
    folder.unwrap_or(Path::new("/"))
}

pub fn changed_input_for(scenario: &Scenario, wiring: &Wiring<'_>) -> GatewayInput {
    let names = upstream_names(scenario.upstreams);
    let later = scenario.later.iter().flat_map(|later| &later.routes);
    GatewayInput {
        routes: input_routes(
            &scenario.changed().routes,
            &names,
            scenario.global_policies.len(),
        ),
        later_routes: input_routes(later, &names, scenario.global_policies.len()),
        ..input_for(scenario, wiring)
    }
}

/// Assigns the routes to the upstreams in turn, and then sorts the routes by prefix, the longest
/// first.
fn input_routes<'a>(
    routes: impl IntoIterator<Item = &'a Route>,
    upstreams: &[String],
    global: usize,
) -> Vec<InputRoute> {
    let mut routes: Vec<InputRoute> = routes
        .into_iter()
        .zip(upstreams.iter().enumerate().cycle())
        .map(|(route, (index, upstream))| input_route(route, index, upstream, global))
        .collect();
    routes.sort_by_key(|route| Reverse(route.path.len()));
    routes
}

fn upstream_names(count: u32) -> Vec<String> {
    match count {
        0 | 1 => vec![ORIGIN.into()],
        count => (1..=count).map(|it| format!("{ORIGIN}-{it}")).collect(),
    }
}

/// Returns the input for a route, which is assigned to the first of the scenario's own upstreams.
pub(crate) fn route_of(scenario: &Scenario, route: &Route) -> InputRoute {
    let names = upstream_names(scenario.upstreams);
    input_route(route, 0, &names[0], scenario.global_policies.len())
}

fn input_route(route: &Route, upstream_index: usize, upstream: &str, global: usize) -> InputRoute {
    InputRoute {
        name: route.name.clone(),
        path: route.path.clone(),
        strip_path: route.strip_path,
        upstream: upstream.to_owned(),
        upstream_index,
        policies: route.policies.clone(),
        own_policies: route.policies.iter().skip(global).cloned().collect(),
    }
}
