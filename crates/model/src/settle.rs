//! The wait for a quiet machine.

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The condition of a quiet machine before a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// The machine's load average over the last minute, per core, below which it is quiet.
    #[serde(default = "quiet")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub load_per_core: f64,
    /// The longest wait. After it, the load begins nevertheless, and the report states that. With
    /// 0s, there is no wait.
    #[serde(default = "patience")]
    pub at_most: HumanDuration,
}

fn quiet() -> f64 {
    0.2
}

fn patience() -> HumanDuration {
    HumanDuration::from_millis(90_000)
}

impl Default for Settle {
    fn default() -> Self {
        Self {
            load_per_core: quiet(),
            at_most: patience(),
        }
    }
}
