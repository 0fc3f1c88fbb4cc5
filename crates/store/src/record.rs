//! The contents of `trial.json`: the record of a trial.

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
    /// The schema version of the run directory, which the writer sets.
    pub schema: u32,
    /// The number, block, scenario and variant label of the trial.
    pub trial: Trial,
    pub started: Timestamp,
    /// The time at which everything that the trial started had ended; in a checkpoint, the time at
    /// which the checkpoint was written.
    pub finished: Timestamp,
    pub outcome: Outcome,
    /// The result of the parity test before the load; `None` if the trial ended earlier, or if the
    /// load began when the gateway was started.
    pub parity_before: Option<ParityRecord>,
    /// The result of the parity test after the load; `None` if the trial ended earlier.
    pub parity_after: Option<ParityRecord>,
    /// The gateway's buffering of messages; `None` if it was not tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffering: Option<Buffering>,
    /// The gateway's process; `None` for the direct variant and for a gateway that was never
    /// started.
    pub gateway: Option<GatewayFacts>,
    /// The measured loads in order.
    #[serde(default)]
    pub phases: Vec<PhaseRecord>,
    /// The calls to the gateway's admin interface after the loads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin: Option<AdminRecord>,
    /// The clock source at the beginning and the end; `None` if the kernel does not expose it, or
    /// in runs that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_source: Option<ClockSource>,
    /// Problems that did not stop the trial.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The kernel's source of time, such as `tsc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSource {
    pub began: String,
    pub ended: String,
}

/// The outcome of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    /// All phases were measured, and parity was tested after them. A trial of `gatebench soak` or
    /// `gatebench flame` that the user stopped also counts as completed, although parity was not
    /// tested after its loads.
    Completed,
    /// The trial has requirements that are not supported, so nothing was started.
    NotSupported {
        /// The unsupported policies and other requirements, such as `api_key` or `a cold start`.
        policies: Vec<String>,
    },
    Failed {
        culprit: Culprit,
        /// The reason, including the standard error and exit status of the process at fault, if
        /// any.
        reason: String,
        /// The remedy, as a sentence without a period.
        remedy: String,
        /// The phase in which the failure occurred; `None` before and after the loads.
        phase: Option<String>,
    },
    /// The user stopped the run, or the process ended after a checkpoint. A resumed run measures
    /// the trial again.
    Interrupted,
}

impl Outcome {
    /// Reports whether a resumed run keeps the trial. A failure that is due to a gateway or a file
    /// is a result. A failure of the upstream, the load generator or the environment says nothing
    /// about the gateway, so the trial is measured again.
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

/// Facts about the gateway's process. For an attached gateway, most fields are empty or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayFacts {
    /// The version that the program prints; `unknown` for an attached gateway.
    pub version: String,
    /// The absolute path of the program.
    pub binary: String,
    /// SHA-256 of the program in lowercase hexadecimal digits.
    pub sha256: String,
    /// The commands that were run for the start, with their arguments: the check of the
    /// configuration, the control plane and the gateway itself.
    pub commands: Vec<Vec<String>>,
    /// The rendered files, with paths relative to the trial's `gateway/` folder.
    pub rendered: Vec<FileDigest>,
    /// The requested number of worker processes or threads.
    pub workers: u32,
    /// The number of processes in the gateway's tree when the gateway became ready.
    pub processes: u32,
    /// The number of processes in the gateway's tree that ended between readiness and the end of
    /// the parity cases after the load, because they crashed or were replaced. Processes that ended
    /// while a load was measured are also included in the usage of that phase.
    #[serde(default)]
    pub processes_ended: u32,
    /// The number of lines in the gateway's access log after the gateway had ended; `None` if the
    /// gateway folder does not name the log, or if the log cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_log_lines: Option<u64>,
    /// The gateway's standard error, which serves as its error log; `None` if it is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_log: Option<ErrorLog>,
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// The mechanism that enforced the limits: `cgroup v1`, `cgroup v2`, `cores`, `its container`
    /// or `its pod`; `None` without limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// The time from the start of the gateway until it was ready.
    pub started_in_ms: u64,
    /// The first correct response, if the load began when the gateway was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_correct: Option<FirstCorrect>,
    /// A description of how the gateway ended, such as `on SIGTERM after 12 ms`.
    pub stopped: String,
}

/// The first correct response of a gateway whose load began when the gateway was started. Times are
/// from `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstCorrect {
    /// The time from the start of the gateway to the end of the response.
    pub after_ns: u64,
    /// The time from the start of the gateway to the last attempt without a correct response. The
    /// gateway became able to respond at some time between these two times.
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
    /// The cases that were tested: those of the scenario, in its order, and then those that
    /// gatebench adds.
    pub cases: Vec<ParityCaseRecord>,
    /// The number of routes that must respond.
    pub routes_expected: u32,
    pub routes_answering: u32,
}

impl ParityRecord {
    /// Reports whether every case passed and every route responded.
    pub fn holds(&self) -> bool {
        self.cases.iter().all(|case| case.passed) && self.routes_answering >= self.routes_expected
    }
}

/// The result of a parity case, such as a request whose response shows that a policy works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityCaseRecord {
    pub name: String,
    /// True if the response was correct, the request reached the upstream if and only if it had to,
    /// and, if the case requires a body size at the upstream, the body had that size.
    pub passed: bool,
    /// True if the request reached the upstream, according to the times in the response or to the
    /// upstream's ledger.
    pub reached_upstream: bool,
    /// The request as sent; empty if the case passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sent: String,
    /// The response as received; empty if the case passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub received: String,
    /// The expectations that were not met, one per line; empty if the case passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
}

/// The gateway's buffering of messages, as tested once before the load with one of the load's
/// requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffering {
    /// True if the upstream receives the beginning of the request before its last byte is sent;
    /// `None` if the request has no body, if no request of the load reaches an upstream of
    /// gatebench, or if the test failed.
    pub passes_requests: Option<bool>,
    /// True if the client receives the beginning of a response's body before its last byte is sent;
    /// `None` if the response has no body from an upstream of gatebench, or if the test failed.
    #[serde(alias = "passes_answers")]
    pub passes_responses: Option<bool>,
}

/// The calls to an admin interface, in rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminRecord {
    /// The number of the scenario's routes, not counting the one that the calls change.
    pub routes: u64,
    /// The number of rounds that were begun. It may be smaller than the scenario's number, because
    /// a failed call or the time limit may end the rounds early.
    pub rounds: u32,
    /// The durations of the calls by kind and round, each from before the connection is opened to
    /// the end of the response.
    pub took_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// The time from the start of each call until the gateway behaved accordingly on a new
    /// connection. Calls that only read are not included.
    pub effective_ns: BTreeMap<AdminVerb, Vec<u64>>,
    /// The reason why a call ended the rounds early; `None` if every call succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}
