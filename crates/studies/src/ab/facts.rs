//! The result of an A/B test.

use serde::Serialize;

use crate::common::facts::Decision;
use crate::kind::StudyFacts;

/// The decision of an A/B test, and the reason for it.
#[derive(Clone, Debug, Serialize)]
pub struct AbTestFindings {
    /// Label of the variant that is judged.
    pub candidate: String,
    pub baseline: String,
    /// Label of the variant that runs the baseline's gateway a second time.
    pub again: String,
    pub decision: Decision,
    /// The decision and its reason, as one or more sentences.
    pub text: String,
    /// Another possible cause of the difference, and the remedy, as sentences; `None` if no other
    /// cause is suspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caution: Option<String>,
}

impl StudyFacts for AbTestFindings {
    fn key(&self) -> &'static str {
        "ab_test"
    }

    fn decision(&self) -> Option<Decision> {
        Some(self.decision)
    }

    fn decided(&self) -> Vec<String> {
        let caution = self.caution.iter().map(|it| format!("\n{it}"));
        vec![self.text.clone() + &caution.collect::<String>()]
    }
}
