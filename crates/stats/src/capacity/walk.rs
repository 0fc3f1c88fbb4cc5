//! One repeat of a search, from its first rate to the steps near the result.

use super::{NEAR_STEPS, Next, Tried};

/// The steps near the result begin when the rate that held and the rate that missed are at most
/// this many resolutions apart.
const BRACKET: f64 = 4.0;

/// The number of resolutions by which the rate falls after a miss near the result. After a step
/// that held, the rate rises by one resolution. The steps therefore gather around the rate at which
/// four of five hold. This rate is close enough to both the middle of the curve and the sustained
/// rate to locate them.
const DOWN: f64 = 4.0;

const ROUNDING: f64 = 1e-9;

/// All rates are logarithms.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    min: f64,
    max: f64,
    resolution: f64,
    rate: f64,
    /// The distance to the next rate, which doubles with each step until the outcome changes.
    stride: f64,
    held: Option<f64>,
    /// The last rate that missed before the steps near the result.
    missed: Option<f64>,
    /// The number of steps near the result so far; `None` until they begin.
    near: Option<usize>,
}

impl Walk {
    pub(super) fn new(limits: (f64, f64), resolution: f64, start: f64, stride: f64) -> Self {
        let (min, max) = limits;
        Self {
            min,
            max,
            resolution,
            rate: start.clamp(min, max),
            stride,
            held: None,
            missed: None,
            near: None,
        }
    }

    pub(super) fn next(&self) -> Option<Next> {
        let is_over = self.near.is_some_and(|taken| taken >= NEAR_STEPS);
        (!is_over).then(|| Next {
            rate_per_second: self.rate.exp(),
            is_near: self.near.is_some(),
        })
    }

    /// Records the outcome of a step, which may have been at any rate.
    pub(super) fn take(&mut self, tried: &Tried) {
        let rate = tried.rate_per_second.ln();
        match self.near {
            Some(taken) => self.take_near(taken, rate, tried.held),
            None => self.take_far(rate, tried.held),
        }
        self.rate = self.rate.clamp(self.min, self.max);
    }

    fn take_near(&mut self, taken: usize, rate: f64, held: bool) {
        if held {
            self.held = Some(rate);
        }
        let is_hopeless = self.held.is_none() && rate <= self.min + ROUNDING;
        self.near = Some(if is_hopeless { NEAR_STEPS } else { taken + 1 });
        self.rate = if held {
            rate + self.resolution
        } else {
            rate - DOWN * self.resolution
        };
    }

    fn take_far(&mut self, rate: f64, held: bool) {
        if held {
            self.held = Some(rate);
        } else {
            self.missed = Some(rate);
        }
        match (self.held, self.missed) {
            (Some(held), Some(missed)) if missed - held > BRACKET * self.resolution + ROUNDING => {
                self.rate = held.midpoint(missed);
            }
            (Some(held), Some(_)) => self.begin_near(held),
            (Some(_), None) if rate >= self.max - ROUNDING => self.begin_near(self.max),
            (None, Some(_)) if rate <= self.min + ROUNDING => self.begin_near(self.min),
            (Some(_), None) => self.outward(rate + self.stride),
            (None, _) => self.outward(rate - self.stride),
        }
    }

    fn begin_near(&mut self, rate: f64) {
        (self.rate, self.near) = (rate, Some(0));
    }

    fn outward(&mut self, rate: f64) {
        self.rate = rate;
        self.stride *= 2.0;
    }
}
