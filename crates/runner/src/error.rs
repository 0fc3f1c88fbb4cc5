//! The errors that prevent or end a run.

use gatebench_config::{Diagnostics, ReadError};
use gatebench_model::{Blame, Culprit};
use gatebench_store::StoreError;
use gatebench_studies::choice::PlanError;
use gatebench_testbed::DriverError;

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// Mistakes in files, grouped by file.
    #[error("{}", counted(.0))]
    Mistakes(Vec<Diagnostics>),
    /// Several errors, such as templates that do not render, or scenarios without a route for a
    /// request.
    #[error("{}", .0.iter().map(RunnerError::one_line).collect::<Vec<_>>().join("\n"))]
    Several(Vec<RunnerError>),
    /// A command-line argument cannot be used, for example because it is unknown or conflicts with
    /// another.
    #[error("{message}")]
    Words {
        /// The mistake, as a sentence without the remedy.
        message: String,
        remedy: String,
    },
    /// A file cannot be read, or its content is not accepted.
    #[error("{message}")]
    File {
        path: std::path::PathBuf,
        message: String,
        remedy: String,
    },
    /// The plan conflicts with its study.
    #[error(transparent)]
    Study(#[from] PlanError),
    /// A gateway, an upstream, a host or a cluster cannot be found, started or reached.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The run directory cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The environment, such as the machine or the cluster, does not meet a requirement of the
    /// command.
    #[error("{message}")]
    Environment {
        /// The unmet requirement, without the remedy.
        message: String,
        remedy: String,
    },
}

impl RunnerError {
    /// Combines all mistakes into one error, so that they are shown together; `Ok` if there are
    /// none.
    pub(crate) fn unless_none(mut mistakes: Vec<Self>) -> Result<(), Self> {
        if mistakes.len() > 1 {
            return Err(Self::Several(mistakes));
        }
        mistakes.pop().map_or(Ok(()), Err)
    }

    pub(crate) fn words(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Words {
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn environment(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Environment {
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn one_line(&self) -> String {
        let culprit = self.culprit().map(|culprit| format!("{culprit}: "));
        let culprit = culprit.unwrap_or_default();
        format!("{culprit}{self} → {}", self.remedy())
    }

    /// Returns the culprit; for several errors, the culprit of the first. Returns `None` if a
    /// command-line argument or the plan is wrong.
    pub fn culprit(&self) -> Option<Culprit> {
        match self {
            Self::Words { .. } | Self::Study(_) => None,
            Self::Several(all) => all.first().and_then(Self::culprit),
            Self::Mistakes(files) => {
                let first = files.first().and_then(|file| file.all().first())?;
                Some(Culprit::File {
                    path: first.file.clone().into(),
                    line: Some(first.line),
                })
            }
            Self::File { path, .. } => Some(Culprit::File {
                path: path.clone(),
                line: None,
            }),
            Self::Driver(error) => Some(error.culprit()),
            Self::Store(error) => Some(error.culprit()),
            Self::Environment { .. } => Some(Culprit::Environment),
        }
    }

    pub fn remedy(&self) -> String {
        match self {
            Self::Several(_) => "correct each of these errors".into(),
            Self::Mistakes(_) => "correct the lines shown".into(),
            Self::Words { remedy, .. }
            | Self::File { remedy, .. }
            | Self::Environment { remedy, .. } => remedy.clone(),
            Self::Study(error) => error.remedy().into(),
            Self::Driver(error) => error.remedy(),
            Self::Store(error) => error.remedy(),
        }
    }
}

impl From<ReadError> for RunnerError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Mistakes(mistakes) => Self::Mistakes(vec![mistakes]),
            ReadError::Io { kind, path, source } => Self::File {
                message: format!("the {kind} file cannot be read: {source}"),
                remedy: "check the path and its permissions".into(),
                path,
            },
        }
    }
}

fn counted(files: &[Diagnostics]) -> String {
    let count: usize = files.iter().map(|file| file.all().len()).sum();
    let noun = if count == 1 { "mistake" } else { "mistakes" };
    format!("{count} {noun} in the files of this run")
}
