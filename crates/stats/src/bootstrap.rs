//! The bootstrap interval of a mean.
//!
//! Source: T. C. Hesterberg, *What Teachers Should Know About the Bootstrap: Resampling in the
//! Undergraduate Statistics Curriculum*, The American Statistician 69(4), 2015 (expanded percentile
//! interval). The plain percentile interval of B. Efron is too short by √((n − 1) ÷ n) and by the
//! step from Student's t to the normal quantile; the expanded interval uses percentiles that
//! correct both. It follows the skewness of the values, which Student's t cannot.
//!
//! An end beyond almost all resamples is unknown: the most extreme of 100,000 means of 20 values is
//! 4.4 standard errors out at any confidence, but 552 simultaneous comparisons need 5.1. In that
//! case, each end is the farther of the bootstrap's and Student's.

use crate::random::Random;
use crate::spread::Spread;
use crate::student;

/// Number of resamples. With 20 values at a confidence of 99.8 %, twelve of them are beyond each
/// end.
const RESAMPLES: usize = 100_000;

/// The number of resamples that must be beyond an end if it is read from the resamples alone.
const BEYOND_MIN: f64 = 10.0;

/// Degrees of freedom at which Student's t equals the normal distribution to six digits.
const NORMAL: f64 = 1e6;

/// The interval of the mean of at least two values, at `confidence` (such as 0.95). If fewer than
/// [`BEYOND_MIN`] resamples are beyond an end, each end is the farther of the bootstrap's and
/// Student's. The same seed gives the same interval.
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

/// The share of resamples beyond each end.
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
        // t(0.975; 4, 9, 19) = 2.776, 2.262, 2.093, times √(5/4), √(10/9), √(20/19), is 3.104,
        // 2.384 and 2.147, beyond which the normal table has these shares.
        for (count, expected) in [(5, 0.000_95), (10, 0.008_56), (20, 0.015_89)] {
            let found = tail(count, 0.95);
            assert!((found - expected).abs() < 3e-5, "{found} at n = {count}");
        }
    }
}
