//! The reference gateway: routes, path stripping, upstream keep-alive, timeouts, hop-by-hop fields,
//! streaming with backpressure, and policies. Its own overhead is small, so that it shows how
//! little a policy can cost.
//!
//! # Messages
//! Clients use HTTP/1.1 or HTTP/2, in plaintext or over TLS. Apart from the changes that policies
//! make, the gateway passes requests on as HTTP/1.1 with the client's `Host`, every field that is
//! not hop-by-hop (RFC 9110 7.6.1), and the client's framing. It passes responses on in the same
//! way. For an HTTP/1.0 client, the gateway marks the end of a body of unknown length by closing
//! the connection. `100 Continue` is passed on; other 1xx responses are not.
//!
//! The gateway converts paths to their normal form and refuses ambiguous ones, so the path that
//! selects the route is also the one that the upstream gets (without the prefix, if the route
//! strips it). A route may instead pass its paths on as the client wrote them. Fields that CGI and
//! similar interfaces confuse with a field that the gateway sets or relies on (`X_Consumer` for
//! `X-Consumer`) are removed.
//!
//! # Policies
//! Policies that may refuse a request, or respond to it, act in the order of the route's list, on
//! the head as the client sent it. A rate limit that is counted in Redis comes last, wherever it is
//! in the list. The edits of the request follow, and then those of the response; edits of the same
//! kind apply in the order of the list. The gateway does not edit its own responses.
//!
//! JSON is edited if the Content-Type names JSON and the body has no content coding. Such a message
//! is kept until it is complete. Other messages are streamed, unless a policy needs their whole
//! body, as described below. The gateway refuses a request with two Content-Types or two
//! Content-Encodings if a JSON edit or an OpenAPI check depends on them, and a request with
//! compressed JSON that a policy would edit. A `response_xslt` policy transforms a response if the
//! Content-Type names XML and the body has no content coding. If a route edits or checks the bodies
//! of responses, Accept-Encoding is not passed on; if it processes SOAP or XML in them, the gateway
//! asks for no coding other than gzip. Entity tags and digests pass unchanged.
//!
//! A rate limit that is not counted in Redis is a token bucket that all workers share. The gateway
//! recognizes a verified token by its bytes for at most a minute, and not after the token expires.
//! Credentials that occur twice match no consumer.
//!
//! A policy can check requests, responses or both against an OpenAPI document. It checks the head
//! of a request in the order of the list, and a body before any edit. If the body of a response is
//! checked, the response is passed on only when it is complete.
//!
//! SOAP and XML are processed in complete bodies, after every policy that may refuse a request
//! because of its head. A route with a `soap` policy cannot edit bodies in other ways. Definitions
//! are compiled with the configuration, and again in the background when they expire. On a route
//! with a `soap` policy, SOAP clients get the gateway's error responses as faults.
//!
//! # Omissions
//! The gateway adds no `Via` and no `X-Forwarded-*`, passes no trailer fields on, sends no health
//! checks, and supports no upgrade and no CONNECT. An HTTP/1.1 client that half-closes its
//! connection before it has received its response is treated as gone, and its request is canceled.
//!
//! # Failures
//! If connecting to a target fails, even in the TLS handshake, the gateway avoids the target for a
//! while. It sends the request to another target, which is safe because no part of the request was
//! sent. If no target is left, or after eight attempts, the gateway responds with 502, or with 504
//! if the last attempt exceeded the connect timeout. If the upstream does not respond within the
//! upstream timeout, the response is 504; if it closes the connection without responding, the
//! response is 502. If an upstream fails after the gateway has begun to forward its response, the
//! gateway resets the client's connection (over HTTP/2, only the stream), so a partial response
//! never looks complete. The gateway sends a request again, once and on a new connection, if a
//! kept-alive connection closed before the first byte of the response, the request's method is
//! idempotent (RFC 9110 9.2.2), and the request has no body.
//!
//! # Modules
//! Each module uses only modules before it in this list: `config`, `client_ref`, `path`, `message`,
//! `faults`, `redis`, `openapi`, `soap`, `policy`, `compiled`, `proxy`. `splice` is a separate
//! gateway, and `fuzzing` exposes parts of this one to fuzz targets.

#![cfg_attr(
    not(feature = "soap"),
    allow(
        dead_code,
        reason = "some items are used only by the SOAP/XML policies"
    )
)]

mod client_ref;
mod compiled;
mod config;
mod faults;
#[doc(hidden)]
pub mod fuzzing;
mod message;
mod openapi;
mod path;
mod policy;
mod proxy;
mod redis;
#[cfg(feature = "soap")]
mod soap;
#[cfg(not(feature = "soap"))]
#[path = "soap/absent.rs"]
mod soap;
mod splice;

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use gatebench_net::tls::ServerContext;
use gatebench_net::workers::{Workers, WorkersError};
use gatebench_net::{Backend, TlsService};

pub use compiled::Document;
use compiled::{CompiledConfig, server_context};
#[cfg(feature = "faults")]
pub use config::{Bimodal, TestDelay};
pub use config::{
    ConfigError, ConfigErrors, Consumer, GatewayConfig, Metrics, Paths, Route, RouteTimeouts,
    Target, Timeouts, Tls, Upstream, UpstreamTls,
};
#[cfg(feature = "faults")]
pub use faults::{Faults, Handicap, Leak, NotHandicap, NotLeak};
pub use proxy::Totals;
use soap::Refresher;
pub use soap::library_versions;
pub use splice::splice;

/// The error that kept the gateway from starting, or that stopped it.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    #[error("gateway: {0}")]
    Workers(#[from] WorkersError),
}

