//! Estimates the time over which a series is correlated with itself.

use super::Sample;

/// The lowest correlation with an earlier stretch that is attributed to a sawtooth rather than to
/// chance.
const PERIODIC_MIN: f64 = 0.25;

/// The number of correlation times over which correlations are summed. This window equals Sokal's
/// window of five, because his correlation times are half as long.
const WINDOW: f64 = 2.5;

/// Returns the autocorrelations of the ranks of a series after subtracting its fitted line; empty
/// if the series is a straight line. Ranks prevent two outliers from looking like a pattern.
///
/// The line is fitted over time, not over the index of the readings, because some readings may be
/// missing.
pub(super) fn rank_correlations(samples: &[Sample]) -> Vec<f64> {
    let rest = without_line(samples);
    let below = |value: f64| rest.iter().filter(|other| **other < value).count();
    let equal = |value: f64| rest.iter().filter(|other| **other == value).count();
    // The residuals of a straight line are rounding errors, whose ranks are meaningless.
    if rest.iter().all(|value| value.abs() < 1e-12) {
        return Vec::new();
    }
    let rank = |value: &f64| below(*value) as f64 + equal(*value) as f64 / 2.0;
    correlations(&rest.iter().map(rank).collect::<Vec<_>>())
}

/// Returns the autocorrelations of a series after subtracting its fitted line, for distances from 0
/// to half its length; empty if the series is a straight line.
fn correlations(values: &[f64]) -> Vec<f64> {
    let rest = without_line(&one_by_one(values));
    let squares: f64 = rest.iter().map(|value| value * value).sum();
    if squares <= 1e-24 * values.len() as f64 {
        return Vec::new();
    }
    let product = |lag: usize| -> f64 {
        let later = &rest[lag..];
        rest.iter().zip(later).map(|(a, b)| a * b).sum()
    };
    (0..=values.len() / 2)
        .map(|lag| product(lag) / squares)
        .collect()
}

/// Returns the integrated correlation time: the number of values that contain as much information
/// as one independent value. The time is 1 for independent values.
pub(super) fn time(correlations: &[f64]) -> f64 {
    let mut sum = 1.0;
    for (lag, correlation) in correlations.iter().enumerate().skip(1) {
        sum += 2.0 * correlation;
        if lag as f64 >= WINDOW * sum {
            break;
        }
    }
    sum.max(1.0)
}

/// Returns the correlation time of a short series from which a line was subtracted. The plain
/// estimate is too small. The result is therefore at least the correlation time of an
/// autoregressive process of order 1 whose correlation is corrected for the subtracted line.
///
/// Sources: M. G. Kendall, *Note on Bias in the Estimation of Autocorrelation*, Biometrika 41,
/// 1954; for a line, P. Perron, E. Yabu, Journal of Econometrics 151, 2009: the estimate is too low
/// by (2 + 4φ) ÷ n.
pub(super) fn time_of_rests(correlations: &[f64], count: usize) -> f64 {
    let Some(first) = correlations.get(1) else {
        return 1.0;
    };
    let corrected = (first + (2.0 + 4.0 * first) / count as f64).min(0.95);
    time(correlations).max((1.0 + corrected) / (1.0 - corrected))
}

/// Returns the correlation time, in values, of a series from which the means of its parts were
/// subtracted.
pub(crate) fn memory_of_rests(rests: &[f64]) -> f64 {
    time_of_rests(&rank_correlations(&one_by_one(rests)), rests.len())
}

/// Returns the length of a tooth if the series is a sawtooth. The length is the distance with the
/// highest correlation, not counting the distances before the first correlation that is not
/// positive.
pub(super) fn period(correlations: &[f64]) -> Option<usize> {
    let first = correlations
        .iter()
        .position(|correlation| *correlation <= 0.0)?;
    let later = correlations.iter().enumerate().skip(first);
    let (lag, highest) = later.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (*highest >= PERIODIC_MIN).then_some(lag)
}

/// Converts the values to samples that are a second apart.
fn one_by_one(values: &[f64]) -> Vec<Sample> {
    let sample = |(i, value): (usize, &f64)| Sample {
        at_seconds: i as f64,
        value: *value,
    };
    values.iter().enumerate().map(sample).collect()
}

fn without_line(samples: &[Sample]) -> Vec<f64> {
    let count = samples.len() as f64;
    let mean = |of: fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (middle, level) = (mean(|it| it.at_seconds), mean(|it| it.value));
    let products = samples
        .iter()
        .map(|it| (it.at_seconds - middle) * (it.value - level));
    let squares = samples.iter().map(|it| (it.at_seconds - middle).powi(2));
    let (products, squares) = (products.sum::<f64>(), squares.sum::<f64>());
    let slope = if squares > 0.0 {
        products / squares
    } else {
        0.0
    };
    let rest = |it: &Sample| it.value - level - slope * (it.at_seconds - middle);
    samples.iter().map(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Drift, Noise};

    #[test]
    fn correlations_are_those_of_statsmodels() {
        // statsmodels 0.15.0: acf(detrend(x, order=1), nlags=4, fft=False)
        let x = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0];
        let expected = [
            1.000000000000,
            -0.299599696120,
            -0.190300042991,
            0.231363526025,
            -0.399026610370,
        ];
        for (found, expected) in correlations(&x).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        }
    }

    #[test]
    fn a_process_with_known_memory_has_its_correlation_time() {
        // (1 + φ) ÷ (1 − φ) = 9 for φ = 0.8.
        let mut noise = Noise::seeded(9);
        let mut drift = Drift::new(0.8, &mut noise);
        let values: Vec<f64> = (0..4_000).map(|_| drift.next(&mut noise)).collect();
        let found = time(&correlations(&values));
        assert!((found - 9.0).abs() < 2.0, "{found}");
        let white: Vec<f64> = (0..4_000).map(|_| noise.normal()).collect();
        assert!(time(&correlations(&white)) < 1.3);
        assert_eq!(period(&correlations(&white)), None);
        // On average over series of thirty values, the corrected time is about right, and the
        // uncorrected one is far too short.
        let times = |of: fn(&[f64]) -> f64| -> f64 {
            let parts = values.chunks_exact(30);
            parts.clone().map(of).sum::<f64>() / parts.len() as f64
        };
        let plain = times(|part| time(&rank_correlations(&one_by_one(part))));
        let corrected = times(|part| time_of_rests(&rank_correlations(&one_by_one(part)), 30));
        assert!(
            plain < 4.0 && (6.0..13.0).contains(&corrected),
            "{plain} {corrected}"
        );
    }

    #[test]
    fn two_outliers_are_not_a_pattern() {
        let mut noise = Noise::seeded(10);
        let mut values: Vec<f64> = (0..300).map(|_| noise.normal()).collect();
        (values[60], values[150]) = (1e3, 1e3);
        assert_eq!(period(&correlations(&values)), Some(90));
        assert_eq!(period(&rank_correlations(&one_by_one(&values))), None);
    }

    #[test]
    fn a_sawtooth_has_the_length_of_its_teeth() {
        let teeth: Vec<f64> = (0..400).map(|i| f64::from(i % 37)).collect();
        assert_eq!(period(&correlations(&teeth)), Some(37));
        let line: Vec<f64> = (0..50).map(f64::from).collect();
        assert!(correlations(&line).is_empty() && rank_correlations(&one_by_one(&line)).is_empty());
        assert_eq!(period(&rank_correlations(&one_by_one(&teeth))), Some(37));
        assert_eq!((time(&[]), period(&[])), (1.0, None));
    }
}
