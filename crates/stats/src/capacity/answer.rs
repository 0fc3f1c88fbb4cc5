//! What a search came to.

use serde::Serialize;

use super::curve::Curve;
use super::{Plan, Tried};
use crate::Interval;

/// Repeats from which on there is an interval.
pub const REPEATS_MIN: usize = 3;

/// What a search came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// The rate that is sustained.
    Found(Sustained),
    /// The highest rate that was to be tried was sustained: the answer lies above.
    AtLeast {
        /// The highest rate.
        rate_per_second: f64,
        /// Steps at that rate that held.
        held: u32,
        /// Steps at that rate.
        tried: u32,
    },
    /// The lowest rate that was to be tried missed: the answer lies below.
    Below {
        /// The lowest rate.
        rate_per_second: f64,
    },
}

/// The rate at which a step holds the objective with 95 % probability.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sustained {
    /// That rate, with its interval.
    #[serde(flatten)]
    pub rate: Rate,
    /// The probability.
    pub probability: f64,
    /// The rate at which a step holds it half of the time.
    pub half: Rate,
    /// The rate at which each repeat's own process holds it half of the time.
    pub knees_per_second: Vec<f64>,
}

/// A rate with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// In requests per second.
    pub rate_per_second: f64,
    /// None below [`REPEATS_MIN`].
    pub interval: Option<Interval>,
}

/// What these repeats came to; none where there are none.
pub fn answer(plan: &Plan, repeats: &[Vec<Tried>]) -> Option<Answer> {
    let steps = || repeats.iter().flatten();
    let first = steps().next()?;
    let lowest = || steps().fold(first.rate_per_second, |low, it| low.min(it.rate_per_second));
    if repeats.iter().any(|it| plan.is_below(it)) || steps().all(|it| !it.held) {
        return Some(Answer::Below {
            rate_per_second: lowest(),
        });
    }
    let found = Curve::fit(repeats, plan.resolution.ln_1p());
    let highest = steps().fold(first.rate_per_second, |high, it| {
        high.max(it.rate_per_second)
    });
    match found {
        Some(found) if found.rate.rate_per_second < highest => Some(Answer::Found(found)),
        _ => Some(at_least(highest, repeats)),
    }
}

fn at_least(highest: f64, repeats: &[Vec<Tried>]) -> Answer {
    let steps = repeats.iter().flatten();
    let there: Vec<&Tried> = steps
        .filter(|it| it.rate_per_second >= highest * (1.0 - 1e-9))
        .collect();
    let held = there.iter().filter(|it| it.held).count();
    Answer::AtLeast {
        rate_per_second: highest,
        held: u32::try_from(held).unwrap_or(u32::MAX),
        tried: u32::try_from(there.len()).unwrap_or(u32::MAX),
    }
}
