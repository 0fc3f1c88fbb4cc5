//! Computes the bootstrap interval of a mean.
//!
//! Source: T. C. Hesterberg, *What Teachers Should Know About the Bootstrap: Resampling in the
//! Undergraduate Statistics Curriculum*, The American Statistician 69(4), 2015 (expanded percentile
//! interval). B. Efron's plain percentile interval is too short by the factor √((n − 1) ÷ n), and
//! by the ratio of the normal quantile to that of Student's t. The expanded interval uses
//! percentiles that correct both. Unlike Student's t, it reflects the skewness of the values.
//!
//! Resamples do not determine an end of the interval that lies beyond almost all of them. The most
//! extreme of 100,000 means of 20 values is about 4.4 standard errors from the mean, but 552
//! simultaneous comparisons require 5.1. [`mean_interval`] then also considers Student's t.

use crate::random::Random;
use crate::spread::Spread;
use crate::student;

/// With 20 values at a confidence of 99.8 %, twelve resamples are beyond each end.
const RESAMPLES: usize = 100_000;

/// The minimum number of resamples beyond an end that is computed from the resamples alone.
const BEYOND_MIN: f64 = 10.0;

/// The degrees of freedom at which Student's t equals the normal distribution to six decimal
/// places.
const NORMAL: f64 = 1e6;

/// Returns the interval of the mean at `confidence` (such as 0.95). There must be at least two
/// values. If fewer than [`BEYOND_MIN`] resamples are beyond an end, each end is that of the
/// bootstrap or of Student's t, whichever is farther from the mean.
pub fn mean_interval(values: &[f64], confidence: f64, seed: u64) -> (f64, f64) {
    let mut means = resampled_means(values, seed);
    let last = means.len() - 1;
    let beyond = tail(values.len(), confidence) * last as f64;
    let index = beyond.round() as usize;
    let (_, low, _) = means.select_nth_unstable_by(index, f64::total_cmp);
    let low = *low;
    let (_, high, _) = means.select_nth_unstable_by(last - index, f64::total_cmp);
    if beyond >= BEYOND_MIN {
        return (low, *high);
    }
    let (t_low, t_high) = Spread::of(values).interval(values.len(), confidence);
    (low.min(t_low), high.max(t_high))
}

fn resampled_means(values: &[f64], seed: u64) -> Vec<f64> {
    let mut random = Random::seeded(seed);
    let mut resample = |_| {
        let sum: f64 = (0..values.len())
            .map(|_| values[random.index(values.len())])
            .sum();
        sum / values.len() as f64
    };
    (0..RESAMPLES).map(&mut resample).collect()
}

/// Returns the share of resamples beyond each end.
fn tail(count: usize, confidence: f64) -> f64 {
    let freedom = (count - 1) as f64;
    let t = student::quantile(0.5 + confidence / 2.0, freedom);
    student::cdf(-t * (count as f64 / freedom).sqrt(), NORMAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_matches_a_hand_calculation() {
        // For 4, 9 and 19 degrees of freedom, t(0.975) is 2.776, 2.262 and 2.093; multiplied by
        // √(5/4), √(10/9) and √(20/19), these values are 3.104, 2.384 and 2.147. The expected
        // shares beyond these values are from the normal table.
        for (count, expected) in [(5, 0.000_95), (10, 0.008_56), (20, 0.015_89)] {
            let found = tail(count, 0.95);
            assert!((found - expected).abs() < 3e-5, "{found} at n = {count}");
        }
    }
}
