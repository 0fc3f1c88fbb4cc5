//! The seconds of a load with the most responses.

use gatebench_store::{Histogram, StoreError};

use super::artefacts::best_seconds;
use super::measured::Load;
use crate::common::digest::{is_answered, trusted_percentile};
use crate::common::facts::CurveMetric;

/// The length of the peak, if the load is three times as long.
const PEAK_SECONDS: usize = 10;

/// The seconds of the peak: the first, how many, and the responses in each of them on average.
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

/// The rate that a document prints which shows the peak.
pub(super) fn rate(load: &Load<'_>) -> Option<f64> {
    Some(peak(load)?.2)
}

/// A percentile of the response times of the peak alone, where enough responses lie beyond it.
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
            // It grows as it must, so that nothing is left out.
            let _ = all.add(&second.histogram);
        }
    }
    Ok(sum.and_then(|all| trusted_percentile(&all, percentile)))
}
