//! Fits a law to throughputs on different numbers of cores, and predicts the throughput on numbers
//! of cores that were not measured.
//!
//! Sources: N. J. Gunther, *Guerrilla Capacity Planning*, Springer 2007, chapters 4 to 6 (the
//! Universal Scalability Law); B. Efron, R. J. Tibshirani, *An Introduction to the Bootstrap*,
//! 1993, section 9.4 (resampled residuals), expanded as in T. C. Hesterberg, The American
//! Statistician 69(4), 2015.

mod law;

pub use law::Law;

use serde::Serialize;

use crate::random::Random;
use crate::{Interval, student};

/// The minimum number of different core counts for the Universal Scalability Law. With fewer, a
/// line is fitted.
pub const CORE_COUNTS_MIN: usize = 4;

const RESAMPLES: usize = 2_000;

const CONFIDENCE: f64 = 0.95;

/// The quantile of the normal distribution for [`CONFIDENCE`].
const NORMAL_CRITICAL: f64 = 1.959_964;

/// A measurement. Several measurements may have the same number of cores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub cores: f64,
    pub throughput_per_second: f64,
}

/// A law fitted to measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Scalability {
    pub law: Law,
    /// The smallest and the largest number of cores that were measured.
    pub cores_measured: (f64, f64),
    /// The laws that were fitted to resamples; empty unless there are more measurements than the
    /// law has parameters.
    resampled: Vec<Law>,
}

/// The law's prediction for a number of cores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Prediction {
    pub throughput_per_second: f64,
    /// The interval of the law's value, not of a single measurement; `None` unless there are more
    /// measurements than the law has parameters.
    pub interval: Option<Interval>,
    /// True if the number of cores is outside the measured range.
    pub extrapolated: bool,
}

/// The number of cores that a rate requires.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sizing {
    pub cores: u32,
    /// The lower end of the interval of `cores`. `None` if there are too few measurements for an
    /// interval or if, in more than about 97.5 % of the resamples, no number of cores achieves the
    /// rate.
    pub cores_low: Option<u32>,
    /// The upper end of the interval of `cores`. `None` if there are too few measurements for an
    /// interval or if, in more than about 2.5 % of the resamples, no number of cores achieves the
    /// rate.
    pub cores_high: Option<u32>,
    /// True if the number of cores is outside the measured range.
    pub extrapolated: bool,
}

impl Scalability {
    /// Fits the Universal Scalability Law if there are at least [`CORE_COUNTS_MIN`] different
    /// numbers of cores, otherwise a line through the origin. Errors are relative to the
    /// throughput. The seed is used for the intervals.
    ///
    /// Returns `None` if there are no measurements or a number is not positive and finite.
    pub fn fit(points: &[Point], seed: u64) -> Option<Self> {
        let usable = |value: f64| value.is_normal() && value > 0.0;
        let all = points
            .iter()
            .all(|p| usable(p.cores) && usable(p.throughput_per_second));
        if points.is_empty() || !all {
            return None;
        }
        let cores = points.iter().map(|point| point.cores);
        let cores_measured = (
            cores.clone().reduce(f64::min)?,
            cores.clone().reduce(f64::max)?,
        );
        let mut counts: Vec<f64> = cores.collect();
        counts.sort_by(f64::total_cmp);
        counts.dedup();
        let fitted = if counts.len() >= CORE_COUNTS_MIN {
            Law::universal
        } else {
            Law::linear
        };
        let law = fitted(points)?;
        Some(Self {
            law,
            cores_measured,
            resampled: resample(points, &law, fitted, seed),
        })
    }

    /// Returns `None` if `cores` is not positive and finite.
    pub fn predict(&self, cores: f64) -> Option<Prediction> {
        if !(cores > 0.0 && cores.is_finite()) {
            return None;
        }
        let mut resampled: Vec<f64> = self.resampled.iter().map(|law| law.at(cores)).collect();
        resampled.sort_by(f64::total_cmp);
        let interval = ends(&resampled).map(|ends| Interval::of(ends, CONFIDENCE));
        Some(Prediction {
            throughput_per_second: self.law.at(cores),
            interval,
            extrapolated: self.extrapolated(cores),
        })
    }

    /// Returns the number of cores that a rate requires, or `None` if, according to the law, no
    /// number of cores achieves it.
    pub fn cores_for(&self, rate_per_second: f64) -> Option<Sizing> {
        let cores = self.law.cores_for(rate_per_second)?;
        // A resampled law that does not achieve the rate counts as requiring infinitely many cores.
        let most = |law: &Law| law.cores_for(rate_per_second).unwrap_or(u32::MAX);
        let mut resampled: Vec<u32> = self.resampled.iter().map(most).collect();
        resampled.sort_unstable();
        let (low, high) = ends(&resampled).unzip();
        let managed = |cores: &u32| *cores != u32::MAX;
        Some(Sizing {
            cores,
            cores_low: low.filter(managed),
            cores_high: high.filter(managed),
            extrapolated: self.extrapolated(f64::from(cores)),
        })
    }

    fn extrapolated(&self, cores: f64) -> bool {
        let (fewest, most) = self.cores_measured;
        cores < fewest || cores > most
    }
}

/// Returns the bounds of the middle [`CONFIDENCE`] share of the sorted values.
fn ends<T: Copy>(sorted: &[T]) -> Option<(T, T)> {
    let last = sorted.len().checked_sub(1)?;
    let beyond = ((1.0 - CONFIDENCE) / 2.0 * last as f64).round() as usize;
    Some((sorted[beyond], sorted[last - beyond]))
}

/// Fits the law again to the fitted throughputs plus redrawn residuals, on a logarithmic scale. The
/// residuals are expanded, because the residuals of a fit are smaller than the errors, and a few of
/// them show little of the errors' spread.
fn resample(
    points: &[Point],
    law: &Law,
    fitted: fn(&[Point]) -> Option<Law>,
    seed: u64,
) -> Vec<Law> {
    let freedom = points.len().saturating_sub(law.parameters()) as f64;
    if freedom < 1.0 {
        return Vec::new();
    }
    let critical = student::quantile(0.5 + CONFIDENCE / 2.0, freedom);
    let expanded = (points.len() as f64 / freedom).sqrt() * critical / NORMAL_CRITICAL;
    let residual = |p: &Point| expanded * (p.throughput_per_second / law.at(p.cores)).ln();
    let residuals: Vec<f64> = points.iter().map(residual).collect();
    let mean = residuals.iter().sum::<f64>() / residuals.len() as f64;
    let mut random = Random::seeded(seed);
    let refit = |_| {
        let mut draw = |point: &Point| Point {
            throughput_per_second: law.at(point.cores)
                * (residuals[random.index(residuals.len())] - mean).exp(),
            ..*point
        };
        fitted(&points.iter().map(&mut draw).collect::<Vec<_>>())
    };
    (0..RESAMPLES).filter_map(refit).collect()
}
