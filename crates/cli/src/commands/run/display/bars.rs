//! Two progress lines on a terminal: one for the run, with the time left, and one for the current
//! trial.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use gatebench_model::{Plan, Trial};
use gatebench_report::Unit;
use gatebench_report::format::quantity;
use gatebench_runner::{Interrupt, Observer, Progress, Urgency};
use gatebench_studies::run::redact::Redaction;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::progress_text::{
    clock, length_in_words, outcome_masked, phase_in_words, step_in_words, trial_in_words,
};
use crate::commands::outputs::delivered;
use crate::terminal;

const OVERALL: &str = "  {bar:32.cyan/dim} {msg}";
const CURRENT: &str = "  {spinner:.cyan} {msg}";

/// The interval between updates of the spinner if there is no progress.
const TICK: Duration = Duration::from_millis(200);

/// Shows progress on standard error.
pub struct Bars {
    bars: MultiProgress,
    overall: ProgressBar,
    current: ProgressBar,
    interrupt: Arc<Interrupt>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    plan: Option<Plan>,
    finished: u64,
    /// The number of trials, including repetitions that have begun.
    trials: u64,
    /// The expected end of the run.
    ends: Option<Instant>,
    scenario: String,
    trial: String,
    /// The current step or load.
    doing: String,
    figures: String,
    /// Masks the secrets of the plan's scenarios.
    redaction: Option<Redaction>,
}

impl Bars {
    pub fn new(interrupt: Arc<Interrupt>) -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(8));
        let style = |template: &str| {
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
        };
        let current = bars.add(ProgressBar::new_spinner().with_style(style(CURRENT)));
        let overall =
            bars.add(ProgressBar::new(0).with_style(style(OVERALL).progress_chars("━━─")));
        Self {
            bars,
            overall,
            current,
            interrupt,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // After a panic in the display, the state can still be shown.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn print(&self, line: &str) {
        // If standard error is closed, the line is lost.
        let _ = self.bars.println(terminal::in_progress(line));
    }

    fn show(&self, state: &State) {
        let ends = state.ends.unwrap_or_else(Instant::now);
        let left = clock(ends.saturating_duration_since(Instant::now()));
        let (finished, trials) = (state.finished, state.trials);
        self.overall.set_length(trials);
        self.overall.set_position(finished);
        let words = format!("{finished}/{trials} trials · {left} left");
        self.overall.set_message(words);
        let ending = match self.interrupt.urgency() {
            Urgency::None => "",
            Urgency::Stop => " · stopping; press Ctrl-C again to stop immediately",
            Urgency::Now => " · stopping immediately",
        };
        let trial = if state.trial.is_empty() {
            "checking the machine"
        } else {
            &state.trial
        };
        let words = format!("{trial}{}{}{ending}", state.doing, state.figures);
        self.current.set_message(terminal::in_progress(&words));
    }

    fn introduce(&self, plan: &Plan, dir: &Path) {
        let (suite, title, note) = (&plan.suite, &plan.title, &plan.placement.note);
        self.print(&format!(
            "{suite}: {title}\n{note}\nwriting to {}",
            dir.display()
        ));
        if let Some(words) = length_in_words(plan) {
            self.print(&words);
        }
    }

    fn update(&self, progress: Progress, state: &mut State) {
        match progress {
            Progress::RunStarted {
                dir,
                plan,
                remaining,
                left,
            } => {
                self.introduce(&plan, &dir);
                state.trials = plan.trials.len() as u64;
                state.finished = state.trials.saturating_sub(u64::from(remaining));
                state.ends = Some(Instant::now() + left);
                state.redaction = Some(Redaction::of_plan(&plan));
                state.plan = Some(*plan);
                self.current.enable_steady_tick(TICK);
            }
            Progress::TrialStarted { trial, of, left } => {
                // A repeated trial increases the total.
                state.trials = u64::from(of);
                state.scenario.clone_from(&trial.scenario);
                state.trial = state.in_words(&trial);
                state.ends = Some(Instant::now() + left);
                state.now("starting".into());
            }
            Progress::StepStarted(step) => state.now(step_in_words(step).into()),
            Progress::PhaseStarted { name } => {
                let plan = state.plan.as_ref();
                let words = plan.map(|plan| phase_in_words(plan, &state.scenario, &name));
                state.now(words.unwrap_or(name));
            }
            Progress::Live {
                completed_per_second,
                failed,
            } => {
                let rate = quantity(completed_per_second, Unit::RequestsPerSecond);
                state.figures = match failed {
                    0 => format!(" · {rate}"),
                    failed => format!(" · {rate}, {failed} failed"),
                };
            }
            Progress::TrialFinished {
                trial,
                outcome,
                phases,
                left,
            } => {
                let words = state.in_words(&trial);
                let outcome = outcome_masked(&outcome, &phases, state.redaction.as_ref());
                self.print(&format!("  {words}: {outcome}"));
                state.finished += 1;
                state.ends = Some(Instant::now() + left);
            }
            Progress::Warning(warning) => self.print(&format!("  warning: {warning}")),
            Progress::Delivered(delivery) => {
                let words = delivered(&delivery).into_iter();
                words.for_each(|words| self.print(&format!("  {words}")));
            }
            Progress::EndedEarly(why) => self.print(&format!("  {why}")),
            _ => {}
        }
    }
}

impl State {
    fn in_words(&self, trial: &Trial) -> String {
        let plan = self.plan.as_ref();
        plan.map_or_else(String::new, |plan| trial_in_words(trial, plan))
    }

    fn now(&mut self, doing: String) {
        self.doing = format!(" · {doing}");
        self.figures.clear();
    }
}

impl Observer for Bars {
    fn observe(&self, progress: Progress) {
        let mut state = self.state();
        self.update(progress, &mut state);
        self.show(&state);
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.current.finish_and_clear();
        self.overall.finish_and_clear();
    }
}
