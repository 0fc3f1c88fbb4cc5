//! Arithmetic that published figures must obey, and traces that the way of measuring leaves in them.
//!
//! Sources: N. J. L. Brown, J. A. J. Heathers, *The GRIM Test*, Social Psychological and Personality Science
//! 8(4), 2017 (means of whole numbers); F. P. Cantelli's inequality (1928), solved for the deviation;
//! the linear interpolation within a bucket is that of Prometheus' `histogram_quantile`.

use serde::Serialize;

/// A step that all values are multiples of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Step {
    /// The step, in the values' unit.
    pub step: f64,
    /// At most how often values without such a step have one as large by chance.
    pub chance: f64,
}

/// The largest step that all values are multiples of, if it is larger than `printed_step`, that of their
/// last printed digit. A timer that ticks every 10 ms shows itself so, however many digits are printed.
///
/// None where there is no such step, where fewer than two different values are above zero (they say nothing),
/// or where the values are no multiples of the printed step.
pub fn common_step(values: &[f64], printed_step: f64) -> Option<Step> {
    let mut counts: Vec<u64> = Vec::with_capacity(values.len());
    for value in values {
        let count = value / printed_step;
        let near = (count - count.round()).abs() <= 1e-6 * count.abs().max(1.0);
        // Beyond, whole numbers have no exact form.
        if !(near && (0.0..2_f64.powi(50)).contains(&count)) {
            return None;
        }
        counts.push(count.round() as u64);
    }
    counts.sort_unstable();
    counts.dedup();
    counts.retain(|count| *count > 0);
    if counts.len() < 2 {
        return None;
    }
    let common = counts.iter().copied().fold(0, greatest_common_divisor) as f64;
    // All of n numbers are multiples of d by chance in d⁻ⁿ; summed over all d from this one on.
    let n = counts.len() as i32;
    let chance = common.powi(-n) + common.powi(1 - n) / f64::from(n - 1);
    (common > 1.0).then_some(Step {
        step: common * printed_step,
        chance: chance.min(1.0),
    })
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// A straight line that percentiles lie on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interpolated {
    /// Where the line is at the share 0. About zero: all requests are in the lowest bucket.
    pub at_none: f64,
    /// Where it is at the share 1; with all requests in the lowest bucket, its bound.
    pub at_all: f64,
    /// How often percentiles that are anywhere between the outer two lie on it by chance.
    pub chance: f64,
}

/// Whether percentiles, pairs of share (0 to 1) and value in rising order, lie on one straight line but for the
/// rounding to `printed_step`. Those of requests do not; those interpolated within one bucket of a
/// histogram do, whatever the requests took.
///
/// None where they do not, are fewer than three, or the line rises by fewer than ten printed steps (any
/// figures are on a line if they are coarse enough).
pub fn interpolated(percentiles: &[(f64, f64)], printed_step: f64) -> Option<Interpolated> {
    let (first, between, last) = match percentiles {
        [first, between @ .., last] if !between.is_empty() => (first, between, last),
        _ => return None,
    };
    let rise = last.1 - first.1;
    let shares = last.0 - first.0;
    // Both the line and the figure are off by up to half a step.
    let tolerance = printed_step * (1.0 + 1e-9);
    let usable = shares > 0.0 && printed_step > 0.0 && rise >= 10.0 * printed_step;
    let line = |share: f64| first.1 + rise * (share - first.0) / shares;
    let on_it = |(share, value): &(f64, f64)| (value - line(*share)).abs() <= tolerance;
    (usable && rise.is_finite() && between.iter().all(on_it)).then(|| Interpolated {
        at_none: line(0.0),
        at_all: line(1.0),
        chance: (2.0 * tolerance / rise).powi(between.len() as i32),
    })
}

/// Whether a share or mean, rounded to within `half_step`, can be that of `count` whole numbers: 3.4 %
/// of ten requests cannot have failed.
pub fn is_share_of(mean: f64, half_step: f64, count: u64) -> bool {
    let count = count as f64;
    let nearest = (mean * count).round() / count;
    // A billionth forgives that a printed figure has no exact binary form.
    (nearest - mean).abs() <= half_step + 1e-9 * mean.abs().max(half_step)
}

