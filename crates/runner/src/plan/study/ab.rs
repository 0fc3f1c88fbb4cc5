//! A comparison of two gateways, and one of them twice.

use gatebench_model::{AbTest, DecisiveMetric, LoadProfile, Phase, Plan, Variant};

/// Blocks in which a comparison measures the other metrics: the fewest that permit a verdict.
const OTHER_BLOCKS: u32 = 10;

/// A comparison, as a user asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbChoice {
    /// What decides.
    pub metric: DecisiveMetric,
    /// Leaves out the blocks in which the other metrics are measured.
    pub only_deciding: bool,
}

impl AbChoice {
    /// Blocks that measure the other metrics. None if the deciding metric has no blocks of its own:
    /// only a load with both kinds of phases can be divided.
    pub(super) fn other_blocks<'l>(
        self,
        mut loads: impl Iterator<Item = &'l LoadProfile>,
    ) -> Option<u32> {
        let is_divided = loads.all(|load| {
            let decides = |phase: &&Phase| self.metric.is_taken_from(phase);
            let deciding = load.phases.iter().filter(decides).count();
            (1..load.phases.len()).contains(&deciding)
        });
        is_divided.then_some(if self.only_deciding { 0 } else { OTHER_BLOCKS })
    }

    /// The comparison of a plan with three gateways, whose last blocks measure the other metrics.
    pub(super) fn ab_test(self, plan: &Plan, others: Option<u32>) -> Option<AbTest> {
        let gateways: Vec<&Variant> = plan
            .variants
            .iter()
            .filter(|variant| **variant != Variant::Direct)
            .collect();
        let [candidate, baseline, again] = gateways[..] else {
            return None;
        };
        Some(AbTest {
            candidate: candidate.label().into(),
            baseline: baseline.label().into(),
            again: again.label().into(),
            metric: self.metric,
            blocks_max: plan.blocks - others.unwrap_or(0),
            decides_first: others.is_some(),
        })
    }
}
