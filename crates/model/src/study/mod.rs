//! The studies that a run can have, and their settings.
//!
//! Other crates use the methods of [`Study`] instead of matching on the kind, except for
//! `gatebench_studies`, which has a module for each study.

pub mod ab;
pub mod capacity;
pub mod isolation;
mod keys;
pub mod measure;

use std::time::Duration;

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::ab::AbTest;
use self::capacity::{Capacity, STEPS_MAX};
use self::isolation::Isolation;
use self::keys::Keys;
use self::measure::Shares;
use crate::{Length, Phase, Settle};

/// The study of a run. In JSON, it is a key of the plan. A plan that only measures its loads has no
/// such key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Keys", into = "Keys")]
pub enum Study {
    /// The loads of the profile, optionally followed by loads at shares of each gateway's
    /// saturation.
    Measure(Option<Shares>),
    /// An A/B test.
    Ab(AbTest),
    /// A search for the highest rate at which a gateway meets an objective. Each trial of a gateway
    /// is a repeat.
    Capacity(Capacity),
    /// A long load on one gateway, in one or more segments.
    Soak(Soak),
    /// A profile of CPU time.
    Profile(Flame),
    /// Isolation tests, one or more.
    Isolation(Vec<Isolation>),
    /// A specification, run for each requested version of a gateway.
    Versions(Specified),
    /// Cold starts, and the time until the steady state.
    ColdStart(ColdStart),
}

/// Cold starts of gateways. The study measures the time to the first correct response, at which the
/// loads begin, and the number of requests until the CPU time per request is close to its steady
/// state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ColdStart {
    /// The tolerance for the steady state, in percent.
    #[serde(default = "within_percent")]
    #[schemars(range(min = 1, max = 50))]
    pub within_percent: u32,
}

fn within_percent() -> u32 {
    5
}

/// One gateway under one load for a long time. Each trial of the plan is a segment: a process, from
/// its start to its end or to an interrupt. Resuming a soak adds a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Soak {
    /// The total measured time of all segments.
    pub duration: HumanDuration,
    /// Memory growth that is tolerated, in bytes per hour.
    pub growth_bytes_per_hour: u64,
}

/// The sampling of stacks during measurements, to find where a gateway spends CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flame {
    /// Samples per second on each core.
    pub samples_per_second: u32,
    /// The method of reading stacks.
    pub stacks: Stacks,
}

/// The methods of finding the callers of a sampled function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stacks {
    /// With the gateway's own profiler if its folder has one, otherwise with unwind tables.
    Own,
    /// With unwind tables, which most programs have. Each sample includes a copy of the stack.
    Dwarf,
    /// With frame pointers, which only some programs have. This costs less than unwind tables.
    FramePointers,
}

/// The parts of a specification that a plan has in addition to its suite and its load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Specified {
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Threads of the load generator, if they can be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// True if the runs of each version are combined.
    pub combines: bool,
    /// True if the report names the error logs.
    pub saves_error_log: bool,
    /// The number of retries, in a plan of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
    /// The wait for a quiet machine before each load, in a plan of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
}

impl Default for Study {
    fn default() -> Self {
        Self::Measure(None)
    }
}

impl Study {
    /// Reports whether the run only measures its loads, with or without loads at shares of
    /// saturation.
    pub fn only_measures(&self) -> bool {
        matches!(self, Self::Measure(_))
    }

    pub fn ab(&self) -> Option<&AbTest> {
        match self {
            Self::Ab(ab_test) => Some(ab_test),
            _ => None,
        }
    }

    pub fn capacity(&self) -> Option<&Capacity> {
        match self {
            Self::Capacity(capacity) => Some(capacity),
            _ => None,
        }
    }

    pub fn profile(&self) -> Option<Flame> {
        match self {
            Self::Profile(flame) => Some(*flame),
            _ => None,
        }
    }

    pub fn versions(&self) -> Option<&Specified> {
        match self {
            Self::Versions(specified) => Some(specified),
            _ => None,
        }
    }

    pub(crate) fn has_phase(&self, block: u32, phase: &Phase) -> bool {
        self.ab().is_none_or(|it| it.has_phase(block, phase))
    }

    /// Reports whether the verdict of the study may depend on this block.
    pub(crate) fn decides_in(&self, block: u32) -> bool {
        self.ab().is_none_or(|ab_test| ab_test.decides_in(block))
    }

    /// Returns the maximum number of loads that follow the profile's loads in a trial.
    pub fn further_loads_max(&self) -> u32 {
        match self {
            Self::Measure(Some(shares)) => shares.loads(),
            Self::Capacity(_) => STEPS_MAX,
            _ => 0,
        }
    }

    /// Returns the expected duration of the loads that follow the profile's loads in a trial.
    pub(crate) fn further_loads_take(&self) -> Duration {
        match self {
            Self::Measure(Some(shares)) => shares.expected(),
            Self::Capacity(capacity) => capacity.expected(),
            _ => Duration::ZERO,
        }
    }

    /// Returns the first load after the profile's loads, if it does not depend on a measurement.
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

    pub fn engine_threads(&self) -> Option<u32> {
        self.versions()?.threads
    }

    /// Reports whether a trial that is stopped early is valid. A soak or profile that is stopped
    /// early merely covers less time.
    pub fn may_be_stopped(&self) -> bool {
        matches!(self, Self::Soak(_) | Self::Profile(_))
    }

    /// Reports whether trials are segments of one long measurement. Each second of a segment
    /// counts, no matter how the segment ended, and resuming a run adds a segment.
    pub fn is_in_segments(&self) -> bool {
        matches!(self, Self::Soak(_))
    }

    /// Reports whether the result requires several blocks. A soak does not, because it has its own
    /// verdict, and neither does a capacity search, which has its own interval.
    pub fn needs_blocks(&self) -> bool {
        !matches!(self, Self::Soak(_) | Self::Capacity(_))
    }
}

/// The study of a suite. A command that runs another study takes precedence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuiteStudy {
    /// Measures at these shares of each gateway's saturation, in percent, after the suite's loads,
    /// like `--at`.
    At(#[schemars(length(min = 1), inner(range(min = 1, max = 99)))] Vec<u32>),
    /// Measures cold starts. The load must be `cold`.
    ColdStart(ColdStart),
}

impl SuiteStudy {
    pub fn of_length(&self, length: Length) -> Study {
        match self {
            Self::At(percents) => Study::Measure(Some(Shares::new(percents.clone(), length))),
            Self::ColdStart(study) => Study::ColdStart(*study),
        }
    }
}

#[cfg(test)]
mod tests;
