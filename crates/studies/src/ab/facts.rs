//! The result of a run that was made for a comparison.

use serde::Serialize;

use crate::common::facts::Decision;
use crate::kind::StudyFacts;

/// A comparison that is over.
#[derive(Clone, Debug, Serialize)]
pub struct AbTestFindings {
    /// Label of the variant that is judged.
    pub candidate: String,
    /// Label of the variant it is compared with.
    pub baseline: String,
    /// Label of the baseline's other self.
    pub again: String,
    pub decision: Decision,
    /// Why, in a sentence with its full stop.
    pub text: String,
    /// Another cause that the difference may have, and what to do, as sentences; none if it has
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

impl StudyFacts for AbTestFindings {
    fn key(&self) -> &'static str {
        "duel"
    }

    fn decision(&self) -> Option<Decision> {
        Some(self.decision)
    }

    fn decided(&self) -> Vec<String> {
        let caution = self.caution.iter().map(|it| format!("\n{it}"));
        vec![self.text.clone() + &caution.collect::<String>()]
    }
}
