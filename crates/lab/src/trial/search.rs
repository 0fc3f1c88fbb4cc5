//! A repeat of a search for capacity: loads that are decided one after the other, in one gateway process.

use gatebench_analysis::capacity::{NextStep, judge_step, next_step};
use gatebench_model::{Blame, Culprit, Variant};
use gatebench_store::{StepRecord, StepRole, StoreError, Timestamp, TrialWriter};

use super::{Course, Setting};
use crate::halt::{Failure, Halt};

/// Steps of one repeat. A search without noise takes 16 to 25; a disturbed step takes up to three.
pub(super) const STEPS_MAX: u32 = 200;

impl Course<'_> {
    /// Searches, where the plan is made for it. Every step is on disk before the next one.
    pub(super) fn search(&mut self, setting: &mut Setting<'_>) -> Result<(), Halt> {
        let scene = self.scene;
        let Some(capacity) = &scene.plan.capacity else {
            return Ok(());
        };
        // The floor's saturation is what the others are held against; it has no gateway to size.
        if *scene.variant == Variant::Floor {
            return Ok(());
        }
        let loads = scene.phases().len();
        let first_slot = self.slot_after_phases();
        for number in 0..STEPS_MAX {
            let Some(next) = next_step(scene.plan, &scene.earlier, &self.ended.record) else {
                break;
            };
            let phase = capacity.step(name(number + 1, &next), next.rate_per_second);
            // Of all steps the last one is told.
            self.ended.summaries.truncate(loads);
            self.load(setting, &phase, first_slot + number)?;
            self.judge(next.role);
            self.keep(setting.writer)?;
        }
        Ok(())
    }

    /// Notes what came of the last phase.
    fn judge(&mut self, role: StepRole) {
        let ended = &mut self.ended;
        let objective = self.scene.plan.capacity.as_ref().map(|it| &it.objective);
        if let (Some(objective), Some(phase)) = (objective, ended.record.phases.last_mut()) {
            let outcome = judge_step(objective, phase, &ended.histograms);
            phase.step = Some(StepRecord { role, outcome });
        }
    }

    fn keep(&mut self, writer: &TrialWriter) -> Result<(), Halt> {
        self.ended.record.finished = Timestamp::now();
        let ended = &self.ended;
        let kept = writer.checkpoint(&ended.record, &ended.histograms, &ended.series);
        kept.map_err(|error: StoreError| {
            let (reason, remedy) = (error.to_string(), error.remedy());
            Failure::new(Culprit::Environment, reason, remedy).into()
        })
    }
}

/// `near-07-21250`: the role, the number of the step in the repeat, and its rate.
fn name(number: u32, next: &NextStep) -> String {
    let role = match next.role {
        StepRole::Curve => "curve",
        StepRole::Search => "search",
        StepRole::Near => "near",
        StepRole::Confirm => "confirm",
    };
    format!("{role}-{number:02}-{:.0}", next.rate_per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_named_after_its_purpose_and_rate() {
        let next = NextStep {
            rate_per_second: 21_249.7,
            role: StepRole::Near,
        };
        assert_eq!(name(7, &next), "near-07-21250");
    }
}
