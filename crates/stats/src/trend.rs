//! Tests a series for a trend with the Mann-Kendall test, and measures the trend with the Theil–Sen
//! slope.
//!
//! Sources: H. B. Mann, *Nonparametric Tests Against Trend*, Econometrica 13(3), 1945; M. G.
//! Kendall, *Rank Correlation Methods*, 1975 (variance with ties, exact distribution); P. K. Sen,
//! *Estimates of the Regression Coefficient Based on Kendall's Tau*, JASA 63, 1968.

use crate::median;

/// The minimum number of points. With fewer, no order is rare enough to be significant: with four,
/// the smallest p-value is 0.08.
pub const POINTS_MIN: usize = 5;

/// The maximum number of points for which the exact distribution is used. For more points, or if
/// some values are equal, the normal approximation is used.
const EXACT_POINTS_MAX: usize = 30;

/// The trend of a series over its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The two-sided p-value of the hypothesis that the values have no trend.
    pub p: f64,
    /// The Theil–Sen slope times the length of the series, relative to the absolute median: 0.1 is
    /// a rise of ten percent.
    pub drift: f64,
}

/// Returns the trend of values at equal distances, or `None` if there are fewer than [`POINTS_MIN`]
/// values, one is not finite, or their median is zero.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let middle = median(values)?;
    if values.len() < POINTS_MIN || middle == 0.0 || !values.iter().all(|v| v.is_finite()) {
        return None;
    }
    let slope = theil_sen(values)?;
    let drift = slope * (values.len() - 1) as f64 / middle.abs();
    Some(Trend {
        p: mann_kendall_p(values),
        drift,
    })
}

/// Returns the distance and the difference of every pair of points.
fn pairs(values: &[f64]) -> impl Iterator<Item = (f64, f64)> {
    values.iter().enumerate().flat_map(move |(i, first)| {
        let later = values.iter().enumerate().skip(i + 1);
        later.map(move |(j, second)| ((j - i) as f64, second - first))
    })
}

/// Returns the median slope of all pairs of points, or `None` if there are no pairs.
pub(crate) fn theil_sen(values: &[f64]) -> Option<f64> {
    let slopes: Vec<f64> = pairs(values).map(|(run, rise)| rise / run).collect();
    median(&slopes)
}

/// Returns Kendall's S: the number of rising pairs minus the number of falling pairs.
pub(crate) fn kendall_s(values: &[f64]) -> f64 {
    let sign = |(_, rise): (f64, f64)| if rise == 0.0 { 0.0 } else { rise.signum() };
    pairs(values).map(sign).sum()
}

fn mann_kendall_p(values: &[f64]) -> f64 {
    let s = kendall_s(values);
    let ties = tie_sizes(values);
    if ties.is_empty() && values.len() <= EXACT_POINTS_MAX {
        exact_p(values.len(), s)
    } else {
        normal_p(values.len(), s, &ties)
    }
}

/// Returns the sizes of the groups of two or more equal values.
fn tie_sizes(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let groups = sorted.chunk_by(|a, b| a == b);
    groups
        .filter(|group| group.len() > 1)
        .map(|group| group.len() as f64)
        .collect()
}

/// S is the number of pairs minus twice the number of inversions, and the number of orders with k
/// inversions follows from the numbers for one point fewer.
fn exact_p(points: usize, s: f64) -> f64 {
    let pairs = points * (points - 1) / 2;
    let mut share = vec![0.0; pairs + 1];
    share[0] = 1.0;
    for placed in 2..=points {
        let before = share.clone();
        for (inversions, cell) in share.iter_mut().enumerate() {
            let from = inversions.saturating_sub(placed - 1);
            *cell = before[from..=inversions].iter().sum::<f64>() / placed as f64;
        }
    }
    let extreme = |inversions: usize| (pairs as f64 - 2.0 * inversions as f64).abs() >= s.abs();
    let extremes = share.iter().enumerate().filter(|(k, _)| extreme(*k));
    extremes.map(|(_, p)| p).sum::<f64>().min(1.0)
}

/// Returns the p-value by the normal approximation, corrected for ties and continuity.
fn normal_p(points: usize, s: f64, ties: &[f64]) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let variance = (term(points as f64) - ties.iter().map(|t| term(*t)).sum::<f64>()) / 18.0;
    if variance <= 0.0 || s == 0.0 {
        return 1.0;
    }
    let z = (s.abs() - 1.0) / variance.sqrt();
    // With a million degrees of freedom, Student's t equals the normal distribution to six decimal
    // places.
    2.0 * (1.0 - crate::student::cdf(z, 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_rising_points_are_two_orders_of_120() {
        let found = trend(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert!((found.p - 2.0 / 120.0).abs() < 1e-12);
        assert!((found.drift - 4.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn kendalls_table_for_ten_points() {
        // Kendall 1975, table 1: P(S ≥ 21) = 0.036 and P(S ≥ 25) = 0.014 for n = 10.
        assert!((exact_p(10, 21.0) / 2.0 - 0.036).abs() < 5e-4);
        assert!((exact_p(10, 25.0) / 2.0 - 0.014).abs() < 5e-4);
    }

    #[test]
    fn the_approximation_is_close_to_the_exact_distribution() {
        for s in [61.0, 101.0, 151.0] {
            assert!(
                (normal_p(30, s, &[]) - exact_p(30, s)).abs() < 3e-3,
                "S = {s}"
            );
        }
    }

    #[test]
    fn a_flat_series_has_no_trend_and_a_short_one_no_result() {
        assert_eq!(trend(&[7.0; 12]).unwrap(), Trend { p: 1.0, drift: 0.0 });
        assert_eq!(trend(&[1.0, 2.0, 3.0, 4.0]), None);
    }

    proptest! {
        #[test]
        fn reversing_the_series_reverses_the_drift(
            values in prop::collection::vec(1.0_f64..100.0, 5..40),
        ) {
            let mut reversed = values.clone();
            reversed.reverse();
            let (a, b) = (trend(&values).unwrap(), trend(&reversed).unwrap());
            prop_assert!((a.p - b.p).abs() < 1e-9);
            prop_assert!((a.drift + b.drift).abs() < 1e-9);
            prop_assert!((0.0..=1.0).contains(&a.p));
        }
    }
}
