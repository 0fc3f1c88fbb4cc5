//! Errors as a user reads them: whose fault, what happened, what to do.

use gatebench_config::Diagnostics;
use gatebench_model::{Blame, Culprit};
use gatebench_net::workers::WorkersError;
use gatebench_runner::RunnerError;
use gatebench_store::StoreError;
use gatebench_testbed::DriverError;

use crate::exit::Exit;

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// Somebody's fault.
    Said {
        /// Whose, as in `gateway nginx`.
        culprit: String,
        /// What happened.
        what: String,
        /// What to do.
        remedy: String,
        /// What the shell hears.
        exit: Exit,
    },
    /// Files with mistakes, all of them.
    Mistakes(Vec<Diagnostics>),
    /// Nobody reads what is printed any more.
    PipeClosed,
}

impl Failure {
    /// Somebody's fault; the exit code follows from whose.
    pub fn of(culprit: &Culprit, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Said {
            culprit: culprit.to_string(),
            what: what.into(),
            remedy: remedy.into(),
            exit: Exit::of(culprit),
        }
    }

    /// A word on the command line that cannot be followed.
    pub fn words(word: &str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Said {
            culprit: word.into(),
            what: what.into(),
            remedy: remedy.into(),
            exit: Exit::WrongWords,
        }
    }

    /// The fault that an error names.
    pub fn blamed(error: &impl Blame) -> Self {
        Self::of(&error.culprit(), error.to_string(), error.remedy())
    }

    /// The machine's fault.
    pub fn environment(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(&Culprit::Environment, what, remedy)
    }

    /// What the shell hears.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Said { exit, .. } => *exit,
            Self::Mistakes(_) => Exit::WrongWords,
            Self::PipeClosed => Exit::Fine,
        }
    }

    /// What happened, without whose fault it is and what to do.
    pub fn what(&self) -> String {
        match self {
            Self::Said { what, .. } => what.clone(),
            Self::Mistakes(files) => format!("{} input files have mistakes", files.len()),
            Self::PipeClosed => String::new(),
        }
    }
}

/// A message without the name of its culprit in front, which is said already.
pub fn without_culprit<'a>(message: &'a str, culprit: &str) -> &'a str {
    message
        .strip_prefix(culprit)
        .map_or(message, |rest| rest.trim_start_matches([' ', ':']))
}

impl From<WorkersError> for Failure {
    fn from(error: WorkersError) -> Self {
        Self::environment(error.what(), error.remedy())
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Mistakes(mistakes) => Self::Mistakes(vec![*mistakes]),
            DriverError::UnknownGateway { .. } | DriverError::NoFolder { .. } => {
                Self::words("--gateway", error.to_string(), error.remedy())
            }
            DriverError::Attach { .. } => Self::Said {
                culprit: "--attach".into(),
                what: error.to_string(),
                remedy: error.remedy(),
                exit: Exit::Environment,
            },
            error => Self::blamed(&error),
        }
    }
}

impl From<RunnerError> for Failure {
    fn from(error: RunnerError) -> Self {
        let (what, remedy) = (error.to_string(), error.remedy());
        match (error, what) {
            (RunnerError::Mistakes(files), _) => Self::Mistakes(files),
            (RunnerError::Driver(error), _) => error.into(),
            (RunnerError::Store(error), _) => error.into(),
            (RunnerError::Words { .. }, what) => Self::words("the command line", what, remedy),
            (error, what) => Self::of(
                &error.culprit().unwrap_or(Culprit::Environment),
                what,
                remedy,
            ),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::blamed(&error)
    }
}
