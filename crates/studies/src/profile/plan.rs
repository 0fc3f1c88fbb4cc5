//! Plans a profile of CPU time.

use gatebench_model::{Flame, HumanDuration, Plan, Study};

use crate::choice::{Given, StudyChoice};

/// A profile that a user requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameChoice {
    /// The length of the measurement, which replaces that of the load profile.
    pub duration: Option<HumanDuration>,
    pub flame: Flame,
}

impl StudyChoice for FlameChoice {
    fn duration(&self) -> Option<HumanDuration> {
        self.duration
    }

    fn plan(&self, plan: &mut Plan, _given: Given<'_>) {
        plan.study = Study::Profile(self.flame);
    }
}
