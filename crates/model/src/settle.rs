//! The wait for a quiet machine.

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The condition of a quiet machine before a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settle {
    /// The machine's load average over the last minute, per core, below which it is quiet.
    #[schemars(range(min = 0.01, max = 100.0))]
    pub load_per_core: f64,
    /// The longest wait; 0s for no wait. If the machine is still not quiet, the load begins anyway,
    /// and the report states this.
    pub at_most: HumanDuration,
}

impl Default for Settle {
    fn default() -> Self {
        Self {
            load_per_core: 0.2,
            at_most: HumanDuration::from_millis(90_000),
        }
    }
}
