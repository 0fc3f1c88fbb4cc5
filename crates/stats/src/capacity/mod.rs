//! Searches for the rate that a gateway sustains under an objective. The search depends only on the
//! plan and the recorded steps: [`Plan::next`] returns the next step of a repeat, and
//! [`fn@outcome`] returns the result of the repeats.
//!
//! Each repeat uses a fresh gateway process. The search raises or lowers the rate until one rate
//! has met the objective and a higher one has missed it, and then bisects between the two on a
//! logarithmic scale. If the rate reaches a limit first, there is no bisection. The last steps are
//! near the rate that holds most of the time: the rate rises a little after a step that held, and
//! falls four times as far after a step that missed. A logistic curve is fitted to all steps of all
//! repeats ([`curve`]).
//!
//! Source: C. Kaernbach, *Simple adaptive testing with the weighted up-down method*, Perception &
//! Psychophysics 49(3), 1991.

mod curve;
mod deviating;
mod lapses;
mod outcome;
mod walk;

pub use curve::{SUSTAINED_PROBABILITY, holds};
pub use lapses::Lapses;
pub use outcome::{Outcome, Rate, Sustained, outcome};

use crate::random::Random;
use walk::Walk;

/// The default distance between rates near the result, relative to the rate.
pub const RESOLUTION: f64 = 0.02;

/// The default number of repeats.
pub const REPEATS: usize = 5;

/// The number of steps per repeat near the rate that holds most of the time.
pub const NEAR_STEPS: usize = 12;

/// The first rate of a search, as a share of the throughput at saturation.
const START_SHARE: f64 = 0.7;

/// The lowest and the highest rate to try, as shares of the throughput at saturation. With the same
/// connections, a gateway cannot sustain a rate above saturation. The upper limit is nevertheless
/// higher, because the saturation may have been measured while other processes used the cores.
const SHARES: (f64, f64) = (0.01, 4.0);

/// The factor between the first two rates of the first repeat. It is squared with each step until
/// the outcome changes.
const FIRST_STRIDE: f64 = 2.0;

/// The first stride of the other repeats, in resolutions. It is small because the earlier repeats
/// have shown roughly where to search.
const LATER_STRIDE: f64 = 4.0;

/// The fractional part of the golden ratio. The fractional parts of its multiples, however many,
/// are spread evenly from 0 to 1.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// The settings of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The first rate of the search, in requests per second, before a shift by at most half the
    /// resolution.
    pub start_per_second: f64,
    pub min_per_second: f64,
    pub max_per_second: f64,
    /// The distance between rates near the result: 0.02 is two percent.
    pub resolution: f64,
    /// The number of repeats, each with a fresh process. An interval requires at least
    /// [`outcome::REPEATS_MIN`].
    pub repeats: usize,
    /// The seed of the shifts of the repeats' first rates.
    pub seed: u64,
}

/// A step that was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    pub rate_per_second: f64,
    /// True if the step met the objective.
    pub held: bool,
    /// The step's length, relative to the length of the steps for which the result is valid.
    pub length: f64,
}

/// The next step to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    pub rate_per_second: f64,
    /// True if the step is one of the last [`NEAR_STEPS`] of its repeat.
    pub is_near: bool,
}

impl Plan {
    /// Creates a plan around the gateway's saturation, measured with a closed load on the same
    /// number of connections. If the user sets `max_per_second`, no higher rate is tried.
    pub fn around(
        saturation_per_second: f64,
        max_per_second: Option<f64>,
        repeats: usize,
        seed: u64,
    ) -> Self {
        let usual = saturation_per_second * SHARES.1;
        let max = max_per_second.map_or(usual, |max| max.min(usual));
        Self {
            start_per_second: (saturation_per_second * START_SHARE).min(max),
            min_per_second: (saturation_per_second * SHARES.0).min(max),
            max_per_second: max,
            resolution: RESOLUTION,
            repeats,
            seed,
        }
    }

    /// Returns the next step of a repeat that has taken the steps `current`, after the repeats
    /// `earlier`. Returns `None` if the repeat or the search has ended, or if the plan is
    /// impossible. A plan is possible if its rates are positive, finite and in order (min ≤ start ≤
    /// max), its resolution is between 0 and 1, and it has repeats.
    pub fn next(&self, earlier: &[Vec<Tried>], current: &[Tried]) -> Option<Next> {
        let has_ended = earlier.len() >= self.repeats || earlier.iter().any(|it| self.is_below(it));
        if !self.is_possible() || has_ended {
            return None;
        }
        let mut walk = self.begin(earlier);
        current.iter().for_each(|tried| walk.take(tried));
        walk.next()
    }

    /// Reports whether a repeat ended because it missed the objective even at the lowest rate.
    fn is_below(&self, repeat: &[Tried]) -> bool {
        let is_at_min = |it: &Tried| it.rate_per_second <= self.min_per_second * (1.0 + 1e-9);
        repeat.last().is_some_and(is_at_min) && repeat.iter().all(|it| !it.held)
    }

    fn is_possible(&self) -> bool {
        let rates = self.min_per_second > 0.0
            && self.min_per_second <= self.start_per_second
            && self.start_per_second <= self.max_per_second
            && self.max_per_second.is_finite();
        rates && self.resolution > 0.0 && self.resolution < 1.0 && self.repeats > 0
    }

    /// Begins a repeat: the first at the plan's first rate, the others at the geometric mean of the
    /// rates of the last steps of all earlier repeats. Each of these first rates is shifted by a
    /// different part of the resolution, so the effect of the grid of rates averages out.
    fn begin(&self, earlier: &[Vec<Tried>]) -> Walk {
        let resolution = self.resolution.ln_1p();
        let near = earlier.iter().flat_map(|repeat| {
            let first = repeat.len().saturating_sub(NEAR_STEPS);
            repeat[first..].iter().map(|it| it.rate_per_second.ln())
        });
        let near: Vec<f64> = near.collect();
        let (middle, stride) = if near.is_empty() {
            (self.start_per_second.ln(), FIRST_STRIDE.ln())
        } else {
            let mean = near.iter().sum::<f64>() / near.len() as f64;
            (mean, LATER_STRIDE * resolution)
        };
        let first = Random::seeded(self.seed).uniform();
        let offset = (first + earlier.len() as f64 * GOLDEN).fract() - 0.5;
        let limits = (self.min_per_second.ln(), self.max_per_second.ln());
        Walk::new(limits, resolution, middle + offset * resolution, stride)
    }
}
