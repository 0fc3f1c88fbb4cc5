//! One repeat of a search, on one fresh process.

use super::{Phase, Plan};

/// What an outcome leads to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Next {
    /// Another step.
    Step,
    /// The repeat's answer, in requests per second.
    Knee(f64),
    /// A long phase at the highest rate held.
    HoldsAtMax,
    /// A long phase at the lowest rate missed.
    MissesAtMin,
}

/// The state of one repeat. Rates are logarithms.
#[derive(Clone, Debug)]
pub(super) struct Climb {
    min: f64,
    max: f64,
    resolution: f64,
    /// What is tried now.
    rate: f64,
    phase: Phase,
    /// The step outwards while all outcomes are alike; it doubles.
    stride: f64,
    /// The highest rate that held and the lowest that missed, of the phases of this length.
    held: Option<f64>,
    missed: Option<f64>,
}

impl Climb {
    /// Begins within half a resolution of `start_per_second`, at the `offset` (0 to 1) in it.
    pub(super) fn new(plan: &Plan, start_per_second: f64, offset: f64, stride: f64) -> Self {
        let (min, max) = (plan.min_per_second.ln(), plan.max_per_second.ln());
        let resolution = plan.resolution.ln_1p();
        let start = start_per_second.ln() + (offset - 0.5) * resolution;
        Self {
            min,
            max,
            resolution,
            rate: start.clamp(min, max),
            phase: Phase::Short,
            stride: stride.ln(),
            held: None,
            missed: None,
        }
    }

    pub(super) fn step(&self) -> (f64, Phase) {
        (self.rate.exp(), self.phase)
    }

    pub(super) fn record(&mut self, held: bool) -> Next {
        if held {
            self.held = Some(self.rate);
        } else {
            self.missed = Some(self.rate);
        }
        match (self.held, self.missed, self.phase) {
            (Some(held), Some(missed), Phase::Long) => {
                return Next::Knee((held.midpoint(missed)).exp());
            }
            // A thousandth forgives what logarithms lose.
            (Some(held), Some(missed), Phase::Short) if missed - held > self.resolution * 1.001 => {
                self.rate = held.midpoint(missed);
            }
            (Some(held), Some(_), Phase::Short) => self.confirm(held),
            _ => return self.outwards(held),
        }
        Next::Step
    }

    /// Goes on by long phases, from this rate.
    fn confirm(&mut self, rate: f64) {
        (self.rate, self.phase) = (rate, Phase::Long);
        (self.held, self.missed) = (None, None);
    }

    /// All outcomes were alike: goes up where they held, down where they missed.
    fn outwards(&mut self, held: bool) -> Next {
        let (limit, at_limit) = if held {
            (self.max, Next::HoldsAtMax)
        } else {
            (self.min, Next::MissesAtMin)
        };
        if self.rate == limit {
            return match self.phase {
                Phase::Long => at_limit,
                Phase::Short => {
                    self.confirm(limit);
                    Next::Step
                }
            };
        }
        let step = match self.phase {
            Phase::Long => self.resolution,
            Phase::Short => self.stride,
        };
        let rate = if held {
            self.rate + step
        } else {
            self.rate - step
        };
        self.rate = rate.clamp(self.min, self.max);
        if self.phase == Phase::Short {
            self.stride *= 2.0;
        }
        Next::Step
    }
}
