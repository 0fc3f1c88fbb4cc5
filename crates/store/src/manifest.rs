//! The contents of `manifest.json`: the plan, the gateways, the machine and the status of a run.

use std::collections::BTreeMap;

use gatebench_model::Plan;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The contents of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The schema version of the run directory, which the writer sets.
    pub schema: u32,
    /// The version of gatebench that began the run.
    pub gatebench: String,
    pub created: Timestamp,
    pub status: Status,
    /// The command-line arguments, starting with the program.
    pub command: Vec<String>,
    /// All trials in order, with their scenarios, load and placement resolved.
    pub plan: Plan,
    /// The event loop's backend: `io_uring` or `epoll`.
    pub engine_backend: String,
    /// The external load generator that sends the loads; `None` for the built-in one.
    #[serde(
        default,
        alias = "foreign_engine",
        skip_serializing_if = "Option::is_none"
    )]
    pub external_generator: Option<ExternalGenerator>,
    /// The gateways, by the labels of their variants.
    #[serde(default)]
    pub gateways: BTreeMap<String, GatewayIdentity>,
    /// The facts about the machine and the libraries, by topic.
    #[serde(default)]
    pub environment: serde_json::Value,
    /// Warnings about the run; for each resumption, its time and its command line; and the reason
    /// for an early end.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The run is in progress, or its process died.
    Running,
    /// Every trial of the plan has ended.
    Finished,
    /// The user stopped the run.
    Interrupted,
    /// The run ended with an error, or a trial could not be written.
    Failed,
}

/// The exact identity of a gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayIdentity {
    /// The gateway's common name.
    pub title: String,
    /// The version that the program prints; `unknown` for an attached gateway.
    pub version: String,
    /// The absolute path of the program; empty for an attached gateway.
    pub binary: String,
    /// SHA-256 of the program in lowercase hexadecimal digits; empty without a program.
    pub sha256: String,
    /// Digests of the gateway folder's files, with paths relative to the folder.
    #[serde(default)]
    pub folder: Vec<FileDigest>,
    /// Notes for the reader, from the gateway folder.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The program and version of an external load generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalGenerator {
    /// The load generator's name: `wrk`, `h2load` or `k6`.
    pub name: String,
    pub version: String,
    /// The absolute path of the program.
    pub binary: String,
    /// The user's script that controls the load generator, with its absolute path; `None` if the
    /// scenario determines the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<FileDigest>,
}

/// A file and the digest of its contents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileDigest {
    /// The file's path. The field that contains the digest states whether the path is absolute.
    pub path: String,
    /// SHA-256 in lowercase hexadecimal digits.
    pub sha256: String,
}

impl FileDigest {
    /// Computes the digest of `bytes`, the contents of the file at `path`.
    pub fn of(path: impl Into<String>, bytes: &[u8]) -> Self {
        let digest = Sha256::digest(bytes);
        Self {
            path: path.into(),
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}
