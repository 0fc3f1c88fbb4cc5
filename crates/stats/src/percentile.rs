//! Which percentiles a number of samples can carry.

/// Samples that must lie beyond a percentile before it is printed. With ten the relative error of
/// their count is about a third (√10 ÷ 10); with one, the percentile is an anecdote.
pub const SAMPLES_BEYOND: u64 = 10;

/// The highest percentile, in 0 to 100, that [`SAMPLES_BEYOND`] of `count` samples lie beyond; none
/// where there are not more samples than that.
pub fn highest_trustworthy_percentile(count: u64) -> Option<f64> {
    (count > SAMPLES_BEYOND).then(|| 100.0 * (1.0 - SAMPLES_BEYOND as f64 / count as f64))
}

/// Whether `percentile`, in 0 to 100, may be printed of `count` samples.
pub fn is_trustworthy(percentile: f64, count: u64) -> bool {
    // 99.9 has no exact binary form; a billionth of a sample forgives that.
    (100.0 - percentile) / 100.0 * count as f64 >= SAMPLES_BEYOND as f64 - 1e-9 * count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_usual_percentiles_need_known_numbers_of_samples() {
        for (percentile, needed) in [(50.0, 20), (90.0, 100), (99.0, 1_000), (99.9, 10_000)] {
            assert!(
                is_trustworthy(percentile, needed),
                "p{percentile} of {needed}"
            );
            assert!(
                !is_trustworthy(percentile, needed - 1),
                "p{percentile} of {}",
                needed - 1
            );
        }
    }

    #[test]
    fn ten_samples_carry_no_percentile() {
        assert_eq!(highest_trustworthy_percentile(0), None);
        assert_eq!(highest_trustworthy_percentile(10), None);
        assert_eq!(highest_trustworthy_percentile(1_000), Some(99.0));
    }

    proptest! {
        #[test]
        fn the_highest_is_trustworthy_and_anything_higher_is_not(count in 11_u64..10_000_000) {
            let highest = highest_trustworthy_percentile(count).unwrap_or(100.0);
            prop_assert!(is_trustworthy(highest, count));
            prop_assert!(!is_trustworthy(highest + 200.0 / count as f64, count));
        }
    }
}
