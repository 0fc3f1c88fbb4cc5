//! A run as lists show it: without its trials' records.

use std::path::Path;
use std::time::UNIX_EPOCH;

use crate::below::Below;
use crate::live::LIVE;
use crate::lock::RunLock;
use crate::run::{MANIFEST, trial_folders};
use crate::schema;
use crate::{Manifest, Status, StoreError};

/// The state of a run, which depends on whether its process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// A process writes into the directory.
    Running,
    /// Every trial of the plan was run.
    Finished,
    /// Someone stopped it.
    Interrupted,
    /// It ended with an error.
    Failed,
    /// Its process ended without writing a status.
    Killed,
}

/// A run without its trials' records.
#[derive(Clone, Debug)]
pub struct RunOverview {
    pub manifest: Manifest,
    pub state: RunState,
}

/// The folder of a trial of a run, whether or not the trial is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFolder {
    /// Its name, as in `0001-proxy-json-nginx-b1`.
    pub name: String,
    /// True if its record is on disk.
    pub is_complete: bool,
    /// True if it runs, or if its process was killed.
    pub is_live: bool,
}

impl RunOverview {
    /// Reads the manifest of the run in `dir`, and looks whether its process lives.
    ///
    /// # Errors
    /// See [`crate::Run::open`].
    pub fn read(dir: &Path) -> Result<Self, StoreError> {
        let manifest = manifest(dir)?;
        if manifest.status != Status::Running || RunLock::is_taken(dir)? {
            let state = state_of(manifest.status, RunState::Running);
            return Ok(Self { manifest, state });
        }
        // It may have ended since the manifest was read.
        let manifest = self::manifest(dir)?;
        let state = state_of(manifest.status, RunState::Killed);
        Ok(Self { manifest, state })
    }

    /// Returns a string that differs after a change of the manifest or the report of the run in
    /// `dir`; none if there is no manifest.
    pub fn stamp(dir: &Path) -> Option<String> {
        let of = |file: &str| {
            let status = std::fs::symlink_metadata(dir.join(file)).ok()?;
            let modified = status.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some(format!("{} {}", modified.as_nanos(), status.len()))
        };
        let report = of("report.json").unwrap_or_default();
        Some(format!("{} {report}", of(MANIFEST)?))
    }
}

impl TrialFolder {
    /// Returns the folders of all trials of the run in `dir`, by name.
    ///
    /// # Errors
    /// [`StoreError::Link`], [`StoreError::Io`].
    pub fn all(dir: &Path) -> Result<Vec<Self>, StoreError> {
        let folders = trial_folders(dir)?;
        let mut all: Vec<Self> = folders.iter().map(Self::of).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    fn of(folder: &Below) -> Self {
        let name = folder.path();
        let name = name.file_name().unwrap_or_default();
        Self {
            name: name.to_string_lossy().into_owned(),
            is_complete: crate::run::is_complete(folder),
            is_live: folder.join(LIVE).is_there(),
        }
    }
}

fn manifest(dir: &Path) -> Result<Manifest, StoreError> {
    let file = Below::run(dir).join(MANIFEST);
    let text = file.read()?.ok_or_else(|| StoreError::NotARun {
        dir: dir.to_owned(),
    })?;
    schema::parse(&file.path(), &text)
}

fn state_of(status: Status, if_running: RunState) -> RunState {
    match status {
        Status::Running => if_running,
        Status::Finished => RunState::Finished,
        Status::Interrupted => RunState::Interrupted,
        Status::Failed => RunState::Failed,
    }
}
