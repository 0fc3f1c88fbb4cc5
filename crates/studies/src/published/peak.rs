//! The seconds of a load with the most responses.

use gatebench_store::StoreError;

use super::artefacts::best_seconds;
use super::measured::Load;
use crate::common::digest::{is_answered, sum_of, trusted_percentile};
use crate::common::facts::CurveMetric;

/// The length of the peak. In a load that is not three times as long, the peak is one second.
const PEAK_SECONDS: usize = 10;

/// The peak: its first second, its number of seconds, and the average number of responses per
/// second.
fn peak(load: &Load<'_>) -> Option<(usize, usize, f64)> {
    let seconds = load.seconds();
    let is_long = seconds.len() >= 3 * PEAK_SECONDS;
    let length = if is_long { PEAK_SECONDS } else { 1 };
    let (first, rate) = best_seconds(&seconds, length)?;
    Some((first, length, rate))
}

/// The rate that documents print if they show the peak.
pub(super) fn rate(load: &Load<'_>) -> Option<f64> {
    Some(peak(load)?.2)
}

/// A percentile of the response times during the peak, if enough responses lie beyond it.
pub(super) fn response_ns(load: &Load<'_>, percentile: f64) -> Result<Option<f64>, StoreError> {
    let Some((first, length, _)) = peak(load) else {
        return Ok(None);
    };
    let seconds = load.stored.seconds(&load.phase.name)?;
    let of_peak = seconds.iter().filter(|it| {
        let is_within = (first..first + length).contains(&(it.second as usize));
        is_within && is_answered(&it.tag, CurveMetric::Response)
    });
    let all = sum_of(of_peak.map(|it| &it.histogram));
    Ok(all.and_then(|all| trusted_percentile(&all, percentile)))
}
