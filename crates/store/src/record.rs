//! `trial.json`: what happened to one gateway process.

use gatebench_model::{Culprit, Limits, Trial};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::admin::AdminRecord;
use crate::digest::FileDigest;
use crate::phase::PhaseRecord;
use crate::wire::Buffering;

/// The record of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Version of the run directory; set by the writer.
    pub schema: u32,
    /// Number, block, scenario and label of the variant.
    pub trial: Trial,
    /// When the trial began.
    pub started: Timestamp,
    /// When everything it started was down again.
    pub finished: Timestamp,
    /// How it ended.
    pub outcome: Outcome,
    /// Proof before the load; none where it was not reached.
    #[serde(default)]
    pub parity_before: Option<ParityRecord>,
    /// Proof after the load; none where it was not reached.
    #[serde(default)]
    pub parity_after: Option<ParityRecord>,
    /// Whether messages are passed on as they come; none where it was not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffering: Option<Buffering>,
    /// The gateway's process; none for the direct variant and for one that was never started.
    #[serde(default)]
    pub gateway: Option<GatewayFacts>,
    /// The loads that were measured, in order.
    #[serde(default)]
    pub phases: Vec<PhaseRecord>,
    /// What was done through the gateway's admin interface, after the loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminRecord>,
    /// The clock source at both ends; none where the kernel does not show it, and in runs that did
    /// not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<ClockSource>,
    /// What did not stop the trial and the reader must know.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The hardware that the kernel reads time from, as `tsc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSource {
    /// When the trial began.
    pub began: String,
    /// When it had ended.
    pub ended: String,
}

/// How a trial ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// All phases were measured and parity was tried after them.
    Completed,
    /// The gateway lacks these policies; nothing was started.
    NotSupported {
        /// Words of the policies, as in `api_key`.
        policies: Vec<String>,
    },
    /// It could not be completed.
    Failed {
        /// Whose fault it is.
        culprit: Culprit,
        /// What happened, with the culprit's own words (stderr, status) where there are any.
        reason: String,
        /// What to do, as a sentence without its full stop.
        remedy: String,
        /// The phase it happened in; none before and after the loads.
        #[serde(default)]
        phase: Option<String>,
    },
    /// Someone stopped the run; a resumed run measures the trial again.
    Interrupted,
}

impl Outcome {
    /// Whether a resumed run leaves the trial as it is. What a gateway or a file did is a finding; what
    /// the upstream, the engine or the environment spoiled says nothing of the gateway and is measured
    /// again.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Completed | Self::NotSupported { .. } => true,
            Self::Failed { culprit, .. } => {
                matches!(culprit, Culprit::Gateway(_) | Culprit::File { .. })
            }
            Self::Interrupted => false,
        }
    }
}

/// What the gateway's process was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayFacts {
    /// What the program answered when asked for its version.
    pub version: String,
    /// The program, absolute.
    pub binary: String,
    /// SHA-256 of the program in lower-case hex.
    pub sha256: String,
    /// Every command that was run, word by word, in order.
    pub commands: Vec<Vec<String>>,
    /// Rendered files, paths relative to the trial's `gateway/` folder.
    pub rendered: Vec<FileDigest>,
    /// Worker processes or threads asked for.
    pub workers: u32,
    /// Processes in its tree once it was ready.
    pub processes: u32,
    /// Processes of its tree that ended between readiness and the end of the parity cases after the
    /// load: crashes, or workers that were replaced. Those that ended while a load was measured are in
    /// that phase's usage too.
    #[serde(default)]
    pub processes_ended: u32,
    /// Lines of its access log when it had ended; none where the folder does not say where that goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_log_lines: Option<u64>,
    /// Its error log; none where it wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_log: Option<ErrorLog>,
    /// What it could use at most.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// What held it to that: `cgroup v1`, `cgroup v2`, or `cores` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// From the start to readiness.
    pub started_in_ms: u64,
    /// The first correct response, if the load began at it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_correct: Option<FirstCorrect>,
    /// How it ended, in words: `on SIGTERM after 12 ms`.
    pub stopped: String,
}

/// The first correct response of a gateway whose load began at it. Times are of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstCorrect {
    /// From the start of the gateway to the end of the response.
    pub after_ns: u64,
    /// From the start to the last attempt without one: the gateway could respond at some time
    /// between the two.
    pub not_before_ns: u64,
    /// The end of the response, counted from the trial's `started`, as the begin of a load is.
    pub at_ns: u64,
}

/// What a gateway complained of while it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorLog {
    /// Where it is kept, relative to the trial's folder.
    pub file: String,
    /// Its lines.
    pub lines: u64,
}

/// One pass over the parity cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityRecord {
    /// The cases in the scenario's order.
    pub cases: Vec<ParityCaseRecord>,
    /// Routes that should answer.
    pub routes_expected: u32,
    /// Routes that did.
    pub routes_answering: u32,
}

impl ParityRecord {
    /// Whether every case passed and every route answers.
    pub fn holds(&self) -> bool {
        self.cases.iter().all(|case| case.passed) && self.routes_answering >= self.routes_expected
    }
}

/// One parity case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityCaseRecord {
    /// What it proves.
    pub name: String,
    /// Whether the answer was right and the upstream saw the request exactly when it should.
    pub passed: bool,
    /// Whether the upstream's ledger saw the request.
    pub reached_upstream: bool,
    /// The request as sent; filled on failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
    /// The answer as received; filled on failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub received: String,
    /// What was expected instead; filled on failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
}
