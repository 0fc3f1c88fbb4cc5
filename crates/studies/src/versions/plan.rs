//! A specification: its scenarios and its load in place of a suite's.

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
