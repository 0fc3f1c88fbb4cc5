//! Runs a plan with a display, and reports what it came to.

use std::path::Path;
use std::sync::Arc;

use gatebench_analysis::Findings;
use gatebench_runner::{Interrupt, RunRequest, RunSummary, RunnerError};
use gatebench_store::StoreError;

use super::{display, verdict};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::reports::Readers;
use crate::{reports, signals, terminal};

/// A run that is over.
pub struct Conducted {
    /// What it says.
    pub findings: Findings,
    /// What it means where no verdict was asked for.
    pub exit: Exit,
}

/// Runs the plan, and reports what it came to, also when it did not come to its end.
pub fn to_its_end(request: &RunRequest, json: bool) -> Result<Conducted, Failure> {
    match conduct(request)? {
        Ok(_) => report(&request.out, json),
        Err(error) if has_trials(&error, &request.out) => {
            // Why the run could not go on matters more than a report that could not be written.
            let _ = report(&request.out, json);
            Err(error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Runs the plan until its end or a signal.
fn conduct(request: &RunRequest) -> Result<Result<RunSummary, RunnerError>, Failure> {
    let interrupt = Arc::new(Interrupt::new());
    let raised = Arc::clone(&interrupt);
    signals::on_signal(move || raised.raise())?;
    signals::survive_file_size_limit()?;
    let display = display::of(Arc::clone(&interrupt));
    Ok(gatebench_runner::run(request, &interrupt, &*display))
}

/// Writes the report's files, prints the report, and draws the exit code from it.
fn report(dir: &Path, json: bool) -> Result<Conducted, Failure> {
    let findings = reports::findings(dir)?;
    // Said before it is written: a disk that is full shall not hide what was found.
    if json {
        terminal::say_data(gatebench_report::json::render(&findings).trim_end())?;
    } else {
        terminal::say(&format!("\n{}\n", reports::for_terminal(&findings)))?;
    }
    let page = reports::write(dir, &findings, Readers::All)?;
    if !json {
        terminal::say(&page.display().to_string())?;
    }
    let (exit, complaints) = verdict::of(dir, &findings)?;
    complaints.iter().for_each(Failure::print);
    if exit == Exit::Interrupted {
        let dir = dir.display();
        terminal::complain(&format!(
            "interrupted: the finished trials are kept\n  → to continue: gatebench run --resume {dir}"
        ));
    }
    Ok(Conducted { findings, exit })
}

/// Whether there are trials of this run to report on: its directory may never have been made, or be
/// somebody else's.
fn has_trials(error: &RunnerError, dir: &Path) -> bool {
    let refused = matches!(
        error,
        RunnerError::Store(
            StoreError::Locked { .. } | StoreError::AlreadyARun { .. } | StoreError::NotARun { .. }
        )
    );
    !refused && reports::findings(dir).is_ok_and(|findings| !findings.trials.is_empty())
}