/// The least standard deviation of requests whose mean and one percentile (`share` in 0 to 1, without
/// the ends) are these. A smaller one is impossible.
pub fn deviation_least(mean: f64, share: f64, percentile: f64) -> f64 {
    let away = percentile - mean;
    let odds = (1.0 - share) / share;
    if away > 0.0 {
        away * odds.sqrt()
    } else {
        -away / odds.sqrt()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_timer_of_ten_milliseconds_shows_through_two_digits() {
        // Seconds with two digits; the timer's step is the digit's own.
        assert_eq!(common_step(&[0.01, 0.03, 0.02, 0.07], 0.01), None);
        let found = common_step(&[30.0, 10.0, 50.0, 20.0, 0.0], 0.1).unwrap();
        assert!((found.step - 10.0).abs() < 1e-9, "{found:?}");
        // 100⁻⁴ + 100⁻³ ÷ 3.
        assert!(
            (found.chance - (1e-8 + 1e-6 / 3.0)).abs() < 1e-12,
            "{found:?}"
        );
        assert_eq!(common_step(&[30.0, 10.1, 50.0], 0.1), None);
    }

    #[test]
    fn what_has_no_step_has_none() {
        assert_eq!(common_step(&[], 1.0), None);
        assert_eq!(
            common_step(&[8.0, 8.0, 0.0], 1.0),
            None,
            "one value says nothing"
        );
        assert_eq!(common_step(&[1.5, 3.0], 1.0), None, "finer than printed");
        assert_eq!(common_step(&[-2.0, 4.0], 1.0), None);
        assert_eq!(common_step(&[f64::NAN, 4.0, 8.0], 1.0), None);
        assert_eq!(common_step(&[1e300, 2e300], 1.0), None);
        assert_eq!(common_step(&[2.0, 4.0], 0.0), None);
    }

    #[test]
    fn the_lowest_bucket_is_told_by_its_percentiles() {
        // 99.8 % of the requests below 1 ms: quantile ÷ 0.998, three digits printed.
        let found = interpolated(&[(0.90, 0.902), (0.95, 0.952), (0.99, 0.992)], 0.001).unwrap();
        assert!(found.at_none.abs() < 0.003, "{found:?}");
        assert!((found.at_all - 1.002).abs() < 0.001, "{found:?}");
        assert!((found.chance - 0.002 / 0.09).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_bucket_higher_up_is_told_too() {
        // histogram_quantile: 5 ms + 5 ms × (quantile − 0.4) ÷ 0.6 for the bucket 5 to 10 ms that holds 40 to 100 %.
        let at = |share: f64| {
            (
                share,
                ((5.0 + 5.0 * (share - 0.4) / 0.6) * 100.0).round() / 100.0,
            )
        };
        let found = interpolated(&[at(0.5), at(0.9), at(0.95), at(0.99)], 0.01).unwrap();
        assert!((found.at_all - 10.0).abs() < 0.02, "{found:?}");
        assert!(found.at_none > 1.0, "{found:?}");
        assert!(found.chance < 1e-4, "{found:?}");
    }

    #[test]
    fn percentiles_of_requests_lie_on_no_line() {
        // Exponential response times of mean 1 ms.
        let at = |share: f64| (share, -(1.0 - share).ln());
        assert_eq!(interpolated(&[at(0.5), at(0.9), at(0.99)], 0.001), None);
        assert_eq!(
            interpolated(&[at(0.5), at(0.99)], 0.001),
            None,
            "two are always on a line"
        );
        assert_eq!(
            interpolated(&[(0.5, 1.0), (0.9, 1.0), (0.99, 1.0)], 0.001),
            None,
            "flat"
        );
        assert_eq!(
            interpolated(&[(0.5, 1.0), (0.9, f64::NAN), (0.99, 2.0)], 0.001),
            None
        );
    }

    #[test]
    fn the_published_example_of_the_grim_test() {
        // Brown and Heathers: of 28 whole numbers, a mean of 5.19 is impossible, and 5.18 and 5.21 are not.
        assert!(!is_share_of(5.19, 0.005, 28));
        assert!(is_share_of(5.18, 0.005, 28) && is_share_of(5.21, 0.005, 28));
        assert!(!is_share_of(0.034, 0.0005, 10) && is_share_of(0.3, 0.0005, 10));
        assert!(!is_share_of(f64::NAN, 0.005, 28) && !is_share_of(0.5, 0.005, 0));
    }

    #[test]
    fn the_least_deviation_is_reached_by_two_values() {
        // 90 requests of 1 ms and 10 of 11 ms: mean 2, deviation 3; p90 may be read as either.
        assert!((deviation_least(2.0, 0.9, 11.0) - 3.0).abs() < 1e-12);
        assert!((deviation_least(2.0, 0.9, 1.0) - 3.0).abs() < 1e-12);
        assert_eq!(deviation_least(2.0, 0.9, 2.0), 0.0);
    }

    proptest! {
        #[test]
        fn real_shares_are_possible(part in 0_u64..1_000, more in 1_u64..1_000, digits in 1_i32..6) {
            let count = part + more;
            let step = 10_f64.powi(-digits);
            let printed = (part as f64 / count as f64 / step).round() * step;
            prop_assert!(is_share_of(printed, step / 2.0, count));
        }

        #[test]
        fn real_deviations_are_not_below_the_least(
            mut values in prop::collection::vec(0.0_f64..100.0, 2..60), rank in 0.0_f64..1.0,
        ) {
            values.sort_by(f64::total_cmp);
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
            // The nearest rank; the last has the share 1, which tells nothing.
            let index = (rank * (count - 1.0)) as usize;
            let share = (index + 1) as f64 / count;
            prop_assume!(share < 1.0);
            let least = deviation_least(mean, share, values[index]);
            prop_assert!((squares / count).sqrt() >= least - 1e-9);
        }

        #[test]
        fn multiples_have_their_step(
            counts in prop::collection::btree_set(1_u64..1_000, 3..20), step in 2_u64..50,
        ) {
            let values: Vec<f64> = counts.iter().map(|count| (count * step) as f64).collect();
            let found = common_step(&values, 1.0).unwrap();
            prop_assert_eq!(found.step as u64 % step, 0);
            prop_assert!(found.chance > 0.0 && found.chance <= 1.0);
        }
    }
}
