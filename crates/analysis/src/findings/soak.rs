//! What an endurance test comes to.

use gatebench_stats::leak::Growth;
use serde::Serialize;

use super::{Decision, Timestamp, Unit};

/// An endurance test.
#[derive(Clone, Debug, Serialize)]
pub struct SoakFindings {
    /// Label of the gateway.
    pub variant: String,
    /// The scenario.
    pub scenario: String,
    /// The load, in words.
    pub load: String,
    /// How long was to be measured, in seconds.
    pub planned_seconds: f64,
    /// How long was measured, over all segments.
    pub measured_seconds: f64,
    /// What it means for whoever asked. Open: whether memory leaks is undetermined.
    pub decision: Decision,
    /// Why, in a sentence or more.
    pub text: String,
    /// Each process that was measured, judged by itself.
    pub segments: Vec<SoakSegment>,
}

/// What one process came to.
#[derive(Clone, Debug, Serialize)]
pub struct SoakSegment {
    /// Number of its trial.
    pub trial: u32,
    /// When it began.
    pub started: Timestamp,
    /// How long it was measured.
    pub measured_seconds: f64,
    /// How its trial ended, in a word or two.
    pub outcome: String,
    /// Requests that were answered.
    pub answers: u64,
    /// Requests without an answer.
    pub errors: u64,
    /// Answers that failed a check.
    pub checks_failed: u64,
    /// Arrivals that were never sent.
    pub dropped: u64,
    /// Processes of the gateway that ended: crashes, restarts of workers.
    pub processes_ended: u32,
    /// Proportional set size of the gateway before the load, in bytes.
    pub pss_before_bytes: Option<u64>,
    /// The same after it.
    pub pss_after_bytes: Option<u64>,
    /// What was watched, memory first.
    pub quantities: Vec<SoakQuantity>,
}

/// Something that should not grow.
#[derive(Clone, Debug, Serialize)]
pub struct SoakQuantity {
    /// What it is.
    pub what: SoakWhat,
    /// Its name.
    pub title: String,
    /// Its unit.
    pub unit: Unit,
    /// Growth that does not matter, in the unit per hour.
    pub bound_per_hour: f64,
    /// Its lower envelope, slope and verdict.
    pub growth: Growth,
    /// Growth for each 1,000 answers, where it grows with the requests.
    pub per_thousand_answers: Option<f64>,
    /// Both ends of the fitted line; none where there is no slope.
    pub line: Option<[(f64, f64); 2]>,
    /// Seconds with the least and the most of each stretch of the series, at most 240 of them.
    pub stretches: Vec<SoakStretch>,
    /// What follows, in a sentence.
    pub text: String,
}

/// The values of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SoakStretch {
    /// Its end, in seconds from the begin of the measurement.
    pub at_seconds: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SoakWhat {
    /// Anonymous resident memory of the gateway.
    Memory,
    /// Open descriptors of the gateway.
    Descriptors,
    /// Descriptors of the upstream, which has nothing but the gateway's connections and a few of its own.
    UpstreamConnections,
    /// Median response time of each second.
    ResponseP50,
    /// A pool of the gateway, as its own metrics tell.
    Pool,
}
