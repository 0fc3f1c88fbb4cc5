//! Plans the first process of a soak, and another process to continue an interrupted soak.

use std::time::Duration;

use gatebench_model::{GatewayFolder, HumanDuration, Plan, Soak, Study, Trial};
use gatebench_store::TrialRecord;

use crate::choice::{Given, StudyChoice};

/// The default interval at which a soak fetches a gateway's own metrics.
const POOLS_EVERY: HumanDuration = HumanDuration::from_millis(10_000);

/// A resumed soak starts another process only if at least this much time remains.
const SEGMENT_MIN: Duration = Duration::from_secs(1);

/// A soak that a user requests.
#[derive(Clone, Debug, PartialEq)]
pub struct SoakChoice {
    /// The length of the measurement, which replaces that of the load profile.
    pub duration: Option<HumanDuration>,
    /// The largest negligible growth of memory, in bytes per hour.
    pub growth_bytes_per_hour: u64,
}

impl StudyChoice for SoakChoice {
    fn duration(&self) -> Option<HumanDuration> {
        self.duration
    }

    /// The first trial of the plan is the soak's first process. If the metrics of every gateway
    /// that gatebench starts include pools or figures over time, these metrics are fetched during
    /// the soak.
    fn plan(&self, plan: &mut Plan, given: Given<'_>) {
        let Some(first) = plan.trials.first() else {
            return;
        };
        let phases = plan.load_of(&first.scenario).phases.iter();
        let measured = phases.map(|phase| phase.measure.0);
        plan.study = Study::Soak(Soak {
            duration: HumanDuration(measured.fold(Duration::ZERO, Duration::saturating_add)),
            growth_bytes_per_hour: self.growth_bytes_per_hour,
        });
        let is_watched = |spec: &&GatewayFolder| {
            let metrics = spec.metrics.as_ref();
            metrics.is_some_and(|it| !it.pools.is_empty() || !it.series.is_empty())
        };
        if given.gateways.iter().all(is_watched) {
            for scenario in &mut plan.scenarios {
                let metrics = scenario.metrics.get_or_insert_default();
                metrics.scrape_every.get_or_insert(POOLS_EVERY);
            }
        }
    }
}

/// Plans the rest of a soak. The finished segments on disk are kept, and another segment gets the
/// remaining time if at least [`SEGMENT_MIN`] remains.
pub(super) fn resume(soak: &Soak, plan: &mut Plan, records: &[&TrialRecord]) {
    let Some(first) = plan.trials.first().cloned() else {
        return;
    };
    let kept = records.iter().filter(|it| it.outcome.is_final());
    let phases = kept.clone().flat_map(|record| &record.phases);
    let measured = Duration::from_nanos(phases.map(|phase| phase.measure_ns).sum());
    let left = soak.duration.0.saturating_sub(measured);
    plan.trials = kept.map(|record| record.trial.clone()).collect();
    if left >= SEGMENT_MIN {
        let number = plan.trials.iter().map(|it| it.number).max().unwrap_or(0) + 1;
        plan.trials.push(Trial {
            number,
            block: number,
            ..first
        });
        let loads = std::iter::once(&mut plan.load).chain(plan.scenario_loads.values_mut());
        for phase in loads.flat_map(|load| &mut load.phases) {
            phase.measure = HumanDuration(left);
        }
    }
    plan.blocks = plan.trials.iter().map(|it| it.block).max().unwrap_or(1);
}
