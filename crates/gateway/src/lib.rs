//! The reference gateway: routes, path stripping, upstream keep-alive, timeouts, hop-by-hop fields,
//! streaming with backpressure, API keys, mock answers. It is an instrument: it shows what a policy
//! costs at least, and adds as little as it can.
//!
//! # What it does to messages
//! Requests go on as HTTP/1.1 with the client's `Host`, every field that is not hop-by-hop (RFC 9110
//! 7.6.1), and the framing they came with; answers come back likewise. A client of HTTP/1.0 gets
//! bodies of unknown length until close. `100 Continue` is passed on, other 1xx are not.
//! The path is taken as it came: nothing is decoded or resolved.
//!
//! # What it leaves out on purpose
//! It adds no `Via` and no `X-Forwarded-*`; it passes no trailer fields; it checks no health, and
//! tries no second target when one refuses; it supports no upgrade and no CONNECT. A client that
//! half-closes before its answer has come is taken to have gone, and its request is cancelled.
//!
//! # When things fail
//! No connection: 502, or 504 after the connect timeout. No answer: 504 after the upstream timeout,
//! 502 when the upstream closes. An upstream that fails in the middle of its answer has the client's
//! connection reset, so that half an answer is never taken for a whole one. One request is sent
//! again, once and on a new connection: when a kept connection closed before the first byte of an
//! answer, and the request's method is idempotent (RFC 9110 9.2.2) and it had no body.

mod balance;
mod client;
mod config;
mod exchange;
mod forward;
mod hold;
mod keys;
mod local;
mod log;
mod origin;
mod pool;
mod routes;
mod site;
mod upstream_side;
mod validate;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gatebench_net::Backend;
use gatebench_net::workers::{Workers, WorkersError};

pub use config::{
    ApiKey, Bimodal, ConfigError, ConfigErrors, Consumer, GatewayConfig, Mock, Policy, Route,
    Target, TestDelay, Timeouts, Upstream,
};
pub use worker::Totals;

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
    config.validate()?;
    let gateway = worker::Gateway::new(site::Site::new(config)?);
    let workers = Workers {
        listen: &gateway.site().listen,
        count: config.workers as usize,
        cores,
        backend,
        stop: &stop,
    };
    workers.serve(&gateway, on_listening)?;
    Ok(gateway.totals())
}
