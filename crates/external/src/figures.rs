//! The figures that a load generator reports.

use std::collections::BTreeMap;

/// The figures that a load generator printed, in gatebench's terms. A figure that the load
/// generator does not print is absent, empty or, for `dropped`, 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub duration_ns: u64,
    pub sent: u64,
    /// Requests with a complete response. If the classes are unknown, this is the number of
    /// requests sent minus `errors`.
    pub completed: u64,
    /// Responses by status class, such as `2xx`.
    pub by_class: BTreeMap<String, u64>,
    /// Requests without a complete response, by the kind of error. With a user's script in k6, they
    /// include unexpected responses.
    pub errors: BTreeMap<String, u64>,
    /// Arrivals whose request was never sent.
    pub dropped: u64,
    pub checks: BTreeMap<String, Passes>,
    pub bytes_sent: Option<u64>,
    pub bytes_received: Option<u64>,
    /// Response times in nanoseconds, by percentile, such as `50` or `99.9`.
    pub percentiles_ns: BTreeMap<String, u64>,
    pub min_ns: Option<u64>,
    pub mean_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// The thresholds of the user's script; true for each that was met.
    pub thresholds: BTreeMap<String, bool>,
    /// The full paths of the groups in the user's script.
    pub groups: Vec<String>,
    /// Other numbers by metric and statistic, in the generator's units.
    pub metrics: BTreeMap<String, BTreeMap<String, f64>>,
}

/// The results of one check, as counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// `None` if the number is unknown.
    pub passed: Option<u64>,
    pub failed: u64,
}

impl Figures {
    /// Returns the number of complete responses per second, or 0 if the duration is 0.
    pub fn rate_per_second(&self) -> f64 {
        match self.duration_ns {
            0 => 0.0,
            duration_ns => self.completed as f64 * 1e9 / duration_ns as f64,
        }
    }
}

/// An error in a load generator's output, which is incomplete or has an unknown format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(pub(crate) String);

impl ParseError {
    pub(crate) fn missing(what: &str) -> Self {
        Self(format!("{what} is missing from the output"))
    }

    pub(crate) fn wrong(what: &str, found: &str) -> Self {
        Self(format!("{what} cannot be read from '{found}'"))
    }
}
