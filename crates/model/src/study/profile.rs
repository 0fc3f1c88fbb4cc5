//! The profile of a plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The sampling of stacks during measurements, to find where gateways spend CPU time.
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
    /// By unwind tables, which most programs have. Each sample includes a copy of the stack.
    Dwarf,
    /// By frame pointers, which is cheaper, if the program was built with them.
    FramePointers,
}
