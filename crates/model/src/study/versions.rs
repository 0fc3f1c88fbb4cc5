//! A specification, run for several versions of a gateway in turn.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Settle;

/// The parts of a specification that a plan has in addition to its suite and its load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Specified {
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Threads of the load generator, if they can be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// True if the runs of each version are combined.
    pub combines: bool,
    /// True if the report names the error logs.
    pub saves_error_log: bool,
    /// Retries, in a plan of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The condition of a quiet machine before each load, in a plan of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
}
