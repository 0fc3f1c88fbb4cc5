//! Estimates the probability of an event from its share of independent trials.

use crate::estimate::Interval;
use crate::normal;

/// The half-width of a 95 % interval in standard errors.
const Z: f64 = 1.959_963_984_540_054;

/// Returns the 95 % interval of the probability of an event that occurred in `found` of `trials`
/// independent trials. Returns `None` if there are no trials or `found` exceeds `trials`.
///
/// Source: E. B. Wilson, *Probable Inference, the Law of Succession, and Statistical Inference*,
/// Journal of the American Statistical Association 22(158), 1927.
pub fn wilson(found: usize, trials: usize) -> Option<Interval> {
    if trials == 0 || found > trials {
        return None;
    }
    let (n, share) = (trials as f64, found as f64 / trials as f64);
    let squared = Z * Z;
    let center = share + squared / (2.0 * n);
    let reach = Z * (share * (1.0 - share) / n + squared / (4.0 * n * n)).sqrt();
    let all = 1.0 + squared / n;
    // Rounding errors must not move the ends outside the range from 0 to 1.
    let (low, high) = (center - reach, center + reach);
    let ends = ((low / all).max(0.0), (high / all).min(1.0));
    Some(Interval::of(ends, 1.0 - 2.0 * normal::beyond(Z)))
}
