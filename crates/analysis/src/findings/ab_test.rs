//! What a run that was made for a comparison comes to.

use serde::Serialize;

/// A comparison that is over.
#[derive(Clone, Debug, Serialize)]
pub struct AbTestFindings {
    /// Label of the variant that is judged.
    pub candidate: String,
    /// Label of the variant it is compared with.
    pub baseline: String,
    /// Label of the baseline's other self.
    pub again: String,
    /// What it means for whoever asked.
    pub decision: Decision,
    /// Why, in a sentence with its full stop.
    pub text: String,
    /// Another cause that the difference may have, and what to do, as sentences; none where it has
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

/// What a comparison means for whoever asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The candidate is better or not changed, in every scenario.
    Fine,
    /// The candidate is worse in a scenario.
    Worse,
    /// Nothing may be said: a scenario is not settled, or the baseline differs from itself.
    Open,
}
