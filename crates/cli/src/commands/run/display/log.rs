//! Progress as one line per trial, for logs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gatebench_report::format::counted;
use gatebench_runner::{Observer, Progress};
use gatebench_studies::run::redact::Redaction;

use super::progress_text::{clock, length_in_words, outcome_masked, trial_in_words};
use crate::commands::outputs::delivered;
use crate::terminal;

/// Writes lines to standard error.
#[derive(Debug, Default)]
pub struct Log {
    blocks: AtomicU32,
    trials: AtomicU32,
    /// Masks the secrets of the plan's scenarios.
    redaction: OnceLock<Redaction>,
}

impl Observer for Log {
    fn observe(&self, progress: Progress) {
        match progress {
            Progress::RunStarted {
                dir,
                plan,
                remaining,
                left,
            } => {
                length_in_words(&plan)
                    .iter()
                    .for_each(|words| terminal::complain(words));
                self.redaction.get_or_init(|| Redaction::of_plan(&plan));
                self.blocks.store(plan.blocks, Ordering::Relaxed);
                self.trials
                    .store(plan.trials.len() as u32, Ordering::Relaxed);
                terminal::complain(&format!(
                    "{}, about {}, writing to {}",
                    counted(remaining.into(), "trial"),
                    clock(left),
                    dir.display()
                ));
            }
            // A repeated trial increases the total.
            Progress::TrialStarted { of, .. } => self.trials.store(of, Ordering::Relaxed),
            Progress::TrialFinished {
                trial,
                outcome,
                phases,
                left,
            } => {
                let words = trial_in_words(&trial, self.blocks.load(Ordering::Relaxed));
                let outcome = outcome_masked(&outcome, &phases, self.redaction.get());
                let (number, of) = (trial.number, self.trials.load(Ordering::Relaxed));
                terminal::complain(&format!(
                    "[{number}/{of}, {} left] {words}: {outcome}",
                    clock(left)
                ));
            }
            Progress::Warning(warning) => terminal::complain(&format!("warning: {warning}")),
            Progress::Delivered(delivery) => {
                let words = delivered(&delivery);
                words.iter().for_each(|words| terminal::complain(words));
            }
            Progress::EndedEarly(why) => terminal::complain(&why),
            _ => {}
        }
    }
}
