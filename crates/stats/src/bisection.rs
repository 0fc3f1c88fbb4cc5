//! Finds the point at which a condition becomes true.

/// Enough steps to narrow an interval to 2⁻⁶⁰ of its width; an f64 has 53 significant bits.
pub(crate) const DIGITS: u32 = 60;

/// Approximates the lowest number between `low` and `high` for which `holds` is true. `holds` must
/// also be true for all larger numbers. Each of the `steps` halves the interval, and the result is
/// the upper end of the last interval.
pub(crate) fn bisect(mut low: f64, mut high: f64, steps: u32, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..steps {
        let middle = low + (high - low) / 2.0;
        if holds(middle) {
            high = middle
        } else {
            low = middle
        }
    }
    high
}
