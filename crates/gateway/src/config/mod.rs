//! The configuration as it stands in a YAML file, its JSON Schema, and mistakes in it. It knows
//! nothing of what is made of it.

pub(crate) mod schema;

use std::fmt;

use gatebench_model::policy::Policy;
use schemars::JsonSchema;
use serde::Deserialize;

/// What the gateway does. Unknown members are mistakes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// Addresses as `127.0.0.1:8080` or `[::1]:8080`; port 0 picks a free one.
    pub listen: Vec<String>,
    /// Where given, clients must speak TLS.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Whether clients may speak HTTP/2: over TLS by ALPN, in the clear where they know (RFC 9113 3.3).
    #[serde(default = "yes")]
    pub http2: bool,
    /// Worker threads, each with its own connections to the upstreams.
    #[serde(default = "one_worker")]
    pub workers: u32,
    /// Writes a line per request to standard output.
    #[serde(default)]
    pub access_log: bool,
    /// Where given, the gateway counts what it does.
    #[serde(default)]
    pub metrics: Option<Metrics>,
    /// Origins.
    #[serde(default)]
    pub upstreams: Vec<Upstream>,
    /// Who may call.
    #[serde(default)]
    pub consumers: Vec<Consumer>,
    /// Which path goes where; the longest prefix wins.
    pub routes: Vec<Route>,
    /// How long the gateway waits for whom.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Bytes of the largest body that is edited; a larger request is answered with 413, a larger answer
    /// with 502. One in gzip that SOAP or XML is processed in may unpack to as much; more is a fault.
    #[serde(default = "one_mebibyte")]
    pub collected_bytes_max: u32,
    /// Bytes that one connection of HTTP/2 may make the gateway hold: of bodies that are edited, and of
    /// responses that the client does not read. Beyond that only the body of its oldest request goes on, and
    /// what would leave more unread waits until there is room.
    #[serde(default = "sixteen_mebibytes")]
    pub connection_collected_bytes_max: u32,
    /// Connections of clients that each worker has open at once. One more is closed as soon as it is
    /// accepted.
    #[serde(default = "many_connections")]
    pub connections_max: u32,
}

/// TLS 1.2 and 1.3 towards clients.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// File with the certificate and those that signed it, in PEM.
    pub certificate: String,
    /// File with its private key, in PEM.
    pub key: String,
}

/// What the gateway did, in the text format of Prometheus.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// The path that answers with them, before any route, on every listener.
    pub path: String,
}

/// An origin: one or more addresses that answer alike.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// Unique name.
    pub name: String,
    /// Idle connections kept open to each target, by each worker. 0 opens one for every request.
    pub keepalive: u32,
    /// Its addresses.
    pub targets: Vec<Target>,
    /// Where given, the gateway speaks TLS to it.
    #[serde(default)]
    pub tls: Option<UpstreamTls>,
    /// For how long a target that could not be connected to is passed over while there are others, in
    /// milliseconds. Each worker finds out by itself. 0 passes over none.
    #[serde(default = "ten_seconds")]
    pub rest_after_failure_ms: u32,
}

/// TLS 1.2 and 1.3 towards an upstream. The handshake has the time that a connection has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamTls {
    /// File with the authorities that may have signed its certificate, in PEM; without, the machine's.
    #[serde(default)]
    pub ca: Option<String>,
    /// Takes any certificate.
    #[serde(default)]
    pub skip_verify: bool,
    /// The name asked for (SNI) and looked for in the certificate; without, the target's address.
    #[serde(default)]
    pub server_name: Option<String>,
}

/// One address of an upstream.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// An IP address, or a name that is looked up once at start.
    pub address: String,
    /// TCP port, from 1.
    pub port: u16,
    /// Its share of the requests, relative to the other targets.
    #[serde(default = "equal_weight")]
    pub weight: u32,
}

/// Someone who may call.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Consumer {
    /// Unique name.
    pub name: String,
    /// Keys accepted by `api_key`, each of one consumer only.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The password accepted by `basic_auth`, with the name as the user.
    #[serde(default)]
    pub password: Option<String>,
}

