//! Comparisons between runs: of two, of one with a baseline of several, and of all runs in a folder
//! over time.

mod cells;
pub mod compare;
mod differences;
pub mod history;
mod text;

use gatebench_store::{Manifest, Run, Status, StoreError};

use crate::analyse;
use crate::run::Findings;
use compare::facts::RunLine;

pub use compare::{compare, compare_with_baseline};
pub use history::{RUNS_MIN as HISTORY_RUNS_MIN, entry, history, updated};

/// A run with its name and its findings.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// The directory, as the user wrote it or as it is called in the folder of runs.
    pub name: String,
    /// The findings of this run.
    pub findings: Findings,
    manifest: Manifest,
}

/// Analyzes a run for a comparison with others.
///
/// # Errors
/// Fails with a [`StoreError`] that names the file if histograms, series or rendered files cannot
/// be read.
pub fn summarise(name: impl Into<String>, run: &Run) -> Result<RunSummary, StoreError> {
    Ok(RunSummary {
        name: name.into(),
        findings: analyse(run)?,
        manifest: run.manifest().clone(),
    })
}

impl RunSummary {
    fn line(&self) -> RunLine {
        let run = &self.findings.run;
        RunLine {
            name: self.name.clone(),
            suite: run.suite.clone(),
            created: run.created,
            gatebench: run.gatebench.clone(),
            blocks: run.blocks_complete,
        }
    }

    /// The status of the run.
    pub fn status(&self) -> Status {
        self.manifest.status
    }
}
