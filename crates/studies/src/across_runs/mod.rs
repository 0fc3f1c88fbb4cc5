//! Compares runs: two with each other, one with a baseline of several, and all runs in a folder
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

/// A run that can be compared with others.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// The run's directory: the path that the user wrote, or the name in the folder of runs.
    pub name: String,
    pub findings: Findings,
    manifest: Manifest,
}

/// Analyzes a run for a comparison with others.
///
/// # Errors
/// See [`analyse`].
pub fn summarize(name: impl Into<String>, run: &Run) -> Result<RunSummary, StoreError> {
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

    /// The status that the manifest had when the run was read.
    pub fn status(&self) -> Status {
        self.manifest.status
    }
}
