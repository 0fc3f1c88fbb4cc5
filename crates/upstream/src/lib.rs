//! The embedded origins: `ping`, `go-bench`, `httpbin`, `calculator` and `any`, which are built not
//! to limit the gateway, and `pathology`, whose faults are known by construction. Each returns a
//! request's nonce with the times at which the request arrived and the response left, and keeps a
//! ledger of its requests and their nonces. The response to a repeated nonce contains no times.
//!
//! # Precision of the times
//! The time of arrival, t1, is read from the clock once, after the poll that returned the request's
//! last byte. It is later than the arrival of that byte, because the worker takes some time to wake
//! up and to receive the batch of requests. All requests of a batch have the same t1. A pipelined
//! request that has to wait for an earlier response is stamped when it is read. The time of the
//! response, t2, is read immediately before the first bytes of the response are passed to the
//! kernel with [`gatebench_net::Io::send_now`]. The difference t2 − t1 therefore includes the time
//! that a request waited behind others in its batch. If a client pipelines, responses that are sent
//! together have the same t2. A response that is queued behind an unfinished send is stamped when
//! it is passed to the kernel. Over TLS, t1 is read after the batch has been decrypted, and t2 is
//! read before the response is encrypted.
//!
//! # Protocols
//! HTTP/1.1 and HTTP/2 use the same port. Over TLS, ALPN determines the protocol; without ALPN, the
//! first bytes of a connection do (RFC 9113 3.3). Each HTTP/2 stream carries one request, which is
//! served like a request over HTTP/1.1. Responses that are due together have the same t2. A
//! response that is due while a send is outstanding is stamped when the send is done.
//!
//! # Limits
//! An upstream sets no time limit on receiving a request or sending a response. In a trial, every
//! timeout is therefore one of the gateway or of the load generator. Request bodies over HTTP/1.1
//! are limited to [`BODY_BYTES_MAX`] each, and the request bodies that an HTTP/2 connection keeps
//! for its responses are limited to [`BODY_BYTES_MAX`] in total. The pending output per connection
//! is limited to about 128 KiB, plus, over HTTP/2, 16 KiB for each stream that waits for the
//! client's windows. The exception is `pathology`, which queues each piece of a response when it is
//! due.

mod apps;
mod asked;
mod connection;
mod control;
mod counters;
mod duration;
mod env;
mod exchange;
pub mod fault_server;
mod health;
mod http1;
mod http2;
mod inbox;
mod json;
mod ledger;
mod pattern;
mod random;
mod response;
mod wall_clock;
mod window;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gatebench_net::tls::{ServerContext, ServerSettings, SettingsError};
use gatebench_net::workers::{Service, Workers, WorkersError};
use gatebench_net::{Backend, TlsService};

pub use control::{HEALTH_PATH, LEDGER_PATH, RESET_PATH};
pub use exchange::PAUSE_HEADER;
pub use ledger::{Snapshot, WorkerCpu};
pub use window::STREAMS;

/// The maximum size, in bytes, of a requested response body, of a request body over HTTP/1.1, and
/// of the request bodies that an HTTP/2 connection keeps, taken together (128 MiB).
pub const BODY_BYTES_MAX: u64 = 128 << 20;

/// The names of the protocols in ALPN, in order of preference.
const PROTOCOLS: [&[u8]; 2] = [connection::ALPN_HTTP2, b"http/1.1"];

/// The kind of origin that an upstream serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `GET /ping` returns `ok`.
    Ping,
    /// `/json/{valid|invalid}`, `/size/{n}`, `/delay/{duration}`, `/echo`, `/xml`, `/resource`,
    /// `/resource/{id}`, and the request fields X-Delay, X-Delay-Percent, X-Slowdown and
    /// X-Slowdown-From.
    GoBench,
    /// `/anything`, `/uuid`, `/robots.txt`, `/status/{n}`, `/delay/{n}`, `/json`, `/xml`,
    /// `/headers`, `/bytes/{n}`, `/gzip`, `/stream/{n}`.
    Httpbin,
    /// SOAP 1.1: `POST /ws` adds, subtracts, multiplies and divides, and `/ws/calculator.wsdl`
    /// describes the service.
    Calculator(Region),
    /// Every path. X-Response-Status and X-Response-Bytes set the status (default 200) and the size
    /// of the response's body (default 2 bytes).
    Any,
    /// Responses whose times are known by construction ([`fault_server`]).
    Pathology,
}

/// Identifies a calculator. `X-Soap-Region` in its responses contains the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    Soap1,
    /// The second calculator, which a gateway may select by the content of a message.
    Soap2,
}

