//! The next step of a run that is under way, decided by its study.

use std::path::Path;

use gatebench_model::{Objective, Phase, Plan, Study, Variant};
use gatebench_store::{
    PhaseRecord, Run, StepRecord, StepRole, StoreError, TaggedInterval, TrialRecord,
};

use super::{ab, capacity, measure};

/// The next step after the loads and blocks that were measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// The plan goes on.
    Continue,
    /// Another load, in the same process.
    Load(Box<FurtherLoad>),
    /// Nothing more for the study, for this reason.
    Stop(String),
}

/// A load that follows from those before it.
#[derive(Clone, Debug, PartialEq)]
pub struct FurtherLoad {
    /// The load.
    pub phase: Phase,
    purpose: Purpose,
}

#[derive(Clone, Debug, PartialEq)]
enum Purpose {
    /// A step of a search.
    Step {
        role: StepRole,
        objective: Objective,
    },
    /// A load at a share of saturation, in per cent.
    Share(u32),
}

/// Returns the next step after the last load of a trial. `current` is its record so far, `earlier`
/// are the completed trials of the same gateway in the same scenario in the order of the run, if the
/// study depends on them. The direct variant and the null gateway have no loads but those of the
/// plan.
pub fn after_load(plan: &Plan, earlier: &[TrialRecord], current: &TrialRecord) -> Next {
    let variant = plan.variant(&current.trial.variant);
    if variant.is_none_or(Variant::is_control) {
        return Next::Continue;
    }
    match &plan.study {
        Study::Measure(Some(shares)) => measure::after_load(shares, current),
        Study::Capacity(capacity) => capacity::after_load(plan, capacity, earlier, current),
        _ => Next::Continue,
    }
}

/// Returns the next step after this number of blocks of the run in `dir`, before the block of number
/// `next`. It is never a load.
///
/// # Errors
/// [`StoreError`] naming the file of the run that cannot be read.
pub fn after_block(
    study: &Study,
    dir: &Path,
    (done, next): (u32, u32),
) -> Result<Next, StoreError> {
    match study {
        Study::Ab(ab_test) if ab_test.decides_in(next) => {
            ab::after_block(&Run::open(dir)?, ab_test, done)
        }
        _ => Ok(Next::Continue),
    }
}

impl FurtherLoad {
    /// Returns a step of a search as the next load.
    pub(super) fn step(phase: Phase, role: StepRole, objective: Objective) -> Next {
        let purpose = Purpose::Step { role, objective };
        Next::Load(Box::new(Self { phase, purpose }))
    }

    /// Returns a load at a share of saturation as the next load.
    pub(super) fn share(phase: Phase, percent: u32) -> Next {
        let purpose = Purpose::Share(percent);
        Next::Load(Box::new(Self { phase, purpose }))
    }

    /// Reports whether it is one of the many steps of a search, each of which decides the next.
    pub fn is_step(&self) -> bool {
        matches!(self.purpose, Purpose::Step { .. })
    }

    /// Notes in the record of the load its purpose, and for a step of a search its outcome.
    pub fn mark(&self, record: &mut PhaseRecord, histograms: &[TaggedInterval]) {
        match &self.purpose {
            Purpose::Step { role, objective } => {
                let outcome = capacity::judge_step(objective, record, histograms);
                let role = *role;
                record.step = Some(StepRecord { role, outcome });
            }
            Purpose::Share(percent) => record.saturation_percent = Some(*percent),
        }
    }
}
