//! Reads a run for a list of runs, without the records of its trials.

use std::path::Path;

use crate::below::Below;
use crate::live::LIVE;
use crate::lock::RunLock;
use crate::run::{MANIFEST, RECORD, TRIALS, is_complete, read_manifest, stamp, trial_folders};
use crate::{Manifest, Status, StoreError};

/// The state of a run, which depends on whether its process is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// A process is writing to the directory.
    Running,
    /// Every trial of the plan has ended.
    Finished,
    /// The user stopped the run.
    Interrupted,
    /// The run ended with an error, or a trial could not be written.
    Failed,
    /// The process of the run ended without writing a status.
    Killed,
}

/// A run without the records of its trials.
#[derive(Clone, Debug)]
pub struct RunOverview {
    pub manifest: Manifest,
    pub state: RunState,
}

/// The folder of a complete or incomplete trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFolder {
    /// The folder's name, such as `0001-proxy-json-nginx-b1`.
    pub name: String,
    /// True if the trial's record is on disk, even if it is only a checkpoint.
    pub is_complete: bool,
    /// True if the trial's event file exists: while the trial runs, and after its process was
    /// killed.
    pub is_live: bool,
}

impl RunOverview {
    /// Reads the manifest of the run in `dir`. If its status is `running`, checks whether a process
    /// holds the run's lock.
    ///
    /// # Errors
    /// See [`crate::Run::open`].
    pub fn read(dir: &Path) -> Result<Self, StoreError> {
        let manifest = read_manifest(dir)?;
        if manifest.status != Status::Running || RunLock::is_taken(dir)? {
            let state = state_of(manifest.status, RunState::Running);
            return Ok(Self { manifest, state });
        }
        // The run may have ended since the manifest was read.
        let manifest = read_manifest(dir)?;
        let state = state_of(manifest.status, RunState::Killed);
        Ok(Self { manifest, state })
    }

    /// Returns a string that changes with the manifest or the report of the run in `dir`; `None` if
    /// there is no manifest.
    pub fn stamp(dir: &Path) -> Option<String> {
        let report = stamp(&dir.join("report.json")).unwrap_or_default();
        Some(format!("{} {report}", stamp(&dir.join(MANIFEST))?))
    }
}

impl TrialFolder {
    /// Returns the folders of all trials of the run in `dir`, ordered by name.
    ///
    /// # Errors
    /// [`StoreError::Link`], [`StoreError::Io`].
    pub fn all(dir: &Path) -> Result<Vec<Self>, StoreError> {
        let of = |folder: Below| Self {
            name: folder.name(),
            is_complete: is_complete(&folder),
            is_live: folder.join(LIVE).is_there(),
        };
        let mut all: Vec<Self> = trial_folders(dir)?.into_iter().map(of).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Returns a string that changes if the trial is measured again; `dir` is the folder of the
    /// run. `None` if the trial has no record.
    pub fn stamp(&self, dir: &Path) -> Option<String> {
        stamp(&dir.join(TRIALS).join(&self.name).join(RECORD))
    }
}

fn state_of(status: Status, if_running: RunState) -> RunState {
    match status {
        Status::Running => if_running,
        Status::Finished => RunState::Finished,
        Status::Interrupted => RunState::Interrupted,
        Status::Failed => RunState::Failed,
    }
}
