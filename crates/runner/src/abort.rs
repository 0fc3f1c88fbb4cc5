//! The reasons for ending a trial early.

use std::io;

use gatebench_agent::AgentFailure;
use gatebench_engine::EngineError;
use gatebench_model::{Blame, Culprit};
use gatebench_store::Outcome;
use gatebench_testbed::{DriverError, Interrupted, Running};

pub(crate) const READ_LOGS: &str = "read the logs in the trial's folder";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Abort {
    Interrupted,
    Failed(Failure),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) culprit: Culprit,
    pub(crate) reason: String,
    pub(crate) remedy: String,
    pub(crate) phase: Option<String>,
}

impl Failure {
    pub(crate) fn new(
        culprit: Culprit,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            culprit,
            reason: reason.into(),
            remedy: remedy.into(),
            phase: None,
        }
    }

    pub(crate) fn environment(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::new(Culprit::Environment, reason, remedy)
    }

    pub(crate) fn of_death(running: &mut Running) -> Option<Self> {
        running.death().as_ref().map(Self::from)
    }

    pub(crate) fn in_phase(self, phase: &str) -> Self {
        Self {
            phase: Some(phase.into()),
            ..self
        }
    }

    /// The failure of a plan that cannot be run. Files are checked before a run starts, so the
    /// manifest must have been changed since then.
    pub(crate) fn of_manifest(error: &impl ToString) -> Self {
        let culprit = Culprit::File {
            path: "manifest.json".into(),
            line: None,
        };
        Self::new(culprit, error.to_string(), "start a new run")
    }

    pub(crate) fn not_attachable(scenario: &str) -> Self {
        Self::environment(
            format!("scenario '{scenario}' needs TLS, but --attach supports only http://"),
            "choose a scenario without `transport`, or start the gateway with --gateway",
        )
    }

    pub(crate) fn of_keeper(error: &io::Error) -> Self {
        Self::environment(
            format!("cannot keep a core of the gateway awake: {error}"),
            "omit --keep-awake, or run gatebench in an environment where it may pin threads and use SCHED_IDLE",
        )
    }

    pub(crate) fn of_agent(lost: &AgentFailure) -> Self {
        let reason = format!("agent {} was {lost}", lost.agent);
        Self::environment(reason, lost.error.remedy())
    }

    /// The culprit is `target` if the load generator could not connect to it.
    pub(crate) fn of_engine(error: &EngineError, target: Culprit) -> Self {
        let reason = error.to_string();
        match error {
            EngineError::Unreachable { .. } => Self::new(
                target,
                reason,
                "read the logs in the trial's folder, and check how many connections that address accepts",
            ),
            EngineError::Data(_) => Self::new(
                Culprit::Engine,
                reason,
                "correct the scenario's `data`, or the template that uses the data",
            ),
            EngineError::Environment(_) => Self::environment(
                reason,
                "raise the limit that the message names, if any (see `gatebench doctor`), or use --backend epoll",
            ),
        }
    }
}

impl<E: Blame> From<&E> for Failure {
    fn from(error: &E) -> Self {
        let reason = error.to_string();
        Self::new(error.culprit(), reason.trim_end(), error.remedy())
    }
}

impl From<Interrupted> for Abort {
    fn from(_: Interrupted) -> Self {
        Self::Interrupted
    }
}

impl From<Failure> for Abort {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<DriverError> for Abort {
    fn from(error: DriverError) -> Self {
        Self::Failed(Failure::from(&error))
    }
}

impl From<Abort> for Outcome {
    fn from(abort: Abort) -> Self {
        match abort {
            Abort::Interrupted => Self::Interrupted,
            Abort::Failed(failure) => Self::Failed {
                culprit: failure.culprit,
                reason: failure.reason,
                remedy: failure.remedy,
                phase: failure.phase,
            },
        }
    }
}
