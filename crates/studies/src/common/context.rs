//! The plan and the figures of a run's other trials, which the gates need to judge a trial.

use std::collections::{BTreeMap, BTreeSet};

use gatebench_model::{Plan, Policy, Scenario, Shape, Study, Trial, Variant};
use gatebench_stats::median;
use gatebench_store::{Outcome, PhaseRecord, Run, StoredTrial, TrialRecord};

use super::facts::PhaseKind;

/// Reports whether a phase is a load of the profile. The steps of a search and the loads at shares
/// of saturation have separate findings: many steps are expected to miss their objective, and the
/// rates of the shares differ between gateways.
pub(crate) fn is_a_load(phase: &PhaseRecord) -> bool {
    phase.step.is_none() && phase.saturation_percent.is_none()
}

/// The subcommand of gatebench that resumes a run of this study.
pub(crate) fn resumed_by(study: &Study) -> &'static str {
    match study {
        Study::Capacity(_) => "capacity",
        Study::Soak(_) => "soak",
        _ => "run",
    }
}

pub(crate) struct Context<'a> {
    pub(crate) run: &'a Run,
    pub(crate) plan: &'a Plan,
    /// Throughput of the direct variant's first closed phase, by scenario and block.
    direct: BTreeMap<&'a str, BTreeMap<u32, f64>>,
    /// Median size of a response in bytes, by scenario, variant and phase.
    response_bytes: BTreeMap<(&'a str, &'a str, &'a str), f64>,
}

impl<'a> Context<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let plan = &run.manifest().plan;
        let mut context = Self {
            run,
            plan,
            direct: BTreeMap::new(),
            response_bytes: BTreeMap::new(),
        };
        let mut sizes: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for record in context.completed() {
            let trial = &record.trial;
            for phase in &record.phases {
                if context.is_direct(record) && kind(phase) == PhaseKind::Closed {
                    let blocks = context.direct.entry(&trial.scenario).or_default();
                    blocks
                        .entry(trial.block)
                        .or_insert_with(|| throughput_per_second(phase));
                }
                if let Some(size) = bytes_per_response(phase) {
                    let key = (&*trial.scenario, &*trial.variant, &*phase.name);
                    sizes.entry(key).or_default().push(size);
                }
            }
        }
        context.response_bytes = sizes
            .into_iter()
            .filter_map(|(key, all)| Some((key, median(&all)?)))
            .collect();
        context
    }

    /// The lowest and the highest mean frequency of the gateways' cores in the same scenario, block
    /// and phase, excluding the direct variant and the null gateway.
    pub(crate) fn frequencies_khz(
        &self,
        record: &TrialRecord,
        phase: &PhaseRecord,
    ) -> Option<(u64, u64)> {
        let of = &record.trial;
        let of_block = |it: &&TrialRecord| {
            let (trial, variant) = (&it.trial, self.plan.variant(&it.trial.variant));
            trial.block == of.block
                && trial.scenario == of.scenario
                && variant.is_some_and(|it| !it.is_control())
        };
        let phases = self.completed().filter(of_block).flat_map(|it| &it.phases);
        let same = phases.filter(|it| it.name == phase.name);
        let seen = same.filter_map(|it| Some(it.machine.gateway_frequency.as_ref()?.mean_khz));
        let seen: BTreeSet<u64> = seen.collect();
        Some((*seen.first()?, *seen.last()?))
    }

    /// The labels of the gateways, excluding the direct variant and the null gateway.
    pub(crate) fn gateways(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let variants = self.plan.variants.iter();
        variants.filter(|it| !it.is_control()).map(Variant::label)
    }

    /// Every combination of scenario and variant in the plan, scenario by scenario.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&'a Scenario, &'a Variant)> + use<'a> {
        let plan = self.plan;
        let of = move |scenario| plan.variants.iter().map(move |variant| (scenario, variant));
        plan.scenarios.iter().flat_map(of)
    }

    pub(crate) fn trials(&self) -> &'a [StoredTrial] {
        self.run.trials()
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = &'a TrialRecord> + use<'a> {
        self.run.trials().iter().map(|trial| &trial.record)
    }

    pub(crate) fn trials_of<'s>(
        &self,
        scenario: &'s str,
        variant: &'s str,
    ) -> impl Iterator<Item = &'a StoredTrial> + use<'a, 's> {
        let all = self.trials().iter();
        all.filter(move |it| is_of(&it.record.trial, scenario, variant))
    }

    pub(crate) fn completed_of<'s>(
        &self,
        scenario: &'s str,
        variant: &'s str,
    ) -> impl Iterator<Item = &'a TrialRecord> + use<'a, 's> {
        let all = self.completed();
        all.filter(move |it| is_of(&it.trial, scenario, variant))
    }

    pub(crate) fn completed(&self) -> impl Iterator<Item = &'a TrialRecord> + use<'a> {
        self.records()
            .filter(|record| record.outcome == Outcome::Completed)
    }

    pub(crate) fn is_direct(&self, record: &TrialRecord) -> bool {
        self.plan.variant(&record.trial.variant) == Some(&Variant::Direct)
    }

    /// Reports whether the gateway itself responds to some requests, because a route has a mock
    /// policy.
    pub(crate) fn is_mocked(&self, scenario: &str) -> bool {
        let scenario = self.plan.scenario(scenario).into_iter();
        let routes = scenario.flat_map(|scenario| &scenario.routes);
        let mut policies = routes.flat_map(|route| &route.policies);
        policies.any(|policy| matches!(policy, Policy::Mock(_)))
    }

    /// The direct variant's throughput in the same block, or its median over the blocks if that
    /// block has none; `None` if the direct variant was not measured.
    pub(crate) fn direct_per_second(&self, scenario: &str, block: u32) -> Option<f64> {
        let blocks = self.direct.get(scenario)?;
        let all = || blocks.values().copied().collect::<Vec<_>>();
        blocks.get(&block).copied().or_else(|| median(&all()))
    }

    pub(crate) fn response_bytes(&self, record: &TrialRecord, phase: &PhaseRecord) -> Option<f64> {
        let trial = &record.trial;
        self.response_bytes
            .get(&(&trial.scenario, &trial.variant, &phase.name))
            .copied()
    }
}

pub(crate) fn is_of(trial: &Trial, scenario: &str, variant: &str) -> bool {
    trial.scenario == scenario && trial.variant == variant
}

pub(crate) fn kind(phase: &PhaseRecord) -> PhaseKind {
    kind_of(&phase.shape, phase.side_by_side)
}

pub(crate) fn kind_of(shape: &Shape, is_side_by_side: bool) -> PhaseKind {
    match shape {
        _ if is_side_by_side => PhaseKind::SideBySide,
        Shape::Closed(closed) if closed.think.is_some() => PhaseKind::Paced,
        Shape::Closed(_) => PhaseKind::Closed,
        Shape::Open(_) => PhaseKind::Open,
    }
}

/// Responses per second during the measurement; 0 if the measurement has no length.
pub fn throughput_per_second(phase: &PhaseRecord) -> f64 {
    if phase.measure_ns == 0 {
        return 0.0;
    }
    phase.counts.completed_in_window as f64 / (phase.measure_ns as f64 / 1e9)
}

/// Bytes received per response during the measurement; `None` if no response ended in it.
pub(crate) fn bytes_per_response(phase: &PhaseRecord) -> Option<f64> {
    let counts = &phase.counts;
    let responses = counts.completed_in_window;
    (responses > 0).then(|| counts.bytes_received as f64 / responses as f64)
}
