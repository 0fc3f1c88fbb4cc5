//! Loads that a study derives from earlier loads, in one gateway process.

use gatebench_store::{Timestamp, TrialWriter};
use gatebench_studies::{Next, after_load};

use super::{Setting, TrialRunner};
use crate::abort::{Abort, Failure};

impl TrialRunner<'_> {
    /// Runs the loads that the study adds to those of the profile; each is chosen after the
    /// previous one. Every step of a search is on disk before the next one.
    pub(super) fn further_loads(&mut self, setting: &mut Setting<'_>) -> Result<(), Abort> {
        let context = self.context;
        let planned = context.phases().len();
        let first_slot = self.slot_after_phases();
        for number in 0..context.plan.study.further_loads_max() {
            let further = match after_load(context.plan, &context.earlier, &self.result.record) {
                Next::Load(further) => further,
                Next::Continue => break,
                Next::Stop(why) => {
                    self.result.record.warnings.push(why);
                    break;
                }
            };
            if further.is_step {
                // The summary shows only the last step.
                self.result.summaries.truncate(planned);
            }
            self.load(setting, &further.phase, first_slot + number)?;
            let result = &mut self.result;
            if let Some(record) = result.record.phases.last_mut() {
                further.mark(record, &result.timed.histograms);
            }
            if further.is_step {
                self.keep(setting.writer)?;
            }
        }
        Ok(())
    }

    fn keep(&mut self, writer: &TrialWriter) -> Result<(), Abort> {
        self.result.record.finished = Timestamp::now();
        let (record, timed) = (&self.result.record, &self.result.timed);
        let kept = writer.checkpoint(record, &timed.histograms, &timed.series);
        kept.map_err(|error| Failure::from(&error).into())
    }
}
