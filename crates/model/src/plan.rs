//! The plan: every trial in order, decided before anything starts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LoadProfile, Scenario};

/// Everything a run will do. Serialised into the manifest; `--dry-run` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The suite's name.
    pub suite: String,
    /// Its title.
    pub title: String,
    /// Seed of the order.
    pub seed: u64,
    /// Blocks asked for.
    pub blocks: u32,
    /// The scenarios, resolved.
    pub scenarios: Vec<Scenario>,
    /// The load, resolved.
    pub load: LoadProfile,
    /// The variants, in the order in which they are reported.
    pub variants: Vec<Variant>,
    /// Which cores do what.
    pub placement: Placement,
    /// The trials, in the order in which they run.
    pub trials: Vec<Trial>,
}

/// What stands between engine and upstream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Variant {
    /// Nothing: the same load straight to the upstream.
    Floor,
    /// A gateway.
    Gateway {
        /// Its label, unique in the plan.
        name: String,
        /// The folder it comes from: a name of the embedded ones or a path.
        folder: String,
    },
    /// A gateway that someone else started.
    Attached {
        /// Its label, unique in the plan.
        name: String,
        /// Base URL, `http://HOST:PORT`.
        url: String,
        /// Root of its process tree, where CPU and memory can be read.
        pid: Option<u32>,
    },
}

impl Variant {
    /// The label in tables and file names.
    pub fn label(&self) -> &str {
        match self {
            Self::Floor => "floor",
            Self::Gateway { name, .. } | Self::Attached { name, .. } => name,
        }
    }
}

/// One trial: a fresh gateway process going through all phases of the load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Position in the run, from 1.
    pub number: u32,
    /// Block, from 1.
    pub block: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Label of the variant.
    pub variant: String,
}

/// Which cores each component is pinned to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placement {
    /// Cores of the gateway under test.
    pub gateway: Vec<usize>,
    /// Cores of the load engine, one worker each.
    pub engine: Vec<usize>,
    /// Cores of the upstream, one worker each.
    pub upstream: Vec<usize>,
    /// What the placement means for the reader, for example that engine and upstream share a core.
    pub note: String,
}
