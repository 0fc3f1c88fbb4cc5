//! Loads at shares of each gateway's saturation, which follow the loads of a plan.

use std::time::Duration;

use gatebench_config::HumanDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capacity::SATURATION;
use crate::load::{Closed, Open, Spread};
use crate::{Length, Phase, Shape};

/// The default of [`Shares::connections`].
pub const CONNECTIONS: u32 = 64;

/// Shares of each gateway's own saturation. In each trial of a gateway, a closed load measures the
/// saturation, and open loads at these shares of it follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    /// The percentages, in ascending order without duplicates.
    #[schemars(length(min = 1), inner(range(min = 1, max = 99)))]
    pub percents: Vec<u32>,
    /// The number of connections of the closed load, and the maximum number for each open load.
    pub connections: u32,
    /// The distribution of arrivals.
    pub arrivals: Spread,
    /// The length of the warm-up before each measurement, with the same load. Its figures are
    /// discarded.
    pub warm_up: HumanDuration,
    /// The measured length of each load.
    pub measure: HumanDuration,
}

impl Shares {
    /// Creates the settings for these percentages, with durations that suit a run of this length.
    pub fn new(mut percents: Vec<u32>, length: Length) -> Self {
        percents.sort_unstable();
        percents.dedup();
        let (warm_up, measure) = match length {
            Length::Smoke => (100, 500),
            Length::Quick => (500, 2_000),
            Length::Full | Length::AsPublished => (1_000, 3_000),
        };
        Self {
            percents,
            connections: CONNECTIONS,
            arrivals: Spread::Poisson,
            warm_up: HumanDuration::from_millis(warm_up),
            measure: HumanDuration::from_millis(measure),
        }
    }

    pub fn saturation(&self) -> Phase {
        let closed = Shape::Closed(Closed::new(self.connections));
        self.phase(SATURATION.into(), closed)
    }

    pub fn at(&self, percent: u32, saturation_per_second: f64) -> Phase {
        let open = Open {
            connections_max: self.connections,
            arrivals: self.arrivals,
            ..Open::new(saturation_per_second * f64::from(percent) / 100.0)
        };
        self.phase(name(percent), Shape::Open(open))
    }

    /// The names of these loads. No load of the profile may have one of these names.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let saturation = std::iter::once(SATURATION.to_owned());
        saturation.chain(self.percents.iter().map(|percent| name(*percent)))
    }

    /// The number of these loads in a trial: the saturation, and one for each share.
    pub fn loads(&self) -> u32 {
        u32::try_from(self.percents.len()).map_or(u32::MAX, |shares| shares.saturating_add(1))
    }

    /// The expected additional time of a trial.
    pub fn expected(&self) -> Duration {
        let each = self.warm_up.0.saturating_add(self.measure.0);
        each.saturating_mul(self.loads())
    }

    fn phase(&self, name: String, shape: Shape) -> Phase {
        Phase {
            warm_up: self.warm_up,
            ..Phase::new(name, shape, self.measure)
        }
    }
}

fn name(percent: u32) -> String {
    format!("at-{percent}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_shares_of_the_saturation() {
        let shares = Shares::new(vec![90, 50, 90], Length::Quick);
        assert_eq!(shares.percents, [50, 90]);
        assert_eq!(shares.expected(), Duration::from_millis(7_500));
        let names: Vec<String> = shares.names().collect();
        assert_eq!(names, ["saturation", "at-50", "at-90"]);
        let phase = shares.at(50, 30_000.0);
        assert_eq!(
            (phase.name.as_str(), phase.measure),
            ("at-50", HumanDuration::from_millis(2_000))
        );
        let Shape::Open(open) = phase.shape else {
            panic!("{phase:?}")
        };
        assert_eq!(
            (open.rate_per_second, open.connections_max, open.arrivals),
            (15_000.0, 64, Spread::Poisson)
        );
        assert_eq!(
            shares.saturation().shape,
            Shape::Closed(Closed::new(CONNECTIONS))
        );
    }
}
