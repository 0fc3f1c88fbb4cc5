//! A profile that a plan is made for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where gateways spend their CPU time: their stacks are sampled while they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flame {
    /// Samples of each core in a second.
    pub samples_per_second: u32,
    /// The method to read a stack.
    pub stacks: Stacks,
}

/// The methods to find the callers of a sampled function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stacks {
    /// By unwind tables, which most programs have; a copy of the stack is taken with each sample.
    Dwarf,
    /// By frame pointers, where a program is built with them: cheaper.
    FramePointers,
}
