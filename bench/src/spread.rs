//! Summarizes the values of several rounds.

use gatebench_stats::{Estimate, student};

/// The median with the range and, for ratios, Student's interval.
#[derive(Clone, Debug)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    /// The 95 % interval of the mean logarithm, converted back to ratios; `None` for the result of
    /// [`spread`], with fewer than two values, or if a value is not positive.
    pub interval: Option<(f64, f64)>,
}

/// Summarizes values without an interval; returns `None` if there are no values.
pub fn spread(values: &[f64]) -> Option<Spread> {
    let Estimate {
        median, min, max, ..
    } = Estimate::of_blocks(values)?;
    Some(Spread {
        median,
        min,
        max,
        interval: None,
    })
}

/// Summarizes ratios, with Student's t interval of their logarithms.
pub fn ratios(values: &[f64]) -> Option<Spread> {
    let interval = log_interval(values);
    Some(Spread {
        interval,
        ..spread(values)?
    })
}

/// Returns an interval that contains the median of the distribution with a probability of at least
/// 95 %, or `None` for fewer than six values. Its ends are two of the values, chosen by the
/// binomial distribution (as in a sign test), so it depends neither on the shape of the
/// distribution nor on the size of outliers.
pub fn median_interval(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    // The logarithm of the probability that exactly `below` values are below the median.
    let mut log = count as f64 * 0.5_f64.ln();
    let (mut below, mut probability) = (0, log.exp());
    while probability <= 0.025 {
        log += ((count - below) as f64 / (below + 1) as f64).ln();
        below += 1;
        probability += log.exp();
    }
    let low = below.checked_sub(1)?;
    Some((sorted[low], sorted[count - 1 - low]))
}

fn log_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 || values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let count = values.len() as f64;
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    let reach = student::quantile(0.975, count - 1.0) * error;
    Some(((mean - reach).exp(), (mean + reach).exp()))
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.2} ({:.2}–{:.2})", self.median, self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_spread_shows_median_and_range() {
        assert_eq!(
            spread(&[3.0, 1.0, 2.0]).unwrap().to_string(),
            "2.00 (1.00–3.00)"
        );
        assert!(spread(&[]).is_none());
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_a_sign_test() {
        let values = |count: u32| Vec::from_iter((1..=count).map(f64::from));
        // According to tables of the sign test, the interval extends from the second to the ninth
        // of 10 values, and from the 40th to the 61st of 100.
        assert_eq!(median_interval(&values(10)), Some((2.0, 9.0)));
        assert_eq!(median_interval(&values(100)), Some((40.0, 61.0)));
        assert_eq!(median_interval(&values(6)), Some((1.0, 6.0)));
        assert_eq!(median_interval(&values(5)), None);
        assert_eq!(median_interval(&[]), None);
    }

    #[test]
    fn the_interval_of_ratios_is_students() {
        // The logarithms are −ln 2, 0 and ln 2. Their standard deviation is ln 2, the standard
        // error of their mean is ln 2 ÷ √3, and t(0.975, 2) is 4.30265.
        let (low, high) = ratios(&[0.5, 1.0, 2.0]).unwrap().interval.unwrap();
        let reach = (4.302_652_73 * 2_f64.ln() / 3_f64.sqrt()).exp();
        assert!(
            (high - reach).abs() < 1e-4 && (low - 1.0 / reach).abs() < 1e-4,
            "{low} {high}"
        );
        assert!(ratios(&[1.5]).unwrap().interval.is_none());
    }
}
