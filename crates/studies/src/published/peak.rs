//! The seconds of a load with the most responses.

use gatebench_store::{Histogram, StoreError};

use super::artefacts::best_seconds;
use super::measured::Load;
use crate::common::digest::{is_answered, trusted_percentile};
use crate::common::facts::CurveMetric;

/// The length of the peak; the load must be three times as long.
const PEAK_SECONDS: usize = 10;

/// The peak: its first second, its number of seconds, and the average number of responses per
/// second.
fn peak(load: &Load<'_>) -> Option<(usize, usize, f64)> {
    let seconds = load.seconds();
    let length = if seconds.len() >= 3 * PEAK_SECONDS {
        PEAK_SECONDS
    } else {
        1
    };
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
    let mut sum: Option<Histogram<u64>> = None;
    for second in load.stored.seconds(&load.phase.name)? {
        let answered = is_answered(&second.tag, CurveMetric::Response);
        if answered && (first..first + length).contains(&(second.second as usize)) {
            let all = sum.get_or_insert_with(|| {
                let mut empty = Histogram::new_from(&second.histogram);
                empty.auto(true);
                empty
            });
            // The histogram grows as needed, so no value is lost.
            let _ = all.add(&second.histogram);
        }
    }
    Ok(sum.and_then(|all| trusted_percentile(&all, percentile)))
}
