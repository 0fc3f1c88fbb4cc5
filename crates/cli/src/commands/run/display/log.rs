//! Progress as one line per trial, for logs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gatebench_model::Plan;
use gatebench_report::format::counted;
use gatebench_runner::{Observer, Progress};
use gatebench_studies::run::redact::Redaction;

use super::progress_text::{clock, length_in_words, outcome_masked, trial_in_words};
use crate::commands::outputs::delivered;
use crate::terminal;

/// Writes lines to standard error.
#[derive(Debug, Default)]
pub struct Log {
    trials: AtomicU32,
    /// The plan, and the redaction that masks the secrets of its scenarios; set when the run
    /// begins.
    planned: OnceLock<(Plan, Redaction)>,
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
                self.trials
                    .store(plan.trials.len() as u32, Ordering::Relaxed);
                terminal::complain(&format!(
                    "{}, about {}, writing to {}",
                    counted(remaining.into(), "trial"),
                    clock(left),
                    dir.display()
                ));
                let redaction = Redaction::of_plan(&plan);
                self.planned.get_or_init(|| (*plan, redaction));
            }
            // A repeated trial increases the total.
            Progress::TrialStarted { of, .. } => self.trials.store(of, Ordering::Relaxed),
            Progress::TrialFinished {
                trial,
                outcome,
                phases,
                left,
            } => {
                let (plan, redaction) = self.planned.get().map(|(plan, it)| (plan, it)).unzip();
                let words = plan.map_or_else(String::new, |it| trial_in_words(&trial, it));
                let outcome = outcome_masked(&outcome, &phases, redaction);
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
