//! Writes a run: first the manifest, then one trial at a time.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatebench_model::{Plan, Trial};

use crate::live::{LIVE, LiveWriter};
use crate::lock::RunLock;
use crate::manifest::{Manifest, Status};
use crate::record::{Outcome, TrialRecord};
use crate::run::{MANIFEST, RECORD, Run, TRIALS, is_complete, trial_folders};
use crate::{
    RequestsRow, SCHEMA_VERSION, SeriesRow, StoreError, TaggedInterval, atomic, histograms,
    requests, schema, series,
};

/// A run directory that this process has locked.
#[derive(Debug)]
pub struct RunWriter {
    dir: PathBuf,
    manifest: Manifest,
    lock: Arc<RunLock>,
}

impl RunWriter {
    /// Makes `dir` a run directory. Creates the directory and its parents if necessary, and writes
    /// the manifest.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the directory cannot be written, [`StoreError::Locked`] while another
    /// process writes to it, [`StoreError::AlreadyARun`] if it contains a run.
    pub fn create(dir: &Path, manifest: Manifest) -> Result<Self, StoreError> {
        let trials = dir.join(TRIALS);
        fs::create_dir_all(&trials).map_err(|error| StoreError::io("create", &trials, error))?;
        let lock = RunLock::take(dir)?;
        if dir.join(MANIFEST).exists() {
            return Err(StoreError::AlreadyARun {
                dir: dir.to_owned(),
            });
        }
        let mut writer = Self {
            dir: dir.to_owned(),
            manifest,
            lock: Arc::new(lock),
        };
        writer.update_manifest(|manifest| manifest.schema = SCHEMA_VERSION)?;
        Ok(writer)
    }

    /// Resumes a run. Removes the folders of trials without a record, and sets the status to
    /// `running`. Returns the records of the trials that need not be repeated, ordered by number:
    /// they have a final outcome (see [`Outcome::is_final`]), or a later attempt replaces them.
    ///
    /// # Errors
    /// See [`Run::open`]; [`StoreError::Locked`] while another process writes to the directory.
    pub fn resume(dir: &Path) -> Result<(Self, Vec<TrialRecord>), StoreError> {
        if !dir.join(MANIFEST).exists() {
            return Err(StoreError::NotARun {
                dir: dir.to_owned(),
            });
        }
        let lock = RunLock::take(dir)?;
        let run = Run::open(dir)?;
        for folder in trial_folders(dir)?.iter().filter(|it| !is_complete(it)) {
            remove_trial(&folder.path())?;
        }
        let plan = &run.manifest().plan;
        let is_finished =
            |record: &TrialRecord| record.outcome.is_final() || is_replaced(plan, &record.trial);
        let finished = run
            .trials()
            .iter()
            .map(|trial| trial.record.clone())
            .filter(is_finished)
            .collect();
        let mut writer = Self {
            dir: dir.to_owned(),
            manifest: run.manifest().clone(),
            lock: Arc::new(lock),
        };
        writer.update_manifest(|manifest| {
            manifest.schema = SCHEMA_VERSION;
            manifest.status = Status::Running;
        })?;
        Ok((writer, finished))
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The manifest as last written.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Changes the manifest and writes it. If writing fails, the manifest in memory does not
    /// change, and the file has either its old or its new contents.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn update_manifest(
        &mut self,
        change: impl FnOnce(&mut Manifest),
    ) -> Result<(), StoreError> {
        let mut manifest = self.manifest.clone();
        change(&mut manifest);
        let path = self.dir.join(MANIFEST);
        atomic::write_private(&path, &schema::render(&path, &manifest)?)?;
        self.manifest = manifest;
        Ok(())
    }

    /// # Errors
    /// [`StoreError::Io`].
    pub fn set_status(&mut self, status: Status) -> Result<(), StoreError> {
        self.update_manifest(|manifest| manifest.status = status)
    }

    /// Begins a trial in a new folder. Removes the folder of an earlier attempt.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn begin_trial(&self, trial: &Trial) -> Result<TrialWriter, StoreError> {
        let folder = self.dir.join(TRIALS).join(folder_name(trial));
        remove_trial(&folder)?;
        let gateway = folder.join("gateway");
        fs::create_dir_all(&gateway).map_err(|error| StoreError::io("create", &gateway, error))?;
        Ok(TrialWriter {
            folder,
            trial: trial.clone(),
            _lock: Arc::clone(&self.lock),
        })
    }
}

/// A trial that is being measured. If the writer is dropped without [`TrialWriter::finish`] or
/// [`TrialWriter::checkpoint`], it leaves a folder without a record. [`Run::open`] ignores such a
/// folder, and a resumed run removes it.
#[derive(Debug)]
pub struct TrialWriter {
    folder: PathBuf,
    trial: Trial,
    _lock: Arc<RunLock>,
}

