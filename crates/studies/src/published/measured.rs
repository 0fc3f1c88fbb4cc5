//! The loads of a run with their figures and the validity of each.

use std::rc::Rc;

use gatebench_model::{Scenario, Shape};
use gatebench_report::format::{distinct, duration, quantity};
use gatebench_report::{Unit, Validity};
use gatebench_stats::concurrency;
use gatebench_store::{Histogram, Outcome, PhaseRecord, Run, SeriesRow, StoreError, StoredTrial};

use super::artefacts::best_seconds;
use crate::Findings;
use crate::common::collect::concerning;
use crate::common::context::{is_of, kind, throughput_per_second};
use crate::common::cpu::{cpu_ns_per_request, memory_bytes};
use crate::common::digest::{Digest, is_answered, trusted_percentile};
use crate::common::facts::{Aspect, CurveMetric, PhaseKind, Reason, RowStatus};
use crate::common::gates::worst;
use crate::common::metrics::{response_max_ns, response_mean_ns, response_percentile};
use crate::common::{loads, sum_of};

/// The length of the peak, in seconds. In a load that is less than three times as long, the peak is
/// one second.
const PEAK_SECONDS: usize = 10;

/// The loads of a run's completed trials, excluding the steps of searches.
pub(super) struct Measured<'a> {
    pub(super) run: &'a Run,
    pub(super) findings: &'a Findings,
    loads: Vec<Load<'a>>,
}

#[derive(Clone)]
pub(super) struct Load<'a> {
    pub(super) stored: &'a StoredTrial,
    pub(super) phase: &'a PhaseRecord,
    reasons: &'a [Reason],
    digest: Rc<Digest>,
    series: Rc<Vec<SeriesRow>>,
}

impl<'a> Measured<'a> {
    pub(super) fn of(run: &'a Run, findings: &'a Findings) -> Result<Self, StoreError> {
        let mut loads = Vec::new();
        let completed = run.trials().iter();
        for stored in completed.filter(|it| it.record.outcome == Outcome::Completed) {
            let number = stored.record.trial.number;
            let judged = findings.trials.iter().find(|it| it.number == number);
            let reasons = judged.map(|it| it.reasons.as_slice()).unwrap_or_default();
            let digest = Rc::new(Digest::of(stored)?);
            let series = Rc::new(stored.series()?);
            let phases = stored.record.phases.iter();
            loads.extend(phases.filter(|it| it.step.is_none()).map(|phase| Load {
                stored,
                phase,
                reasons,
                digest: Rc::clone(&digest),
                series: Rc::clone(&series),
            }));
        }
        Ok(Self {
            run,
            findings,
            loads,
        })
    }

    pub(super) fn variants(&self) -> Vec<&'a str> {
        let variants = &self.run.manifest().plan.variants;
        variants.iter().map(|it| it.label()).collect()
    }

    pub(super) fn scenario(&self, name: &str) -> Option<&'a Scenario> {
        self.run.manifest().plan.scenario(name)
    }

    /// The loads of a variant in a scenario, ordered by block and then by phase.
    pub(super) fn loads(&self, scenario: &str, variant: &str) -> Vec<Load<'a>> {
        let is_own = |load: &&Load<'a>| is_of(&load.stored.record.trial, scenario, variant);
        let own = self.loads.iter().filter(is_own);
        let mut own: Vec<Load<'a>> = own.cloned().collect();
        own.sort_by_key(Load::block);
        own
    }

    /// The reason why nothing was measured; `None` if something was measured.
    pub(super) fn absence(&self, scenario: &str, variant: &str) -> Option<String> {
        let mut scenarios = self.findings.scenarios.iter();
        let Some(found) = scenarios.find(|it| it.name == scenario) else {
            return Some("not in this run".into());
        };
        let status = found.row(variant).map(|row| &row.status);
        status.unwrap_or(&RowStatus::Missing).absence()
    }
}

/// The loads of the first open phase if `of` is open, otherwise those of the first phase of another
/// kind. All other kinds are treated alike, because documents do not distinguish users who think
/// from users who do not.
pub(super) fn first_of<'a>(loads: &[Load<'a>], of: PhaseKind) -> Vec<Load<'a>> {
    let is_open = of == PhaseKind::Open;
    first_like(loads, |load| {
        (kind(load.phase) == PhaseKind::Open) == is_open
    })
}

/// Finds the first load that meets a condition, and returns all loads of its phase.
pub(super) fn first_like<'a>(
    loads: &[Load<'a>],
    is_it: impl Fn(&Load<'a>) -> bool,
) -> Vec<Load<'a>> {
    let first = loads.iter().find(|load| is_it(load));
    let phase = first.map(|load| &load.phase.name);
    let own = loads.iter().filter(|it| Some(&it.phase.name) == phase);
    own.cloned().collect()
}

