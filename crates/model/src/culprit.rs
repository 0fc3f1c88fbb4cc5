//! The causes of errors.

use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The cause of an error, which determines where to look for the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "detail", rename_all = "snake_case")]
pub enum Culprit {
    /// The gateway with this name.
    Gateway(String),
    /// The upstream behind the gateway.
    Upstream,
    /// The load generator.
    Engine,
    /// The machine: installed programs, permissions, other processes.
    Environment,
    /// A file that the user wrote.
    File {
        /// The file, as the user named it.
        path: PathBuf,
        /// The line number, counted from 1, if it is known.
        line: Option<usize>,
    },
}

/// An error that names its culprit and its remedy.
pub trait Blame: std::error::Error {
    fn culprit(&self) -> Culprit;

    /// Returns the remedy for the error, as a sentence without a final period.
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
