//! Runs trials of a block together if their load has phases that measure gateways side by side.

use std::thread;

use gatebench_model::{LoadProfile, Trial, Variant};
use gatebench_net::workers::joined;
use gatebench_store::TrialWriter;

use super::RunLoop;
use super::live_log::run_logged;
use crate::context::TrialContext;
use crate::error::RunnerError;
use crate::lockstep::Lockstep;
use crate::progress::{Observer, Progress};
use crate::trial::TrialResult;

impl<'a> RunLoop<'a> {
    /// Returns the remaining trials that must run together with this trial.
    pub(super) fn partners_of<'t>(&self, trial: &Trial, further: &[&'t Trial]) -> Vec<&'t Trial> {
        let prepared = &self.request.prepared;
        let plan = &prepared.plan;
        let phases = &plan.load_of(&trial.scenario).phases;
        if prepared.engine.is_some() || !phases.iter().any(|phase| phase.side_by_side) {
            return Vec::new();
        }
        let is_gateway =
            |it: &Trial| matches!(plan.variant(&it.variant), Some(Variant::Gateway { .. }));
        let goes_along = |it: &&&Trial| {
            (it.block, &it.scenario) == (trial.block, &trial.scenario)
                && is_gateway(it)
                && !self.done.contains(&it.number)
        };
        let further = further.iter().filter(|_| is_gateway(trial));
        further.filter(goes_along).copied().collect()
    }

    pub(super) fn together(
        &mut self,
        trials: &[&Trial],
        further: &[&Trial],
    ) -> Result<(), RunnerError> {
        let left = self.left(&[trials, further].concat());
        let (observer, of) = (self.observer, self.last_number());
        let turns = self.request.prepared.plan.turns(trials);
        let lockstep = Lockstep::of(trials.len(), turns);
        let partner = |(index, trial): (usize, &&Trial)| PartnerObserver {
            observer,
            load: self.request.prepared.plan.load_of(&trial.scenario),
            is_first: index == 0,
            begin: Progress::TrialStarted {
                trial: (*trial).clone(),
                of,
                left,
            },
        };
        let observers: Vec<PartnerObserver> = trials.iter().enumerate().map(partner).collect();
        observers[0].observer.observe(observers[0].begin.clone());
        let mut begun: Vec<(&Trial, TrialContext<'_>, TrialWriter)> = Vec::new();
        for (place, (trial, observer)) in trials.iter().zip(&observers).enumerate() {
            let mut context = self.context(trial, Vec::new())?;
            context.observer = observer;
            context.lockstep = Some(lockstep.member(place));
            match self.writer.begin_trial(trial) {
                Ok(writer) => begun.push((*trial, context, writer)),
                Err(error) => {
                    self.lost(trial, error)?;
                }
            }
        }
        let results: Vec<(&Trial, TrialResult, TrialWriter)> = thread::scope(|scope| {
            let run = |(trial, context, writer): (_, TrialContext<'_>, TrialWriter)| {
                (trial, run_logged(context, &writer, left), writer)
            };
            let threads: Vec<_> = begun
                .into_iter()
                .map(|it| scope.spawn(move || run(it)))
                .collect();
            threads.into_iter().map(joined).collect()
        });
        let share = u32::try_from(results.len()).unwrap_or(1);
        let mut ended = Ok(());
        for (trial, result, writer) in results {
            self.done.insert(trial.number);
            // Even if this trial ends the run, the trials after it are kept.
            let kept = self.keep(trial, result, writer, share, further);
            ended = ended.and(kept.map(|_| ()));
        }
        ended
    }
}

/// Forwards the events of one of several concurrent trials. The first trial forwards all of its
/// events. The other trials forward only the starts of loads that run alone. Before each forwarded
/// start of a load, the load's trial is announced again.
struct PartnerObserver<'a> {
    observer: &'a dyn Observer,
    load: &'a LoadProfile,
    is_first: bool,
    begin: Progress,
}

impl PartnerObserver<'_> {
    fn is_forwarded(&self, progress: &Progress) -> bool {
        let is_shared = |name: &str| {
            let mut phases = self.load.phases.iter();
            phases.any(|phase| phase.name == name && phase.side_by_side)
        };
        matches!(progress, Progress::PhaseStarted { name } if !is_shared(name))
    }
}

impl Observer for PartnerObserver<'_> {
    fn observe(&self, progress: Progress) {
        if self.is_first || self.is_forwarded(&progress) {
            if matches!(progress, Progress::PhaseStarted { .. }) {
                self.observer.observe(self.begin.clone());
            }
            self.observer.observe(progress);
        }
    }
}
