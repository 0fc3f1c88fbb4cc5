//! Reads a run directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};
use std::{fs, io};

use hdrhistogram::Histogram;

use crate::below::Below;
use crate::{
    Manifest, RequestsRow, SeriesRow, StoreError, TrialRecord, histograms, requests, schema, series,
};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const TRIALS: &str = "trials";
pub(crate) const RECORD: &str = "trial.json";

/// A run on disk. The manifest and the records are kept in memory. Histograms and series are read
/// on demand.
#[derive(Clone, Debug)]
pub struct Run {
    dir: PathBuf,
    manifest: Manifest,
    trials: Vec<StoredTrial>,
}

impl Run {
    /// Reads the run in `dir`, which may be in progress, finished or interrupted.
    ///
    /// # Errors
    /// [`StoreError::NotARun`], [`StoreError::NewerSchema`], [`StoreError::Corrupt`],
    /// [`StoreError::Link`], [`StoreError::Io`].
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let manifest = read_manifest(dir)?;
        let complete = trial_folders(dir)?.into_iter().filter(is_complete);
        let trials = complete.map(StoredTrial::open);
        let mut trials = trials.collect::<Result<Vec<_>, _>>()?;
        trials.sort_by_key(|trial| trial.record.trial.number);
        Ok(Self {
            dir: dir.to_owned(),
            manifest,
            trials,
        })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The trials whose records are on disk, ordered by number.
    pub fn trials(&self) -> &[StoredTrial] {
        &self.trials
    }
}

/// A histogram of one second (or a longer interval in a soak) of a phase, for one metric and class.
#[derive(Clone, Debug)]
pub struct SecondHistogram {
    /// The first second of the interval, counted from 0 at the start of the measurement.
    pub second: u32,
    /// `metric.class`, such as `response.2xx`.
    pub tag: String,
    pub histogram: Histogram<u64>,
}

/// A trial on disk.
#[derive(Clone, Debug)]
pub struct StoredTrial {
    place: Below,
    /// The path of the trial's folder, derived from `place`.
    folder: PathBuf,
    pub record: TrialRecord,
}

impl StoredTrial {
    /// Reads the trial in the folder `name` of the run in `dir`; `None` if it is not complete.
    ///
    /// # Errors
    /// See [`Run::open`].
    pub fn read(dir: &Path, name: &str) -> Result<Option<Self>, StoreError> {
        let place = Below::run(dir).join(TRIALS).join(name);
        is_complete(&place).then(|| Self::open(place)).transpose()
    }

    fn open(place: Below) -> Result<Self, StoreError> {
        let file = place.join(RECORD);
        // The file existed a moment ago, so its absence is an error.
        let text = file
            .read()?
            .ok_or_else(|| StoreError::io("read", file.path(), io::ErrorKind::NotFound.into()))?;
        Ok(Self {
            record: schema::parse(&file.path(), &text)?,
            folder: place.path(),
            place,
        })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of the trial's folder, such as `0001-proxy-json-nginx-b1`.
    pub fn name(&self) -> String {
        self.place.name()
    }

    /// The histograms over all seconds, by their tags `phase.metric.class`. Empty for a trial that
    /// was never measured.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::Link`], [`StoreError::Io`].
    pub fn histograms(&self) -> Result<BTreeMap<String, Histogram<u64>>, StoreError> {
        histograms::read_merged(&self.place)
    }

    /// The histograms of a phase, with one entry per interval, metric and class. Empty for a phase
    /// that was never measured.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::Link`], [`StoreError::Io`].
    pub fn seconds(&self, phase: &str) -> Result<Vec<SecondHistogram>, StoreError> {
        let phases = &self.record.phases;
        let Some(own) = phases.iter().find(|known| known.name == phase) else {
            return Ok(Vec::new());
        };
        let second = |(tag, start, histogram): (String, Duration, _)| {
            let (name, rest) = tag.split_once('.')?;
            // The log rounds times to milliseconds, so a start may appear to be just before its
            // second.
            let since = start.as_secs_f64() - own.began_ns as f64 / 1e9;
            (name == phase).then(|| SecondHistogram {
                second: (since + 0.01).max(0.0) as u32,
                tag: rest.to_owned(),
                histogram,
            })
        };
        let entries = histograms::read_intervals(&self.place)?;
        Ok(entries.into_iter().filter_map(second).collect())
    }

    /// The rows of the series, sorted by phase (in the order of the loads) and then by second.
    /// Empty for a trial that was never measured.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], which names the line of an invalid row; [`StoreError::Link`],
    /// [`StoreError::Io`].
    pub fn series(&self) -> Result<Vec<SeriesRow>, StoreError> {
        series::read(&self.place)
    }

    /// The numbers of requests by outcome, sorted by phase (in the order of the loads) and then by
    /// second. Empty for a trial that was never measured, in runs of earlier versions, and for
    /// external load generators.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], which names the line of an invalid row; [`StoreError::Link`],
    /// [`StoreError::Io`].
    pub fn requests(&self) -> Result<Vec<RequestsRow>, StoreError> {
        requests::read(&self.place)
    }

    /// The text of a file in the trial's `gateway/` folder, with invalid UTF-8 replaced; `None` if
    /// there is no such file, or if `path` is absolute or contains `..`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the file is not a regular file; [`StoreError::Link`],
    /// [`StoreError::Io`].
    pub fn gateway_file(&self, path: &str) -> Result<Option<String>, StoreError> {
        text_of(&self.place.join("gateway").join(path))
    }

    /// The stack samples in a file of the trial's folder; `None` if the file does not exist.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the file is not a regular file; [`StoreError::Link`],
    /// [`StoreError::Io`].
    pub fn profile(&self, file: &str) -> Result<Option<String>, StoreError> {
        text_of(&self.place.join(file))
    }
}

fn text_of(file: &Below) -> Result<Option<String>, StoreError> {
    let bytes = file.read()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

pub(crate) fn read_manifest(dir: &Path) -> Result<Manifest, StoreError> {
    let file = Below::run(dir).join(MANIFEST);
    let text = file.read()?.ok_or_else(|| StoreError::NotARun {
        dir: dir.to_owned(),
    })?;
    schema::parse(&file.path(), &text)
}

/// Returns a string that changes with the file's modification time or size; `None` if the file does
/// not exist.
pub(crate) fn stamp(file: &Path) -> Option<String> {
    let status = fs::symlink_metadata(file).ok()?;
    let modified = status.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {}", modified.as_nanos(), status.len()))
}

/// Reports whether a trial's folder contains the trial's record, which is written last. A trial
/// without a record is in progress or was abandoned.
pub(crate) fn is_complete(folder: &Below) -> bool {
    folder.join(RECORD).is_there()
}

/// The folders of all trials, whether or not the trials are complete.
pub(crate) fn trial_folders(dir: &Path) -> Result<Vec<Below>, StoreError> {
    Below::run(dir).join(TRIALS).folders()
}
