//! The studies that a run can be made for. Each has a module with its settings.
//!
//! Callers use the methods of [`Study`] instead of matching on its kind.
//! `gatebench_studies` has a folder for each, with all that follows from the settings.

pub mod ab;
pub mod capacity;
pub mod isolation;
mod keys;
pub mod measure;
pub mod profile;
pub mod soak;
pub mod versions;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::ab::AbTest;
use self::capacity::{Capacity, STEPS_MAX};
use self::isolation::Isolation;
use self::keys::Keys;
use self::measure::Shares;
use self::profile::Flame;
use self::soak::Soak;
use self::versions::Specified;
use crate::{Length, Phase};

/// The study that a run is made for. In JSON it is a key of the plan. A plan that only measures its
/// loads has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Keys", into = "Keys")]
pub enum Study {
    /// The loads of the profile, and after them loads at shares of each gateway's saturation if it
    /// has any.
    Measure(Option<Shares>),
    /// A comparison of two gateways.
    Ab(AbTest),
    /// A search for the rate sustained with an objective; each trial of a gateway is a repeat.
    Capacity(Capacity),
    /// An endurance test.
    Soak(Soak),
    /// A profile of CPU time.
    Profile(Flame),
    /// Tests of isolation, one or more.
    Isolation(Vec<Isolation>),
    /// A specification, for one version of a gateway after the other.
    Versions(Specified),
    /// Starts, and the way from there to the steady state.
    ColdStart(ColdStart),
}

/// The start of gateways: the time to the first correct response, and the number of requests until
/// the CPU time per request is near that of the steady state. Its loads begin at that response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColdStart {
    /// The tolerance of that, in percent.
    #[serde(default = "within_percent")]
    #[schemars(range(min = 1, max = 50))]
    pub within_percent: u32,
}

fn within_percent() -> u32 {
    5
}

impl Default for Study {
    fn default() -> Self {
        Self::Measure(None)
    }
}

impl Study {
    /// Reports whether the run only measures, also at shares of saturation.
    pub fn only_measures(&self) -> bool {
        matches!(self, Self::Measure(_))
    }

    /// Returns the comparison of two gateways, if the run is made for one.
    pub fn ab(&self) -> Option<&AbTest> {
        match self {
            Self::Ab(ab_test) => Some(ab_test),
            _ => None,
        }
    }

    /// Returns the search for capacity, if the run is made for one.
    pub fn capacity(&self) -> Option<&Capacity> {
        match self {
            Self::Capacity(capacity) => Some(capacity),
            _ => None,
        }
    }

    /// Returns how gateways are sampled while they are measured, if they are.
    pub fn profile(&self) -> Option<Flame> {
        match self {
            Self::Profile(flame) => Some(*flame),
            _ => None,
        }
    }

    /// Returns the specification that the plan was made from, if it was made from one.
    pub fn versions(&self) -> Option<&Specified> {
        match self {
            Self::Versions(specified) => Some(specified),
            _ => None,
        }
    }

    /// Reports whether a block has this phase.
    pub(crate) fn has_phase(&self, block: u32, phase: &Phase) -> bool {
        self.ab()
            .is_none_or(|ab_test| ab_test.has_phase(block, phase))
    }

    /// Reports whether a block is among those that end with the verdict of the study.
    pub(crate) fn decides_in(&self, block: u32) -> bool {
        self.ab().is_none_or(|ab_test| ab_test.decides_in(block))
    }

    /// Returns the most loads that a trial has after those of the profile.
    pub fn further_loads_max(&self) -> u32 {
        match self {
            Self::Measure(Some(shares)) => shares.loads(),
            Self::Capacity(_) => STEPS_MAX,
            _ => 0,
        }
    }

    /// Returns the expected time of the loads after those of the profile in a trial.
    pub(crate) fn further_loads_take(&self) -> Duration {
        match self {
            Self::Measure(Some(shares)) => shares.expected(),
            Self::Capacity(capacity) => capacity.expected(),
            _ => Duration::ZERO,
        }
    }

    /// Returns the load after those of the profile that depends on no measurement, if there is one.
    pub fn known_load(&self) -> Option<Phase> {
        match self {
            Self::Measure(Some(shares)) => Some(shares.saturation()),
            _ => None,
        }
    }

    /// Reports whether the loads of a trial depend on earlier trials of the same gateway.
    pub fn depends_on_earlier_trials(&self) -> bool {
        self.capacity().is_some()
    }

    /// Returns the number of threads of the load engine, if it is given.
    pub fn engine_threads(&self) -> Option<u32> {
        self.versions()?.threads
    }

    /// Reports whether a trial that is stopped early counts: a soak or a profile is then valid for
    /// a shorter time.
    pub fn may_be_stopped(&self) -> bool {
        matches!(self, Self::Soak(_) | Self::Profile(_))
    }

    /// Reports whether trials are segments of one long measurement: each second of a segment
    /// counts, however it ended, and a resumed run has a segment more.
    pub fn is_in_segments(&self) -> bool {
        matches!(self, Self::Soak(_))
    }

    /// Reports whether the result needs several blocks. A soak has one process and its own
    /// verdict; a search has its own interval.
    pub fn needs_blocks(&self) -> bool {
        !matches!(self, Self::Soak(_) | Self::Capacity(_))
    }
}

/// The study of a suite. A command that makes another study takes precedence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuiteStudy {
    /// Also measures at these shares of each gateway's own saturation, in per cent, as `--at` does.
    At(#[schemars(length(min = 1), inner(range(min = 1, max = 99)))] Vec<u32>),
    /// Measures starts, with a load that is `cold`.
    ColdStart(ColdStart),
}

impl SuiteStudy {
    /// Returns the study of a run of this length.
    pub fn of_length(&self, length: Length) -> Study {
        match self {
            Self::At(percents) => Study::Measure(Some(Shares::new(percents.clone(), length))),
            Self::ColdStart(study) => Study::ColdStart(*study),
        }
    }
}

#[cfg(test)]
mod tests;
