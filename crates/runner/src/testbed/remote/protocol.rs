//! What is said between the two ends: a question on one line, its answer on the next one back. Both ends are
//! the same program, byte for byte, so that nothing here has a version.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use gatebench_model::{Blame, Culprit, Scenario};
use gatebench_testbed::{Amount, DriverError, Ended, Folder, FoundBinary, Limit, RenderedFile};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::kept::Texts;

/// Said while a question is open: end what is being started.
pub(super) const HURRY: &str = "hurry";

/// What the far end says first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Where the connection comes from, as seen there: this machine.
    pub(super) here: IpAddr,
    /// The address that it arrived at.
    pub(super) there: IpAddr,
    /// Cores that may be used there.
    pub(super) cores: Vec<usize>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// The program of a gateway: [`FoundBinary`].
    Find {
        folder: Box<Folder>,
        wanted: Option<String>,
    },
    /// Where limits can be set: a `Result` of [`Limit`]s, or why they cannot.
    Limits { amounts: Vec<Amount> },
    /// Whether somebody answers at an address: nothing.
    Reach { address: SocketAddr },
    /// A gateway: [`Tried`].
    Start(Box<Start>),
    /// How it ended by itself: an `Option` of [`gatebench_testbed::Exit`].
    Exit,
    /// The end of its standard error: a text.
    Stderr,
    /// An action of its folder: nothing.
    Act { action: String },
    /// [`gatebench_testbed::probe::Sample`] by the sampler of this number, which is made where there is none.
    Sample { sampler: u32 },
    /// CPU time of its threads, and the sizes of the files that it writes: two lists of pairs.
    Outside { sampler: u32 },
    /// Its proportional set size: an `Option` of bytes.
    Pss { sampler: u32 },
    /// The end of the gateway: [`Stopped`].
    Stop,
}

/// Everything needed to start a gateway there.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) folder: Folder,
    pub(super) binary: FoundBinary,
    pub(super) scenario: Scenario,
    /// Files of the working folder that are there before the start, with their text.
    pub(super) files: Texts,
    /// Cores, and workers.
    pub(super) cores: usize,
    pub(super) limits: Vec<Limit>,
    pub(super) amounts: Vec<Amount>,
    pub(super) listen: IpAddr,
    pub(super) target: SocketAddr,
    pub(super) keepalive: u32,
}

/// A start, and where it failed what it left to be read.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Tried {
    pub(super) started: Result<Started, Told>,
    pub(super) kept: Texts,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Started {
    pub(super) address: SocketAddr,
    pub(super) ready_after: Duration,
    pub(super) commands: Vec<Vec<String>>,
    pub(super) rendered: Vec<RenderedFile>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stopped {
    pub(super) ended: Ended,
    /// What its working folder held.
    pub(super) kept: Texts,
}

/// What an outside sample is: CPU times by process and thread, sizes by device and inode.
pub(super) type OutsidePairs = (Vec<((u32, u32), u64)>, Vec<((u64, u64), u64)>);

/// An answer, or what went wrong.
pub(super) type Answer = Result<Json, Told>;

/// An error on its way.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) culprit: Culprit,
    pub(super) message: String,
    pub(super) remedy: String,
    pub(super) is_missing: bool,
}

impl Told {
    pub(super) fn environment(message: String, remedy: &str) -> Self {
        Self {
            culprit: Culprit::Environment,
            message,
            remedy: remedy.into(),
            is_missing: false,
        }
    }

    /// As an error of this machine's.
    pub(super) fn on(self, host: &str) -> DriverError {
        DriverError::Remote {
            culprit: self.culprit,
            message: format!("on {host}: {}", self.message),
            remedy: format!("on {host}: {}", self.remedy),
            is_missing: self.is_missing,
        }
    }
}

impl From<DriverError> for Told {
    fn from(error: DriverError) -> Self {
        Self {
            culprit: error.culprit(),
            message: error.to_string(),
            remedy: error.remedy(),
            is_missing: error.is_missing(),
        }
    }
}

impl From<serde_json::Error> for Told {
    fn from(error: serde_json::Error) -> Self {
        let message = format!("the two ends do not understand each other: {error}");
        Self::environment(message, "remove ~/.cache/gatebench there and try again")
    }
}
