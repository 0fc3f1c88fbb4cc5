//! Determines which percentiles a number of samples supports.

/// The minimum number of samples that must lie beyond a percentile for it to be reported. With ten,
/// the relative error of their number is about a third (√10 ÷ 10); with one, the percentile is an
/// anecdote.
pub const SAMPLES_BEYOND: u64 = 10;

/// Returns the highest percentile, from 0 to 100, that has [`SAMPLES_BEYOND`] of `count` samples
/// beyond it, or `None` if `count` is not larger than [`SAMPLES_BEYOND`].
pub fn highest_trustworthy_percentile(count: u64) -> Option<f64> {
    (count > SAMPLES_BEYOND).then(|| 100.0 * (1.0 - SAMPLES_BEYOND as f64 / count as f64))
}

/// Reports whether `percentile`, from 0 to 100, has at least [`SAMPLES_BEYOND`] of `count` samples
/// beyond it.
pub fn is_trustworthy(percentile: f64, count: u64) -> bool {
    // Numbers such as 99.9 have no exact binary form, so tolerate a billionth of the samples.
    (100.0 - percentile) / 100.0 * count as f64 >= SAMPLES_BEYOND as f64 - 1e-9 * count as f64
}
