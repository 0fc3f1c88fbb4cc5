//! Describes how a process or a supervised program ended.

use std::fmt;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

/// The exit code of a process, or the signal that ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => match Signal::from_named_raw(*number) {
                Some(signal) => {
                    let name = format!("{signal:?}").replace("Signal::", "");
                    write!(f, "signal {}", name.trim_matches('"'))
                }
                None => write!(f, "signal {number}"),
            },
        }
    }
}

/// The way in which a supervised program ended, as seen by the caller that stops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// The program stopped on request.
    Stopped,
    /// The program was killed, because it did not stop in time after the request, or because the
    /// request was repeated.
    Killed,
    /// The program had ended before the request to stop.
    Crashed(Exit),
}
