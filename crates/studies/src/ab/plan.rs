//! Plans an A/B test: two gateways, one of them twice.

use gatebench_model::{AbTest, DecisiveMetric, LoadProfile, Phase, Plan, Study, Variant};

use crate::choice::{Given, StudyChoice};

/// The number of blocks at the end of an A/B test that measure the metrics other than the deciding
/// one: the minimum for a verdict.
const OTHER_BLOCKS: u32 = 10;

/// An A/B test that a user requests. The gateways are the candidate, the baseline, and the baseline
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbChoice {
    pub metric: DecisiveMetric,
    /// True to leave out the blocks that measure the other metrics.
    pub only_deciding: bool,
}

impl StudyChoice for AbChoice {
    /// Returns `None` unless every load has both deciding and other phases: only such a load can be
    /// divided.
    fn other_blocks(&self, loads: &[&LoadProfile]) -> Option<u32> {
        let is_divided = loads.iter().all(|load| {
            let decides = |phase: &&Phase| self.metric.is_taken_from(phase);
            let deciding = load.phases.iter().filter(decides).count();
            (1..load.phases.len()).contains(&deciding)
        });
        is_divided.then_some(if self.only_deciding { 0 } else { OTHER_BLOCKS })
    }

    /// If `given.others` is set, that many blocks at the end of the plan measure the other metrics,
    /// and the blocks before them only the deciding metric.
    fn plan(&self, plan: &mut Plan, given: Given<'_>) {
        let is_gateway = |variant: &&Variant| **variant != Variant::Direct;
        let gateways: Vec<&Variant> = plan.variants.iter().filter(is_gateway).collect();
        let [candidate, baseline, again] = gateways[..] else {
            return;
        };
        plan.study = Study::Ab(AbTest {
            candidate: candidate.label().into(),
            baseline: baseline.label().into(),
            again: again.label().into(),
            metric: self.metric,
            blocks_max: plan.blocks - given.others.unwrap_or(0),
            decides_first: given.others.is_some(),
        });
    }
}
