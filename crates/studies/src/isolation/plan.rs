//! Plans isolation tests: each scenario with failing groups, and its two healthy twins.

use gatebench_model::{Isolation, Plan, Scenario, Study};

use crate::choice::{Given, PlanError, StudyChoice};

/// An isolation test that a user requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IsolationChoice {
    /// The group that must not be harmed [default: the group `good` if it exists, otherwise the
    /// first].
    pub group: Option<String>,
}

impl StudyChoice for IsolationChoice {
    fn isolated(&self, of: &Scenario) -> Result<Option<(Isolation, [Scenario; 3])>, PlanError> {
        Ok(Some(Isolation::of(of, self.group.as_deref())?))
    }

    fn plan(&self, plan: &mut Plan, given: Given<'_>) {
        plan.study = Study::Isolation(given.tests);
    }
}
