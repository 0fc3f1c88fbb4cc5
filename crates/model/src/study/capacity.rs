//! The search for the highest rate at which a gateway meets an objective.

use std::time::Duration;

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::{Closed, Open, Spread};
use crate::{LoadProfile, Objective, Phase, Shape};

/// The maximum length of a step, as a multiple of the normal length.
pub const LONGEST_FACTOR: u32 = 4;

/// The maximum number of steps per repeat, including the repeated attempts at disturbed steps.
pub const STEPS_MAX: u32 = 200;

/// The name of the phase that measures the highest rate of a gateway.
pub const SATURATION: &str = "saturation";

/// The normal length of a step divided by the minimum length of each warm-up.
const WARM_UP_PART: u32 = 4;

/// The normal length of a step divided by the length of the saturation phase.
const SATURATION_PART: u32 = 2;

/// The expected duration of a repeat's steps, in step lengths: about four steps in the search and
/// twelve near the result, each with a warm-up of a quarter of its length.
const EXPECTED_STEPS: u32 = 20;

/// The settings of a capacity search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The objective that the gateway must meet at a rate.
    pub objective: Objective,
    /// The measured length of each step. If the objective's highest percentile needs more requests
    /// than a step sends in this time, the step is up to [`LONGEST_FACTOR`] times as long.
    pub step: HumanDuration,
    /// The maximum number of open connections.
    pub connections: u32,
    /// The distribution of arrivals; uniform for runs that do not record it.
    #[serde(default)]
    pub arrivals: Spread,
    /// The highest rate that is tried, in requests per second. The default is four times the
    /// gateway's saturation; a higher value has no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_max_per_second: Option<f64>,
    /// The rate for which the number of cores is calculated, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_for_per_second: Option<f64>,
}

impl Capacity {
    /// The saturation load at the beginning of every trial, including those of the direct variant.
    pub fn load(&self) -> LoadProfile {
        let closed = Shape::Closed(Closed::new(self.connections));
        let measure = HumanDuration(self.step.0 / SATURATION_PART);
        LoadProfile {
            profile: "capacity".into(),
            title: format!(
                "Saturation with {} connections, then a search",
                self.connections
            ),
            cold: false,
            phases: vec![self.phase(SATURATION.into(), closed, measure)],
        }
    }

    /// A step at a rate; its length follows from the field `step`.
    pub fn step(&self, name: String, rate_per_second: f64) -> Phase {
        let longest = HumanDuration(self.step.0 * LONGEST_FACTOR);
        let enough =
            Duration::from_secs_f64(self.objective.samples_needed() / rate_per_second.max(1e-3));
        let measure = HumanDuration(enough.clamp(self.step.0, longest.0));
        let open = Open {
            connections_max: self.connections,
            arrivals: self.arrivals,
            ..Open::new(rate_per_second)
        };
        self.phase(name, Shape::Open(open), measure)
    }

    /// The expected duration of a repeat's steps, excluding the saturation phase.
    pub fn expected(&self) -> Duration {
        self.step.0.saturating_mul(EXPECTED_STEPS)
    }

    fn phase(&self, name: String, shape: Shape, measure: HumanDuration) -> Phase {
        Phase {
            warm_up: HumanDuration(self.step.0 / WARM_UP_PART),
            ..Phase::new(name, shape, measure)
        }
    }
}
