//! What the engine is asked to do.

use std::net::SocketAddr;
use std::time::Duration;

use gatebench_model::{Request, Shape};
use gatebench_net::Backend;

/// Where requests go.
#[derive(Clone, Debug)]
pub struct Target {
    /// Address to connect to.
    pub address: SocketAddr,
    /// Value of the Host header.
    pub host: String,
}

/// One load: a warm-up that is discarded, a measurement, and the wait for the last answers.
#[derive(Clone, Debug)]
pub struct Load {
    /// Where requests go.
    pub target: Target,
    /// The requests, sent in turn; at least one.
    pub requests: Vec<Request>,
    /// Closed or open.
    pub shape: Shape,
    /// Discarded first part.
    pub warm_up: Duration,
    /// Measured part.
    pub measure: Duration,
    /// How long the last answers are waited for.
    pub drain: Duration,
    /// A request without an answer after this long has failed.
    pub timeout: Duration,
    /// Cores of the workers, one each; empty means one worker that is not pinned.
    pub cores: Vec<usize>,
    /// Kernel interface; `None` takes the best the kernel grants.
    pub backend: Option<Backend>,
    /// The tag of this load's nonces. `None` sends no nonce, and nothing is traced.
    pub trace_tag: Option<u16>,
}
