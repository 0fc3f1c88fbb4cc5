//! Plans a specification, whose scenarios and load replace those of a suite.

use gatebench_model::{LoadProfile, Plan, Specification, Study};

use crate::choice::{Given, StudyChoice};

impl StudyChoice for Specification {
    fn load(&self) -> Option<LoadProfile> {
        Some(self.load_profile())
    }

    fn plan(&self, plan: &mut Plan, _given: Given<'_>) {
        plan.study = Study::Versions(self.specified());
    }
}
