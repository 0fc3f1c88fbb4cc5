//! The progress of a run, as its observers get it.

use std::path::PathBuf;
use std::time::Duration;

use gatebench_model::{Plan, Trial};
use gatebench_store::Outcome;

use crate::warning::Warning;

/// Hears what happens. Called from several threads, never while a measurement waits for it.
pub trait Observer: Sync {
    /// Something happened.
    fn observe(&self, progress: Progress);
}

impl<F: Fn(Progress) + Sync> Observer for F {
    fn observe(&self, progress: Progress) {
        self(progress);
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// The run directory is there; the first trial comes next.
    RunStarted {
        /// The run directory.
        dir: PathBuf,
        /// What will be done.
        plan: Box<Plan>,
        /// Trials still to be run: fewer than the plan's where a run is resumed.
        remaining: u32,
        /// How long they are expected to take.
        left: Duration,
    },
    /// A trial begins.
    TrialStarted {
        /// Which.
        trial: Trial,
        /// Trials of the plan.
        of: u32,
        /// How long this and all further ones are expected to take.
        left: Duration,
    },
    /// The run ends before its plan does, and why.
    EndedEarly(String),
    /// The trial has come to this step.
    StepStarted(Step),
    /// A load begins.
    PhaseStarted {
        /// Name of the phase.
        name: String,
        /// Its warm-up.
        warm_up: Duration,
        /// Its measurement.
        measure: Duration,
    },
    /// How the load is going, about four times a second.
    Live {
        /// Since the load began, warm-up included.
        elapsed: Duration,
        /// Answers per second since the last such message.
        completed_per_second: f64,
        /// Answers so far.
        completed: u64,
        /// Requests without an answer so far.
        failed: u64,
        /// Arrivals that wait for a connection.
        queued: u64,
        /// Median response time of the last whole second.
        response_p50_ns: Option<u64>,
    },
    /// A load has ended.
    PhaseFinished(PhaseSummary),
    /// A trial is on disk.
    TrialFinished {
        /// Which.
        trial: Trial,
        /// How it ended.
        outcome: Outcome,
        /// Its loads.
        phases: Vec<PhaseSummary>,
        /// How long all further ones are expected to take.
        left: Duration,
    },
    /// Something the reader must know.
    Warning(Warning),
    /// The run is over.
    RunFinished(RunSummary),
}

/// Where a trial is between its loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The upstream is being started.
    UpstreamUp,
    /// The gateway is being rendered, checked and started.
    GatewayUp,
    /// Parity is proven before the load.
    ParityBefore,
    /// The machine is to become quiet before a load.
    Settling,
    /// A route is changed again and again through the gateway's admin interface.
    Admin,
    /// Parity is proven again.
    ParityAfter,
    /// Gateway and upstream are being ended.
    Down,
}

/// A load in four numbers, for displays; findings come from the run directory alone.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSummary {
    /// Name of the phase.
    pub name: String,
    /// Answers per second of the measurement.
    pub completed_per_second: f64,
    /// Answers.
    pub completed: u64,
    /// Requests without an answer, answers that failed a check, and arrivals that were dropped.
    pub failed: u64,
    /// Median response time.
    pub response_p50_ns: Option<u64>,
    /// CPU time of the gateway per request; none for the direct variant and where it cannot be
    /// read.
    pub gateway_cpu_ns_per_request: Option<f64>,
}

/// How a run came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// The run directory.
    pub dir: PathBuf,
    /// Trials of the plan.
    pub planned: u32,
    /// Trials on disk that were completed.
    pub completed: u32,
    /// Trials whose gateway lacks a policy.
    pub not_supported: u32,
    /// Trials that failed.
    pub failed: u32,
    /// Whether someone stopped the run before its end.
    pub interrupted: bool,
}

impl RunSummary {
    /// Counts a trial that ended.
    pub(crate) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Completed => self.completed += 1,
            Outcome::NotSupported { .. } => self.not_supported += 1,
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::Interrupted => {}
        }
    }
}
