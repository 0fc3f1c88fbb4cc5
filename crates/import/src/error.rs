//! The errors of imports.

use std::io;

use gatebench_config::Diagnostics;
use thiserror::Error;

/// The reason why an import failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    #[error(transparent)]
    Mistakes(#[from] Box<Diagnostics>),
    /// The input contains nothing that can be imported.
    #[error("{file}: {message}")]
    Nothing {
        file: String,
        /// The reason, as a clause such as "it has no route".
        message: String,
        remedy: String,
    },
    /// At least 1 % of the lines of a log are not in the log's format.
    #[error("{file}: {malformed} of {lines} lines are not in the format {format}{}", listed(.examples))]
    Malformed {
        file: String,
        /// The format that was detected in the first lines, as text.
        format: &'static str,
        malformed: u64,
        lines: u64,
        /// The first malformed lines: for each, its position and what was expected there.
        examples: Vec<String>,
    },
    #[error("{file}: cannot be read: {source}")]
    Io { file: String, source: io::Error },
}

fn listed(examples: &[String]) -> String {
    let lines = examples.iter().map(|it| format!("\n  {it}"));
    lines.collect()
}

impl ImportError {
    pub(crate) fn nothing(file: &str, message: &str, remedy: &str) -> Self {
        Self::Nothing {
            file: file.into(),
            message: message.into(),
            remedy: remedy.into(),
        }
    }

    /// Returns the name of the input, or `None` for mistakes, each of which names the file itself.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Mistakes(_) => None,
            Self::Nothing { file, .. } | Self::Malformed { file, .. } | Self::Io { file, .. } => {
                Some(file)
            }
        }
    }

    /// Returns the action that fixes the error, without a final period.
    pub fn remedy(&self) -> String {
        match self {
            Self::Mistakes(_) => "correct these lines".into(),
            Self::Nothing { remedy, .. } => remedy.clone(),
            Self::Malformed { .. } => {
                "remove the malformed lines, or import a log in a single format; \
                 docs/guide/IMPORT.md lists the formats, each with an example"
                    .into()
            }
            Self::Io { .. } => {
                "check the path and its permissions, and that a compressed file is complete".into()
            }
        }
    }
}
