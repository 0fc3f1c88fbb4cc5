//! A value that never travels without its spread.

use serde::Serialize;

/// The blocks of one variant, summed up: the median with the range, and an interval where the
/// blocks are enough for one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Median of the blocks.
    pub median: f64,
    /// The smallest block.
    pub min: f64,
    /// The largest block.
    pub max: f64,
    /// Blocks.
    pub blocks: usize,
    /// Confidence interval; none below [`crate::verdict::MIN_BLOCKS`] blocks.
    pub interval: Option<Interval>,
}

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Confidence, as in 0.95.
    pub confidence: f64,
}

impl Estimate {
    /// Sums up the values of blocks; none where there are none, or where one is not finite.
    pub fn of_blocks(values: &[f64]) -> Option<Self> {
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        Some(Self {
            median: median(values)?,
            min: values.iter().copied().reduce(f64::min)?,
            max: values.iter().copied().reduce(f64::max)?,
            blocks: values.len(),
            interval: None,
        })
    }

    /// Whether the ranges of two estimates have a value in common. Such estimates are not ranked.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

/// The median; of an even number of values the mean of the middle two. None without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = sorted[sorted.len() / 2 - 1];
    Some(lower + (upper - lower) / 2.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn what_is_not_a_number_gives_no_estimate() {
        assert_eq!(Estimate::of_blocks(&[1.0, f64::NAN]), None);
        assert_eq!(Estimate::of_blocks(&[]), None);
    }

    #[test]
    fn ranges_that_touch_overlap() {
        let of = |values: &[f64]| Estimate::of_blocks(values).unwrap();
        assert!(of(&[1.0, 2.0]).overlaps(&of(&[2.0, 3.0])));
        assert!(!of(&[1.0, 2.0]).overlaps(&of(&[2.1, 3.0])));
    }

    proptest! {
        #[test]
        fn the_median_lies_within_the_range(values in prop::collection::vec(-1e9_f64..1e9, 1..50)) {
            let estimate = Estimate::of_blocks(&values).unwrap();
            prop_assert!(estimate.min <= estimate.median && estimate.median <= estimate.max);
        }
    }
}
