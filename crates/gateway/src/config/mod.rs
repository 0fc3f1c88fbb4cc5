//! The configuration as written in a YAML file, its JSON Schema, and the mistakes in it.

pub(crate) mod schema;

use std::fmt;

use gatebench_model::policy::Policy;
use gatebench_net::tls::SettingsError;
use schemars::JsonSchema;
use serde::Deserialize;

/// The gateway's configuration. Unknown members are mistakes.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatewayConfig {
    /// The addresses to listen on, such as `127.0.0.1:8080` or `[::1]:8080`. For port 0, the kernel
    /// chooses a free port.
    pub listen: Vec<String>,
    /// If given, clients must use TLS.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// Allows clients to use HTTP/2: over TLS with ALPN, or in plaintext with prior knowledge (RFC
    /// 9113 3.3).
    #[serde(default = "yes")]
    pub http2: bool,
    /// The number of worker threads, each with its own connections to the upstreams.
    #[serde(default = "one")]
    pub workers: u32,
    /// Writes a line per request to standard output.
    #[serde(default)]
    pub access_log: bool,
    /// If given, the gateway serves metrics.
    #[serde(default)]
    pub metrics: Option<Metrics>,
    /// The origins that routes forward requests to.
    #[serde(default)]
    pub upstreams: Vec<Upstream>,
    /// The clients that authentication policies recognize.
    #[serde(default)]
    pub consumers: Vec<Consumer>,
    /// The policies and the upstream for the requests under each path prefix. If several prefixes
    /// match, the longest one applies.
    pub routes: Vec<Route>,
    /// The timeouts for clients and upstreams.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// The maximum size, in bytes, of a body that is edited or validated. A request with a larger
    /// body gets a response with status 413, and a response with a larger body is replaced by one
    /// with status 502. A gzip body that a `soap` policy processes may decompress to at most this
    /// size; if the decompressed body is larger, the client gets a fault.
    #[serde(default = "one_mebibyte")]
    pub collected_bytes_max: u32,
    /// The limit on the bytes buffered for one HTTP/2 connection: bodies that are edited or
    /// validated, and responses that the client does not read. Above this limit, the gateway
    /// continues to collect only the body of the connection's oldest request. If unread responses
    /// then make up more than `collected_bytes_max`, work that would add unread bytes waits until
    /// there is room.
    #[serde(default = "sixteen_mebibytes")]
    pub connection_collected_bytes_max: u32,
    /// The maximum number of client connections that each worker has open. Further connections are
    /// closed as soon as they are accepted.
    #[serde(default = "many_connections")]
    pub connections_max: u32,
}

/// TLS 1.2 and 1.3 for client connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The PEM file that contains the certificate and its chain.
    pub certificate: String,
    /// The PEM file that contains the certificate's private key.
    pub key: String,
}

/// The gateway's counters, in the Prometheus text format.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// The path that serves the counters on every listener; it takes precedence over all routes.
    pub path: String,
}

/// An origin: one or more equivalent addresses.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upstream {
    /// The unique name.
    pub name: String,
    /// The maximum number of idle connections that each worker keeps open to each target. With 0,
    /// every request opens a new connection.
    pub keepalive: u32,
    /// The addresses of the origin.
    pub targets: Vec<Target>,
    /// If given, the gateway connects to the upstream over TLS.
    #[serde(default)]
    pub tls: Option<UpstreamTls>,
    /// The time, in milliseconds, for which a target is avoided after connecting to it has failed,
    /// if there are other targets. Each worker measures this time separately. With 0, no target is
    /// avoided.
    #[serde(default = "ten_seconds")]
    pub rest_after_failure_ms: u32,
}

/// TLS 1.2 and 1.3 for connections to an upstream. The handshake must finish within the connect
/// timeout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UpstreamTls {
    /// The PEM file with the CAs that may sign the upstream's certificate [default: the machine's
    /// CAs].
    pub ca: Option<String>,
    /// Accepts any certificate.
    pub skip_verify: bool,
    /// The server name that the handshake requests (SNI) and that the certificate must contain
    /// [default: the target's address].
    pub server_name: Option<String>,
}

/// One address of an upstream, or a host with several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// An IP address, or a name that is looked up once, when the configuration is loaded. Each
    /// usable address of the name becomes a target with the same weight.
    pub address: String,
    /// The TCP port, at least 1.
    pub port: u16,
    /// The target's share of the requests, relative to the other targets.
    #[serde(default = "one")]
    pub weight: u32,
}

/// A client that authentication policies recognize.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Consumer {
    /// The unique name.
    pub name: String,
    /// Keys accepted by `api_key` and `api_key_query`; each belongs to only one consumer.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The password accepted by `basic_auth`; the user name is the consumer's name.
    #[serde(default)]
    pub password: Option<String>,
}

/// A path prefix, with the policies and the upstream for its requests.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The unique name.
    pub name: String,
    /// The prefix, beginning with `/`. It ends where a segment ends: `/json` is not a prefix of
    /// `/jsonx`.
    pub path: String,
    /// The spellings of paths that the route accepts.
    #[serde(default)]
    pub paths: Paths,
    /// Removes the prefix before the request is passed on.
    #[serde(default)]
    pub strip_path: bool,
    /// The upstream's name; a route with a `mock` policy needs none.
    #[serde(default)]
    pub upstream: Option<String>,
    /// The policies of the route. They apply in this order, except that edits follow the checks,
    /// and `redis_rate_limit` is the last check of a request's head. Checks of its body follow.
    #[serde(default)]
    pub policies: Vec<Policy>,
    /// The timeouts for the upstream on this route, if they differ from the gateway's.
    #[serde(default)]
    pub timeouts: Option<RouteTimeouts>,
    /// Delays requests and responses, to prove that added latency is measured correctly.
    #[cfg(feature = "faults")]
    #[serde(default)]
    pub test_delay: Option<TestDelay>,
}

