//! The reference gateway: routes, path stripping, upstream keep-alive, timeouts, hop-by-hop fields,
//! streaming with backpressure, and policies. It is an instrument: it shows what a policy costs at least,
//! and adds as little as it can.
//!
//! # What it does to messages
//! Clients speak HTTP/1.1 or HTTP/2, in the clear or over TLS. Requests go on as HTTP/1.1 with the client's `Host`, every field that is not hop-by-hop (RFC 9110
//! 7.6.1), and the framing they came with; answers come back likewise. A client of HTTP/1.0 gets
//! bodies of unknown length until close. `100 Continue` is passed on, other 1xx are not.
//! A path is written in one way, or refused: the one that a route is chosen by is the one that goes on.
//! A route may have its paths sent on as they are written.
//! Fields that CGI and its kin take for one that the gateway sets or goes by (`X_Consumer` for
//! `X-Consumer`) stay behind.
//!
//! # Policies
//! Those that may refuse a request, or answer it, act in the order of the route's list and see the head as
//! the client sent it; then come the edits of the request, each kind in its order, and those of the answer.
//! What the gateway answers by itself is not edited. JSON is edited where the Content-Type says that it is
//! JSON and no Content-Encoding is named; such a message is held until it is whole, everything else is
//! streamed. A request whose Content-Type or Content-Encoding is there twice is refused where that
//! matters, and so is compressed JSON that is to be edited. Answers in XML go through stylesheets likewise. Where answers are edited, Accept-Encoding does not
//! go to the upstream; where SOAP and XML are processed in them, gzip alone is asked for. Entity tags
//! and digests pass as they are. A rate limit is a token bucket, shared by all workers. A
//! verified token is known again by its bytes, for a minute or until it expires. Credentials that are there
//! twice are nobody's.
//!
//! Requests, and answers where asked, are held against an OpenAPI document: the head in the order of the
//! list, the body as it came, before any edit. Of an answer that is held against it nothing is passed on
//! before it is whole.
//!
//! SOAP and XML are processed in bodies that are whole, after all that may refuse a request by its head; no
//! JSON is edited then. Definitions are compiled when the configuration is, and again in the background when
//! their time is up. On a route with such a policy SOAP clients get every error as a fault.
//!
//! # What it leaves out on purpose
//! It adds no `Via` and no `X-Forwarded-*`; it passes no trailer fields; it asks no target for its
//! health; it supports no upgrade and no CONNECT. A client that
//! half-closes before its answer has come is taken to have gone, and its request is cancelled.
//!
//! # When things fail
//! A target that cannot be connected to, TLS included, is passed over for a while, and its request goes
//! to another one: nothing of it was sent. No target left: 502, or 504 after the connect timeout. No answer: 504 after the upstream timeout,
//! 502 when the upstream closes. An upstream that fails in the middle of its answer has the client's
//! connection reset, so that half an answer is never taken for a whole one. One request is sent
//! again, once and on a new connection: when a kept connection closed before the first byte of an
//! answer, and the request's method is idempotent (RFC 9110 9.2.2) and it had no body.
//!
//! # Its modules
//! Each knows only modules that stand before it: `config`, `client_ref`, `path`, `message`,
//! `faults`, `redis`, `openapi`, `soap`, `policy`, `compiled`, `proxy`. `splice` is a gateway of
//! its own, and `fuzzing` opens parts of this one to fuzz targets.

#![cfg_attr(
    not(feature = "soap"),
    allow(dead_code, reason = "only the SOAP/XML policies use some parts")
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
pub use faults::{Faults, Handicap, Leak};
pub use proxy::Totals;
use soap::Refresher;
pub use soap::library_versions;
pub use splice::splice;

/// Why the gateway did not run, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// The address, a core or the event loop was refused.
    #[error("gateway: {0}")]
    Workers(#[from] WorkersError),
}

/// Serves until `stop` is set (seen within 50 ms), with the configuration's number of workers, each
/// pinned to the next of `cores` where there are any. `on_listening` hears the addresses once every
/// worker accepts connections on them.
///
/// # Errors
/// When the configuration is wrong, or the address, a core or the event loop is refused.
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
    /// Compiles definitions again in time, for as long as this lives.
    refresher: Mutex<Option<Refresher>>,
}

impl Gateway {
    /// Makes a configuration ready.
    ///
    /// # Errors
    /// Everything that is wrong with it.
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

    /// Gives every worker these faults.
    #[cfg(feature = "faults")]
    pub fn with_faults(mut self, faults: Faults) -> Self {
        self.inner.faults = faults;
        self
    }

    /// Calls `notices` with what an operator should know, such as that a Redis cannot be had: a
    /// sentence that names the culprit and ends with what to do. Workers wait while it is told.
    pub fn with_notices(mut self, notices: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.inner.notices = Arc::new(notices);
        self
    }

    /// Serves as [`serve`] does.
    ///
    /// # Errors
    /// When the address, a core or the event loop is refused.
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

    /// Stops without losing a request: nothing is accepted any more, what is under way is finished, and then
    /// [`Self::serve`] returns, after the configuration's `drain_ms` at the latest. Connections that are left
    /// then are reset. It cannot be taken back.
    pub fn drain(&self) {
        self.inner.drain();
    }

    /// Goes by another configuration: each worker for the requests that it reads from its next round on
    /// (within 50 ms), while those on their way are served as they began. No connection is closed for it,
    /// but for idle ones to targets that are not named any more. Where a policy stays as it is, its route too,
    /// rate limits count on and tokens that were verified stay so; where it changes, it begins anew.
    ///
    /// # Errors
    /// Everything that is wrong with the new configuration, or that cannot change without a restart: then
    /// the old one stays.
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
        let mistakes: Vec<_> = changed
            .map(|(at, _)| {
                let message =
                    "this cannot change while the gateway serves; restart it, or write what it was";
                ConfigError::new(*at, message)
            })
            .collect();
        if !mistakes.is_empty() {
            return Err(ConfigErrors(mistakes));
        }
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

    /// Looks at all of a configuration, what only shows when it is made ready among it: names of targets,
    /// certificates, schemas, stylesheets.
    ///
    /// # Errors
    /// Everything that is wrong with it, each once.
    pub fn check(config: &GatewayConfig) -> Result<(), ConfigErrors> {
        compiled::check(config)
    }

    /// What is wrong with the definitions of its policies: schemas, WSDLs, stylesheets and expressions.
    /// It serves nevertheless, and answers what needs them with faults.
    pub fn problems(&self) -> Vec<ConfigError> {
        self.inner.compiled().problems()
    }
}
