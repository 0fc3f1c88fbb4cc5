//! Errors as the user sees them: culprit, error and remedy.

use gatebench_config::Diagnostics;
use gatebench_import::ImportError;
use gatebench_model::{Blame, Culprit};
use gatebench_net::workers::WorkersError;
use gatebench_report::text::clean_lines;
use gatebench_runner::RunnerError;
use gatebench_store::StoreError;
use gatebench_testbed::DriverError;

use crate::exit::Exit;

/// The reason why a command failed.
#[derive(Debug)]
pub enum Failure {
    Said {
        /// The culprit, as in `gateway nginx`.
        culprit: String,
        what: String,
        remedy: String,
        exit: Exit,
    },
    /// Mistakes in input files, grouped by file.
    Mistakes(Vec<Diagnostics>),
    /// The reader of standard output has closed it. This failure ends commands that only print;
    /// other commands ignore it with [`unless_closed`](crate::terminal::unless_closed).
    PipeClosed,
}

impl Failure {
    pub fn said(
        exit: Exit,
        culprit: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Said {
            culprit: culprit.into(),
            what: what.into(),
            remedy: remedy.into(),
            exit,
        }
    }

    pub fn of(culprit: &Culprit, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::said(Exit::of(culprit), culprit.to_string(), what, remedy)
    }

    /// Returns a failure caused by an argument or an input file.
    pub fn words(
        word: impl Into<String>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::said(Exit::WrongWords, word, what, remedy)
    }

    pub fn blamed(error: &impl Blame) -> Self {
        Self::of(&error.culprit(), error.to_string(), error.remedy())
    }

    pub fn environment(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::of(&Culprit::Environment, what, remedy)
    }

    pub fn exit(&self) -> Exit {
        match self {
            Self::Said { exit, .. } => *exit,
            Self::Mistakes(_) => Exit::WrongWords,
            Self::PipeClosed => Exit::Fine,
        }
    }
}

/// Removes the culprit's name from the beginning of a message, and indents all lines but the first
/// by `indent` columns.
pub fn indented_reason(message: &str, culprit: &str, indent: usize) -> String {
    let rest = message.strip_prefix(culprit);
    let message = rest.map_or(message, |rest| rest.trim_start_matches([' ', ':']));
    clean_lines(message)
        .trim_end()
        .replace('\n', &format!("\n{:indent$}", ""))
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
            DriverError::Attach { .. } => Self::said(
                Exit::Environment,
                "--attach",
                error.to_string(),
                error.remedy(),
            ),
            error => Self::blamed(&error),
        }
    }
}

impl From<RunnerError> for Failure {
    fn from(error: RunnerError) -> Self {
        let (what, remedy) = (error.to_string(), error.remedy());
        let culprit = error.culprit().unwrap_or(Culprit::Environment);
        match error {
            RunnerError::Mistakes(files) => Self::Mistakes(files),
            RunnerError::Driver(error) => error.into(),
            RunnerError::Store(error) => error.into(),
            RunnerError::Words { .. } | RunnerError::Study(_) => {
                Self::words("the command line", what, remedy)
            }
            _ => Self::of(&culprit, what, remedy),
        }
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        let (what, remedy) = (error.to_string(), error.remedy());
        let file = error.file().unwrap_or_default().to_owned();
        match error {
            ImportError::Mistakes(mistakes) => Self::Mistakes(vec![*mistakes]),
            _ => Self::words(file, what, remedy),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::blamed(&error)
    }
}
