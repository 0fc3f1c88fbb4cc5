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
    /// HTTP/2 with up to `streams` requests at a time on a connection, or fewer if the server
    /// allows fewer. Over TLS the context must offer `h2` (ALPN); without TLS the server must
    /// expect HTTP/2 (RFC 9113 3.3).
    Http2 { streams: u32 },
    /// No requests: each unit of the load is a connection that is made, TLS included, and closed
    /// again.
    Handshakes,
}

/// The destination of requests, and the protocol.
#[derive(Clone, Debug)]
pub struct Target {
    /// The address to connect to.
    pub address: Peer,
    /// Value of the Host header, or `:authority`.
    pub host: String,
    pub protocol: Protocol,
    /// TLS on every connection.
    pub tls: Option<ClientContext>,
    /// The PROXY header at the beginning of every connection. It names the connection's source
    /// address and, because the kernel chooses the true port only later, a port counted up from
    /// 1,024.
    pub proxy: Option<ProxyProtocol>,
    /// Local addresses of connections, used in turn. If empty, the kernel chooses one address,
    /// which has about 28,000 ports.
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

/// Requests of one kind of user, with their own profile, connections and figures.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name, unique in the load.
    pub name: String,
    /// The destination of its requests.
    pub target: Target,
    /// The requests, chosen by their weights; at least one. Each is a route with its own figures.
    /// Paths, header values and bodies are templates.
    pub requests: Vec<Request>,
    /// The order in which the requests are sent.
    pub order: Order,
    /// The model of the load, closed or open, with its parameters.
    pub shape: Shape,
    /// A request that has no response after this time has failed.
    pub timeout: Duration,
}

/// The part of a load that one of several load generators sends. The workers of all load generators
/// are numbered consecutively, so together they send exactly the requests that one load generator
/// with as many workers would send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of this load generator's first worker.
    pub first_worker: usize,
    /// The number of workers of all load generators.
    pub workers: usize,
}

/// One load: a warm-up that is discarded, a measurement, and the wait for the last responses. All
/// groups run at the same time.
#[derive(Clone, Debug)]
pub struct Load {
    /// The groups; at least one.
    pub groups: Vec<Group>,
    /// The values for templates in requests.
    pub data: Arc<DataSet>,
    /// The warm-up before the measurement; its results are discarded. It is shorter if
    /// [`Control::measure_from`](crate::Control::measure_from) ends it.
    pub warm_up: Duration,
    /// The length of the measurement.
    pub measure: Duration,
    /// The maximum wait for the last responses.
    pub drain: Duration,
    /// Cores of the workers, one each; empty means one worker that is not pinned.
    pub cores: Vec<usize>,
    /// True if workers may poll, instead of sleeping, for events that are about to happen: requests
    /// are sent on time, and responses are noticed at once while few are in flight. Set this only
    /// if each worker has a core that nothing else needs.
    pub spin: bool,
    /// Kernel interface; `None` chooses the best one available.
    pub backend: Option<Backend>,
    /// The tag of this load's nonces. With `None`, no nonces are sent and no requests are traced. A
    /// load with more than 256 workers here also uses the tags that follow it, one for every 256
    /// workers.
    pub trace_tag: Option<u16>,
    /// True if the upstreams read the same clock as this process. Otherwise the halves of the
    /// latency of traced requests are known only as far as the requests bound the clocks.
    pub shares_clock: bool,
    /// The part of the load that is sent here; `None` means the whole load.
    pub part: Option<Part>,
    /// The seed of random choices: the same seed leads to the same choices.
    pub seed: u64,
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
