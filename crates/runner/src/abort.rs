//! The reasons for which a trial does not go on.

use std::io;
use std::path::Path;

use gatebench_engine::EngineError;
use gatebench_model::{Blame, Culprit};
use gatebench_net::tls::SettingsError;
use gatebench_store::Outcome;
use gatebench_testbed::DriverError;

/// What ends a trial before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Abort {
    /// Someone stopped the run.
    Interrupted,
    /// It cannot be completed.
    Failed(Failure),
}

/// Whose fault it is that a trial cannot be completed.
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

    /// The same, in a phase.
    pub(crate) fn in_phase(self, phase: &str) -> Self {
        Self {
            phase: Some(phase.into()),
            ..self
        }
    }

    /// A plan that cannot be carried out. What comes from files is tried before the start, so it comes
    /// from a manifest that was changed since.
    pub(crate) fn of_manifest(error: &impl ToString) -> Self {
        let culprit = Culprit::File {
            path: "manifest.json".into(),
            line: None,
        };
        Self::new(culprit, error.to_string(), "start a new run")
    }

    /// A certificate of a trial that cannot be made or used.
    pub(crate) fn of_certificate(error: &SettingsError) -> Self {
        Self::new(
            Culprit::Environment,
            format!("the trial's certificate: {error}"),
            "check the machine's clock",
        )
    }

    /// A folder that cannot be written.
    pub(crate) fn of_folder(folder: &Path, error: &io::Error) -> Self {
        Self::new(
            Culprit::Environment,
            format!("{} cannot be written: {error}", folder.display()),
            "choose a writable directory with --dir DIR",
        )
    }

    /// A scenario whose transport only a gateway that gatebench starts can have.
    pub(crate) fn not_attachable(scenario: &str) -> Self {
        Self::new(
            Culprit::Environment,
            format!("'{scenario}' needs TLS, but --attach supports only http://"),
            "choose a scenario without `transport`, or start the gateway with --gateway",
        )
    }

    /// A core that could not be kept from idling.
    pub(crate) fn of_keeper(error: &io::Error) -> Self {
        Self::new(
            Culprit::Environment,
            format!("cannot keep a core of the gateway awake: {error}"),
            "omit --keep-awake, or run gatebench where it may pin threads and use SCHED_IDLE",
        )
    }

    /// An error of the engine. `target` is whom it could not reach.
    pub(crate) fn of_engine(error: &EngineError, target: Culprit) -> Self {
        let reason = error.to_string();
        match error {
            EngineError::Unreachable { .. } => Self::new(
                target,
                reason,
                "read its logs in the trial's folder, and check its connection limits",
            ),
            EngineError::Data(_) => Self::new(
                Culprit::Engine,
                reason,
                "correct the scenario's `data`, or the template that names it",
            ),
            EngineError::Environment(_) => Self::new(
                Culprit::Environment,
                reason,
                "raise the limit it names (see `gatebench doctor`), or use --backend epoll",
            ),
        }
    }
}

impl<E: Blame> From<&E> for Failure {
    fn from(error: &E) -> Self {
        Self::new(
            error.culprit(),
            error.to_string().trim_end(),
            error.remedy(),
        )
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
            Abort::Failed(Failure {
                culprit,
                reason,
                remedy,
                phase,
            }) => Self::Failed {
                culprit,
                reason,
                remedy,
                phase,
            },
        }
    }
}
