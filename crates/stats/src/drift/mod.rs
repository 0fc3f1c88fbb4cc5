//! Tests whether a series of short, correlated bins drifts, with a Mann-Kendall test whose variance
//! is increased to account for the correlation of each bin with the previous one.
//!
//! Sources: K. H. Hamed and A. R. Rao, *A Modified Mann-Kendall Trend Test for Autocorrelated
//! Data*, Journal of Hydrology 204, 1998 (the variance, from the ranks of the series without its
//! trend); M. G. Kendall, *Note on Bias in the Estimation of Autocorrelation*, Biometrika 41, 1954
//! (a short series seems less correlated than it is).

use crate::trend::{Trend, kendall_s, theil_sen};
use crate::{median, student};

/// The minimum number of bins for a test. With fewer, the estimate of the correlation is too
/// uncertain.
pub const BINS_MIN: usize = 15;

/// The maximum number of points. Adjacent bins of a longer series are averaged.
const POINTS_MAX: usize = 60;

/// The highest correlation that is assumed. With a higher one, even a long series would count as
/// only a few independent values.
const MEMORY_MAX: f64 = 0.9;

/// Returns the drift of bins of equal length, or `None` if there are fewer than [`BINS_MIN`] bins,
/// a value is not finite, or the median is not above zero.
pub fn drift(bins: &[f64]) -> Option<Trend> {
    if bins.len() < BINS_MIN || !bins.iter().all(|value| value.is_finite()) {
        return None;
    }
    let points = added_up(bins);
    let middle = median(&points).filter(|middle| *middle > 0.0)?;
    let slope = theil_sen(&points)?;
    Some(Trend {
        p: p(&points),
        drift: slope * (points.len() - 1) as f64 / middle,
    })
}

/// Averages groups of adjacent bins. The groups are as small as possible for at most [`POINTS_MAX`]
/// points. Bins at the end that do not fill a group are dropped.
fn added_up(bins: &[f64]) -> Vec<f64> {
    let neighbors = bins.len().div_ceil(POINTS_MAX);
    let mean = |bins: &[f64]| bins.iter().sum::<f64>() / bins.len() as f64;
    bins.chunks_exact(neighbors).map(mean).collect()
}

fn p(points: &[f64]) -> f64 {
    let s = kendall_s(points);
    let count = points.len() as f64;
    let variance = count * (count - 1.0) * (2.0 * count + 5.0) / 18.0;
    let memory = memory(points);
    let widened = variance * (1.0 + memory) / (1.0 - memory);
    let z = (s.abs() - 1.0).max(0.0) / widened.sqrt();
    // The correlation is estimated, so Student's t replaces the normal distribution.
    let freedom = (count * (1.0 - memory) / (1.0 + memory) - 2.0).max(1.0);
    2.0 * (1.0 - student::cdf(z, freedom))
}

/// Returns the correlation of a point with the previous one, computed from the ranks of the series
/// after subtracting their best-fitting parabola. A line would not suffice, because a warm-up is a
/// curve. The result is corrected for the bias of a short series (Kendall), which for a parabola is
/// (3 + 5 × the correlation) ÷ the number of points.
fn memory(points: &[f64]) -> f64 {
    let rest = without_parabola(&places(points));
    let count = rest.len() as f64;
    let square: f64 = rest.iter().map(|value| value * value).sum();
    // If the parabola fits perfectly, only rounding errors are left.
    if square <= 1e-9 * count.powi(3) {
        return 0.0;
    }
    let product: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    ((product / square * count + 3.0) / (count - 5.0)).clamp(0.0, MEMORY_MAX)
}

/// Subtracts the least-squares parabola from the values, using polynomials that are orthogonal at
/// equally spaced points.
fn without_parabola(values: &[f64]) -> Vec<f64> {
    let count = values.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let line = |at: usize| at as f64 - middle;
    let curve = |at: usize| line(at).powi(2) - (count * count - 1.0) / 12.0;
    let share = |shape: &dyn Fn(usize) -> f64| {
        let products = values
            .iter()
            .enumerate()
            .map(|(at, value)| value * shape(at));
        let squares = (0..values.len()).map(|at| shape(at).powi(2));
        products.sum::<f64>() / squares.sum::<f64>()
    };
    let (flat, rise, bend) = (share(&|_| 1.0), share(&line), share(&curve));
    let fit = |at: usize| flat + rise * line(at) + bend * curve(at);
    let rest = values.iter().enumerate();
    rest.map(|(at, value)| value - fit(at)).collect()
}

/// Returns the rank of each value. Equal values share the mean of their ranks.
fn places(values: &[f64]) -> Vec<f64> {
    let place = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal - 1.0) / 2.0
    };
    values.iter().map(place).collect()
}
