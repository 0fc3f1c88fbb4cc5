//! The study that a user asks for, and what it changes in a plan: the scenarios, their loads, the
//! blocks, and the plan's own [`Study`].

mod ab;
mod cold_start;
mod isolation;
mod measure;
mod soak;

use gatebench_model::{
    Capacity, Flame, HumanDuration, Isolation, Length, LoadProfile, Plan, Scenario, Specification,
    Study, SuiteStudy,
};

pub use ab::AbChoice;
pub use isolation::IsolationChoice;
pub use soak::SoakChoice;

pub(crate) use soak::{go_on, watch_pools};

use super::library::Listed;
use crate::error::RunnerError;

/// A study, as a user asks for it: before the plan is known that it is made for.
#[derive(Clone, Debug, PartialEq)]
pub enum StudyChoice {
    /// Measures the loads, and then at these shares of each gateway's own saturation, in per cent.
    Measure(Vec<u32>),
    /// Compares: the gateways are the candidate, the baseline, and the baseline again.
    Ab(AbChoice),
    /// Searches for capacity, in place of the suite's load.
    Capacity(Capacity),
    /// Tests endurance.
    Soak(SoakChoice),
    /// Takes a profile.
    Profile(FlameChoice),
    /// Tests isolation.
    Isolation(IsolationChoice),
    /// Runs a specification: its scenarios and its load in place of a suite's.
    Versions(Listed<Specification>),
}

/// A profile, as a user asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameChoice {
    /// How long is measured, in place of what the load profile says.
    pub duration: Option<HumanDuration>,
    /// What is sampled.
    pub flame: Flame,
}

impl Default for StudyChoice {
    fn default() -> Self {
        Self::Measure(Vec::new())
    }
}

impl StudyChoice {
    /// Reports whether the run only measures, and so may have a suite's null gateway.
    pub(crate) fn only_measures(&self) -> bool {
        matches!(self, Self::Measure(_))
    }

    /// The specification that the run is made from, if it is made from one.
    pub(crate) fn specification(&self) -> Option<&Listed<Specification>> {
        match self {
            Self::Versions(specification) => Some(specification),
            _ => None,
        }
    }

    /// The load of all scenarios in place of the suite's, if the study has one.
    pub(crate) fn load(&self) -> Option<LoadProfile> {
        match self {
            Self::Capacity(capacity) => Some(capacity.load()),
            Self::Versions(specification) => Some(specification.document.load_profile()),
            _ => None,
        }
    }

    /// How long each load is measured in place of what its profile says, if that was asked for.
    pub(crate) fn duration(&self) -> Option<HumanDuration> {
        match self {
            Self::Soak(soak) => soak.duration,
            Self::Profile(profile) => profile.duration,
            _ => None,
        }
    }

    /// The scenarios with those that the study adds to them, and the tests of isolation among them.
    ///
    /// # Errors
    /// A scenario that cannot show isolation.
    pub(crate) fn scenarios(
        &self,
        listed: Vec<Listed<Scenario>>,
    ) -> Result<(Vec<Listed<Scenario>>, Vec<Isolation>), RunnerError> {
        match self {
            Self::Isolation(isolation) => isolation.scenarios(listed),
            _ => Ok((listed, Vec::new())),
        }
    }

    /// Blocks after those that decide, if the deciding metric has blocks of its own.
    pub(crate) fn other_blocks<'l>(
        &self,
        loads: impl Iterator<Item = &'l LoadProfile>,
    ) -> Option<u32> {
        match self {
            Self::Ab(ab) => ab.other_blocks(loads),
            _ => None,
        }
    }

    /// The study of a plan, of which `others` are the blocks after those that decide. A run that
    /// only measures has the study that its suite asks for.
    ///
    /// # Errors
    /// Shares of saturation, or measured starts, that do not go together with the plan's loads.
    pub(crate) fn of_plan(
        &self,
        plan: &Plan,
        suite: Option<&SuiteStudy>,
        (tests, others): (Vec<Isolation>, Option<u32>),
    ) -> Result<Study, RunnerError> {
        let study = match self {
            Self::Measure(percents) => {
                let asked = (!percents.is_empty()).then(|| SuiteStudy::At(percents.clone()));
                let asked = asked.as_ref().or(suite);
                let length = plan.length.as_ref().map_or(Length::Full, |it| it.length);
                let study = asked.map(|it| it.of_length(length)).unwrap_or_default();
                measure::refuse_unfit(&study, plan)?;
                study
            }
            Self::Ab(ab) => ab.ab_test(plan, others).map(Study::Ab).unwrap_or_default(),
            Self::Capacity(capacity) => Study::Capacity(capacity.clone()),
            Self::Soak(soak) => soak.of_plan(plan).map(Study::Soak).unwrap_or_default(),
            Self::Profile(profile) => Study::Profile(profile.flame),
            Self::Isolation(_) => Study::Isolation(tests),
            Self::Versions(specification) => Study::Versions(specification.document.specified()),
        };
        cold_start::refuse_unfit(&study, plan)?;
        Ok(study)
    }
}
