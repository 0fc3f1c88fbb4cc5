//! Loads at shares of the saturation of this trial's gateway.

use gatebench_analysis::throughput_per_second;
use gatebench_model::Phase;

use super::{Course, Setting};
use crate::halt::Halt;

/// The share of the load that finds the saturation.
const SATURATED: u32 = 100;

impl Course<'_> {
    /// Finds the saturation and offers the shares of it, if the plan has shares.
    pub(super) fn at_shares(&mut self, setting: &mut Setting<'_>) -> Result<(), Halt> {
        let scene = self.scene;
        let Some(shares) = &scene.plan.at else {
            return Ok(());
        };
        // A control has no gateway to saturate.
        if scene.variant.is_control() {
            return Ok(());
        }
        let first_slot = self.slot_after_phases();
        self.at_share(setting, (SATURATED, &shares.saturation()), first_slot)?;
        let saturation_per_second = self.saturation_per_second();
        if saturation_per_second <= 0.0 {
            let warning = "no request was answered at saturation, so there is no share of it to offer; read the \
                           gateway's log for why, or leave out --at";
            self.ended.record.warnings.push(warning.into());
            return Ok(());
        }
        for (percent, slot) in shares.percents.iter().zip(first_slot + 1..) {
            let phase = shares.at(*percent, saturation_per_second);
            self.at_share(setting, (*percent, &phase), slot)?;
        }
        Ok(())
    }

    /// The throughput of the load that found the saturation; 0 if there was none.
    fn saturation_per_second(&self) -> f64 {
        let mut phases = self.ended.record.phases.iter();
        phases
            .rfind(|phase| phase.saturation_percent == Some(SATURATED))
            .map_or(0.0, throughput_per_second)
    }

    fn at_share(
        &mut self,
        setting: &mut Setting<'_>,
        (percent, phase): (u32, &Phase),
        slot: u32,
    ) -> Result<(), Halt> {
        let measured = self.load(setting, phase, slot);
        let last = self.ended.record.phases.last_mut();
        if let Some(record) = last.filter(|record| record.name == phase.name) {
            record.saturation_percent = Some(percent);
        }
        measured
    }
}
