//! The soak of a plan.

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One gateway under one load for a long time. Each trial of the plan is a segment: a process, from
/// its start to its end or to an interrupt. A resumed soak has another segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Soak {
    /// The total measured time of all segments.
    pub duration: HumanDuration,
    /// Growth of memory that does not matter, in bytes per hour.
    pub growth_bytes_per_hour: u64,
}
