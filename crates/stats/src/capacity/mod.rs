//! The search for the highest rate that holds an objective, as a state machine: [`Search::next`] says
//! what to try, [`Search::record`] takes what came of it.
//!
//! One repeat is a fresh gateway process. It grows or shrinks its rate until one rate held and a higher
//! one missed, bisects between them on the logarithm of the rate, and confirms by longer phases, one
//! resolution apart: upwards from a rate that held to the first that misses, downwards from one that
//! missed to the first that holds. So the answer of a repeat lies between two long phases that disagree,
//! and no side is favoured. Repeats begin at places a part of the resolution apart, so that the grid they
//! walk on averages out.
//!
//! Sources: W. J. Dixon, A. M. Mood, *A Method for Obtaining and Analyzing Sensitivity Data*, Journal of
//! the American Statistical Association 43, 1948 (up and down around the rate that is held half of the
//! time); Student's t over the logarithms of the repeats' answers.

mod answer;
mod climb;
#[cfg(test)]
mod tests;

pub use answer::{Answer, Knee};

use crate::random::Random;
use climb::{Climb, Next};

/// How close the two rates are that a repeat ends between, unless a plan says otherwise.
pub const RESOLUTION: f64 = 0.02;

/// Repeats that make the interval useful.
pub const REPEATS: usize = 5;

/// Where a search begins, as a share of what the gateway manages at saturation.
const START_SHARE: f64 = 0.7;

/// The lowest and the highest rate that are tried, as such shares. No rate above saturation can be held by as many
/// connections; the margin is for a saturation that was measured while something else had the cores.
const SHARES: (f64, f64) = (0.01, 4.0);

/// Times that a step is tried while it is disturbed. Then it counts as missed: what disturbs only takes away, so that
/// the answer is still a lower bound.
const DISTURBED_MAX: usize = 3;

/// What the first repeat multiplies its rate by until the answer changes.
const FIRST_STRIDE: f64 = 2.0;

/// What the others begin with, in resolutions: they know about where to look.
const LATER_STRIDE: i32 = 4;

/// The golden ratio's fraction: its multiples fill an interval evenly, however many there are.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Where to begin, in requests per second.
    pub start_per_second: f64,
    /// The lowest rate that is tried.
    pub min_per_second: f64,
    /// The highest rate that is tried: what engine and upstream manage by themselves.
    pub max_per_second: f64,
    /// How close the two rates are that one repeat ends between: 0.02 is two per cent.
    pub resolution: f64,
    /// Fresh processes. From [`answer::REPEATS_MIN`] on there is an interval; five make it useful.
    pub repeats: usize,
    /// Seed of where repeats begin.
    pub seed: u64,
}

impl Plan {
    /// A plan around what the gateway manages at saturation, a closed load of as many connections as the
    /// search has; `max_per_second` is the highest rate that is to be tried, where somebody says so.
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
}

/// How long a phase is; what that means in seconds is the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Long enough for a steady state.
    Short,
    /// Confirms: several times as long.
    Long,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Offer this rate.
    Try {
        /// Arrivals per second.
        rate_per_second: f64,
        /// For how long.
        phase: Phase,
        /// Which fresh process, from 0.
        repeat: usize,
    },
    /// Nothing: the search has ended.
    Done(Answer),
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The objective was met.
    Held,
    /// It was not.
    Missed,
    /// It was not, and something that is not measured had a part in it (another process on the gateway's core,
    /// say); it is done again.
    Disturbed,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    plan: Plan,
    /// Where in the resolution the first repeat begins, 0 to 1.
    offset: f64,
    climb: Climb,
    knees_per_second: Vec<f64>,
    /// Tries in a row of this step that were disturbed.
    disturbed: usize,
    ended: Option<Answer>,
}

impl Search {
    /// None where the rates are not positive and in order (min ≤ start ≤ max), the resolution does not lie
    /// between 0 and 1, or there are no repeats.
    pub fn new(plan: Plan) -> Option<Self> {
        let rates = plan.min_per_second > 0.0
            && plan.min_per_second <= plan.start_per_second
            && plan.start_per_second <= plan.max_per_second
            && plan.max_per_second.is_finite();
        let resolution = plan.resolution > 0.0 && plan.resolution < 1.0;
        if !(rates && resolution && plan.repeats > 0) {
            return None;
        }
        let offset = Random::seeded(plan.seed).uniform();
        Some(Self {
            plan,
            offset,
            climb: Climb::new(&plan, plan.start_per_second, offset, FIRST_STRIDE),
            knees_per_second: Vec::new(),
            disturbed: 0,
            ended: None,
        })
    }

    /// What to do now; the same until an outcome is recorded.
    pub fn next(&self) -> Step {
        if let Some(answer) = &self.ended {
            return Step::Done(answer.clone());
        }
        let (rate_per_second, phase) = self.climb.step();
        Step::Try {
            rate_per_second,
            phase,
            repeat: self.knees_per_second.len(),
        }
    }

    /// Takes the outcome of the step that [`Self::next`] names. Nothing happens once the search has ended.
    pub fn record(&mut self, outcome: Outcome) {
        if self.ended.is_some() {
            return;
        }
        if outcome == Outcome::Disturbed && self.disturbed + 1 < DISTURBED_MAX {
            self.disturbed += 1;
            return;
        }
        self.disturbed = 0;
        let held = outcome == Outcome::Held;
        match self.climb.record(held) {
            Next::Step => {}
            Next::Knee(knee_per_second) => self.repeat_done(knee_per_second),
            Next::HoldsAtMax => self.end(
                |rate, knees| Answer::AtLeast {
                    rate_per_second: rate,
                    knees_per_second: knees,
                },
                self.plan.max_per_second,
            ),
            Next::MissesAtMin => self.end(
                |rate, knees| Answer::Below {
                    rate_per_second: rate,
                    knees_per_second: knees,
                },
                self.plan.min_per_second,
            ),
        }
    }

    /// What the search has come to: its answer, or that of the repeats that have ended. None where none has.
    pub fn so_far(&self) -> Option<Answer> {
        let found = || Knee::of(self.knees_per_second.clone()).map(Answer::Found);
        self.ended.clone().or_else(found)
    }

    fn end(&mut self, answer: impl FnOnce(f64, Vec<f64>) -> Answer, rate_per_second: f64) {
        let knees = std::mem::take(&mut self.knees_per_second);
        self.ended = Some(answer(rate_per_second, knees));
    }

    fn repeat_done(&mut self, knee_per_second: f64) {
        self.knees_per_second.push(knee_per_second);
        let done = self.knees_per_second.len();
        if done == self.plan.repeats {
            let knees = std::mem::take(&mut self.knees_per_second);
            self.ended = Knee::of(knees).map(Answer::Found);
            return;
        }
        // Begins where the repeats so far ended.
        let logs: f64 = self.knees_per_second.iter().map(|knee| knee.ln()).sum();
        let offset = (self.offset + done as f64 * GOLDEN).fract();
        let stride = (1.0 + self.plan.resolution).powi(LATER_STRIDE);
        self.climb = Climb::new(&self.plan, (logs / done as f64).exp(), offset, stride);
    }
}