impl Load<'_> {
    pub(super) fn block(&self) -> u32 {
        self.stored.record.trial.block
    }

    /// The validity of the load's figures for this aspect; valid if there is no aspect.
    pub(super) fn validity(&self, aspect: Option<Aspect>) -> Validity {
        let reasons = concerning(self.reasons, &self.phase.name);
        aspect.map_or(Validity::Valid, |aspect| worst(reasons, Some(aspect)))
    }

    pub(super) fn rate(&self) -> Option<f64> {
        let rate = throughput_per_second(self.phase);
        (rate > 0.0).then_some(rate)
    }

    pub(super) fn cpu_ns(&self) -> Option<f64> {
        cpu_ns_per_request(self.phase, "gateway")
    }

    pub(super) fn mean_ns(&self) -> Option<f64> {
        response_mean_ns(self.phase)
    }

    pub(super) fn max_ns(&self) -> Option<f64> {
        response_max_ns(self.phase).map(|max_ns| max_ns as f64)
    }

    pub(super) fn response_ns(&self, percentile: f64) -> Option<f64> {
        response_percentile(self.phase, &self.digest, percentile)
    }

    /// A percentile of the added latency; `None` if requests carried no nonce, or if too few values
    /// lie beyond the percentile.
    pub(super) fn added_ns(&self, percentile: f64) -> Option<f64> {
        trusted_percentile(self.histogram(CurveMetric::Added)?, percentile)
    }

    pub(super) fn histogram(&self, metric: CurveMetric) -> Option<&Histogram<u64>> {
        self.digest.get(&self.phase.name, metric)
    }

    /// Average number of requests in flight, by Little's law.
    pub(super) fn in_flight(&self) -> Option<f64> {
        Some(concurrency(self.rate()?, self.mean_ns()?))
    }

    pub(super) fn seconds(&self) -> Vec<u64> {
        let own = self.series.iter().filter(|it| it.phase == self.phase.name);
        own.map(|row| row.completed).collect()
    }

    pub(super) fn memory_bytes(&self) -> Option<f64> {
        memory_bytes(self.phase)
    }

    /// The gateway's memory in the last second in which it was sampled.
    pub(super) fn memory_at_end_bytes(&self) -> Option<f64> {
        let mut own = self.series.iter().rev();
        let last = own.find(|it| it.phase == self.phase.name && it.gateway.is_some())?;
        let bytes = last.gateway?.rss_anon_bytes;
        (bytes > 0).then_some(bytes as f64)
    }

    /// The peak: its first second, its number of seconds, and the average number of responses per
    /// second.
    fn peak(&self) -> Option<(usize, usize, f64)> {
        let seconds = self.seconds();
        let is_long = seconds.len() >= 3 * PEAK_SECONDS;
        let length = if is_long { PEAK_SECONDS } else { 1 };
        let (first, rate) = best_seconds(&seconds, length)?;
        Some((first, length, rate))
    }

    pub(super) fn peak_rate(&self) -> Option<f64> {
        Some(self.peak()?.2)
    }

    /// A percentile of the response times during the peak, if enough responses lie beyond it.
    pub(super) fn peak_response_ns(&self, percentile: f64) -> Result<Option<f64>, StoreError> {
        let Some((first, length, _)) = self.peak() else {
            return Ok(None);
        };
        let seconds = self.stored.seconds(&self.phase.name)?;
        let of_peak = seconds.iter().filter(|it| {
            let is_within = (first..first + length).contains(&(it.second as usize));
            is_within && is_answered(&it.tag, CurveMetric::Response)
        });
        let all = sum_of(of_peak.map(|it| &it.histogram));
        Ok(all.and_then(|all| trusted_percentile(&all, percentile)))
    }

    /// The largest number of users of a closed load.
    pub(super) fn users(&self) -> Option<u32> {
        match &self.phase.shape {
            Shape::Closed(closed) => Some(loads::connections_max(closed)),
            Shape::Open(_) => None,
        }
    }

    /// The load as text with its length: `64 connections, 10 s`.
    pub(super) fn words(&self) -> String {
        let seconds = self.phase.measure_ns as f64 / 1e9;
        let length = if seconds < 1.0 {
            quantity(seconds * 1e9, Unit::Nanoseconds)
        } else {
            duration(seconds)
        };
        format!("{}, {length}", loads::in_words(&self.phase.shape))
    }
}

pub(super) fn loads_in_words<'s, 'a: 's>(loads: impl Iterator<Item = &'s Load<'a>>) -> String {
    distinct(loads.map(Load::words)).join("; ")
}
