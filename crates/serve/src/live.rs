//! The state of running trials, as derived from their events.

use std::collections::HashMap;
use std::path::Path;

use gatebench_store::{LiveEvent, LiveReader, LiveSecond, StoreError, Timestamp};

/// The trials that pages follow. The key consists of the name of the run and that of the trial's
/// folder.
pub(crate) type LiveTrials = HashMap<(String, String), LiveTrial>;

pub(crate) struct LiveTrial {
    reader: LiveReader,
    /// The time when the trial began, and the expected duration of this and all remaining trials,
    /// in seconds.
    pub(crate) began: Option<(Timestamp, f64)>,
    /// The current step, or empty during a load.
    pub(crate) step: String,
    /// During a warm-up, the number of responses per second and the number of failures so far.
    pub(crate) warm_up: Option<(f64, u64)>,
    /// The loads, the current one last.
    pub(crate) phases: Vec<LivePhase>,
}

#[derive(Debug, Default)]
pub(crate) struct LivePhase {
    pub(crate) name: String,
    pub(crate) seconds: Vec<LiveSecond>,
}

impl LivePhase {
    /// Adds a second to the last load, or to a new load if the second belongs to another phase.
    pub(crate) fn add(phases: &mut Vec<Self>, mut second: LiveSecond) {
        let name = std::mem::take(&mut second.phase);
        match phases.last_mut().filter(|phase| phase.name == name) {
            Some(phase) => phase.seconds.push(second),
            None => phases.push(Self {
                name,
                seconds: vec![second],
            }),
        }
    }
}

impl LiveTrial {
    pub(crate) fn new(dir: &Path, trial: &str) -> Self {
        Self {
            reader: LiveReader::new(dir, trial),
            began: None,
            step: String::new(),
            warm_up: None,
            phases: Vec::new(),
        }
    }

    /// Processes the events since the last call.
    ///
    /// # Errors
    /// See [`LiveReader::follow`].
    pub(crate) fn follow(&mut self) -> Result<(), StoreError> {
        let events = self.reader.follow()?;
        events.into_iter().for_each(|event| self.take(event));
        Ok(())
    }

    fn take(&mut self, event: LiveEvent) {
        match event {
            LiveEvent::Trial {
                began,
                left_seconds,
            } => {
                self.began = Some((began, left_seconds));
                self.phases.clear();
            }
            LiveEvent::Step { step } => {
                self.step = step;
                self.warm_up = None;
            }
            LiveEvent::Phase { phase } => {
                self.step.clear();
                self.phases.push(LivePhase {
                    name: phase,
                    seconds: Vec::new(),
                });
            }
            LiveEvent::WarmUp {
                completed_per_second,
                failed,
            } => self.warm_up = Some((completed_per_second, failed)),
            LiveEvent::Second(second) => {
                self.warm_up = None;
                LivePhase::add(&mut self.phases, second);
            }
        }
    }

    /// The current step of the trial, as text without figures.
    pub(crate) fn state(&self) -> String {
        let phase = self.phases.last().map_or("", |phase| &phase.name);
        match (&*self.step, phase) {
            ("upstream_up", _) => "starting the upstream".into(),
            ("gateway_up", _) => "starting the gateway".into(),
            ("parity_before", _) => "verifying the policies".into(),
            ("settling", _) => "waiting for the machine to settle".into(),
            ("admin", _) => "calling the admin interface".into(),
            ("parity_after", _) => "verifying the policies again".into(),
            ("down", _) => "stopping the gateway and the upstream".into(),
            ("", "") => "starting".into(),
            ("", phase) if self.warm_up.is_some() => format!("warming up load {phase}"),
            ("", phase) => format!("measuring load {phase}"),
            (step, _) => step.to_owned(),
        }
    }
}
