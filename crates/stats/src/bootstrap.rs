//! The bootstrap interval of a mean.
//!
//! Source: T. C. Hesterberg, *What Teachers Should Know About the Bootstrap: Resampling in the
//! Undergraduate Statistics Curriculum*, The American Statistician 69(4), 2015 (expanded percentile
//! interval). The plain percentile interval of B. Efron is too short by √((n − 1) ÷ n) and
//! by the step from Student's t to the normal quantile; the expanded one reads the percentiles at
//! which that is made good. It follows the skewness of the values, which Student's t cannot.
//!
//! An end that hardly any resample lies beyond is unknown: the most extreme of 100,000 means of 20
//! values lies 4.4 standard errors out, whatever the confidence, but 552 comparisons that hold
//! together need 5.1. The interval is then at least Student's.

use crate::random::Random;
use crate::spread::Spread;
use crate::student;

/// Resamples: of 20 values at a confidence of 99.8 %, twelve of them lie beyond either end.
const RESAMPLES: usize = 100_000;

/// Resamples that must lie beyond an end that is read off them alone.
const BEYOND_MIN: f64 = 10.0;

/// Degrees of freedom at which Student's t is the normal distribution to six digits.
const NORMAL: f64 = 1e6;

/// The interval of the mean of at least two values, at `confidence` (as in 0.95). Where fewer than
/// [`BEYOND_MIN`] resamples lie beyond an end, each end is the farther one of the bootstrap's and
/// of Student's t. The same seed gives the same interval.
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

/// The share of resamples that lies beyond either end.
fn tail(count: usize, confidence: f64) -> f64 {
    let freedom = (count - 1) as f64;
    let t = student::quantile(0.5 + confidence / 2.0, freedom);
    student::cdf(-t * (count as f64 / freedom).sqrt(), NORMAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Noise;

    fn student_interval(values: &[f64], confidence: f64) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let half = student::quantile(0.5 + confidence / 2.0, count - 1.0) * error;
        (mean - half, mean + half)
    }

    /// Families of this number of comparisons of 20 equal blocks in which one or more intervals
    /// exclude zero, at Bonferroni's level, with which Holm's procedure begins.
    fn families_in_error(comparisons: usize, families: u64) -> usize {
        let confidence = 1.0 - 0.05 / comparisons as f64;
        let is_wrong = |family: &u64| {
            let mut noise = Noise::seeded(*family);
            (0..comparisons).any(|at| {
                let values: Vec<f64> = (0..20).map(|_| noise.normal()).collect();
                let spread = Spread::of(&values);
                // Intervals of this confidence reach farther in any case, and cost milliseconds.
                let far = 3.6 * spread.deviation / 20_f64.sqrt();
                spread.mean.abs() > far && {
                    let (low, high) = mean_interval(&values, confidence, at as u64);
                    low > 0.0 || high < 0.0
                }
            })
        };
        (0..families).filter(is_wrong).count()
    }

    #[test]
    fn many_comparisons_are_together_wrong_in_one_of_twenty_families() {
        // Of 200 and of 150 families, 5 % are 10 and 7.5; more than 18 and 15 come up once in two
        // hundred times. The bootstrap alone gives 13 % and 30 %, which are 26 and 45.
        let (many, more) = (families_in_error(200, 200), families_in_error(552, 150));
        assert!(many <= 18, "{many} of 200 families of 200");
        assert!(more <= 15, "{more} of 150 families of 552");
    }

    #[test]
    fn an_end_beyond_all_resamples_is_students_or_farther() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i * i % 17)).collect();
        let (low, high) = mean_interval(&values, 1.0 - 0.05 / 552.0, 7);
        let (t_low, t_high) = student_interval(&values, 1.0 - 0.05 / 552.0);
        assert!(low <= t_low && high >= t_high, "{low} {high}");
    }

    #[test]
    fn the_tail_is_worked_out_by_hand() {
        // t(0.975; 4, 9, 19) = 2.776, 2.262, 2.093, times √(5/4), √(10/9), √(20/19), is 3.104, 2.384
        // and 2.147, beyond which the normal table has these shares.
        for (count, expected) in [(5, 0.000_95), (10, 0.008_56), (20, 0.015_89)] {
            let found = tail(count, 0.95);
            assert!((found - expected).abs() < 3e-5, "{found} at n = {count}");
        }
    }

    #[test]
    fn symmetric_values_give_students_interval() {
        // Normal scores of 24 values: Blom's positions through the inverse of the distribution.
        let score = |i: i32| {
            let share = (f64::from(i) - 0.375) / 24.25;
            let size = student::quantile(share.max(1.0 - share), NORMAL);
            if share < 0.5 { -size } else { size }
        };
        let values: Vec<f64> = (1..=24).map(score).collect();
        for confidence in [0.95, 0.99] {
            let (low, high) = mean_interval(&values, confidence, 7);
            let (t_low, t_high) = student_interval(&values, confidence);
            assert!((low - t_low).abs() < 0.03, "{low} for {t_low}");
            assert!((high - t_high).abs() < 0.03, "{high} for {t_high}");
        }
    }

    #[test]
    fn a_long_tail_pulls_the_interval_to_its_side() {
        let mut values = vec![0.0; 20];
        (0..20).for_each(|i| values[i] = (i as f64 / 4.0).exp());
        let mean = values.iter().sum::<f64>() / 20.0;
        let (low, high) = mean_interval(&values, 0.95, 7);
        assert!(high - mean > 1.1 * (mean - low), "{low} {mean} {high}");
    }

    #[test]
    fn a_seed_gives_one_interval() {
        let values: Vec<f64> = (0..20).map(|i| f64::from(i).sqrt()).collect();
        assert_eq!(
            mean_interval(&values, 0.95, 3),
            mean_interval(&values, 0.95, 3)
        );
        assert_ne!(
            mean_interval(&values, 0.95, 3),
            mean_interval(&values, 0.95, 4)
        );
        assert_eq!(mean_interval(&[2.0; 20], 0.95, 3), (2.0, 2.0));
    }

    #[test]
    fn the_interval_covers_the_mean_as_often_as_it_says() {
        // Exponential values, n = 20: skewed enough that the plain percentile interval falls short.
        let mut random = Random::seeded(11);
        let mut uniform = || (random.index(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64;
        let covered = (0..60)
            .filter(|run| {
                let values: Vec<f64> = (0..20).map(|_| -uniform().ln()).collect();
                let (low, high) = mean_interval(&values, 0.95, *run);
                (low..=high).contains(&1.0)
            })
            .count();
        // With a true coverage of 0.93, fewer than 50 of 60 come up once in five hundred times.
        assert!(covered >= 50, "{covered} of 60");
    }
}