impl TrialWriter {
    /// The trial's folder. It is never renamed, because configurations and logs in it contain its
    /// path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder for the gateway's rendered files and logs. It already exists.
    pub fn gateway_folder(&self) -> PathBuf {
        self.folder.join("gateway")
    }

    /// Creates the file for the trial's events, which [`TrialWriter::finish`] removes.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn live(&self) -> Result<LiveWriter, StoreError> {
        LiveWriter::create(&self.folder)
    }

    /// Writes the stack samples of a phase. `folded` has one line for each stack, with the CPU time
    /// of the stack's samples. Returns the name of the file in the trial's folder.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn keep_profile(&self, phase: &str, folded: &str) -> Result<String, StoreError> {
        let file = format!("{}.folded", safe_file_part(phase));
        atomic::write(&self.folder.join(&file), folded.as_bytes())?;
        Ok(file)
    }

    /// Writes the numbers of requests in each second and in the drain, by outcome.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn keep_requests(&self, rows: &[RequestsRow]) -> Result<(), StoreError> {
        requests::write(&self.folder, rows)
    }

    /// Writes the histograms, whose `start_ns` is counted from the start of the phase's
    /// measurement, then the series and finally the record, which makes the trial visible. Removes
    /// the file of the trial's events. Returns the trial's folder.
    ///
    /// # Errors
    /// [`StoreError::Io`]; [`StoreError::Inconsistent`] if the record belongs to another trial, or
    /// a tag does not name a phase of the record. If the record was not written, the trial is not
    /// visible, or still has the record of its last checkpoint.
    pub fn finish(
        self,
        record: TrialRecord,
        histograms: &[TaggedInterval],
        series: &[SeriesRow],
    ) -> Result<PathBuf, StoreError> {
        self.write(record, histograms, series)?;
        let live = self.folder.join(LIVE);
        atomic::absent_is_fine(fs::remove_file(&live), &live)?;
        Ok(self.folder)
    }

    /// Writes the unfinished trial as an interrupted trial, so that its measurements survive the
    /// end of this process. The trial continues, and [`TrialWriter::finish`] replaces this record.
    ///
    /// # Errors
    /// See [`TrialWriter::finish`]. On an error, each file is either unchanged or completely
    /// replaced.
    pub fn checkpoint(
        &self,
        record: &TrialRecord,
        histograms: &[TaggedInterval],
        series: &[SeriesRow],
    ) -> Result<(), StoreError> {
        let record = TrialRecord {
            outcome: Outcome::Interrupted,
            ..record.clone()
        };
        self.write(record, histograms, series)
    }

    fn write(
        &self,
        mut record: TrialRecord,
        histograms: &[TaggedInterval],
        series: &[SeriesRow],
    ) -> Result<(), StoreError> {
        if record.trial != self.trial {
            return Err(StoreError::Inconsistent {
                trial: self.trial.number,
                reason: format!("the record is for trial {}", record.trial.number),
            });
        }
        record.schema = SCHEMA_VERSION;
        histograms::write(&self.folder, &record, histograms)?;
        series::write(&self.folder, series)?;
        let path = self.folder.join(RECORD);
        atomic::write_private(&path, &schema::render(&path, &record)?)?;
        atomic::sync_parent(&self.folder)
    }
}

/// Reports whether the plan has a later attempt at this trial. The last attempt counts, so an
/// earlier one is not measured again.
pub fn is_replaced(plan: &Plan, trial: &Trial) -> bool {
    let first = trial.again.unwrap_or(trial.number);
    let mut others = plan.trials.iter();
    others.any(|it| it.again == Some(first) && it.number > trial.number)
}

/// Converts a string for use in a file name. Each character other than an ASCII letter, digit, dot
/// or hyphen becomes an underscore.
pub fn safe_file_part(text: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
    text.chars()
        .map(|c| if keep(c) { c } else { '_' })
        .collect()
}

/// The name of a trial's folder, such as `0001-proxy-json-nginx-b1`. Special characters are
/// replaced, because a variant's label may be a path.
fn folder_name(trial: &Trial) -> String {
    let [scenario, variant] = [&trial.scenario, &trial.variant].map(|it| safe_file_part(it));
    format!("{:04}-{scenario}-{variant}-b{}", trial.number, trial.block)
}

/// Removes a trial's folder, if it exists. The record is removed first, so that an interrupted
/// removal does not leave a record without the other files.
fn remove_trial(folder: &Path) -> Result<(), StoreError> {
    let record = folder.join(RECORD);
    atomic::absent_is_fine(fs::remove_file(&record), &record)?;
    atomic::absent_is_fine(fs::remove_dir_all(folder), folder)
}
