//! Endurance tests.

use std::collections::BTreeMap;
use std::time::Duration;

use gatebench_model::{HumanDuration, Plan, Soak, Study, Trial};
use gatebench_store::TrialRecord;

use crate::testbed::resolve_gateway::PreparedGateway;

/// How often a soak fetches a gateway's own figures of its pools: too seldom to cost anything that
/// is seen.
const POOLS_EVERY: HumanDuration = HumanDuration::from_millis(10_000);

/// What is left of a soak and shorter than this is not worth a process.
const SEGMENT_MIN: Duration = Duration::from_secs(1);

/// A soak, as a user asks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct SoakChoice {
    /// How long is measured, in place of what the load profile says.
    pub duration: Option<HumanDuration>,
    /// Growth of memory that does not matter, in bytes per hour.
    pub growth_bytes_per_hour: u64,
}

impl SoakChoice {
    /// The soak that a plan is made for: its first trial is the soak's first process.
    pub(super) fn of_plan(&self, plan: &Plan) -> Option<Soak> {
        let load = plan.load_of(&plan.trials.first()?.scenario);
        let measured = load.phases.iter().map(|phase| phase.measure.0);
        Some(Soak {
            duration: HumanDuration(measured.fold(Duration::ZERO, Duration::saturating_add)),
            growth_bytes_per_hour: self.growth_bytes_per_hour,
        })
    }
}

/// Lets a soak fetch what its gateway says of its pools, where that says anything.
pub(crate) fn watch_pools(plan: &mut Plan, gateways: &BTreeMap<String, PreparedGateway>) {
    let tells = |gateway: &PreparedGateway| {
        let metrics = gateway.folder.spec.metrics.as_ref();
        metrics.is_some_and(|it| !it.pools.is_empty())
    };
    if !matches!(plan.study, Study::Soak(_)) || !gateways.values().all(tells) {
        return;
    }
    for scenario in &mut plan.scenarios {
        let metrics = scenario.metrics.get_or_insert_default();
        metrics.scrape_every.get_or_insert(POOLS_EVERY);
    }
}

/// Plans the rest of a soak: the segments on disk stay, and a further one has the rest of the time.
pub(crate) fn go_on<'a>(plan: &mut Plan, records: impl Iterator<Item = &'a TrialRecord>) {
    let (Study::Soak(soak), Some(first)) = (&plan.study, plan.trials.first().cloned()) else {
        return;
    };
    let kept: Vec<&TrialRecord> = records.filter(|it| it.outcome.is_final()).collect();
    let phases = kept.iter().flat_map(|record| &record.phases);
    let measured = Duration::from_nanos(phases.map(|phase| phase.measure_ns).sum());
    let left = soak.duration.0.saturating_sub(measured);
    plan.trials = kept.iter().map(|record| record.trial.clone()).collect();
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
