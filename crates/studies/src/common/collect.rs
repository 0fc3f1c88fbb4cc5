//! Judges each trial, collects its values, and adds its histograms to the curves. Then relates the
//! values of gateways to those of the direct variant and of the null gateway in the same block.

use std::collections::BTreeMap;

use gatebench_model::Variant;
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
use super::summary_table::worst_of_each;
use super::{changes, spoiled, trials};

pub(crate) type Cell = (String, String);

#[derive(Default)]
pub(crate) struct Collected<'a> {
    pub(crate) trials: Vec<TrialFindings>,
    pub(crate) values: BTreeMap<Cell, Vec<PhaseValues>>,
    pub(crate) reasons: BTreeMap<Cell, Vec<Reason>>,
    /// Blocks and phases that the gateways spoiled or may have spoiled.
    pub(crate) spoiled: BTreeMap<Cell, Vec<SpoiledBlock>>,
    pub(crate) curves: Curves,
    pub(crate) groups: Groups<'a>,
    pub(crate) shares: Vec<OfShare<'a>>,
}

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
            // A gate may be tripped twice: by the whole load and by one of its agents.
            known.extend(worst_of_each(&reasons).map(|(reason, _)| reason));
        }
        if !context.is_direct(record) {
            self.spoiled.entry(cell).or_default().extend(spoiled);
        }
        let mut found = findings(trial, reasons, &series);
        // These reasons concern only the loads at shares of saturation; the trial's validity is
        // that of its other loads.
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
        again: record.trial.again,
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

/// Adds the metrics that relate a gateway to the direct variant and to the null gateway, if the
/// plan contains these variants.
fn relate_to_bases(context: &Context, values: &mut BTreeMap<Cell, Vec<PhaseValues>>) {
    let cells = context.cells();
    for (scenario, variant) in cells.filter(|(_, it)| it.is_control()) {
        // The base is removed while the other cells are changed, and is inserted again below.
        let cell = (scenario.scenario.clone(), variant.label().to_owned());
        let Some(bases) = values.remove(&cell) else {
            continue;
        };
        let gateways = values.iter_mut().filter(|((name, variant), _)| {
            *name == scenario.scenario && *variant != Variant::Direct.label()
        });
        for own in gateways.flat_map(|(_, phases)| phases) {
            let relations = match variant {
                Variant::Direct => over_direct(own.kind),
                _ => OVER_NULL,
            };
            if let Some(base) = bases.iter().find(|base| base.phase == own.phase) {
                relate(own, base, relations);
            }
        }
        values.insert(cell, bases);
    }
}

fn relate(own: &mut PhaseValues, base: &PhaseValues, relations: &[Relation]) {
    for (metric, of, relate) in relations {
        let (Some(values), Some(direct)) = (own.metrics.get(of), base.metrics.get(of)) else {
            continue;
        };
        let related = paired(values, direct, *relate);
        if !related.is_empty() {
            own.metrics.insert(*metric, related);
        }
    }
}

type Relate = fn(f64, f64) -> f64;

/// A difference of two quantiles, not a quantile of differences.
const DIFFERENCE: Relate = |own, base| own - base;
const RATIO: Relate = |own, base| own / base;

/// The resulting metric, the metric that is read from both sides, and the function that relates
/// their values.
type Relation = (Metric, Metric, Relate);

const OVER_NULL: &[Relation] = &[
    (Metric::AddedP50OverNull, Metric::AddedP50, DIFFERENCE),
    (Metric::AddedP99OverNull, Metric::AddedP99, DIFFERENCE),
];

const CLOSED_OVER_DIRECT: &[Relation] = &[(Metric::ThroughputOfDirect, Metric::Throughput, RATIO)];

const OTHERS_OVER_DIRECT: &[Relation] = &[
    (
        Metric::ResponseP50OverDirect,
        Metric::ResponseP50,
        DIFFERENCE,
    ),
    (
        Metric::ResponseP99OverDirect,
        Metric::ResponseP99,
        DIFFERENCE,
    ),
];

fn over_direct(kind: PhaseKind) -> &'static [Relation] {
    match kind {
        PhaseKind::SideBySide => &[],
        PhaseKind::Closed => CLOSED_OVER_DIRECT,
        PhaseKind::Paced | PhaseKind::Open => OTHERS_OVER_DIRECT,
    }
}

/// Relates values of the same block. Blocks in which the base is not above 0 are left out. A result
/// is as valid as the less valid of its two values.
fn paired(own: &[BlockValue], direct: &[BlockValue], relate: Relate) -> Vec<BlockValue> {
    let related = own.iter().filter_map(|value| {
        let mut bases = direct.iter().filter(|base| base.value > 0.0);
        let base = bases.find(|base| base.block == value.block)?;
        Some(BlockValue {
            value: relate(value.value, base.value),
            validity: value.validity.max(base.validity),
            ..value.clone()
        })
    });
    related.collect()
}
