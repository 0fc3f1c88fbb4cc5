//! `trial.json`: the record of one gateway process.

use std::collections::BTreeMap;

use gatebench_model::admin::AdminVerb;
use gatebench_model::{Culprit, Limits, Trial};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::manifest::FileDigest;
use crate::phase::PhaseRecord;

/// The contents of `trial.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Version of the run directory; set by the writer.
    pub schema: u32,
    /// The number, block, scenario and variant label of the trial.
    pub trial: Trial,
    /// The time at which the trial began.
    pub started: Timestamp,
    /// The time at which everything that the trial started had ended.
    pub finished: Timestamp,
    pub outcome: Outcome,
    /// Parity before the load; none if the trial ended earlier.
    pub parity_before: Option<ParityRecord>,
    /// Parity after the load; none if the trial ended earlier.
    pub parity_after: Option<ParityRecord>,
    /// The gateway's buffering of messages; none if it was not tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffering: Option<Buffering>,
    /// The gateway's process; none for the direct variant and for a gateway that was never started.
    pub gateway: Option<GatewayFacts>,
    /// The measured loads in order.
    #[serde(default)]
    pub phases: Vec<PhaseRecord>,
    /// The calls to the gateway's admin interface after the loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminRecord>,
    /// The clock source at the beginning and the end; none if the kernel does not expose it, or in
    /// runs that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<ClockSource>,
    /// Warnings that did not stop the trial.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The kernel's source of time, such as `tsc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSource {
    /// The clock source at the beginning of the trial.
    pub began: String,
    /// The clock source at the end of the trial.
    pub ended: String,
}

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// All phases were measured, and parity was tested after them.
    Completed,
    /// The gateway lacks these policies; nothing was started.
    NotSupported {
        /// Names of the policies, such as `api_key`.
        policies: Vec<String>,
    },
    /// The trial could not be completed.
    Failed {
        /// The cause of the failure.
        culprit: Culprit,
        /// The reason, including the output of the process at fault (stderr, status) if there is
        /// any.
        reason: String,
        /// The remedy, as a sentence without its full stop.
        remedy: String,
        /// The phase of the failure; none before and after the loads.
        phase: Option<String>,
    },
    /// The user stopped the run; a resumed run measures the trial again.
    Interrupted,
}

impl Outcome {
    /// Reports whether a resumed run leaves the trial unchanged. A failure of a gateway or a file
    /// is a finding. A failure of the upstream, the load generator or the environment is not
    /// evidence about the gateway, so the trial is measured again.
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

/// Facts about the gateway's process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayFacts {
    /// The version that the program prints.
    pub version: String,
    /// The absolute path of the program.
    pub binary: String,
    /// SHA-256 of the program in lower-case hex.
    pub sha256: String,
    /// The arguments of every command that was run, in order.
    pub commands: Vec<Vec<String>>,
    /// Rendered files, with paths relative to the trial's `gateway/` folder.
    pub rendered: Vec<FileDigest>,
    /// Requested number of worker processes or threads.
    pub workers: u32,
    /// Number of processes in the gateway's tree once the gateway was ready.
    pub processes: u32,
    /// Processes of the gateway's tree that ended between readiness and the end of the parity cases
    /// after the load: crashes, or workers that were replaced. Those that ended while a load was
    /// measured are also included in that phase's usage.
    #[serde(default)]
    pub processes_ended: u32,
    /// Number of lines in the gateway's access log after the gateway had ended; none if the folder
    /// does not name the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_log_lines: Option<u64>,
    /// The gateway's error log; none if it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_log: Option<ErrorLog>,
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// The means that enforced the limits: `cgroup v1`, `cgroup v2`, or `cores` alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// Time from the start to readiness.
    pub started_in_ms: u64,
    /// The first correct response, if the load began with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_correct: Option<FirstCorrect>,
    /// A description of the gateway's end: `on SIGTERM after 12 ms`.
    pub stopped: String,
}

/// The first correct response of a gateway whose load began with it. Times are from
/// `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstCorrect {
    /// From the start of the gateway to the end of the response.
    pub after_ns: u64,
    /// From the start to the last attempt without a correct response: the gateway became able to
    /// respond at some time between the two.
    pub not_before_ns: u64,
    /// The end of the response, counted from the trial's `started`.
    pub at_ns: u64,
}

/// The errors that a gateway logged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorLog {
    /// The path of the log, relative to the trial's folder.
    pub file: String,
    pub lines: u64,
}

/// One pass over the parity cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityRecord {
    /// The cases in the scenario's order.
    pub cases: Vec<ParityCaseRecord>,
    /// Number of routes that must respond.
    pub routes_expected: u32,
    /// Number of routes that responded.
    pub routes_answering: u32,
}

impl ParityRecord {
    /// Reports whether every case passed and every route responded.
    pub fn holds(&self) -> bool {
        self.cases.iter().all(|case| case.passed) && self.routes_answering >= self.routes_expected
    }
}

/// A request whose response proves a policy, and whether the response was as expected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityCaseRecord {
    pub name: String,
    /// True if the response was correct and the request reached the upstream only if it had to.
    pub passed: bool,
    /// True if the upstream's ledger counted the request.
    pub reached_upstream: bool,
    /// The request as sent; set on failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
    /// The response as received; set on failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub received: String,
    /// The expectation; set on failure.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
}

/// The gateway's buffering of messages, tested once before the load with one of the load's
/// requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffering {
    /// True if the upstream sees a request before its last byte is sent; none if the load's
    /// requests have no body or the test failed.
    pub passes_requests: Option<bool>,
    /// True if the client sees a response's body before its last byte is sent; none if the response
    /// has no body from the upstream or the test failed.
    #[serde(rename = "passes_answers")]
    pub passes_responses: Option<bool>,
}

/// The calls made through an admin interface, in rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminRecord {
    /// Number of other routes.
    pub routes: u64,
    /// Requested rounds.
    pub rounds: u32,
    /// Duration of each call, from before its connection to the end of its response, by round.
    pub took_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// Time from the start of each call until the gateway behaved accordingly, observed on a new
    /// connection. Calls that only read change nothing and have no such time.
    pub effective_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// The reason why the rounds ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}
