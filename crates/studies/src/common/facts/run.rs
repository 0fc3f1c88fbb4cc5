//! General facts about the run.

use gatebench_model::Placement;
use gatebench_store::{Status, Timestamp};
use serde::Serialize;

/// Identifies the run.
#[derive(Clone, Debug, Serialize)]
pub struct RunFacts {
    /// Name of the suite.
    pub suite: String,
    pub title: String,
    /// When the run began.
    pub created: Timestamp,
    /// The status of the run.
    pub status: Status,
    /// The version of gatebench that measured.
    pub gatebench: String,
    /// The event loop's backend, or an external load generator with its version.
    pub engine_backend: String,
    /// The seed of the random order.
    pub seed: u64,
    /// True if it only tested that everything works.
    pub is_smoke: bool,
    pub blocks_planned: u32,
    /// Blocks whose trials are all on disk.
    pub blocks_complete: u32,
    /// Trials of the plan.
    pub trials_planned: u32,
    /// Trials on disk, including failed and not supported ones.
    pub trials_finished: u32,
    /// The cores of each component.
    pub placement: Placement,
    /// The command line that repeats the run, quoted for a shell.
    pub command: String,
    /// The gateways, in the order of the plan's variants.
    pub gateways: Vec<GatewayLine>,
}

/// A gateway of the run.
#[derive(Clone, Debug, Serialize)]
pub struct GatewayLine {
    /// Label of the variant.
    pub variant: String,
    /// The name for people.
    pub title: String,
    pub version: String,
    /// The absolute path of the program.
    pub binary: String,
    /// SHA-256 of the program in lower-case hex.
    pub sha256: String,
    /// Notes for the reader.
    pub notes: Vec<String>,
}
