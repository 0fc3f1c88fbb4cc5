//! Blocks that a gateway itself spoiled. They have no value, and count against the gateway in
//! comparisons. Leaving them out would reward a gateway that drops requests when it is slow.

use std::collections::BTreeSet;

use gatebench_model::{Culprit, Trial};
use gatebench_report::Validity;
use gatebench_report::format::{counted, listed};
use gatebench_stats::{Spoiled, SpoiledBy};
use gatebench_store::{Outcome, TrialRecord};

use super::facts::{
    Aspect, Blame, Gate, MetricFindings, Reason, RowStatus, SpoiledBlock, SpoiledBlocks,
    SpoiledSide, VariantRow,
};
use super::joined;

/// Returns the parts of a trial that its gateway spoiled or may have spoiled, according to the
/// reasons against the whole trial or one phase. `is_disturbed` is true if the machine or the load
/// generator may have been the cause.
pub(crate) fn of(trial: &Trial, reasons: &[Reason], is_disturbed: bool) -> Vec<SpoiledBlock> {
    let invalid = reasons.iter().filter(|it| it.validity == Validity::Invalid);
    let spoiled = invalid.filter_map(|reason| {
        let is_certain = match reason.gate.blame() {
            Blame::Gateway => true,
            Blame::GatewayAlone => !is_disturbed,
            Blame::Other => return None,
        };
        Some(SpoiledBlock {
            block: trial.block,
            trial: trial.number,
            phase: reason.phase.clone(),
            gate: reason.gate,
            spoils: reason.spoils.clone(),
            is_certain,
        })
    });
    spoiled.collect()
}

/// A trial that failed because of its gateway is spoiled as a whole, because it has no value in any
/// phase.
pub(crate) fn failed(record: &TrialRecord) -> Option<SpoiledBlock> {
    let culprit = match &record.outcome {
        Outcome::Failed { culprit, .. } => Some(culprit),
        _ => None,
    };
    matches!(culprit, Some(Culprit::Gateway(_))).then(|| SpoiledBlock {
        block: record.trial.block,
        trial: record.trial.number,
        phase: None,
        gate: Gate::NotCompleted,
        spoils: super::gates::EVERYTHING.to_vec(),
        is_certain: true,
    })
}

#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) row: &'a VariantRow,
    pub(crate) values: Option<&'a MetricFindings>,
}

impl<'a> Side<'a> {
    /// The spoiled parts that concern this phase and aspect, in blocks without a usable value. A
    /// gateway without any completed trial is excluded from the scenario, so nothing counts against
    /// it here.
    fn spoiled(self, phase: &str, aspect: Aspect) -> impl Iterator<Item = &'a SpoiledBlock> {
        let is_it = move |it: &&SpoiledBlock| {
            let here = it.phase.as_deref().is_none_or(|name| name == phase);
            here && it.spoils.contains(&aspect) && !self.has_value(it.block)
        };
        let measured = self.row.status == RowStatus::Measured;
        let spoiled = self.row.spoiled.iter().filter(move |_| measured);
        spoiled.filter(is_it)
    }

    pub(crate) fn blocks_spoiled(self, phase: &str, aspect: Aspect) -> BTreeSet<u32> {
        self.spoiled(phase, aspect).map(|it| it.block).collect()
    }

    fn has_value(self, block: u32) -> bool {
        let mut blocks = self.values.into_iter().flat_map(|it| &it.blocks);
        blocks.any(|it| it.block == block && it.validity != Validity::Invalid)
    }

    fn against(self, other: Side, phase: &str, aspect: Aspect) -> SpoiledSide {
        let blocks = self.blocks_spoiled(phase, aspect);
        let spoiled = || self.spoiled(phase, aspect);
        let certain = spoiled().filter(|it| it.is_certain).map(|it| it.block);
        let certain: BTreeSet<u32> = certain.collect();
        let gates: BTreeSet<Gate> = spoiled().map(|it| it.gate).collect();
        let alone = certain.iter().filter(|it| other.has_value(**it));
        SpoiledSide {
            alone: alone.copied().collect(),
            uncertain: blocks.difference(&certain).copied().collect(),
            gates: gates.into_iter().collect(),
            blocks: blocks.into_iter().collect(),
        }
    }
}

/// The blocks of a comparison that its sides spoiled; empty if one side was never measured, or if
/// the metric has no aspect.
pub(crate) fn between(
    own: Side,
    other: Side,
    phase: &str,
    aspect: Option<Aspect>,
) -> SpoiledBlocks {
    let both = [own, other].map(|side| side.row.status == RowStatus::Measured);
    match aspect {
        Some(aspect) if both == [true, true] => SpoiledBlocks {
            candidate: own.against(other, phase, aspect),
            baseline: other.against(own, phase, aspect),
        },
        _ => SpoiledBlocks::default(),
    }
}

pub(crate) fn counts(blocks: &SpoiledBlocks) -> Spoiled {
    let by = |side: &SpoiledSide| SpoiledBy {
        alone: side.alone.len(),
        all: side.blocks.len(),
    };
    Spoiled {
        candidate: by(&blocks.candidate),
        baseline: by(&blocks.baseline),
    }
}

/// The sentence `nginx itself spoiled 3 of 13 blocks (arrivals dropped), which count against it.`
/// The total includes the `usable` blocks, which have values. `None` if no block was spoiled.
pub(crate) fn sentence(
    blocks: &SpoiledBlocks,
    candidate: &str,
    baseline: &str,
    usable: usize,
) -> Option<String> {
    let sides = [(candidate, &blocks.candidate), (baseline, &blocks.baseline)];
    let spoiled: BTreeSet<u32> = sides.iter().flat_map(|(_, it)| it.blocks.clone()).collect();
    let total = counted((usable + spoiled.len()) as u64, "block");
    let parts: Vec<String> = sides
        .iter()
        .filter(|(_, side)| !side.blocks.is_empty())
        .map(|(name, side)| {
            let verb = match side.uncertain.is_empty() {
                true => "itself spoiled",
                false => "itself spoiled, or may have spoiled,",
            };
            let gates = joined(side.gates.iter().map(|gate| gate.in_short()), ", ");
            let count = side.blocks.len();
            format!("{name} {verb} {count} of {total} ({gates})")
        })
        .collect();
    let whom = if parts.len() == 1 {
        "it"
    } else {
        "the gateway that spoiled them"
    };
    (!parts.is_empty()).then(|| format!("{}, which count against {whom}.", listed(&parts)))
}
