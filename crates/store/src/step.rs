//! A step of a search for capacity.

use serde::{Deserialize, Serialize};

/// The role and the outcome of a phase in the search. The phase's shape contains its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    pub role: StepRole,
    pub outcome: StepOutcome,
}

/// The reason why a search for capacity tries a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRole {
    /// To draw the curve below the knee; the search does not use it.
    Curve,
    /// To find the neighbourhood of the result.
    Search,
    /// To refine the result.
    Near,
    /// To confirm the result, four times as long as the others; only in runs of earlier versions.
    Confirm,
}

/// The judgement of a rate against its objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepOutcome {
    /// The step met the objective.
    Held,
    /// The step missed the objective.
    Missed,
    /// The step missed the objective, and something other than gateway, load generator and upstream
    /// disturbed it; only in runs of earlier versions, which repeated such steps. Later versions
    /// derive disturbance from the machine's figures.
    Disturbed,
}