/// The spellings of paths that a route accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Paths {
    /// Converts paths to their normal form (RFC 3986 6.2.2) before matching them. The response to a
    /// path is 400 if the path contains dot segments, encoded slashes, backslashes or control
    /// characters, or an empty segment other than the last one.
    #[default]
    Strict,
    /// Matches and forwards paths as written. The response to a path that can be read as a path of
    /// another route is 400.
    Verbatim,
}

/// Delays of known length. The gateway spins during the last part of each delay, so the delays are
/// accurate to a few microseconds, at the cost of CPU time.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TestDelay {
    /// The delay between reading a request's head and passing it to the upstream's connection, in
    /// nanoseconds.
    pub request_ns: u64,
    /// The delay between reading a response's head and passing it to the client's connection, in
    /// nanoseconds.
    pub response_ns: u64,
    /// Delays every nth request by different amounts.
    pub bimodal: Option<Bimodal>,
}

/// Different delays for every nth request.
#[cfg(feature = "faults")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bimodal {
    /// With 10, one in ten of each worker's requests to the route is delayed by these amounts.
    pub every: u32,
    /// The delay of these requests, in nanoseconds.
    pub request_ns: u64,
    /// The delay of their responses, in nanoseconds.
    pub response_ns: u64,
}

/// The gateway's timeouts, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// The maximum time to connect to a target of an upstream; after that, the gateway tries
    /// another target or responds with 504.
    pub connect_ms: u32,
    /// The maximum time without data from an upstream while its response is pending; after that,
    /// the response is 504 or, if a part of it has been forwarded, is cut off.
    pub upstream_ms: u32,
    /// The maximum wait for a client's next request, for more of a request's body, and for the
    /// client to read a response. If the body does not continue in time, the response is 408; a
    /// response that has already begun is cut off.
    pub client_idle_ms: u32,
    /// The maximum time from the first byte of the head of an HTTP/1.1 request to the last; after
    /// that, the response is 408.
    pub request_head_ms: u32,
    /// The maximum time from a request's head to the last byte of its body, however steadily it
    /// arrives and however slowly the upstream reads it. After that, the response is 408; a
    /// response that has already begun is cut off.
    pub request_body_ms: u32,
    /// The maximum time for requests in flight to finish when the gateway stops; after that, they
    /// are aborted.
    pub drain_ms: u32,
}

/// The timeouts for an upstream on one route, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RouteTimeouts {
    /// Replaces the gateway's `connect_ms`.
    pub connect_ms: Option<u32>,
    /// Replaces the gateway's `upstream_ms`.
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

fn one() -> u32 {
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

/// All mistakes in a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("mistakes in the gateway's configuration ({}):{}", .0.len(), listed(.0))]
pub struct ConfigErrors(pub Vec<ConfigError>);

/// A mistake in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The place as a JSON Pointer (RFC 6901); empty for the whole document.
    pub at: String,
    /// The mistake, without its place and its remedy.
    pub message: String,
    /// The remedy; `None` if another library described the mistake.
    pub remedy: Option<String>,
}

impl ConfigError {
    /// Creates a mistake in the part being checked; [`Self::below`] adds the place of that part.
    pub(crate) fn new(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            at: String::new(),
            message: message.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// Creates a mistake in a definition that another library rejected with the message `why`.
    #[cfg(feature = "soap")]
    pub(crate) fn unusable(why: String) -> Self {
        Self::from(format!("the document cannot be used: {why}"))
    }

    /// Prefixes the place of the mistake with `place`.
    pub(crate) fn below(mut self, place: impl AsRef<str>) -> Self {
        self.at.insert_str(0, place.as_ref());
        self
    }

    /// Returns the valid values, and adds the mistakes in the others to `mistakes`.
    pub(crate) fn gather<T, E: Into<Vec<Self>>>(
        all: impl IntoIterator<Item = Result<T, E>>,
        mistakes: &mut Vec<Self>,
    ) -> Vec<T> {
        let mut note = |wrong: E| mistakes.extend(wrong.into());
        let values = all.into_iter();
        values
            .filter_map(|one| one.map_err(&mut note).ok())
            .collect()
    }

    pub(crate) fn unless<T>(mistakes: Vec<Self>, value: T) -> Result<T, Vec<Self>> {
        match mistakes.is_empty() {
            true => Ok(value),
            false => Err(mistakes),
        }
    }
}

/// Converts another library's description of a mistake.
impl From<String> for ConfigError {
    fn from(message: String) -> Self {
        Self {
            at: String::new(),
            message,
            remedy: None,
        }
    }
}

impl From<SettingsError> for ConfigError {
    fn from(error: SettingsError) -> Self {
        let place = error.place().map(|place| format!("{place}: "));
        let message = place.unwrap_or_default() + &error.what();
        Self::new(message, error.remedy())
    }
}

impl From<ConfigError> for Vec<ConfigError> {
    fn from(mistake: ConfigError) -> Self {
        vec![mistake]
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = if self.at.is_empty() { "/" } else { &self.at };
        write!(f, "{at}: {}", self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

fn listed(errors: &[ConfigError]) -> String {
    errors.iter().map(|error| format!("\n  {error}")).collect()
}
