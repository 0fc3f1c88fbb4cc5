//! What the engine is asked to do.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use gatebench_model::{Order, Request, Shape};
use gatebench_net::tls::ClientContext;
use gatebench_net::{Backend, Peer};

use crate::data::DataSet;
use crate::layer::ProxyProtocol;

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time.
    Http1,
    /// HTTP/2 with up to so many requests at a time, fewer where the server says so. Over TLS the
    /// context has to offer `h2` (ALPN); without TLS the server has to know (RFC 9113 3.3).
    Http2 {
        /// Streams in flight on a connection.
        streams: u32,
    },
    /// Nothing: each request is a connection that is made, TLS included, and closed again. What is
    /// configured of requests is not sent.
    Handshakes,
}

/// Where requests go, and how.
#[derive(Clone, Debug)]
pub struct Target {
    /// What to connect to.
    pub address: Peer,
    /// Value of the Host header, or `:authority`.
    pub host: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// TLS on every connection.
    pub tls: Option<ClientContext>,
    /// The PROXY header that every connection begins with. It names the connection's source address
    /// and, since the kernel has the true port only later, a port counted up from 1,024.
    pub proxy: Option<ProxyProtocol>,
    /// Local addresses that connections are made from, in turn; empty leaves it to the kernel, whose
    /// one address has about 28,000 ports.
    pub sources: Vec<IpAddr>,
}

impl Target {
    /// Plain HTTP/1.1.
    pub fn new(address: impl Into<Peer>, host: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            host: host.into(),
            protocol: Protocol::Http1,
            tls: None,
            proxy: None,
            sources: Vec::new(),
        }
    }
}

/// Requests of one kind of user: with a profile, connections and figures of their own.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name, unique in the load.
    pub name: String,
    /// Where its requests go.
    pub target: Target,
    /// The requests, by their weights; at least one. Each is a route with figures of its own. Paths,
    /// values of headers and bodies are templates.
    pub requests: Vec<Request>,
    /// Which of them is next.
    pub order: Order,
    /// Closed or open.
    pub shape: Shape,
    /// A request without an answer after this long has failed.
    pub timeout: Duration,
}

/// One load: a warm-up that is discarded, a measurement, and the wait for the last answers. All groups
/// run at the same time.
#[derive(Clone, Debug)]
pub struct Load {
    /// Who sends what; at least one.
    pub groups: Vec<Group>,
    /// The values that templates in requests are filled with.
    pub data: Arc<DataSet>,
    /// Discarded first part; at most this long, if
    /// [`Control::measure_from`](crate::Control::measure_from) ends it.
    pub warm_up: Duration,
    /// Measured part.
    pub measure: Duration,
    /// How long the last answers are waited for.
    pub drain: Duration,
    /// Cores of the workers, one each; empty means one worker that is not pinned.
    pub cores: Vec<usize>,
    /// Whether workers may watch for what is about to happen instead of sleeping until it does: sends
    /// leave when they are due, and few answers under way are seen at once. Only for workers that have
    /// a core each, which nothing else needs.
    pub spin: bool,
    /// Kernel interface; `None` takes the best the kernel grants.
    pub backend: Option<Backend>,
    /// The tag of this load's nonces. `None` sends no nonce, and nothing is traced.
    pub trace_tag: Option<u16>,
    /// What random choices begin from: the same seed makes the same choices.
    pub seed: u64,
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
