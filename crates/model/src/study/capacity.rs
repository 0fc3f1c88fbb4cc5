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

/// The phase in which a gateway is asked for all it can.
pub const SATURATION: &str = "saturation";

/// Part of a step's length that it is warmed up for.
const WARM_UP_PART: u32 = 4;

/// Part of a step's length that saturation is measured for.
const SATURATION_PART: u32 = 2;

/// The expected steps of a repeat: about four of the search, twelve near the result, and a warm-up
/// each.
const EXPECTED_STEPS: u32 = 20;

/// What is searched, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// What a rate must hold.
    pub objective: Objective,
    /// The measured length of each step; up to [`LONGEST_FACTOR`] times as long if its percentile
    /// needs it.
    pub step: HumanDuration,
    /// Connections opened at the most.
    pub connections: u32,
    /// The spread of arrivals. Uniform in runs that do not record it.
    #[serde(default)]
    pub arrivals: Spread,
    /// The highest rate that is tried, in requests per second; without, more than the gateway manages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_max_per_second: Option<f64>,
    /// The rate for which the number of cores is asked, in requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_for_per_second: Option<f64>,
}

impl Capacity {
    /// The load that every trial begins with, the direct variant's too: all that the connections
    /// get.
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

    /// How long a repeat is expected to take besides its process's start and end.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn capacity(objective: &str) -> Capacity {
        Capacity {
            objective: objective.parse().unwrap(),
            step: HumanDuration::from_millis(4_000),
            connections: 64,
            arrivals: Spread::Poisson,
            rate_max_per_second: None,
            size_for_per_second: None,
        }
    }

    #[test]
    fn a_step_is_long_enough_for_its_percentile() {
        let seconds = |objective: &str, rate| {
            let phase = capacity(objective).step("s".into(), rate);
            let arrivals = match &phase.shape {
                Shape::Open(open) => Some(open.arrivals),
                Shape::Closed(_) => None,
            };
            assert_eq!(arrivals, Some(Spread::Poisson));
            assert_eq!(phase.warm_up, HumanDuration::from_millis(1_000));
            phase.measure.as_secs_f64()
        };
        assert_eq!(seconds("p99<10ms", 20_000.0), 4.0);
        assert_eq!(seconds("p99<10ms", 200.0), 5.0, "1,000 requests");
        assert_eq!(seconds("p99.9<10ms", 200.0), 16.0, "no longer than this");
    }

    #[test]
    fn a_search_that_does_not_say_had_uniform_arrivals() {
        let mut json = serde_json::to_value(capacity("p99<10ms")).unwrap();
        assert_eq!(json["arrivals"], "poisson");
        json.as_object_mut().unwrap().remove("arrivals");
        let old: Capacity = serde_json::from_value(json).unwrap();
        assert_eq!(old.arrivals, Spread::Uniform);
    }

    #[test]
    fn every_trial_begins_with_all_that_the_connections_get() {
        let load = capacity("p99<10ms").load();
        let [phase] = &load.phases[..] else {
            panic!("{load:?}")
        };
        assert_eq!(phase.name, SATURATION);
        assert_eq!(phase.shape, Shape::Closed(Closed::new(64)));
        assert_eq!(phase.measure, HumanDuration::from_millis(2_000));
    }
}
