//! A step of a search for capacity, as the phase that it was.

use serde::{Deserialize, Serialize};

/// What a phase was in the search, and what came of it. The phase's shape has its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// What it was tried for.
    pub role: StepRole,
    /// What came of it.
    pub outcome: StepOutcome,
}

/// What a step is tried for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// To draw the curve below the knee; the search does not hear of it.
    Curve,
    /// The search for the neighbourhood of the result.
    Search,
    /// Near the result.
    Near,
    /// Near the result, four times as long as the others: in runs of versions that searched so.
    Confirm,
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The objective was held.
    Held,
    /// It was not.
    Missed,
    /// It was not held, and something other than gateway, engine and upstream disturbed it: in runs
    /// of versions that repeated only such steps. Later versions derive disturbance from the
    /// machine's figures.
    Disturbed,
}
