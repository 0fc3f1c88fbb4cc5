//! The events of a run that observers receive.

use std::path::PathBuf;
use std::time::Duration;

use gatebench_model::{Plan, Trial};
use gatebench_store::{LiveSecond, Outcome};

use crate::outputs::Delivery;
use crate::warning::Warning;

/// Receives the events of a run. Several threads call the observer, including the thread that
/// samples a load, so an observer must not block.
pub trait Observer: Sync {
    fn observe(&self, progress: Progress);
}

impl<F: Fn(Progress) + Sync> Observer for F {
    fn observe(&self, progress: Progress) {
        self(progress);
    }
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// The run directory exists; the first trial is next.
    RunStarted {
        dir: PathBuf,
        plan: Box<Plan>,
        /// The number of remaining trials. In a resumed run, it may be lower than the number of
        /// trials in the plan.
        remaining: u32,
        /// The expected duration of the remaining trials.
        left: Duration,
    },
    TrialStarted {
        trial: Trial,
        /// The highest trial number in the plan. It may exceed the number of trials if the plan was
        /// shortened.
        of: u32,
        /// The expected duration of this and all further trials.
        left: Duration,
    },
    /// The run skips some or all of its remaining trials, for this reason.
    EndedEarly(String),
    StepStarted(Step),
    PhaseStarted {
        name: String,
    },
    /// Figures of the running load, about four times a second.
    Live {
        /// Responses per second since the previous event of this kind.
        completed_per_second: f64,
        /// The number of requests so far that ended without a complete response.
        failed: u64,
    },
    Second(LiveSecond),
    /// A trial is on disk.
    TrialFinished {
        trial: Trial,
        outcome: Outcome,
        /// The main figures of each of the trial's loads. Of the steps of a search, only the last
        /// one is included.
        phases: Vec<PhaseSummary>,
        /// The expected duration of all further trials.
        left: Duration,
    },
    Warning(Warning),
    /// Sending to an output has ended.
    Delivered(Delivery),
}

/// A step of a trial outside its loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    UpstreamUp,
    /// The gateway's files are being rendered and checked, and the gateway is being started.
    GatewayUp,
    ParityBefore,
    /// The trial waits for an idle machine before a load.
    Settling,
    /// A route is created, read, updated and deleted through the gateway's admin interface.
    Admin,
    ParityAfter,
    Down,
}

impl Step {
    /// The name of the step in the live log of a trial.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::UpstreamUp => "upstream_up",
            Self::GatewayUp => "gateway_up",
            Self::ParityBefore => "parity_before",
            Self::Settling => "settling",
            Self::Admin => "admin",
            Self::ParityAfter => "parity_after",
            Self::Down => "down",
        }
    }
}

/// The main figures of a load, for progress displays; findings are computed only from the run
/// directory.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSummary {
    pub name: String,
    /// Responses per second of the measurement.
    pub completed_per_second: f64,
    pub completed: u64,
    /// The total number of requests without a response, failed attempts to connect, responses that
    /// failed a check, and dropped arrivals.
    pub failed: u64,
    /// The median response time; `None` if there are too few responses.
    pub response_p50_ns: Option<u64>,
    /// CPU time of the gateway per request; `None` for the direct variant, if there are no
    /// responses, or if the CPU time cannot be read.
    pub gateway_cpu_ns_per_request: Option<f64>,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSummary {
    pub dir: PathBuf,
    /// The number of trials in the plan.
    pub planned: u32,
    /// The number of completed trials on disk.
    pub completed: u32,
    /// The number of trials whose gateway does not support the scenario or its load.
    pub not_supported: u32,
    pub failed: u32,
    /// True if the user stopped the run before its end.
    pub interrupted: bool,
}

impl RunSummary {
    pub(crate) fn count(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Completed => self.completed += 1,
            Outcome::NotSupported { .. } => self.not_supported += 1,
            Outcome::Failed { .. } => self.failed += 1,
            Outcome::Interrupted => {}
        }
    }
}
