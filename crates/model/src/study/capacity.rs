//! The search for the rate sustained with an objective, for which a plan may be made.

use std::time::Duration;

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::{Closed, Open, Spread};
use crate::{LoadProfile, Objective, Phase, Shape};

/// The longest step, in lengths of a normal one, if its percentile needs more requests.
pub const LONGEST_FACTOR: u32 = 4;

/// Steps of one repeat. A search without noise takes 16 to 25; a disturbed step takes up to three.
pub const STEPS_MAX: u32 = 200;

/// The phase that measures the highest rate of a gateway.
pub const SATURATION: &str = "saturation";

/// The divisor of a step's length that gives its warm-up.
const WARM_UP_PART: u32 = 4;

/// The divisor of a step's length that gives the measurement of saturation.
const SATURATION_PART: u32 = 2;

/// The expected steps of a repeat: about four of the search, twelve near the result, and a warm-up
/// each.
const EXPECTED_STEPS: u32 = 20;

/// The settings of the search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The objective that a rate must hold.
    pub objective: Objective,
    /// The measured length of each step; up to [`LONGEST_FACTOR`] times as long if its percentile
    /// needs it.
    pub step: HumanDuration,
    /// The maximum number of open connections.
    pub connections: u32,
    /// The spread of arrivals. Uniform in runs that do not record it.
    #[serde(default)]
    pub arrivals: Spread,
    /// The highest rate that is tried, in requests per second [default: above the saturation of the
    /// gateway].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_max_per_second: Option<f64>,
    /// The rate for which the number of cores is calculated, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_for_per_second: Option<f64>,
}

impl Capacity {
    /// The load at the beginning of every trial, also of the direct variant: saturation.
    pub fn load(&self) -> LoadProfile {
        let closed = Shape::Closed(Closed::new(self.connections));
        let measure = HumanDuration(self.step.0 / SATURATION_PART);
        LoadProfile {
            profile: "capacity".into(),
            title: format!(
                "All that {} connections get, then a search",
                self.connections
            ),
            cold: false,
            phases: vec![self.phase(SATURATION.into(), closed, measure)],
        }
    }

    /// A step at a rate, long enough to report its highest percentile, up to [`LONGEST_FACTOR`]
    /// times the normal length.
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

    /// The expected time of a repeat besides its process's start and end.
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
