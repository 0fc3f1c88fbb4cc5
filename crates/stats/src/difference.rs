//! Paired differences, block by block: what one thing adds to another in the values' own unit.

use serde::Serialize;

use crate::comparison::BOOTSTRAP_BLOCKS;
use crate::spread::Spread;
use crate::verdict::MIN_BLOCKS;
use crate::{Interval, bootstrap, median};

/// What the candidate has more than the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The mean of the blocks' differences, candidate − baseline; without an interval their median.
    pub effect: f64,
    /// The smallest difference of a block.
    pub min: f64,
    /// The largest difference of a block.
    pub max: f64,
    /// Blocks.
    pub blocks: usize,
    /// Interval of the mean; none below [`MIN_BLOCKS`] blocks.
    pub interval: Option<Interval>,
}

impl Difference {
    /// Where the difference lies: the interval, or without one the range of the blocks.
    pub fn span(&self) -> (f64, f64) {
        self.interval.map_or((self.min, self.max), |interval| {
            (interval.low, interval.high)
        })
    }
}

/// The difference of values of the same blocks. The interval is Student's t on the blocks'
/// differences, from [`BOOTSTRAP_BLOCKS`] blocks on the bootstrap's, at `confidence` (as in 0.95).
///
/// None where the sides differ in length, are empty, or hold a value that is not finite.
pub fn difference(
    baseline: &[f64],
    candidate: &[f64],
    confidence: f64,
    seed: u64,
) -> Option<Difference> {
    let finite = baseline
        .iter()
        .chain(candidate)
        .all(|value| value.is_finite());
    if baseline.len() != candidate.len() || !finite {
        return None;
    }
    let pairs = baseline.iter().zip(candidate);
    let differences: Vec<f64> = pairs.map(|(base, new)| new - base).collect();
    let blocks = differences.len();
    let spread = Spread::of(&differences);
    let enough = blocks >= MIN_BLOCKS;
    let interval = enough.then(|| {
        let (low, high) = if blocks < BOOTSTRAP_BLOCKS {
            spread.interval(blocks, confidence)
        } else {
            bootstrap::mean_interval(&differences, confidence, seed)
        };
        Interval {
            low,
            high,
            confidence,
        }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Baselines that drift by far more than the difference, as blocks do.
    fn drifting(differences: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let baseline: Vec<f64> = (0..differences.len())
            .map(|block| 100.0 + 10.0 * block as f64)
            .collect();
        let candidate = baseline.iter().zip(differences);
        let candidate = candidate.map(|(base, more)| base + more).collect();
        (baseline, candidate)
    }

    #[test]
    fn the_interval_is_students_on_the_differences() {
        let (baseline, candidate) = drifting(&[4.0, 6.0, 4.0, 6.0, 4.0, 6.0, 4.0, 6.0, 4.0, 6.0]);
        let found = difference(&baseline, &candidate, 0.95, 1).unwrap();
        // Deviation √(10 ÷ 9), t(0.975, 9) = 2.262157: half the interval is 0.754052.
        let interval = found.interval.unwrap();
        assert!((found.effect - 5.0).abs() < 1e-9);
        assert!(
            (interval.low - (5.0 - 0.754_052)).abs() < 1e-5,
            "{interval:?}"
        );
        assert!(
            (interval.high - (5.0 + 0.754_052)).abs() < 1e-5,
            "{interval:?}"
        );
        assert_eq!(found.span(), (interval.low, interval.high));
    }

    #[test]
    fn below_ten_blocks_the_median_and_the_range_are_all_there_is() {
        let (baseline, candidate) = drifting(&[1.0, 9.0, 2.0]);
        let found = difference(&baseline, &candidate, 0.95, 1).unwrap();
        assert_eq!((found.effect, found.interval), (2.0, None));
        assert_eq!((found.span(), found.blocks), ((1.0, 9.0), 3));
    }

    #[test]
    fn twenty_blocks_are_resampled_and_a_seed_gives_one_interval() {
        let more: Vec<f64> = (0..20).map(|block| f64::from(block).sqrt()).collect();
        let (baseline, candidate) = drifting(&more);
        let at = |seed| difference(&baseline, &candidate, 0.95, seed).unwrap();
        assert_eq!(at(3), at(3));
        assert_ne!(at(3).interval, at(4).interval);
        let interval = at(3).interval.unwrap();
        assert!(interval.low < 2.9 && 2.9 < interval.high, "{interval:?}");
    }

    #[test]
    fn what_cannot_be_paired_has_no_difference() {
        assert_eq!(difference(&[1.0], &[], 0.95, 1), None);
        assert_eq!(difference(&[], &[], 0.95, 1), None);
        assert_eq!(difference(&[f64::NAN], &[1.0], 0.95, 1), None);
    }
}
