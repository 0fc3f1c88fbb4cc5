//! Several runs beside each other: two, one against a baseline of several, and all of a folder in time.

mod cells;
mod compare;
mod conditions;
mod differences;
mod history;
mod text;

use gatebench_store::{Manifest, Run, Status, StoreError};

use crate::analyse;
use crate::findings::{Findings, RunLine};

pub use compare::{compare, compare_with_baseline};
pub use history::{RUNS_MIN as HISTORY_RUNS_MIN, entry, history};

/// A run and what it says, under the name that a reader knows it by.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// The name: its directory as the user wrote it, or as the folder of runs has it.
    pub name: String,
    /// What it says by itself.
    pub findings: Findings,
    manifest: Manifest,
}

/// Works out what a run says, to be set beside others.
///
/// # Errors
/// [`StoreError`] naming the file, where histograms, series or rendered files cannot be read.
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

    /// How far it came.
    pub fn status(&self) -> Status {
        self.manifest.status
    }
}