impl Region {
    /// Returns the name as in `X-Soap-Region`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Soap1 => "soap1",
            Self::Soap2 => "soap2",
        }
    }
}

impl Kind {
    /// All kinds, each with its name on the command line.
    pub const NAMES: [(&'static str, Self); 7] = [
        ("ping", Self::Ping),
        ("go-bench", Self::GoBench),
        ("httpbin", Self::Httpbin),
        ("calculator", Self::Calculator(Region::Soap1)),
        ("calculator-soap2", Self::Calculator(Region::Soap2)),
        ("any", Self::Any),
        ("pathology", Self::Pathology),
    ];

    /// Returns the kind with this name on the command line.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut named = Self::NAMES.into_iter();
        named.find_map(|(known, kind)| (known == name).then_some(kind))
    }

    /// Returns a list of the paths that the origin serves, for messages.
    pub fn paths(self) -> &'static str {
        match self {
            Self::Ping => "/ping",
            Self::GoBench => {
                "/json/valid, /json/invalid, /size/5KB, /delay/100ms, /echo, /xml, /resource, /resource/ID"
            }
            Self::Httpbin => {
                "/anything, /uuid, /robots.txt, /status/404, /delay/1, /json, /xml, /headers, /bytes/1024, /gzip, /stream/10"
            }
            Self::Calculator(_) => "/ws, /ws/calculator.wsdl",
            Self::Any => {
                "every path; the request headers X-Response-Status (such as 404) and X-Response-Bytes (such as 5120) set the status and the size of the response"
            }
            Self::Pathology => fault_server::PATHS,
        }
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        let mut named = Self::NAMES.into_iter();
        let found = named.find_map(|(name, kind)| (kind == self).then_some(name));
        found.expect("every kind has a name")
    }
}

/// The settings of an upstream.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    pub kind: Kind,
    /// The address to listen on. If the port is 0, the kernel chooses a free port.
    pub listen: SocketAddr,
    /// One pinned worker runs on each of these cores. If there are none, one worker runs unpinned.
    pub cores: Vec<usize>,
    /// With `None`, io_uring is used if the kernel permits it, and otherwise epoll.
    pub backend: Option<Backend>,
    /// The TLS settings, if connections must use TLS. If they name no ALPN protocols, HTTP/2 and
    /// HTTP/1.1 are offered.
    pub tls: Option<ServerSettings>,
    /// The number of streams whose nonces the ledger remembers. A stream is a pair of a load's tag
    /// and a worker of the load generator. `gatebench upstream` uses [`STREAMS`] by default.
    pub streams: usize,
}

/// The error that kept an upstream from starting, or that stopped it.
#[derive(Debug, thiserror::Error)]
#[error("upstream: {0}")]
pub enum UpstreamError {
    /// A worker did not start, or its loop failed.
    Workers(#[from] WorkersError),
    /// The certificate, the key or another TLS setting cannot be used.
    Tls(#[from] SettingsError),
}

/// Serves until `stop` is set, which is noticed within 50 ms. Calls `on_listening` with the bound
/// address once every worker accepts connections on it.
///
/// # Errors
/// Fails if the address, a core, the event loop or the TLS settings cannot be used.
pub fn serve(
    config: UpstreamConfig,
    stop: Arc<AtomicBool>,
    on_listening: impl FnOnce(SocketAddr),
) -> Result<(), UpstreamError> {
    let count = config.cores.len().max(1);
    let are_pinned = !config.cores.is_empty();
    let workers = Workers {
        listen: &[config.listen],
        count,
        cores: &config.cores,
        backend: config.backend,
        stop: &stop,
    };
    let on_bound = |bound: &[SocketAddr]| on_listening(bound[0]);
    let tls = config.tls.map(context).transpose()?;
    if config.kind == Kind::Pathology {
        let service = fault_server::FaultServer::new(count, are_pinned, config.streams);
        return serve_on(&workers, &service, tls, on_bound);
    }
    let service = worker::Serving {
        kind: config.kind,
        ledger: ledger::Ledger::new(count, config.streams),
    };
    serve_on(&workers, &service, tls, on_bound)
}

fn context(mut settings: ServerSettings) -> Result<ServerContext, SettingsError> {
    if settings.alpn.is_empty() {
        settings.alpn = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    }
    ServerContext::new(&settings)
}

fn serve_on<S: Service>(
    workers: &Workers<'_>,
    service: &S,
    tls: Option<ServerContext>,
    on_bound: impl FnOnce(&[SocketAddr]),
) -> Result<(), UpstreamError> {
    match tls {
        Some(context) => workers.serve(&TlsService { service, context }, on_bound)?,
        None => workers.serve(service, on_bound)?,
    }
    Ok(())
}
