//! The one versioned input model that the templates of gateway folders are rendered from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::scenario::Consumer;

/// The version of [`GatewayInput`] that this program renders.
pub const CONTRACT_VERSION: u32 = 2;

/// The input of the templates: contract version 2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GatewayInput {
    /// Version of the contract, at present 2.
    pub contract: u32,
    /// The program found, absolute.
    pub binary: String,
    /// The folder in which the program is installed, as `/usr` for `/usr/sbin/nginx`.
    pub prefix: String,
    /// The trial's working folder, absolute; everything the gateway writes goes there.
    pub work: String,
    /// The working folder as a process started in it sees it, always in 14 bytes: the path of a
    /// Unix socket has at most 107 bytes, and `work` may be longer. It names another folder in a
    /// process that has changed its directory.
    pub cwd: String,
    /// Worker processes or threads.
    pub workers: u32,
    /// Cores it runs on.
    pub cores: Vec<usize>,
    /// The address that clients connect to.
    pub listeners: Vec<Listener>,
    /// Path prefixes, longest first.
    pub routes: Vec<InputRoute>,
    /// The routes before and after `configure`, for parts that must exist from the start; equal to
    /// `routes` without a change.
    pub all_routes: Vec<InputRoute>,
    /// The clients that may call.
    pub consumers: Vec<Consumer>,
    /// Origins.
    pub upstreams: Vec<Upstream>,
    /// True if each request is logged.
    pub access_log: bool,
    /// True if another target is tried when one fails, and a failed target is excluded for a while.
    pub failover: bool,
    /// True if its routes change while it runs, by the action `configure`, or weights by the action
    /// `weights`.
    pub changes: bool,
    /// True if weights of targets change while it runs, by the action `weights`.
    pub weights_change: bool,
    /// The address of its own metrics, for Prometheus.
    pub metrics: Option<MetricsPort>,
    /// True if its admin interface is used and must therefore be open.
    pub admin: bool,
}

/// An address for a gateway's own metrics.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricsPort {
    /// IP address.
    pub address: String,
    /// TCP port, never 0.
    pub port: u16,
}

/// An address that clients connect to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listener {
    /// Unique name.
    pub name: String,
    /// IP address.
    pub address: String,
    /// TCP port, never 0.
    pub port: u16,
    /// The certificate for clients that use TLS.
    pub tls: Option<ListenerTls>,
    /// True if clients may speak HTTP/2 in addition to HTTP/1.1 (over TLS, by ALPN).
    pub http2: bool,
}

/// The certificate and key of a TLS listener.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListenerTls {
    /// File with the certificate, in PEM, absolute.
    pub certificate: String,
    /// File with its private key, in PEM, absolute.
    pub key: String,
}

/// A route of the input model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputRoute {
    /// Unique name.
    pub name: String,
    /// Path prefix.
    pub path: String,
    /// True if the prefix is removed.
    pub strip_path: bool,
    /// Name of the upstream.
    pub upstream: String,
    /// Its place in `upstreams`, from 0: `upstreams[route.upstream_index]`.
    pub upstream_index: usize,
    /// The ordered chain; in templates each entry is a map with one key, as in
    /// `{% for policy in route.policies %}{% if policy.api_key %}`.
    pub policies: Vec<Policy>,
}

/// An upstream of the input model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Upstream {
    /// Unique name.
    pub name: String,
    /// Idle connections kept open.
    pub keepalive: u32,
    /// The addresses of its targets.
    pub targets: Vec<Target>,
    /// The verification of its certificate, if it speaks TLS.
    pub tls: Option<UpstreamTls>,
}

/// The requirements on an upstream's certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UpstreamTls {
    /// File with the certificate of its authority, in PEM, absolute.
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
    /// Relative share.
    pub weight: u32,
}
