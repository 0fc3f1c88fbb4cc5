//! The result of a search.

use serde::Serialize;

use super::curve::Curve;
use super::lapses::Lapses;
use super::{Plan, Tried};
use crate::Interval;

pub const REPEATS_MIN: usize = 3;

/// The maximum relative error of a rate that was converted to a logarithm and back.
const ROUNDING: f64 = 1e-9;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outcome {
    Found(Sustained),
    /// No rate is sustained, because too many steps miss regardless of the rate.
    Lapsing {
        lapses: Lapses,
        /// The rate at which a step meets the objective half of the time.
        half: Rate,
    },
    /// The gateway sustained the highest rate that was tried, so the result is at least this rate.
    AtLeast {
        rate_per_second: f64,
        /// The number of steps at that rate that held.
        held: u32,
        tried: u32,
    },
    /// The gateway missed the objective at the lowest rate that was tried, so the result is below
    /// this rate.
    Below {
        rate_per_second: f64,
    },
}

/// The rate at which a step meets the objective with 95 % probability.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sustained {
    #[serde(flatten)]
    pub rate: Rate,
    pub probability: f64,
    /// The rate at which a step meets the objective half of the time.
    pub half: Rate,
    /// For each repeat, the rate at the middle of its process's curve: half of the steps hold
    /// there, not counting lapses.
    pub knees_per_second: Vec<f64>,
    /// The indices of the repeats whose processes differ from the others by more than chance
    /// explains.
    pub deviating: Vec<usize>,
    pub lapses: Lapses,
}

/// A rate with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    pub rate_per_second: f64,
    /// `None` with fewer than [`REPEATS_MIN`] repeats.
    pub interval: Option<Interval>,
}

/// Returns the result of these repeats, or `None` if they have no steps.
pub fn outcome(plan: &Plan, repeats: &[Vec<Tried>]) -> Option<Outcome> {
    let steps = || repeats.iter().flatten();
    let rates = || steps().map(|it| it.rate_per_second);
    let (lowest, highest) = (rates().reduce(f64::min)?, rates().reduce(f64::max)?);
    if repeats.iter().any(|it| plan.is_below(it)) || steps().all(|it| !it.held) {
        let rate_per_second = exact(lowest, plan.min_per_second);
        return Some(Outcome::Below { rate_per_second });
    }
    Some(match Curve::fit(repeats, plan.resolution.ln_1p()) {
        Some(Outcome::Found(found)) if found.rate.rate_per_second >= highest => {
            at_least(plan, highest, repeats)
        }
        Some(found) => found,
        None => at_least(plan, highest, repeats),
    })
}

impl Sustained {
    /// Reports whether the share of steps that miss regardless of the rate may be too large for a
    /// sustained rate.
    pub fn may_lapse(&self) -> bool {
        self.lapses.interval.high > 1.0 - self.probability
    }
}

fn at_least(plan: &Plan, highest: f64, repeats: &[Vec<Tried>]) -> Outcome {
    let there = repeats
        .iter()
        .flatten()
        .filter(|it| it.rate_per_second >= highest * (1.0 - ROUNDING));
    let held = there.clone().filter(|it| it.held).count();
    Outcome::AtLeast {
        rate_per_second: exact(highest, plan.max_per_second),
        held: u32::try_from(held).unwrap_or(u32::MAX),
        tried: u32::try_from(there.count()).unwrap_or(u32::MAX),
    }
}

/// Returns the limit if the rate differs from it only by rounding, otherwise the rate.
fn exact(rate: f64, limit: f64) -> f64 {
    if (rate / limit - 1.0).abs() <= ROUNDING {
        limit
    } else {
        rate
    }
}
