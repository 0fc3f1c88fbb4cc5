//! The histograms of one trial, merged over the status classes.

use std::collections::BTreeMap;

use gatebench_stats::is_trustworthy;
use gatebench_store::{ExactSum, Histogram, PhaseRecord, SecondHistogram, StoreError, StoredTrial};

use super::changes::is_disturbed;
use super::facts::CurveMetric;

/// The class of requests without a response, and of responses with a status outside 200 to 599. A
/// request without a response has no latency, so the histograms of this class are left out.
const FAILED: &str = "failed";

/// The histograms of a trial by phase and metric, over all classes except [`FAILED`].
#[derive(Default)]
pub(crate) struct Digest {
    histograms: BTreeMap<(String, CurveMetric), Histogram<u64>>,
    /// The histograms of each second, for the phases for which [`is_disturbed`] returns true.
    seconds: BTreeMap<String, Vec<SecondHistogram>>,
}

impl Digest {
    pub(crate) fn of(trial: &StoredTrial) -> Result<Self, StoreError> {
        let mut digest = Self::default();
        for (tag, histogram) in trial.histograms()? {
            let mut parts = tag.split('.');
            let (phase, metric, class) = (parts.next(), parts.next(), parts.next());
            // The log also has histograms that are not read here, such as those of the two halves
            // of the added latency.
            let metric = CurveMetric::ALL
                .into_iter()
                .find(|it| metric == Some(it.word()));
            let (Some(phase), Some(metric)) = (phase, metric) else {
                continue;
            };
            if class == Some(FAILED) {
                continue;
            }
            let key = (phase.to_owned(), metric);
            let Some(sum) = digest.histograms.get_mut(&key) else {
                digest.histograms.insert(key, histogram);
                continue;
            };
            sum.add(histogram).map_err(|error| StoreError::Corrupt {
                path: trial.folder().join("histograms.hlog"),
                reason: error.to_string(),
            })?;
        }
        let phases = trial.record.phases.iter();
        for phase in phases.filter(|phase| is_disturbed(phase)) {
            let seconds = trial.seconds(&phase.name)?;
            digest.seconds.insert(phase.name.clone(), seconds);
        }
        Ok(digest)
    }

    pub(crate) fn of_load(
        phase: &str,
        histograms: impl IntoIterator<Item = (CurveMetric, Histogram<u64>)>,
    ) -> Self {
        let of_phase = |(metric, histogram)| ((phase.to_owned(), metric), histogram);
        Self {
            histograms: histograms.into_iter().map(of_phase).collect(),
            ..Self::default()
        }
    }

    /// The histograms of each second of a phase with a change, a failure or changes through the
    /// admin interface; empty for other phases.
    pub(crate) fn seconds(&self, phase: &str) -> &[SecondHistogram] {
        self.seconds.get(phase).map_or(&[], Vec::as_slice)
    }

    /// Returns `None` if nothing was recorded.
    pub(crate) fn get(&self, phase: &str, metric: CurveMetric) -> Option<&Histogram<u64>> {
        self.histograms
            .get(&(phase.to_owned(), metric))
            .filter(|histogram| !histogram.is_empty())
    }
}

/// Reports whether the tag of a sum or histogram belongs to this metric and to a class other than
/// [`FAILED`].
pub(crate) fn is_answered(tag: &str, metric: CurveMetric) -> bool {
    let class = tag.strip_prefix(metric.word());
    let class = class.and_then(|class| class.strip_prefix('.'));
    class.is_some_and(|class| class != FAILED)
}

/// The exact sums of a metric, one for each class of responses except [`FAILED`].
pub(crate) fn answered_sums(
    phase: &PhaseRecord,
    metric: CurveMetric,
) -> impl Iterator<Item = &ExactSum> {
    let all = phase.sums.iter();
    all.filter(move |(tag, sum)| is_answered(tag, metric) && sum.count > 0)
        .map(|(_, sum)| sum)
}

/// A percentile in nanoseconds, if enough samples lie beyond it.
pub(crate) fn trusted_percentile(histogram: &Histogram<u64>, percentile: f64) -> Option<f64> {
    is_trustworthy(percentile, histogram.len())
        .then(|| histogram.value_at_quantile(percentile / 100.0) as f64)
}

/// A percentile over the requests in a histogram and those without a response, which count as
/// slower than all others. `None` if the percentile falls on a request without a response, or if
/// too few requests lie beyond it.
pub(crate) fn percentile_of_sent(
    histogram: &Histogram<u64>,
    percentile: f64,
    unanswered: u64,
) -> Option<f64> {
    let value = value_of_sent(histogram, percentile, unanswered)?;
    is_trustworthy(percentile, histogram.len() + unanswered).then_some(value as f64)
}

/// Like [`percentile_of_sent`], regardless of how many requests lie beyond it.
pub(crate) fn value_of_sent(
    histogram: &Histogram<u64>,
    percentile: f64,
    unanswered: u64,
) -> Option<u64> {
    let sent = histogram.len() + unanswered;
    let quantile = percentile / 100.0 * sent as f64 / histogram.len() as f64;
    (quantile <= 1.0).then(|| histogram.value_at_quantile(quantile))
}
