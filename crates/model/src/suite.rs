//! A suite (plan file): which gateways go through which scenarios under which load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One suite file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The suite's name: lower case, digits and hyphens.
    #[schemars(schema_with = "crate::words::name")]
    pub suite: String,
    /// One line for people.
    pub title: String,
    /// Gateways by name or folder; `--gateway` replaces the list.
    #[schemars(length(min = 1))]
    pub gateways: Vec<String>,
    /// Scenarios by name, or paths of files beside this one.
    #[schemars(length(min = 1))]
    pub scenarios: Vec<String>,
    /// Load profile by name, or path of a file beside this one.
    pub load: String,
    /// Repetitions, each with a fresh process of every variant.
    #[schemars(range(min = 1, max = 10_000))]
    pub blocks: u32,
    /// Whether the upstream is also loaded directly.
    #[serde(default = "yes")]
    pub floor: bool,
}

fn yes() -> bool {
    true
}
