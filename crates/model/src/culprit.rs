//! Whose fault an error is. Every error that reaches a user names one.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The one to blame, and so the place where the remedy is applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Culprit {
    /// The gateway of this name.
    Gateway(String),
    /// The origin behind the gateway.
    Upstream,
    /// The load engine.
    Engine,
    /// The machine: what is installed, what is allowed, what else runs.
    Environment,
    /// A file that the user wrote.
    File {
        /// The file, as the user named it.
        path: PathBuf,
        /// Line, from 1, where one is known.
        line: Option<usize>,
    },
}

/// An error that names its culprit and its remedy.
pub trait Blame: std::error::Error {
    /// Returns the one to blame.
    fn culprit(&self) -> Culprit;

    /// Returns the action that removes the error, as a sentence without its full stop.
    fn remedy(&self) -> String;
}

impl fmt::Display for Culprit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway(name) => write!(f, "gateway {name}"),
            Self::Upstream => f.write_str("upstream"),
            Self::Engine => f.write_str("load generator"),
            Self::Environment => f.write_str("environment"),
            Self::File {
                path,
                line: Some(line),
            } => write!(f, "{}:{line}", path.display()),
            Self::File { path, line: None } => write!(f, "{}", path.display()),
        }
    }
}
