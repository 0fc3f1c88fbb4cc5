//! Trials that run, as their events describe them.

use std::collections::HashMap;
use std::path::Path;

use gatebench_store::{LiveEvent, LiveReader, LiveSecond, StoreError, Timestamp};

/// The trials that pages follow, by the names of run and folder.
pub(crate) type LiveTrials = HashMap<(String, String), LiveTrial>;

/// A trial that runs.
pub(crate) struct LiveTrial {
    reader: LiveReader,
    /// When it began, and the expected duration of this and all further trials.
    pub(crate) began: Option<(Timestamp, f64)>,
    /// The step it has reached, or empty during a load.
    pub(crate) step: String,
    /// Responses per second and failures so far of a load that warms up.
    pub(crate) warm_up: Option<(f64, u64)>,
    /// The loads, the current one last.
    pub(crate) phases: Vec<LivePhase>,
}

/// A load of a trial, second by second.
#[derive(Debug, Default)]
pub(crate) struct LivePhase {
    pub(crate) name: String,
    pub(crate) seconds: Vec<LiveSecond>,
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

    /// Takes the events since the last call.
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
            LiveEvent::Second(mut second) => {
                self.warm_up = None;
                let name = std::mem::take(&mut second.phase);
                match self.phases.last_mut().filter(|phase| phase.name == name) {
                    Some(phase) => phase.seconds.push(second),
                    None => self.phases.push(LivePhase {
                        name,
                        seconds: vec![second],
                    }),
                }
            }
        }
    }

    /// The state in words, without figures.
    pub(crate) fn state(&self) -> String {
        let phase = self.phases.last().map_or("", |phase| &phase.name);
        match (&*self.step, phase) {
            ("upstream_up", _) => "the upstream starts".into(),
            ("gateway_up", _) => "the gateway starts".into(),
            ("parity_before", _) => "policies are verified".into(),
            ("settling", _) => "waits for an idle machine".into(),
            ("admin", _) => "the admin interface is called".into(),
            ("parity_after", _) => "policies are verified again".into(),
            ("down", _) => "gateway and upstream end".into(),
            ("", "") => "begins".into(),
            ("", phase) if self.warm_up.is_some() => format!("load {phase} warms up"),
            ("", phase) => format!("load {phase} is measured"),
            (step, _) => step.to_owned(),
        }
    }
}
