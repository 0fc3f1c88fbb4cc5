//! One pass over the trials that judges each, collects its values, and adds its histograms to the
//! curves.

mod delta_to_baseline;

use std::collections::BTreeMap;

use gatebench_report::Validity;
use gatebench_store::{Outcome, PhaseRecord, SeriesRow, StoreError, StoredTrial};

use super::context::{Context, is_a_load, kind};
use super::curves::Curves;
use super::digest::Digest;
use super::facts::{Aspect, BlockValue, Metric, PhaseKind, Reason, SpoiledBlock, TrialFindings};
use super::gates::{View, is_disturbed, judge_phase, judge_trial, worst};
use super::groups::Groups;
use super::metrics::of_phase;
use super::shares::OfShare;
use super::{changes, spoiled, trials};
use delta_to_baseline::relate_to_bases;

/// Scenario and variant.
pub(crate) type Cell = (String, String);

/// The numbers of all trials, block by block.
#[derive(Default)]
pub(crate) struct Collected<'a> {
    pub(crate) trials: Vec<TrialFindings>,
    pub(crate) values: BTreeMap<Cell, Vec<PhaseValues>>,
    pub(crate) reasons: BTreeMap<Cell, Vec<Reason>>,
    /// Blocks and phases that the gateways themselves spoiled.
    pub(crate) spoiled: BTreeMap<Cell, Vec<SpoiledBlock>>,
    pub(crate) curves: Curves,
    pub(crate) groups: Groups<'a>,
    pub(crate) shares: Vec<OfShare<'a>>,
}

/// The values of one phase of a cell.
pub(crate) struct PhaseValues {
    pub(crate) phase: String,
    pub(crate) kind: PhaseKind,
    pub(crate) metrics: BTreeMap<Metric, Vec<BlockValue>>,
}

impl<'a> Collected<'a> {
    pub(crate) fn from_trials(context: &Context<'a>) -> Result<Self, StoreError> {
        let mut collected = Self::default();
        for trial in context.trials() {
            collected.add_trial(context, trial)?;
        }
        for phases in collected.values.values_mut() {
            for values in phases
                .iter_mut()
                .flat_map(|phase| phase.metrics.values_mut())
            {
                values.sort_by_key(|value| (value.block, value.trial));
            }
        }
        relate_to_bases(context, &mut collected.values);
        Ok(collected)
    }

    /// The reasons against the trial with this number.
    pub(crate) fn reasons_of(&self, trial: u32) -> &[Reason] {
        let found = self.trials.iter().find(|it| it.number == trial);
        found.map_or(&[], |it| &it.reasons)
    }

    fn add_trial(
        &mut self,
        context: &Context<'a>,
        trial: &'a StoredTrial,
    ) -> Result<(), StoreError> {
        let record = &trial.record;
        let series = trial.series()?;
        let mut reasons = judge_trial(context, record);
        let mut of_shares = Vec::new();
        let mut spoiled = spoiled::of(&record.trial, &reasons, false);
        spoiled.extend(spoiled::failed(record));
        let cell = (record.trial.scenario.clone(), record.trial.variant.clone());
        if record.outcome == Outcome::Completed {
            let digest = Digest::of(trial)?;
            let view_of = |phase| View {
                run: Some((context, record)),
                phase,
                digest: &digest,
                series: &series,
            };
            for phase in record.phases.iter().filter(|phase| is_a_load(phase)) {
                let view = view_of(phase);
                let found = judge_phase(&view);
                spoiled.extend(spoiled::of(&record.trial, &found, is_disturbed(&view)));
                reasons.extend(found);
                self.add_phase(trial, phase, &digest, &reasons);
            }
            let offered = |phase: &&'a PhaseRecord| phase.saturation_percent.is_some();
            for phase in record.phases.iter().filter(offered) {
                let found = OfShare::of(&view_of(phase), trial, phase, &reasons);
                of_shares.extend(found.reasons.clone());
                self.shares.push(found);
            }
            let known = self.reasons.entry(cell.clone()).or_default();
            known.extend(reasons.iter().cloned());
        }
        if !context.is_direct(record) {
            self.spoiled.entry(cell).or_default().extend(spoiled);
        }
        let mut found = findings(trial, reasons, &series);
        // These reasons concern only the shares; the trial's validity is that of its loads.
        found.reasons.extend(of_shares);
        self.trials.push(found);
        Ok(())
    }

    fn add_phase(
        &mut self,
        stored: &'a StoredTrial,
        phase: &'a PhaseRecord,
        digest: &Digest,
        reasons: &[Reason],
    ) {
        let trial = &stored.record.trial;
        let concerning: Vec<_> = concerning(reasons, &phase.name).collect();
        let validity = |aspect| worst(concerning.iter().copied(), Some(aspect));
        let cell = (trial.scenario.clone(), trial.variant.clone());
        let values = self.phase_values(cell, phase);
        let changed = changes::of_phase(phase, digest.seconds(&phase.name));
        for (metric, value) in of_phase(&stored.record, phase, digest)
            .into_iter()
            .chain(changed)
        {
            let validity = metric.aspect().map_or(Validity::Valid, validity);
            let value = BlockValue {
                block: trial.block,
                trial: trial.number,
                value,
                validity,
            };
            values.metrics.entry(metric).or_default().push(value);
        }
        let throughput = validity(Aspect::Throughput);
        let validity = validity(Aspect::Latency);
        self.groups.add(trial, phase, throughput, validity);
        if validity != Validity::Invalid {
            self.curves.add(trial, phase, digest, validity);
        }
    }

    fn phase_values(&mut self, cell: Cell, phase: &PhaseRecord) -> &mut PhaseValues {
        let phases = self.values.entry(cell).or_default();
        let known = phases.iter().position(|known| known.phase == phase.name);
        let index = known.unwrap_or(phases.len());
        if index == phases.len() {
            phases.push(PhaseValues {
                phase: phase.name.clone(),
                kind: kind(phase),
                metrics: BTreeMap::new(),
            });
        }
        &mut phases[index]
    }
}

/// The reasons that concern a phase, including those of the whole trial.
pub(crate) fn concerning<'a>(
    reasons: &'a [Reason],
    phase: &'a str,
) -> impl Iterator<Item = &'a Reason> {
    reasons
        .iter()
        .filter(move |reason| reason.phase.as_deref().is_none_or(|name| name == phase))
}

fn findings(trial: &StoredTrial, reasons: Vec<Reason>, series: &[SeriesRow]) -> TrialFindings {
    let record = &trial.record;
    TrialFindings {
        number: record.trial.number,
        block: record.trial.block,
        scenario: record.trial.scenario.clone(),
        variant: record.trial.variant.clone(),
        folder: format!("trials/{}", trial.name()),
        started: record.started,
        duration_ns: trials::duration_ns(record),
        outcome: trials::outcome_words(&record.outcome).to_owned(),
        validity: worst(&reasons, None),
        reasons,
        warnings: record.warnings.clone(),
        timeline: trials::timeline(record, series),
    }
}
