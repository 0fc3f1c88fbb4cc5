//! The protocol between the two ends: a request on one line, then its response on one line. Both
//! ends are built from the same sources, so the protocol needs no separate version.

use std::net::{IpAddr, SocketAddr};

use gatebench_model::{Limits, Scenario, Setup, UpstreamKind};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::kept::Texts;
use crate::error::{DriverError, RemoteError};
use crate::gateway::{Folder, FoundGateway, Started};
use crate::probe::EnvironmentFacts;
use crate::system::exit::Ended;

/// The version of this program, which must equal that of the other end.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A request or a response with its number. A repeated request and its response have the same
/// number as the original, so a message that arrives twice or late is recognized.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Numbered<T> {
    pub(super) number: u64,
    pub(super) message: T,
}

/// The line that cancels an open request. The remote end then ends all processes that it has
/// started.
pub(super) const CANCEL: &str = "cancel";

/// The first message of the remote end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) version: String,
    /// The address that the connection came from, as seen by the host; in a pod, the pod's own
    /// address.
    pub(super) here: IpAddr,
    /// The host's own address on this connection; in a pod, the pod's address.
    pub(super) there: IpAddr,
    /// The cores that gatebench may use on the host, in ascending order.
    pub(super) cores: Vec<usize>,
    /// The host's clock, as in [`crate::probe::clock_identity`].
    pub(super) clock: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// Finds a gateway. The response is [`FoundGateway`].
    Find {
        folder: Box<Folder>,
        setup: Box<Setup>,
    },
    /// Asks whether these limits can be enforced on gateways. The response is a Boolean.
    CanHold { limits: Limits },
    /// Connects to an address. The response is empty.
    Reach { address: SocketAddr },
    /// Starts a gateway. The response is [`Tried`].
    Start(Box<Start>),
    /// The response is the gateway's exit status, as an `Option` of [`crate::Exit`].
    Exit,
    /// Asks for the last lines of the gateway's standard error. The response is their text.
    Stderr,
    /// Runs an action of the gateway's folder. The response is empty.
    Act { action: String },
    /// The response is a [`crate::probe::Sample`] of the sampler with this number, which is created
    /// if necessary.
    Sample { sampler: u32 },
    /// The response is the [`crate::probe::Outside`] of this sampler.
    Outside { sampler: u32 },
    /// The response is the proportional set size of this sampler's processes in bytes, as an
    /// `Option`.
    Pss { sampler: u32 },
    /// Ends the gateway. The response is [`Stopped`].
    Stop,
    /// Starts an upstream or Redis. The response is [`StartedService`].
    StartService(Box<ServiceOrder>),
    /// Asks whether a service has ended. The response is its exit status with the last lines of its
    /// standard error, as an `Option`.
    ServiceDeath { number: usize },
    /// Ends a service. The response is empty.
    StopService { number: usize },
    /// A request to the [`Role`](super::Role) of the remote end. The response is the role's.
    Role(Json),
    /// Makes new samplers observe this process and its descendants, unless a gateway was started.
    /// The response is empty.
    Watch { pid: u32 },
    /// The response is [`Inspected`].
    Inspect,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServiceOrder {
    pub(crate) service: Ordered,
    pub(crate) listen: IpAddr,
    /// The port of an upstream; 0 chooses a free one. Redis always uses a free port.
    pub(crate) port: u16,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Ordered {
    /// An upstream with a worker on each core that gatebench may use on the host, within the CPU
    /// limit of gatebench's control groups there.
    Upstream {
        kind: UpstreamKind,
        streams: usize,
        /// The certificate and its key, for TLS; empty without TLS.
        files: Texts,
    },
    Redis,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartedService {
    pub(super) number: usize,
    pub(super) address: SocketAddr,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) gateway: FoundGateway,
    pub(super) scenario: Scenario,
    /// The files that are written to the working folder before the start.
    pub(super) files: Texts,
    /// The number of cores that the gateway runs on.
    pub(super) cores: usize,
    pub(super) listen: IpAddr,
    pub(super) targets: Vec<SocketAddr>,
    pub(super) more_upstreams: Vec<(String, SocketAddr)>,
    /// The maximum number of upstream connections that a load may need.
    pub(super) connections: u32,
}

/// The result of a start and, if it failed, the text files of the working folder.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Tried {
    pub(super) started: Result<Started, RemoteError>,
    pub(super) kept: Texts,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stopped {
    pub(super) ended: Ended,
    /// The text files of the working folder.
    pub(super) kept: Texts,
}

/// The properties of a machine, as gatebench found them there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inspected {
    /// The event loop that gatebench chooses on the machine.
    pub backend: String,
    pub facts: EnvironmentFacts,
}

pub(super) type Response = Result<Json, RemoteError>;

impl RemoteError {
    /// Converts an error from a host into an error that names the host.
    pub(super) fn on(self, host: &str) -> DriverError {
        DriverError::Remote(Self {
            message: format!("on {host}: {}", self.message),
            remedy: format!("on {host}: {}", self.remedy),
            ..self
        })
    }
}

impl From<serde_json::Error> for RemoteError {
    fn from(error: serde_json::Error) -> Self {
        let message = format!("cannot read a message from the other end: {error}");
        Self::environment(
            message,
            "remove the folder gatebench in ~/.cache (or in $XDG_CACHE_HOME) there, and try again",
        )
    }
}
