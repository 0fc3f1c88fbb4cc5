//! Runs a plan, displays its progress, and reports the results.

use std::path::Path;
use std::sync::Arc;

use gatebench_runner::{Interrupt, RunRequest, RunnerError};
use gatebench_store::StoreError;
use gatebench_studies::Findings;
use gatebench_studies::common::facts::Decision;
use gatebench_studies::run::resume_line;

use super::companion::ServeArgs;
use super::{display, verdict};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{reports, signals, terminal};

/// A finished run.
pub struct Conducted {
    pub findings: Findings,
    /// The exit code if no verdict changes it.
    pub exit: Exit,
}

impl Conducted {
    /// Prints the decision of the run's study, unless the output is JSON, and returns the resulting
    /// exit code. An interrupted run is not decided.
    ///
    /// # Errors
    /// Fails if standard output cannot be written.
    pub fn decided(&self, is_json: bool) -> Result<Exit, Failure> {
        let facts = match self.exit {
            Exit::Interrupted => None,
            _ => self.findings.study.facts(),
        };
        let Some(facts) = facts else {
            return Ok(self.exit);
        };
        for words in facts.decided().iter().filter(|_| !is_json) {
            terminal::unless_closed(terminal::say(&format!("\n{words}")))?;
        }
        Ok(match (self.exit, facts.decision()) {
            // The verdict can rest on failed requests, which count even if all latencies are
            // invalid.
            (Exit::Fine | Exit::Inconclusive, Some(Decision::Worse)) => Exit::CheckFailed,
            (Exit::Fine, Some(Decision::Open)) => Exit::Inconclusive,
            (exit, _) => exit,
        })
    }
}

/// The amount and format of a run's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// Only the first screen of the report, if it has one.
    Brief,
    /// All figures and notes.
    Full,
    Json,
}

/// Runs the plan and reports the results, even if the run ends early.
pub fn to_its_end(
    request: &RunRequest,
    output: Output,
    serve: ServeArgs,
) -> Result<Conducted, Failure> {
    let interrupt = Arc::new(Interrupt::new());
    let raised = Arc::clone(&interrupt);
    signals::on_signal(move || raised.raise())?;
    signals::survive_file_size_limit()?;
    let page = serve.start(&request.out);
    let display = display::of(Arc::clone(&interrupt));
    let conducted = match gatebench_runner::run(request, &interrupt, &*display) {
        Ok(_) => report(request, output),
        Err(error) => {
            // The error that ended the run matters more than a report that cannot be written.
            if has_trials(&error, &request.out) {
                let _ = report(request, output);
            }
            Err(error.into())
        }
    };
    if let (Some(mut page), Ok(_)) = (page, &conducted) {
        page.wait(&interrupt);
    }
    conducted
}

fn report(request: &RunRequest, output: Output) -> Result<Conducted, Failure> {
    let dir = &request.out;
    let findings = reports::findings(dir)?;
    // The report is printed before it is written, because the disk may be full.
    let printed = match output {
        Output::Json => terminal::say_data(gatebench_report::json::render(&findings).trim_end()),
        Output::Brief | Output::Full => {
            let text = reports::for_terminal(&findings, output == Output::Brief);
            terminal::say(&format!("\n{text}\n"))
        }
    };
    terminal::unless_closed(printed)?;
    let page = reports::write(dir, &findings, false)?;
    if output != Output::Json {
        terminal::unless_closed(terminal::say(&page.display().to_string()))?;
    }
    let (exit, complaints) = verdict::of(dir, &findings)?;
    complaints.iter().for_each(Failure::print);
    if exit == Exit::Interrupted {
        let command = resume_line(&request.prepared.plan.study, dir);
        terminal::complain(&format!(
            "interrupted: the finished trials are kept\n  → to continue: {command}"
        ));
    }
    Ok(Conducted { findings, exit })
}

/// Reports whether the directory has trials of this run. The directory may be missing, or may
/// belong to another run.
fn has_trials(error: &RunnerError, dir: &Path) -> bool {
    let refused = matches!(
        error,
        RunnerError::Store(
            StoreError::Locked { .. } | StoreError::AlreadyARun { .. } | StoreError::NotARun { .. }
        )
    );
    !refused && reports::findings(dir).is_ok_and(|findings| !findings.trials.is_empty())
}
