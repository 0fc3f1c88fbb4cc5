//! Loads at shares of a gateway's saturation, each judged separately.

use std::collections::BTreeMap;

use gatebench_model::{Shape, Trial};
use gatebench_report::Validity;
use gatebench_store::{PhaseRecord, StoredTrial};

use super::facts::{Aspect, Metric, Reason};
use super::gates::{View, judge_phase, worst};
use super::metrics::of_phase;

pub(crate) struct OfShare<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) phase: &'a PhaseRecord,
    metrics: BTreeMap<Metric, f64>,
    /// Reasons against this load alone.
    pub(crate) reasons: Vec<Reason>,
    of_trial: Vec<Reason>,
}

impl<'a> OfShare<'a> {
    /// Judges a load; `of_trial` contains the reasons against its trial and the other loads.
    pub(crate) fn of(
        view: &View,
        stored: &'a StoredTrial,
        phase: &'a PhaseRecord,
        of_trial: &[Reason],
    ) -> Self {
        let whole = of_trial.iter().filter(|reason| reason.phase.is_none());
        let metrics = of_phase(&stored.record, phase, view.digest);
        Self {
            trial: &stored.record.trial,
            phase,
            metrics: metrics.into_iter().collect(),
            reasons: judge_phase(view),
            of_trial: whole.cloned().collect(),
        }
    }

    /// Returns a latency metric; `None` for a closed load, whose latency follows from its
    /// connections and its throughput.
    pub(crate) fn latency_ns(&self, metric: Metric) -> Option<f64> {
        matches!(self.phase.shape, Shape::Open(_)).then_some(())?;
        self.metrics.get(&metric).copied()
    }

    pub(crate) fn validity(&self, aspect: Aspect) -> Validity {
        worst(self.reasons.iter().chain(&self.of_trial), Some(aspect))
    }
}
