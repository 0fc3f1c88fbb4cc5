//! `manifest.json`: everything needed to repeat the run.

use std::collections::BTreeMap;

use gatebench_model::Plan;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::digest::FileDigest;
use crate::external::ExternalGenerator;

/// The manifest of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the run directory; set by the writer.
    pub schema: u32,
    /// Version of the gatebench that measured.
    pub gatebench: String,
    /// When the run began.
    pub created: Timestamp,
    /// How far it came.
    pub status: Status,
    /// The command line, word by word, the program first.
    pub command: Vec<String>,
    /// Every trial in order, with scenarios, load and placement resolved.
    pub plan: Plan,
    /// The event loop's backend: `io_uring` or `epoll`.
    pub engine_backend: String,
    /// An external load generator that drives the loads; none where gatebench's own does.
    #[serde(
        default,
        alias = "foreign_engine",
        skip_serializing_if = "Option::is_none"
    )]
    pub external_generator: Option<ExternalGenerator>,
    /// The gateways by label of their variant.
    #[serde(default)]
    pub gateways: BTreeMap<String, GatewayIdentity>,
    /// Facts about the machine, as the probe found them: a map from topic to facts.
    #[serde(default)]
    pub environment: serde_json::Value,
    /// What was changed or assumed and the reader must know.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It runs, or its process died without a word.
    Running,
    /// Every trial of the plan was tried.
    Finished,
    /// Someone stopped it.
    Interrupted,
    /// It could not go on.
    Failed,
}

/// Which gateway it was, exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayIdentity {
    /// The name people know.
    pub title: String,
    /// What the program answered when asked; `unknown` for an attached one.
    pub version: String,
    /// The program, absolute; empty for an attached one.
    pub binary: String,
    /// SHA-256 of the program in lower-case hex; empty where there is none.
    pub sha256: String,
    /// Digests of the gateway folder's files, paths relative to the folder.
    #[serde(default)]
    pub folder: Vec<FileDigest>,
    /// What the gateway folder says a reader must know.
    #[serde(default)]
    pub notes: Vec<String>,
}
