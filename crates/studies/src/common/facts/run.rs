//! General facts about a run, its trials on disk with their timelines, and the missing and failed
//! trials.

use gatebench_model::Placement;
use gatebench_report::Validity;
use gatebench_store::{Status, Timestamp};
use serde::Serialize;

use super::{PhaseKind, Reason};

/// General facts about the run.
#[derive(Clone, Debug, Serialize)]
pub struct RunFacts {
    pub suite: String,
    pub title: String,
    /// Start of the run.
    pub created: Timestamp,
    pub status: Status,
    /// The version of gatebench that measured the run.
    pub gatebench: String,
    /// The event loop's backend, or an external load generator with its version.
    pub engine_backend: String,
    /// The seed of the random order of trials and of the bootstrap in comparisons.
    pub seed: u64,
    /// True if the run only tested that everything works.
    pub is_smoke: bool,
    pub blocks_planned: u32,
    /// Blocks in which every trial ended without being interrupted.
    pub blocks_complete: u32,
    pub trials_planned: u32,
    /// Trials on disk, including failed, unsupported and interrupted ones.
    pub trials_finished: u32,
    pub placement: Placement,
    /// The command line that repeats the run, quoted for a shell.
    pub command: String,
    /// The gateways, in the order of the plan's variants.
    pub gateways: Vec<GatewayLine>,
}

/// A gateway of the run.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayLine {
    pub variant: String,
    /// The name to display.
    pub title: String,
    pub version: String,
    /// The absolute path of the program; empty for an attached gateway.
    pub binary: String,
    /// SHA-256 of the program in lowercase hex; empty without a program.
    pub sha256: String,
    /// Notes from the gateway folder.
    pub notes: Vec<String>,
}

/// One trial that is on disk.
#[derive(Clone, Debug, Serialize)]
pub struct TrialFindings {
    /// Number of the trial, from 1.
    pub number: u32,
    /// Number of the block, from 1.
    pub block: u32,
    pub scenario: String,
    pub variant: String,
    /// The number of the failed trial that this trial repeats. If there were several attempts, it
    /// is the number of the first attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<u32>,
    /// The trial's folder in the run directory, such as `trials/0001-proxy-json-nginx-b1`.
    pub folder: String,
    pub started: Timestamp,
    pub duration_ns: u64,
    /// `completed`, `not supported`, `failed` or `interrupted`.
    pub outcome: String,
    /// The worst validity among the reasons, except those against loads at shares of saturation.
    pub validity: Validity,
    /// The reasons against the trial or one of its loads, including loads at shares of saturation.
    pub reasons: Vec<Reason>,
    pub warnings: Vec<String>,
    /// The trial's phases, second by second, except the steps of a search and the loads at shares
    /// of saturation.
    pub timeline: Vec<TimelinePhase>,
}

impl TrialFindings {
    /// Reports whether the trial failed, but was repeated and then completed. `all` are the trials
    /// of the run.
    pub fn succeeded_later(&self, all: &[Self]) -> bool {
        let first = self.again.unwrap_or(self.number);
        let mut repeated = all.iter().filter(|it| it.again == Some(first));
        self.outcome == "failed" && repeated.any(|it| it.outcome == "completed")
    }
}

/// The seconds of a phase.
#[derive(Clone, Debug, Serialize)]
pub struct TimelinePhase {
    pub phase: String,
    pub kind: PhaseKind,
    /// The start of the measurement, relative to the start of the trial.
    pub began_ns: u64,
    pub seconds: Vec<TimelineSecond>,
}

/// A second of a phase. The percentiles are `None` if there are too few responses, and a
/// component's usage is `None` if the component was not sampled.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineSecond {
    /// Second of the measurement, from 0.
    pub second: u32,
    /// Responses in the second.
    pub completed: u64,
    /// Requests that failed in the second, without a complete response or with a failed check.
    pub failed: u64,
    pub response_p50_ns: Option<u64>,
    pub response_p99_ns: Option<u64>,
    /// The number of cores that the gateway kept busy.
    pub gateway_cores: Option<f64>,
    pub gateway_rss_anon_bytes: Option<u64>,
    pub engine_cores: Option<f64>,
    pub upstream_cores: Option<f64>,
}

/// A trial of the plan that is not on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingTrial {
    /// Number of the trial, from 1.
    pub number: u32,
    /// Number of the block, from 1.
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
    pub culprit: String,
    pub reason: String,
    pub remedy: String,
    /// The phase in which the trial failed; `None` if it failed before or after the loads.
    pub phase: Option<String>,
}
