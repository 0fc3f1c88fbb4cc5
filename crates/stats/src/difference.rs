//! Computes paired differences, block by block: the amount by which one variant exceeds another, in
//! the values' unit.

use serde::Serialize;

use crate::comparison::BOOTSTRAP_BLOCKS;
use crate::spread::Spread;
use crate::verdict::MIN_BLOCKS;
use crate::{Interval, bootstrap, median};

/// The amount by which the candidate exceeds the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The mean of the blocks' differences, candidate − baseline; the median if there is no
    /// interval.
    pub effect: f64,
    pub min: f64,
    pub max: f64,
    pub blocks: usize,
    /// The interval of the mean; `None` with fewer than [`MIN_BLOCKS`] blocks.
    pub interval: Option<Interval>,
}

impl Difference {
    /// Returns the interval or, if there is none, the range of the blocks.
    pub fn span(&self) -> (f64, f64) {
        self.interval.map_or((self.min, self.max), |interval| {
            (interval.low, interval.high)
        })
    }
}

/// Compares the values of the same blocks. The interval, at `confidence` (such as 0.95), is that of
/// Student's t on the blocks' differences or, with at least [`BOOTSTRAP_BLOCKS`] blocks, that of
/// the bootstrap.
///
/// Returns `None` if the sides differ in length, are empty, or contain a value that is not finite.
pub fn difference(
    baseline: &[f64],
    candidate: &[f64],
    confidence: f64,
    seed: u64,
) -> Option<Difference> {
    let mut values = baseline.iter().chain(candidate);
    if baseline.len() != candidate.len() || !values.all(|value| value.is_finite()) {
        return None;
    }
    let pairs = baseline.iter().zip(candidate);
    let differences: Vec<f64> = pairs.map(|(base, new)| new - base).collect();
    let blocks = differences.len();
    let spread = Spread::of(&differences);
    let enough = blocks >= MIN_BLOCKS;
    let interval = enough.then(|| {
        let ends = if blocks < BOOTSTRAP_BLOCKS {
            spread.interval(blocks, confidence)
        } else {
            bootstrap::mean_interval(&differences, confidence, seed)
        };
        Interval::of(ends, confidence)
    });
    Some(Difference {
        effect: if enough {
            spread.mean
        } else {
            median(&differences)?
        },
        min: differences.iter().copied().reduce(f64::min)?,
        max: differences.iter().copied().reduce(f64::max)?,
        blocks,
        interval,
    })
}