/// Serves until `stop` is set (noticed within 50 ms). Runs the configuration's number of workers;
/// if `cores` is not empty, pins each worker to one of them, in turn. Calls `on_listening` with the
/// addresses once every worker accepts connections on them.
///
/// # Errors
/// Fails if the configuration is invalid, if the kernel refuses `backend`, if a worker cannot be
/// pinned to its core or cannot listen on an address, or if an event loop fails.
pub fn serve(
    config: &GatewayConfig,
    cores: &[usize],
    backend: Option<Backend>,
    stop: Arc<AtomicBool>,
    on_listening: impl FnOnce(&[SocketAddr]),
) -> Result<Totals, GatewayError> {
    Gateway::new(config)?.serve(cores, backend, stop, on_listening)
}

/// A gateway whose configuration can be replaced while it serves, from any thread.
pub struct Gateway {
    inner: proxy::Gateway,
    tls: Option<ServerContext>,
    /// Recompiles definitions when they expire, as long as this value exists.
    refresher: Mutex<Option<Refresher>>,
}

impl Gateway {
    /// Compiles a configuration for serving.
    ///
    /// # Errors
    /// Returns the mistakes that validation finds or, if it finds none, those that compiling finds.
    pub fn new(config: &GatewayConfig) -> Result<Self, ConfigErrors> {
        config.validate()?;
        let tls = config
            .tls
            .as_ref()
            .map(|tls| server_context(tls, config.http2));
        let compiled = CompiledConfig::new(config, None)?;
        Ok(Self {
            refresher: Mutex::new(compiled.refresher()?),
            inner: proxy::Gateway::new(compiled, config.workers as usize),
            tls: tls.transpose()?,
        })
    }

    #[cfg(feature = "faults")]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.inner.faults = faults;
        self
    }

    /// Calls `notices` with messages for the operator, for example that Redis is unavailable. Each
    /// message names the culprit and, unless it repeats an error message of Redis, ends with a
    /// remedy. The calling worker waits until `notices` returns.
    pub fn with_notices(mut self, notices: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.inner.notices = Arc::new(notices);
        self
    }

    /// Serves as [`serve`] does.
    ///
    /// # Errors
    /// Fails if the kernel refuses `backend`, if a worker cannot be pinned to its core or cannot
    /// listen on an address, or if an event loop fails.
    pub fn serve(
        &self,
        cores: &[usize],
        backend: Option<Backend>,
        stop: Arc<AtomicBool>,
        on_listening: impl FnOnce(&[SocketAddr]),
    ) -> Result<Totals, GatewayError> {
        let compiled = self.inner.compiled();
        let workers = Workers {
            listen: &compiled.listen,
            count: self.inner.workers,
            cores,
            backend,
            stop: &stop,
        };
        let service = &self.inner;
        match self.tls.clone() {
            Some(context) => workers.serve(&TlsService { service, context }, on_listening)?,
            None => workers.serve(service, on_listening)?,
        }
        Ok(self.inner.totals())
    }

    /// Stops gracefully: the gateway accepts no more connections and finishes requests in flight.
    /// [`Self::serve`] returns when no connection is left; after the configuration's `drain_ms`, it
    /// resets the remaining connections. A drain cannot be undone.
    pub fn drain(&self) {
        self.inner.drain();
    }

    /// Replaces the configuration. Each worker uses the new one for the requests that it reads from
    /// its next loop iteration on (within 50 ms). Requests in flight keep the old one, except that
    /// the new client timeouts and size limits apply to them as well. Of the connections to
    /// upstreams, only idle ones are closed: those to targets that the new configuration does not
    /// name, or whose `keepalive` is now 0.
    ///
    /// A `rate_limit` keeps its counts if its limit, its window, its key, its position among the
    /// `rate_limit` policies of its route, and the name of the route stay the same; otherwise,
    /// counting starts again. Verified tokens stay verified if their policy and the names of the
    /// consumers stay the same.
    ///
    /// # Errors
    /// Returns the mistakes in the new configuration, as in [`Self::new`], or the settings that
    /// cannot change without a restart. The old configuration then stays in use.
    pub fn replace(&self, config: &GatewayConfig) -> Result<(), ConfigErrors> {
        config.validate()?;
        let before = self.inner.compiled();
        let compiled = CompiledConfig::new(config, Some(&before))?;
        let fixed = [
            ("/listen", compiled.listen == before.listen),
            ("/workers", config.workers as usize == self.inner.workers),
            ("/tls", config.tls.is_some() == self.tls.is_some()),
            ("/http2", compiled.http2 == before.http2),
            ("/access_log", compiled.access_log == before.access_log),
        ];
        let changed = fixed.iter().filter(|(_, is_same)| !is_same);
        let mistakes = changed.map(|(at, _)| {
            let message = "this cannot change while the gateway is running";
            ConfigError::new(
                message,
                "restart the gateway, or restore the previous value",
            )
            .below(at)
        });
        ConfigError::unless(mistakes.collect(), ()).map_err(ConfigErrors)?;
        let fresh = compiled.refresher()?;
        if let (Some(tls), Some(current)) = (&config.tls, &self.tls) {
            current.replace(&server_context(tls, config.http2)?);
        }
        self.inner.replace(compiled);
        let mut refresher = self
            .refresher
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *refresher = fresh;
        Ok(())
    }

    /// Checks a whole configuration. Also reports the mistakes that are found only when it is
    /// compiled, such as those in host names, certificates, schemas and stylesheets. A gateway with
    /// mistakes in the schemas, WSDLs, stylesheets or expressions of `soap` still serves, and
    /// responds with faults to requests that need these definitions.
    ///
    /// # Errors
    /// Returns all mistakes, without duplicates.
    pub fn check(config: &GatewayConfig) -> Result<(), ConfigErrors> {
        compiled::check(config)
    }
}
