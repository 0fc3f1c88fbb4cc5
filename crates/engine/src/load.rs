//! The load that the engine runs.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use gatebench_model::{Order, Request, Shape};
use gatebench_net::tls::ClientContext;
use gatebench_net::{Backend, Peer};

use crate::data::DataSet;
use crate::layer::ProxyProtocol;

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1, one request at a time.
    Http1,
    /// HTTP/2 with up to `streams` concurrent requests per connection, or fewer if the server
    /// allows fewer. Over TLS, the context must offer `h2` (ALPN); without TLS, the server must
    /// expect HTTP/2 (RFC 9113 3.3).
    Http2 { streams: u32 },
    /// No requests (a connection-only load): each unit of the load is a connection that is made,
    /// including TLS, and closed again.
    Handshakes,
}

/// The destination of requests, and the way to reach it.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: Peer,
    /// The value of the Host header or `:authority` of requests that do not set their own.
    pub host: String,
    pub protocol: Protocol,
    /// The TLS settings of every connection; `None` for plain text.
    pub tls: Option<ClientContext>,
    /// The version of the PROXY header at the beginning of every connection. Over TCP, the header
    /// contains the connection's source address and a port counted up from 1,024, because the event
    /// loop does not report the true port.
    pub proxy: Option<ProxyProtocol>,
    /// The local addresses of connections, used in turn. If empty, the kernel chooses one address,
    /// which has about 28,000 ports by default.
    pub sources: Vec<IpAddr>,
}

impl Target {
    /// Creates a target for plain HTTP/1.1.
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

/// The requests of one kind of user, with their own load, connections and figures.
#[derive(Clone, Debug)]
pub struct Group {
    /// Unique in the load.
    pub name: String,
    pub target: Target,
    /// At least one request. Requests are chosen by weight, and each is a route with its own
    /// figures. Paths, header values and text bodies are templates.
    pub requests: Vec<Request>,
    pub order: Order,
    /// The model of the load, closed or open, with its parameters.
    pub shape: Shape,
    /// The time after which a request without a complete response fails.
    pub timeout: Duration,
}

/// The part of a load that one of several load generators sends. The workers of all load generators
/// are numbered consecutively, so together they send exactly the requests of one load generator
/// with as many workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of this load generator's first worker.
    pub first_worker: usize,
    /// The total number of workers of all load generators.
    pub workers: usize,
}

/// One load: a warm-up, a measurement, and the wait for the last responses. All groups run at the
/// same time.
#[derive(Clone, Debug)]
pub struct Load {
    /// At least one group.
    pub groups: Vec<Group>,
    pub data: Arc<DataSet>,
    /// The length of the warm-up, which the figures of the measurement exclude. The warm-up is
    /// shorter if [`Control::measure_from`](crate::Control::measure_from) ends it.
    pub warm_up: Duration,
    pub measure: Duration,
    /// The maximum wait for the last responses. Time during which a worker did not run does not
    /// count.
    pub drain: Duration,
    /// The cores of the workers, one each. If empty, one unpinned worker runs.
    pub cores: Vec<usize>,
    /// True if workers may poll for imminent events instead of sleeping. A worker that polls sends
    /// requests on time and, while few requests are in flight, notices responses immediately. Set
    /// this only if each worker has a core that nothing else needs.
    pub spin: bool,
    /// `None` selects the best kernel interface available.
    pub backend: Option<Backend>,
    /// The tag of this load's nonces. With `None`, no nonces are sent and no requests are traced. A
    /// load generator uses one tag per 256 workers: this one and, if it has more workers, the tags
    /// after it.
    pub trace_tag: Option<u16>,
    /// True if the upstreams read the same clock as this process. Otherwise, the accuracy of the
    /// two halves of added latency depends on how closely the requests bound the difference between
    /// the clocks.
    pub shares_clock: bool,
    /// The part of the load that this load generator sends; `None` means the whole load.
    pub part: Option<Part>,
    pub seed: u64,
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