/// A path prefix and what happens to its requests.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Unique name.
    pub name: String,
    /// The prefix, from `/` on. It ends where a segment ends: `/json` is not a prefix of `/jsonx`.
    pub path: String,
    /// How the paths of its requests may be written.
    #[serde(default)]
    pub paths: Paths,
    /// Whether the prefix is taken off before the request goes on.
    #[serde(default)]
    pub strip_path: bool,
    /// The upstream's name; a route whose policies have a `mock` needs none.
    #[serde(default)]
    pub upstream: Option<String>,
    /// What stands between, in this order.
    #[serde(default)]
    pub policies: Vec<Policy>,
    /// How long the gateway waits for the upstream here, where that differs.
    #[serde(default)]
    pub timeouts: Option<RouteTimeouts>,
    /// Holds requests and answers back, to prove that added latency is measured right.
    #[cfg(feature = "faults")]
    #[serde(default)]
    pub test_delay: Option<TestDelay>,
}

/// How the paths of a route's requests may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Paths {
    /// In their normal form (RFC 3986 6.2.2), which they are put into where that is all that differs.
    /// Empty segments, dot segments, encoded slashes, backslashes and control characters get 400.
    #[default]
    Strict,
    /// In any way: they are matched and sent on as they are written. A path that can be read as one
    /// of another route gets 400.
    Verbatim,
}

/// Known delays, by timers whose last part is spent spinning: exact to a few microseconds, at the
/// price of CPU time.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestDelay {
    /// From reading a request's head to handing it to the upstream's connection, in nanoseconds.
    #[serde(default)]
    pub request_ns: u64,
    /// From reading an answer's head to handing it to the client's connection, in nanoseconds.
    #[serde(default)]
    pub response_ns: u64,
    /// Every so-manieth request is delayed by other amounts.
    #[serde(default)]
    pub bimodal: Option<Bimodal>,
}

/// The other amounts.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bimodal {
    /// 10 means one request in ten of each worker.
    pub every: u32,
    /// As in the common case, in nanoseconds.
    pub request_ns: u64,
    /// As in the common case, in nanoseconds.
    pub response_ns: u64,
}

/// How long the gateway waits, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// For a connection to an upstream; then 504.
    pub connect_ms: u32,
    /// Between two signs of life of an upstream that owes an answer; then 504.
    pub upstream_ms: u32,
    /// For a client's next request, for more of its body (then 408), and for it to take an answer.
    pub client_idle_ms: u32,
    /// From the first byte of a request's head to its last; then 408.
    pub request_head_ms: u32,
    /// From a request's head to the last byte of its body, however steadily it comes and however slowly the
    /// upstream takes it; then 408.
    pub request_body_ms: u32,
    /// For requests under way when the gateway is told to stop; what is left then is broken off.
    pub drain_ms: u32,
}

/// How long the gateway waits for an upstream on one route, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteTimeouts {
    /// As in the common ones.
    #[serde(default)]
    pub connect_ms: Option<u32>,
    /// As in the common ones.
    #[serde(default)]
    pub upstream_ms: Option<u32>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect_ms: 2000,
            upstream_ms: 30_000,
            client_idle_ms: 75_000,
            request_head_ms: 10_000,
            request_body_ms: 600_000,
            drain_ms: 10_000,
        }
    }
}

fn yes() -> bool {
    true
}

fn one_worker() -> u32 {
    1
}

fn one_mebibyte() -> u32 {
    1 << 20
}

fn sixteen_mebibytes() -> u32 {
    16 << 20
}

fn many_connections() -> u32 {
    65_536
}

fn ten_seconds() -> u32 {
    10_000
}

fn equal_weight() -> u32 {
    1
}

/// A mistake in a part of a configuration: its place below that part, and words.
pub(crate) type Mistake = (String, String);

/// Everything wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Where, as a JSON Pointer (RFC 6901); empty for the whole document.
    pub at: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl ConfigError {
    pub(crate) fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            at: at.into(),
            message: message.into(),
        }
    }

    /// Returns the mistake, and the remedy that the message ends with behind a semicolon.
    pub fn parts(&self) -> (&str, Option<&str>) {
        match self.message.rsplit_once("; ") {
            Some((what, remedy)) => (what, Some(remedy)),
            None => (&self.message, None),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { "/" } else { &self.at };
        write!(f, "{at}: {}", self.message)
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the gateway's configuration is wrong in {} place(s):",
            self.0.len()
        )?;
        for error in &self.0 {
            write!(f, "\n  {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
