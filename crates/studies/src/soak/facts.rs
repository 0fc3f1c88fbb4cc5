//! The result of a soak.

use gatebench_report::Unit;
use gatebench_stats::leak::Growth;
use gatebench_store::Timestamp;
use serde::Serialize;

use crate::common::facts::Decision;

/// The result of a soak over all its processes.
#[derive(Clone, Debug, Serialize)]
pub struct SoakFindings {
    /// Label of the gateway.
    pub variant: String,
    pub scenario: String,
    /// The load, as text.
    pub load: String,
    /// The planned length of the measurement, in seconds.
    pub planned_seconds: f64,
    /// The measured time over all segments, in seconds.
    pub measured_seconds: f64,
    /// The decision; *open* if it is unknown whether memory leaks, if a quantity has recently begun
    /// to grow, or if something other than the gateway failed.
    pub decision: Decision,
    /// The findings that led to the decision, and the extent of the measurement, as sentences.
    pub text: String,
    /// Each measured process, judged separately.
    pub segments: Vec<SoakSegment>,
}

/// The result of one process.
#[derive(Clone, Debug, Serialize)]
pub struct SoakSegment {
    pub trial: u32,
    /// Start of the process.
    pub started: Timestamp,
    /// The length of the measurement, in seconds.
    pub measured_seconds: f64,
    /// The short name of the trial's outcome.
    pub outcome: String,
    /// The part that ended the trial, such as `the upstream`, if it was not the gateway. The
    /// segment's failures then say nothing about the gateway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub culprit: Option<&'static str>,
    /// Requests with a complete response.
    pub responses: u64,
    /// Requests without a complete response.
    pub errors: u64,
    /// Responses that failed a check.
    pub checks_failed: u64,
    /// Arrivals that were never sent.
    pub dropped: u64,
    /// Processes of the gateway that ended: crashes and worker restarts.
    pub processes_ended: u32,
    /// Proportional set size of the gateway before the load, in bytes.
    pub pss_before_bytes: Option<u64>,
    /// Proportional set size of the gateway after the load, in bytes.
    pub pss_after_bytes: Option<u64>,
    /// The watched quantities, memory first.
    pub quantities: Vec<SoakQuantity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own_series: Vec<OwnFigure>,
}

/// A figure of the gateway's own metrics.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OwnFigure {
    /// The name that the gateway's folder gives the figure.
    pub name: String,
    pub unit: Unit,
    /// The lines, the highest first, each with the values of its labels. Each point is a second of
    /// the measurement and a value.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// A quantity that should not grow.
#[derive(Clone, Debug, Serialize)]
pub struct SoakQuantity {
    pub what: SoakWhat,
    /// The name of the quantity, as reports print it.
    pub title: String,
    pub unit: Unit,
    /// The largest negligible growth per hour.
    pub bound_per_hour: f64,
    /// The quantity's lower envelope, slope and verdict.
    pub growth: Growth,
    /// Growth per 1,000 responses; `None` for the response time, and if there is no slope or no
    /// response.
    pub per_thousand_responses: Option<f64>,
    /// Both ends of the fitted line; `None` if there is no slope.
    pub line: Option<[(f64, f64); 2]>,
    /// The range of each stretch of the series, at most 240 stretches.
    pub stretches: Vec<SoakStretch>,
    pub text: String,
}

/// The range of the values in a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SoakStretch {
    /// The end of the stretch, in seconds from the beginning of the measurement. If the load is
    /// closed and the quantity is not the response time, these seconds are a number of responses,
    /// converted at the mean rate.
    pub at_seconds: f64,
    pub low: f64,
    pub high: f64,
}

/// A kind of watched quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SoakWhat {
    /// Anonymous resident memory of the gateway.
    Memory,
    /// Open file descriptors of the gateway.
    Descriptors,
    /// Open file descriptors of the upstream: the gateway's connections and a few others.
    UpstreamConnections,
    /// Median response time of each second.
    ResponseP50,
    /// A pool of the gateway, as its own metrics report it.
    Pool,
}
