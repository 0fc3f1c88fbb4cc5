//! A study that a user requests, before its plan is known.

use std::fmt::Debug;

use gatebench_model::study::isolation::NotIsolable;
use gatebench_model::{
    GatewayFolder, HumanDuration, Isolation, LoadProfile, Plan, Scenario, SuiteStudy,
};

/// A study that may change the scenarios, the loads, the number of blocks and the plan.
pub trait StudyChoice: Debug {
    /// Reports whether the run only measures. Only such a run can use the study and the null
    /// gateway that the suite requests.
    fn only_measures(&self) -> bool {
        false
    }

    /// Returns the load that replaces the suite's load for all scenarios, if the study has one.
    fn load(&self) -> Option<LoadProfile> {
        None
    }

    /// Returns the length that the user requests for each measurement, if any. It replaces the
    /// length in the load profile.
    fn duration(&self) -> Option<HumanDuration> {
        None
    }

    /// Returns an isolation test, and the scenarios that replace this scenario, if the study tests
    /// isolation.
    ///
    /// # Errors
    /// Fails if the scenario has fewer than two groups, or no group with the requested name.
    fn isolated(&self, _of: &Scenario) -> Result<Option<(Isolation, [Scenario; 3])>, PlanError> {
        Ok(None)
    }

    /// Returns the number of blocks that follow the deciding blocks; `None` if the deciding metric
    /// has no separate blocks.
    fn other_blocks(&self, _loads: &[&LoadProfile]) -> Option<u32> {
        None
    }

    fn plan(&self, plan: &mut Plan, given: Given<'_>);
}

/// The facts that a study needs in order to change the plan.
#[derive(Default)]
pub struct Given<'a> {
    pub suite: Option<&'a SuiteStudy>,
    /// The isolation tests among the scenarios.
    pub tests: Vec<Isolation>,
    /// The number of blocks that follow the deciding ones.
    pub others: Option<u32>,
    /// The folders of the gateways that gatebench starts.
    pub gateways: Vec<&'a GatewayFolder>,
}

/// A contradiction between a plan and its study, or between two settings of a cold load.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// In a side-by-side load, each rate would be a share of the saturation of only one gateway.
    #[error(
        "--at measures one gateway at a time, but the load '{load}' measures them side by side"
    )]
    SharesSideBySide { load: String },
    /// A phase of the profile already has the name of a load at a share of saturation.
    #[error("--at adds a load named '{load}', but the load profile already has one")]
    ShareTaken { load: String },
    /// The load does not start cold, so it would not measure a start.
    #[error("the study 'cold-start' needs a load that starts cold")]
    NotCold,
    /// The gateways would wait for each other before the first phase, so the load would not begin
    /// with the start.
    #[error(
        "the load profile '{profile}' starts cold, but has a phase with `side_by_side`, \
         for which gateways wait for each other"
    )]
    ColdSideBySide { profile: String },
    /// A scenario has fewer than two groups, or no group with the requested name.
    #[error(transparent)]
    NotIsolable(#[from] NotIsolable),
}

impl PlanError {
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::SharesSideBySide { .. } => {
                "omit --at or the suite's `study`, or choose another load with --load"
            }
            Self::ShareTaken { .. } => {
                "rename that phase in the load profile, omit --at, or choose another load with --load"
            }
            Self::NotCold => "omit --load, or set `cold: true` in the load profile",
            Self::ColdSideBySide { .. } => {
                "remove `cold: true` or `side_by_side` from the load profile, or choose another \
                 load with --load"
            }
            Self::NotIsolable(_) => {
                "choose a scenario with a good group and failing groups, such as soap-1-errors, and \
                 name its good group with --group"
            }
        }
    }
}
