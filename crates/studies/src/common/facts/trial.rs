//! The trials: judged, missing or failed, and their seconds.

use gatebench_report::Validity;
use gatebench_store::Timestamp;
use serde::Serialize;

use super::{PhaseKind, Reason};

/// One trial that is on disk.
#[derive(Clone, Debug, Serialize)]
pub struct TrialFindings {
    /// Number, from 1.
    pub number: u32,
    /// Block, from 1.
    pub block: u32,
    pub scenario: String,
    pub variant: String,
    /// Its folder in the run directory, as in `trials/0001-proxy-json-nginx-b1`.
    pub folder: String,
    /// When it began.
    pub started: Timestamp,
    pub duration_ns: u64,
    /// Its outcome in short: `completed`, `not supported`, `failed`, `interrupted`.
    pub outcome: String,
    /// The worst validity of its reasons.
    pub validity: Validity,
    /// The reasons why it is not valid; empty if it is valid.
    pub reasons: Vec<Reason>,
    pub warnings: Vec<String>,
    /// Its phases with their seconds.
    pub timeline: Vec<TimelinePhase>,
}

/// The seconds of a phase.
#[derive(Clone, Debug, Serialize)]
pub struct TimelinePhase {
    /// Name of the phase.
    pub phase: String,
    pub kind: PhaseKind,
    /// The beginning of the measurement, counted from that of the trial.
    pub began_ns: u64,
    /// Seconds in order.
    pub seconds: Vec<TimelineSecond>,
}

/// A second of a phase. Values that were not sampled are absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineSecond {
    /// Second of the measurement, from 0.
    pub second: u32,
    /// Responses in it.
    pub completed: u64,
    /// Failures in it.
    pub failed: u64,
    /// Median response time.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the response time.
    pub response_p99_ns: Option<u64>,
    /// Cores that the gateway kept busy.
    pub gateway_cores: Option<f64>,
    /// Anonymous resident memory of the gateway.
    pub gateway_rss_anon_bytes: Option<u64>,
    /// Cores that the load generator kept busy.
    pub engine_cores: Option<f64>,
    /// Cores that the upstream kept busy.
    pub upstream_cores: Option<f64>,
}

/// A trial of the plan that is not on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingTrial {
    /// Number, from 1.
    pub number: u32,
    /// Block, from 1.
    pub block: u32,
    pub scenario: String,
    pub variant: String,
}

/// A trial that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    pub trial: u32,
    pub block: u32,
    pub scenario: String,
    pub variant: String,
    /// The culprit, as text.
    pub culprit: String,
    /// The cause of the failure.
    pub reason: String,
    pub remedy: String,
    /// The phase in which it happened.
    pub phase: Option<String>,
}
