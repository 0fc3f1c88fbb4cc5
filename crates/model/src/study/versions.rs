//! A specification, for one version of a gateway after the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Settle;

/// The parts of a specification that a plan keeps besides its suite and its load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Specified {
    /// Its name.
    pub name: String,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Threads of the load engine, where it can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Whether the runs of each version are combined.
    pub combines: bool,
    /// Whether the error logs are named.
    pub saves_error_log: bool,
    /// Retries, in a plan of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// How quiet the machine is before each load, in a plan of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
}
