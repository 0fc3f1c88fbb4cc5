//! The protocol between the two ends: a request on one line, and its response on one line back.
//! Both ends run the same program, byte for byte, so the protocol has no version.

use std::net::{IpAddr, SocketAddr};

use gatebench_model::{Blame, Culprit, Limits, Scenario, Setup};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::kept::Texts;
use crate::error::DriverError;
use crate::gateway::{Folder, FoundGateway, Started};
use crate::system::exit::Ended;

/// Sent while a request is open: end all processes that are being started.
pub(super) const CANCEL: &str = "cancel";

/// The first message of the remote end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// The origin of the connection as seen there: this machine.
    pub(super) here: IpAddr,
    /// The address that the connection reached.
    pub(super) there: IpAddr,
    /// Cores available there.
    pub(super) cores: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// Finds a gateway. The response is [`FoundGateway`].
    Find {
        folder: Box<Folder>,
        setup: Box<Setup>,
    },
    /// The response is true if gateways can be limited to a size.
    CanHold { limits: Limits },
    /// Connects to an address. The response is empty.
    Reach { address: SocketAddr },
    /// Starts a gateway. The response is [`Tried`].
    Start(Box<Start>),
    /// The response is its exit status, an `Option` of [`crate::Exit`].
    Exit,
    /// The response is the end of its standard error, a text.
    Stderr,
    /// Runs an action of its folder. The response is empty.
    Act { action: String },
    /// The response is a [`crate::probe::Sample`] by the sampler with this number, which is created
    /// if necessary.
    Sample { sampler: u32 },
    /// The response is its threads and files by this sampler, [`crate::probe::Outside`].
    Outside { sampler: u32 },
    /// The response is its proportional set size, an `Option` of bytes.
    Pss { sampler: u32 },
    /// Ends the gateway. The response is [`Stopped`].
    Stop,
}

/// The inputs for starting a gateway there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) gateway: FoundGateway,
    pub(super) scenario: Scenario,
    /// Files of the working folder before the start, with their text.
    pub(super) files: Texts,
    /// The number of cores and workers.
    pub(super) cores: usize,
    pub(super) listen: IpAddr,
    pub(super) target: SocketAddr,
    /// The largest number of connections that a load opens.
    pub(super) connections: u32,
}

/// The result of a start and, if it failed, the files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Tried {
    pub(super) started: Result<Started, RemoteError>,
    pub(super) kept: Texts,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stopped {
    pub(super) ended: Ended,
    /// The files of its working folder.
    pub(super) kept: Texts,
}

/// A response, or an error.
pub(super) type Response = Result<Json, RemoteError>;

/// An error in a form that can be sent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RemoteError {
    pub(super) culprit: Culprit,
    pub(super) message: String,
    pub(super) remedy: String,
    pub(super) is_missing: bool,
}

impl RemoteError {
    pub(super) fn environment(message: String, remedy: &str) -> Self {
        Self {
            culprit: Culprit::Environment,
            message,
            remedy: remedy.into(),
            is_missing: false,
        }
    }

    /// Converts it into an error on this machine.
    pub(super) fn on(self, host: &str) -> DriverError {
        DriverError::Remote {
            culprit: self.culprit,
            message: format!("on {host}: {}", self.message),
            remedy: format!("on {host}: {}", self.remedy),
            is_missing: self.is_missing,
        }
    }
}

impl From<DriverError> for RemoteError {
    fn from(error: DriverError) -> Self {
        Self {
            culprit: error.culprit(),
            message: error.to_string(),
            remedy: error.remedy(),
            is_missing: error.is_missing(),
        }
    }
}

impl From<serde_json::Error> for RemoteError {
    fn from(error: serde_json::Error) -> Self {
        let message = format!("a message of the other end cannot be read: {error}");
        Self::environment(message, "remove ~/.cache/gatebench there and try again")
    }
}
