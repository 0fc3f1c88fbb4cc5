//! The profile of a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How to find out where gateways spend their CPU time: their stacks are sampled during
/// measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flame {
    /// Samples per second of each core.
    pub samples_per_second: u32,
    /// How stacks are read.
    pub stacks: Stacks,
}

/// How the callers of a sampled function are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stacks {
    /// By unwind tables, which most programs have; each sample includes a copy of the stack.
    Dwarf,
    /// By frame pointers, if the program was built with them; this is cheaper.
    FramePointers,
}
