//! The name and the settings of an import.

use std::str::FromStr;

use gatebench_model::HumanDuration;
use thiserror::Error;

use crate::name;
use crate::time;

/// The settings of an import.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name by which messages refer to the input.
    pub file: String,
    /// The name of the suite and, unless `each_route` is set, of the scenario.
    pub name: String,
    /// True to write a scenario for each route instead of one for all routes.
    pub each_route: bool,
    /// Used only for recorded traffic.
    pub replay: Replay,
}

impl Options {
    pub fn new(file: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            name: name::slug(&name.into()),
            each_route: false,
            replay: Replay::default(),
        }
    }
}

/// The settings of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The factor by which the rate is multiplied.
    pub times: f64,
    /// The duration to which the replay scales the log's curve. The default is a minute, or the
    /// duration of the replayed part of the log if that is shorter.
    pub over: Option<HumanDuration>,
    /// The hour of the log to replay; `None` for the whole log.
    pub hour: Option<Hour>,
    /// True to keep the values in queries.
    pub query_values: bool,
}

impl Default for Replay {
    fn default() -> Self {
        Self {
            times: 1.0,
            over: None,
            hour: None,
            query_values: false,
        }
    }
}

/// An hour on the clock of a log, such as `2025-01-31T14`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hour {
    /// The beginning of the hour, in milliseconds since 1970.
    pub(crate) start_ms: i64,
}

/// A string that is not an hour.
#[derive(Debug, Error)]
#[error("'{0}' is not an hour: write an hour such as 2025-01-31T14")]
pub struct NotAnHour(String);

impl FromStr for Hour {
    type Err = NotAnHour;

    fn from_str(text: &str) -> Result<Self, NotAnHour> {
        let hour = time::hour(text).map(|start_ms| Self { start_ms });
        hour.ok_or_else(|| NotAnHour(text.to_owned()))
    }
}
