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

/// Phases in a row that may be unusable before the search gives up.
const UNUSABLE_MAX: usize = 3;

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
    /// The phase says nothing of the gateway (another process on its core, say); it is done again.
    Unusable,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    plan: Plan,
    /// Where in the resolution the first repeat begins, 0 to 1.
    offset: f64,
    climb: Climb,
    knees_per_second: Vec<f64>,
    unusable: usize,
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
            unusable: 0,
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
        let held = match outcome {
            Outcome::Held => true,
            Outcome::Missed => false,
            Outcome::Unusable => return self.unusable(),
        };
        self.unusable = 0;
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

    fn unusable(&mut self) {
        self.unusable += 1;
        if self.unusable == UNUSABLE_MAX {
            let (rate, _) = self.climb.step();
            self.end(
                |rate, knees| Answer::Unusable {
                    rate_per_second: rate,
                    knees_per_second: knees,
                },
                rate,
            );
        }
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
