//! Loads that follow from those before them, as the study of the plan says, in one gateway process.

use gatebench_analysis::study::{Next, after_load};
use gatebench_model::{Blame, Culprit};
use gatebench_store::{StoreError, Timestamp, TrialWriter};

use super::{Course, Setting};
use crate::abort::{Failure, Halt};

impl Course<'_> {
    /// Offers the loads that the study adds to those of the profile, each decided after the one
    /// before it. Every step of a search is on disk before the next one.
    pub(super) fn further_loads(&mut self, setting: &mut Setting<'_>) -> Result<(), Halt> {
        let scene = self.scene;
        let planned = scene.phases().len();
        let first_slot = self.slot_after_phases();
        for number in 0..scene.plan.study.further_loads_max() {
            let further = match after_load(scene.plan, &scene.earlier, &self.ended.record) {
                Next::Load(further) => further,
                Next::Continue => break,
                Next::Stop(why) => {
                    self.ended.record.warnings.push(why);
                    break;
                }
            };
            if further.is_step() {
                // Of all steps the summary has the last one.
                self.ended.summaries.truncate(planned);
            }
            self.load(setting, &further.phase, first_slot + number)?;
            let ended = &mut self.ended;
            if let Some(record) = ended.record.phases.last_mut() {
                further.mark(record, &ended.histograms);
            }
            if further.is_step() {
                self.keep(setting.writer)?;
            }
        }
        Ok(())
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
