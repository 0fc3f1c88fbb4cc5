//! What a search ends with.

use serde::Serialize;

use crate::{Interval, student};

/// Repeats from which on their spread gives an interval.
pub const REPEATS_MIN: usize = 3;

/// The confidence of the interval.
const CONFIDENCE: f64 = 0.95;

/// What a search ends with. Each carries what the finished repeats found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// The highest rate that holds the objective.
    Found(Knee),
    /// The highest rate that was to be tried held it: the knee lies above.
    AtLeast {
        /// The highest rate.
        rate_per_second: f64,
        /// What repeats found before one ended here.
        knees_per_second: Vec<f64>,
    },
    /// The lowest rate that was to be tried missed it: the knee lies below.
    Below {
        /// The lowest rate.
        rate_per_second: f64,
        /// What repeats found before one ended here.
        knees_per_second: Vec<f64>,
    },
}

/// The highest rate that holds an objective.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// The geometric mean of the repeats.
    pub rate_per_second: f64,
    /// Student's t interval over the logarithms of the repeats; none below [`REPEATS_MIN`].
    pub interval: Option<Interval>,
    /// What each repeat found.
    pub knees_per_second: Vec<f64>,
}

impl Knee {
    /// None without repeats.
    pub(super) fn of(knees_per_second: Vec<f64>) -> Option<Self> {
        let repeats = knees_per_second.len() as f64;
        if knees_per_second.is_empty() {
            return None;
        }
        let logs: Vec<f64> = knees_per_second.iter().map(|knee| knee.ln()).collect();
        let mean = logs.iter().sum::<f64>() / repeats;
        let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
        let interval = (knees_per_second.len() >= REPEATS_MIN).then(|| {
            let error = (squares / (repeats - 1.0) / repeats).sqrt();
            let half = student::quantile(0.5 + CONFIDENCE / 2.0, repeats - 1.0) * error;
            Interval {
                low: (mean - half).exp(),
                high: (mean + half).exp(),
                confidence: CONFIDENCE,
            }
        });
        Some(Self {
            rate_per_second: mean.exp(),
            interval,
            knees_per_second,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_interval_is_students_on_the_logarithms() {
        // np.exp(scipy.stats.t.interval(.95, 4, np.mean(l), scipy.stats.sem(l))) of l = np.log([980,
        // 1010, 1000, 1030, 990]) (scipy 1.17.1).
        let found = Knee::of(vec![980.0, 1010.0, 1000.0, 1030.0, 990.0]).unwrap();
        let interval = found.interval.unwrap();
        assert!(
            (found.rate_per_second - 1_001.852_9).abs() < 1e-3,
            "{found:?}"
        );
        assert!((interval.low - 978.328_9).abs() < 1e-3, "{interval:?}");
        assert!((interval.high - 1_025.942_6).abs() < 1e-3, "{interval:?}");
    }

    #[test]
    fn two_repeats_have_no_interval_and_none_no_answer() {
        assert_eq!(Knee::of(vec![100.0, 101.0]).unwrap().interval, None);
        assert_eq!(Knee::of(Vec::new()), None);
    }
}
