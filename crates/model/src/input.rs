//! The versioned input model of the templates in gateway folders.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::scenario::Consumer;

/// The version of [`GatewayInput`] that this program renders.
pub const CONTRACT_VERSION: u32 = 2;

/// The input of the templates: contract version 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayInput {
    /// The version of the contract, currently 2.
    pub contract: u32,
    /// The absolute path of the program.
    pub binary: String,
    /// The version of the program, as the program prints it.
    pub version: String,
    /// The folder that the program is installed in: `/usr` for `/usr/sbin/nginx`.
    pub prefix: String,
    /// The absolute path of the trial's working folder, which contains everything that the gateway
    /// writes.
    pub work: String,
    /// A path of the working folder that is valid in a process started there, and is always 14
    /// bytes long. Use it for Unix sockets: their paths are limited to 107 bytes, and `work` may be
    /// longer. In a process that has changed its directory, this path names another folder.
    pub cwd: String,
    /// The number of worker processes or threads.
    pub workers: u32,
    /// The cores that the gateway runs on.
    pub cores: Vec<usize>,
    /// The addresses that clients connect to.
    pub listeners: Vec<Listener>,
    /// The routes, sorted by the length of their path prefixes, longest first.
    pub routes: Vec<InputRoute>,
    /// The routes before and after `configure`, for parts of a configuration that must exist from
    /// the start; equal to `routes` if there is no change. A route that `configure` replaces occurs
    /// in both versions, under the same name.
    pub all_routes: Vec<InputRoute>,
    /// The policies that the chain of every route begins with, for a gateway that can apply
    /// policies to all routes.
    pub global_policies: Vec<Policy>,
    /// The routes that `configure` adds or replaces; empty before `configure`.
    pub later_routes: Vec<InputRoute>,
    /// The clients that authentication policies accept.
    pub consumers: Vec<Consumer>,
    /// The upstreams with their targets.
    pub upstreams: Vec<Upstream>,
    /// True if each request is logged.
    pub access_log: bool,
    /// True if the gateway, when a target fails, must send the target's requests to another target
    /// and exclude the failed target for a while.
    pub failover: bool,
    /// True if the action `configure` may change routes, or the action `weights` may change
    /// weights, while the gateway runs.
    pub changes: bool,
    /// True if the action `weights` may change the weights of targets while the gateway runs.
    pub weights_change: bool,
    /// The address at which the gateway must serve its own metrics, if the scenario uses them.
    pub metrics: Option<Endpoint>,
    /// The number of samples that the gateway's own profiler must take per second of CPU time, if
    /// the profiler must run.
    pub profile: Option<u32>,
    /// True if the gateway's admin interface is used and must therefore be open.
    pub admin: bool,
    /// The address that the control plane listens on for the gateway, if there is one.
    pub control_plane: Option<Endpoint>,
    /// The address of the PostgreSQL server, if the scenario uses a feature that needs one. Its
    /// superuser `gatebench` needs no password and owns the empty database `gatebench`.
    pub database: Option<Endpoint>,
}

/// An address other than those that clients connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Endpoint {
    /// IP address.
    pub address: String,
    /// TCP port, never 0.
    pub port: u16,
}

/// An address that clients connect to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listener {
    /// The name, unique among the listeners.
    pub name: String,
    /// IP address.
    pub address: String,
    /// TCP port, never 0.
    pub port: u16,
    /// The certificate for clients that use TLS.
    pub tls: Option<ListenerTls>,
    /// True if clients may use HTTP/2 in addition to HTTP/1.1 (over TLS, by ALPN).
    pub http2: bool,
}

/// The certificate and key of a TLS listener.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListenerTls {
    /// The absolute path of the certificate, a PEM file.
    pub certificate: String,
    /// The absolute path of the certificate's private key, a PEM file.
    pub key: String,
}

/// A route of the input model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputRoute {
    /// The name, unique in `routes`.
    pub name: String,
    /// The path prefix that the route matches.
    pub path: String,
    /// True if the prefix is removed from the path that is sent to the upstream.
    pub strip_path: bool,
    /// The name of the route's upstream.
    pub upstream: String,
    /// The upstream's index in `upstreams`, from 0, for use as `upstreams[route.upstream_index]`.
    pub upstream_index: usize,
    /// The ordered policies; in templates, each entry is a map with one key, as in `{% for policy
    /// in route.policies %}{% if policy.api_key %}`.
    pub policies: Vec<Policy>,
    /// The policies without `global_policies`.
    pub own_policies: Vec<Policy>,
}

/// An upstream of the input model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Upstream {
    /// The name, unique among the upstreams.
    pub name: String,
    /// The maximum number of idle connections that are kept open.
    pub keepalive: u32,
    /// The addresses of the upstream's targets.
    pub targets: Vec<Target>,
    /// How to verify the upstream's certificate, if the upstream uses TLS.
    pub tls: Option<UpstreamTls>,
}

/// The requirements that an upstream's certificate must meet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpstreamTls {
    /// The absolute path of the CA certificate for the upstream, a PEM file.
    pub authority: String,
    /// The name that the certificate must have, which is also sent as SNI.
    pub server_name: String,
}

/// One address of an upstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// IP address.
    pub address: String,
    /// TCP port.
    pub port: u16,
    /// The share of requests, relative to the other targets.
    pub weight: u32,
}
