//! A comparison that is looked at after every block and stops when it is settled.
//!
//! A 95 % interval that is looked at thirty times excludes a zero that is there far more often than
//! once in twenty. Repeated confidence intervals are wider, by what error spending asks for, and hold at all looks
//! together: whenever one stops and why, they are wrong in at most the planned share of runs.
//!
//! Sources: C. Jennison, B. W. Turnbull, *Interim Analyses: The Repeated Confidence Interval Approach*,
//! Journal of the Royal Statistical Society B 51(3), 1989; the same, *Group Sequential Methods with
//! Applications to Clinical Trials*, 2000, section 4.4 (an unknown variance: the boundary's share of the
//! normal distribution is taken from Student's t).

mod boundary;
#[cfg(test)]
mod tests;

pub use boundary::Spending;

use serde::Serialize;

use crate::comparison::{Comparison, Method, Pair, log_ratios};
use crate::spread::{Spread, fewest_beyond};
use crate::verdict::{MIN_BLOCKS, Reading, Verdict, judge};
use crate::{Interval, normal, student};

/// The most blocks that can be planned.
pub const PLANNED_BLOCKS_MAX: usize = 2_000;

/// How the error rate is spent. The square leaves enough for a clear effect to be seen at the tenth
/// block, and costs little at the last.
const SPENDING: Spending = Spending::Power(2.0);

/// What of the error rate is spent. Student's quantiles, put in place of the normal distribution's look
/// by look, are exact for one look only: over many the rate was up to a tenth above the planned one
/// (0.055 for 0.05 with 20 or 40 blocks, 40,000 simulated runs of normal blocks each).
const SPENT: f64 = 0.9;

/// A comparison of at most so many blocks, looked at after every one from [`MIN_BLOCKS`] on.
#[derive(Clone, Debug)]
pub struct Sequential {
    alpha: f64,
    /// Per look: the multiple of the mean's standard error that the interval reaches to either side.
    critical: Vec<f64>,
    /// The last look's boundary in standard errors, in which plans of other sizes hardly differ.
    last_boundary: f64,
}

/// What one look sees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Look {
    /// Effect, interval and verdict; the interval's confidence is that of all looks together.
    /// Where it is inconclusive, blocks needed beyond the plan are those of a new run that plans
    /// with them.
    pub comparison: Comparison,
    /// Why no further block is needed; none where one is.
    pub stop: Option<Stop>,
}

/// Why a comparison stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The verdict stands: better, worse or no change.
    Settled,
    /// All blocks that were planned are done.
    PlanDone,
}

impl Sequential {
    /// Plans for at most `blocks_max` blocks and a share `alpha` of wrong intervals (0.05 for 95 %, less
    /// where several comparisons have to hold together). A plan may stop early for any reason, but not go on:
    /// more blocks are a new plan.
    ///
    /// None where `blocks_max` is below [`MIN_BLOCKS`] or above [`PLANNED_BLOCKS_MAX`], or `alpha` does
    /// not lie between 0 and 1.
    pub fn plan(blocks_max: usize, alpha: f64) -> Option<Self> {
        Self::spending(blocks_max, alpha, SPENDING)
    }

    /// As [`Self::plan`], spending the error rate in another way.
    pub fn spending(blocks_max: usize, alpha: f64, spending: Spending) -> Option<Self> {
        let feasible = (MIN_BLOCKS..=PLANNED_BLOCKS_MAX).contains(&blocks_max);
        if !(feasible && alpha > 0.0 && alpha < 1.0) {
            return None;
        }
        let looks: Vec<usize> = (MIN_BLOCKS..=blocks_max).collect();
        let boundaries = boundary::boundaries(&looks, SPENT * alpha, spending);
        let last_boundary = *boundaries.last()?;
        let looks = looks.into_iter().zip(boundaries);
        let critical = looks.map(|(blocks, z)| student_critical(blocks, z));
        Some(Self {
            alpha,
            critical: critical.collect(),
            last_boundary,
        })
    }

    /// The most blocks that are planned.
    pub fn blocks_max(&self) -> usize {
        MIN_BLOCKS + self.critical.len() - 1
    }

    /// Looks at the blocks so far, of which all earlier looks saw the first ones. None where
    /// the pair cannot be compared (see [`crate::compare_all`]) or has more blocks than planned.
    pub fn look(&self, pair: &Pair, smallest_effect: f64) -> Option<Look> {
        let logs = log_ratios(pair)?;
        let spread = Spread::of(&logs);
        if logs.len() > self.blocks_max() {
            return None;
        }
        let mut comparison = Comparison {
            ratio: spread.mean.exp(),
            interval: None,
            method: None,
            // Its p would be that of a single look.
            sign_flip_p: None,
            verdict: Verdict::TooFewBlocks { blocks: logs.len() },
        };
        if logs.len() < MIN_BLOCKS {
            return Some(Look {
                comparison,
                stop: None,
            });
        }
        let (low, high) = spread.within(logs.len(), self.critical(logs.len()));
        comparison.method = Some(Method::Repeated);
        comparison.interval = Some(Interval {
            low: low.exp(),
            high: high.exp(),
            confidence: 1.0 - self.alpha,
        });
        comparison.verdict = judge((low, high), pair.direction, smallest_effect, || {
            self.blocks_needed(&spread, logs.len(), smallest_effect)
        });
        let stop = if !matches!(comparison.verdict, Verdict::Inconclusive { .. }) {
            Some(Stop::Settled)
        } else {
            (logs.len() == self.blocks_max()).then_some(Stop::PlanDone)
        };
        Some(Look { comparison, stop })
    }

    /// The multiple of the standard error at a look of this plan, or at the last of a larger one.
    fn critical(&self, blocks: usize) -> f64 {
        let planned = self.critical.get(blocks - MIN_BLOCKS);
        planned.copied().unwrap_or_else(|| {
            // Abramowitz and Stegun 26.7.5, its first two terms.
            let z = self.last_boundary;
            z + (z.powi(3) + z) / (4.0 * (blocks - 1) as f64)
        })
    }

    /// The fewest blocks, more than `blocks`, that settle it if mean and deviation stay. Within the
    /// plan each look is asked; beyond it the interval only shrinks, so bisection finds the answer.
    fn blocks_needed(&self, spread: &Spread, blocks: usize, smallest_effect: f64) -> Option<usize> {
        let settled = |n| {
            let interval = spread.within(n, self.critical(n));
            Reading::of(interval, smallest_effect).settles()
        };
        let planned = self.blocks_max();
        if let Some(found) = (blocks + 1..=planned).find(|n| settled(*n)) {
            return Some(found);
        }
        fewest_beyond(planned, settled)
    }
}

/// What a t variable of so many blocks exceeds as often as a normal variable exceeds `z`.
fn student_critical(blocks: usize, z: f64) -> f64 {
    student::quantile(1.0 - normal::beyond(z), (blocks - 1) as f64)
}
