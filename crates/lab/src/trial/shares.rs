//! Loads at shares of the saturation of this trial's gateway.

use gatebench_model::Phase;
use gatebench_store::{PhaseRecord, TrialWriter};

use super::{Course, FIRST_PHASE_SLOT};
use crate::demand::Demand;
use crate::halt::Halt;
use crate::phase::Loading;
use crate::stage::Stage;

impl Course<'_> {
    /// Finds the saturation and offers the shares of it, if the plan has shares.
    pub(super) fn at_shares(
        &mut self,
        stage: &mut Stage,
        demand: &Demand,
        writer: &TrialWriter,
    ) -> Result<(), Halt> {
        let scene = self.scene;
        let Some(shares) = &scene.plan.at else {
            return Ok(());
        };
        // A control has no gateway to saturate.
        if scene.variant.is_control() {
            return Ok(());
        }
        let first_slot = FIRST_PHASE_SLOT + u32::try_from(scene.phases().len()).unwrap_or(u32::MAX);
        self.at_share(
            100,
            &shares.saturation(),
            first_slot,
            (stage, demand, writer),
        )?;
        let last = self.ended.record.phases.last();
        let saturation_per_second = last.map_or(0.0, completed_per_second);
        if saturation_per_second <= 0.0 {
            let warning =
                "no request was answered at saturation, so there is no share of it to offer";
            self.ended.record.warnings.push(warning.into());
            return Ok(());
        }
        for (percent, slot) in shares.percents.iter().zip(first_slot + 1..) {
            let phase = shares.at(*percent, saturation_per_second);
            self.at_share(*percent, &phase, slot, (stage, demand, writer))?;
        }
        Ok(())
    }

    fn at_share(
        &mut self,
        percent: u32,
        phase: &Phase,
        slot: u32,
        (stage, demand, writer): (&mut Stage, &Demand, &TrialWriter),
    ) -> Result<(), Halt> {
        let loading = Loading {
            phase,
            demand,
            tag: self.scene.tag(slot),
            trial_began_ns: self.began_ns,
            folder: writer.folder(),
        };
        let measured = self.measure(stage, &loading, writer);
        let last = self.ended.record.phases.last_mut();
        if let Some(record) = last.filter(|record| record.name == phase.name) {
            record.saturation_percent = Some(percent);
        }
        measured
    }
}

fn completed_per_second(phase: &PhaseRecord) -> f64 {
    phase.counts.completed_in_window as f64 * 1e9 / phase.measure_ns.max(1) as f64
}
