//! An endurance test that a plan is made for.

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One gateway under one load for a long time. A trial of the plan is a segment of it: a process,
/// from its start to its end or to an interrupt. A soak that is taken up again has one segment
/// more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Soak {
    /// The time that is measured in all segments together.
    pub duration: HumanDuration,
    /// Growth of memory that does not matter, in bytes per hour.
    pub growth_bytes_per_hour: u64,
}
