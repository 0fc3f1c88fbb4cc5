//! The curve of a gateway: the steps that count, with those of about the same rate merged.

use std::collections::BTreeMap;

use gatebench_model::Shape;
use gatebench_stats::capacity::RESOLUTION;
use gatebench_stats::knee;
use gatebench_store::{Histogram, PhaseRecord, StepOutcome, StoreError, StoredTrial};

use super::facts::{CapacityPoint, CurveKnee};
use super::judge::{error_share, unanswered};
use super::replay::counted;
use crate::common::cpu::cores_busy;
use crate::common::digest::{Digest, answered_sums, percentile_of_sent};
use crate::common::facts::CurveMetric;
use crate::common::sum_of;

/// The steps whose rates lie in a bin as wide as the resolution. Two rates that differ by less than
/// the resolution may lie in different bins.
#[derive(Default)]
struct Bin {
    histogram: Option<Histogram<u64>>,
    seconds: f64,
    offered: f64,
    completed: f64,
    failed: f64,
    unanswered: u64,
    intended: f64,
    response_count: u64,
    response_sum_ns: f64,
    /// The core-seconds for which the gateway, the load generator and the upstream were each busy;
    /// `None` for a component that was not sampled.
    busy: [Option<f64>; 3],
    held: u32,
    missed: u32,
}

/// The curve of these trials, in ascending order of rate. Interrupted trials are included, because
/// they also have steps.
pub(super) fn of_trials(trials: &[&StoredTrial]) -> Result<Vec<CapacityPoint>, StoreError> {
    let mut bins: BTreeMap<i64, Bin> = BTreeMap::new();
    for trial in trials {
        let digest = Digest::of(trial)?;
        for phase in counted(&trial.record) {
            let Shape::Open(open) = &phase.shape else {
                continue;
            };
            let place = (open.rate_per_second.ln() / RESOLUTION.ln_1p()).round() as i64;
            let response = digest.get(&phase.name, CurveMetric::Response);
            let bin = bins.entry(place).or_default();
            bin.add(phase, open.rate_per_second, response);
        }
    }
    Ok(bins.values().map(Bin::point).collect())
}

/// The point at which throughput divided by mean response time is largest (Kleinrock). `None` if
/// this point is an end of the curve, because the quotient may be larger beyond it.
pub(super) fn knee_of(curve: &[CapacityPoint]) -> Option<CurveKnee> {
    let points = curve.iter();
    let points = points.map(|it| (it.achieved_per_second, it.mean_ns.unwrap_or(f64::NAN)));
    let points: Vec<(f64, f64)> = points.collect();
    let index = knee(&points)?;
    let (rate_per_second, mean_ns) = points[index];
    let is_within = index > 0 && index + 1 < points.len();
    is_within.then_some(CurveKnee {
        rate_per_second,
        mean_ns,
    })
}

impl Bin {
    fn add(
        &mut self,
        phase: &PhaseRecord,
        rate_per_second: f64,
        response: Option<&Histogram<u64>>,
    ) {
        let seconds = phase.measure_ns as f64 / 1e9;
        self.seconds += seconds;
        self.offered += rate_per_second * seconds;
        self.completed += phase.counts.completed_in_window as f64;
        self.intended += phase.counts.intended as f64;
        self.failed += error_share(phase) * phase.counts.intended as f64;
        self.unanswered += unanswered(phase);
        self.histogram = sum_of(self.histogram.iter().chain(response));
        for sum in answered_sums(phase, CurveMetric::Response) {
            self.response_count += sum.count;
            self.response_sum_ns += sum.sum_ns as f64;
        }
        for (total, component) in self.busy.iter_mut().zip(["gateway", "engine", "upstream"]) {
            if let Some(cores) = cores_busy(phase, component) {
                *total.get_or_insert(0.0) += cores * seconds;
            }
        }
        match phase.step.map(|step| step.outcome) {
            Some(StepOutcome::Held) => self.held += 1,
            _ => self.missed += 1,
        }
    }

    fn point(&self) -> CapacityPoint {
        let per_second = |total: f64| total / self.seconds.max(1e-9);
        let percentile = |it| percentile_of_sent(self.histogram.as_ref()?, it, self.unanswered);
        let [gateway_cores, engine_cores, upstream_cores] = self.busy.map(|it| it.map(per_second));
        CapacityPoint {
            offered_per_second: per_second(self.offered),
            achieved_per_second: per_second(self.completed),
            p50_ns: percentile(50.0),
            p99_ns: percentile(99.0),
            p999_ns: percentile(99.9),
            mean_ns: (self.response_count > 0)
                .then(|| self.response_sum_ns / self.response_count as f64),
            error_share: self.failed / self.intended.max(1.0),
            gateway_cores,
            engine_cores,
            upstream_cores,
            seconds: self.seconds,
            held: self.held,
            missed: self.missed,
        }
    }
}
