//! Computes the spread of the blocks' values, and the intervals and numbers of blocks that follow
//! from it.

use crate::student;
use crate::verdict::Reading;

const SUGGESTED_BLOCKS_MAX: usize = 10_000;

/// The mean and the standard deviation of values, such as the blocks' log ratios or differences.
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) deviation: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (values.len().max(2) - 1) as f64).sqrt();
        Self { mean, deviation }
    }

    /// Returns the two-sided p-value of Student's test that the mean of `blocks` blocks is zero.
    pub(crate) fn p_value(&self, blocks: usize) -> f64 {
        if self.mean == 0.0 {
            return 1.0;
        }
        let t = self.mean.abs() * (blocks as f64).sqrt() / self.deviation;
        2.0 * student::cdf(-t, (blocks - 1) as f64)
    }

    /// Returns the interval of Student's t for `blocks` blocks with this spread.
    pub(crate) fn interval(&self, blocks: usize, confidence: f64) -> (f64, f64) {
        let t = student::quantile(0.5 + confidence / 2.0, (blocks - 1) as f64);
        self.within(blocks, t)
    }

    /// Returns the interval with a half-width of `critical` standard errors of the mean of `blocks`
    /// blocks.
    pub(crate) fn within(&self, blocks: usize, critical: f64) -> (f64, f64) {
        let half = critical * self.deviation / (blocks as f64).sqrt();
        (self.mean - half, self.mean + half)
    }

    /// Returns the smallest number of blocks, larger than `blocks`, that settles the comparison if
    /// the mean and the standard deviation stay the same. Returns `None` if that is more than
    /// [`SUGGESTED_BLOCKS_MAX`]. The interval only shrinks with more blocks, so bisection finds the
    /// number.
    pub(crate) fn blocks_needed(
        &self,
        blocks: usize,
        confidence: f64,
        smallest_effect: f64,
    ) -> Option<usize> {
        fewest_beyond(blocks, |n| {
            Reading::of(self.interval(n, confidence), smallest_effect).settles()
        })
    }
}

/// Returns the smallest number of blocks, larger than `open` and at most [`SUGGESTED_BLOCKS_MAX`],
/// for which `settled` is true. `settled` must also be true for all larger numbers. Returns `None`
/// if there is no such number.
pub(crate) fn fewest_beyond(mut open: usize, settled: impl Fn(usize) -> bool) -> Option<usize> {
    let mut done = SUGGESTED_BLOCKS_MAX;
    if open >= done || !settled(done) {
        return None;
    }
    while done - open > 1 {
        let middle = open + (done - open) / 2;
        if settled(middle) {
            done = middle
        } else {
            open = middle
        }
    }
    Some(done)
}
