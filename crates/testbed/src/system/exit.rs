//! How a process and a supervised program ended.

use std::fmt;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => {
                let name = Signal::from_named_raw(*signal)
                    .map(|name| format!("{name:?}").replace("Signal::", ""));
                write!(
                    f,
                    "signal {}",
                    name.as_deref()
                        .map_or(signal.to_string(), |name| name.trim_matches('"').into())
                )
            }
        }
    }
}

/// How a supervised program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It was asked to stop, and stopped.
    Stopped,
    /// It was asked to stop, but did not in time, and was killed.
    Killed,
    /// It had ended before it was asked to stop.
    Crashed(Exit),
}
