//! Reading a run directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::{Manifest, SeriesRow, StoreError, TrialRecord, histograms, schema, series};

pub(crate) const MANIFEST: &str = "manifest.json";
pub(crate) const TRIALS: &str = "trials";
pub(crate) const RECORD: &str = "trial.json";

/// A run as it lies on disk: manifest and records are read at once, histograms and series on demand.
#[derive(Clone, Debug)]
pub struct Run {
    dir: PathBuf,
    manifest: Manifest,
    trials: Vec<StoredTrial>,
}

impl Run {
    /// Reads the run in `dir`, which may be running, finished or interrupted.
    ///
    /// # Errors
    /// [`StoreError::NotARun`], [`StoreError::NewerSchema`], [`StoreError::Corrupt`] naming the
    /// damaged file, [`StoreError::Io`].
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(MANIFEST);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(StoreError::NotARun {
                    dir: dir.to_owned(),
                });
            }
            Err(error) => return Err(StoreError::io("read", path, error)),
        };
        let manifest = schema::parse(&path, &text)?;
        let mut trials = trial_folders(&dir.join(TRIALS))?
            .into_iter()
            .filter(|folder| is_complete(folder))
            .map(StoredTrial::open)
            .collect::<Result<Vec<_>, _>>()?;
        trials.sort_by_key(|trial| trial.record.trial.number);
        Ok(Self {
            dir: dir.to_owned(),
            manifest,
            trials,
        })
    }

    /// The run directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What was planned, and under which circumstances.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The trials that are on disk, by number.
    pub fn trials(&self) -> &[StoredTrial] {
        &self.trials
    }
}

/// A histogram of one second of a phase.
#[derive(Clone, Debug)]
pub struct SecondHistogram {
    /// Second of the measurement, from 0.
    pub second: u32,
    /// `metric.class`, as in `response.2xx`.
    pub tag: String,
    /// The values.
    pub histogram: Histogram<u64>,
}

/// A trial on disk.
#[derive(Clone, Debug)]
pub struct StoredTrial {
    folder: PathBuf,
    /// Its record.
    pub record: TrialRecord,
}

impl StoredTrial {
    fn open(folder: PathBuf) -> Result<Self, StoreError> {
        let path = folder.join(RECORD);
        let text = fs::read(&path).map_err(|error| StoreError::io("read", &path, error))?;
        Ok(Self {
            record: schema::parse(&path, &text)?,
            folder,
        })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of its folder, as in `0001-proxy-json-nginx-b1`.
    pub fn name(&self) -> String {
        self.folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    /// The histograms over all seconds by tag, `phase.metric.class`. Empty for a trial that was
    /// never measured.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn histograms(&self) -> Result<BTreeMap<String, Histogram<u64>>, StoreError> {
        histograms::read_merged(&self.folder)
    }

    /// The histograms of each second of a phase, by second of the measurement, and by what the tag says
    /// after the phase: `metric.class`. Empty for a phase that was never measured.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::Io`].
    pub fn seconds(&self, phase: &str) -> Result<Vec<SecondHistogram>, StoreError> {
        let phases = &self.record.phases;
        let Some(own) = phases.iter().find(|known| known.name == phase) else {
            return Ok(Vec::new());
        };
        let second = |(tag, start, histogram): (String, Duration, _)| {
            let (name, rest) = tag.split_once('.')?;
            // The log has its times in milliseconds.
            let since = start.as_secs_f64() - own.began_ns as f64 / 1e9;
            (name == phase).then(|| SecondHistogram {
                second: (since + 0.01).max(0.0) as u32,
                tag: rest.to_owned(),
                histogram,
            })
        };
        let entries = histograms::read_intervals(&self.folder)?;
        Ok(entries.into_iter().filter_map(second).collect())
    }

    /// The rows of the series, by phase and second. Empty for a trial that was never measured.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] naming the line, [`StoreError::Io`].
    pub fn series(&self) -> Result<Vec<SeriesRow>, StoreError> {
        series::read(&self.folder)
    }

    /// The text of a file in the trial's `gateway/` folder (not UTF-8: with replacements); none
    /// where there is no such file or the path leaves the folder.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn gateway_file(&self, path: &str) -> Result<Option<String>, StoreError> {
        read_below(&self.folder.join("gateway"), path)
    }

    /// What was sampled in a phase, by the name of its file; none where the file is gone.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn profile(&self, file: &str) -> Result<Option<String>, StoreError> {
        read_below(&self.folder, file)
    }
}

/// The text of a file below a folder; none where there is none or the path leaves the folder.
fn read_below(folder: &Path, path: &str) -> Result<Option<String>, StoreError> {
    let stays = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    if !stays {
        return Ok(None);
    }
    let path = folder.join(path);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("read", path, error)),
    }
}

/// Whether a trial's folder holds its record, which is written last; without it the trial is under way
/// or given up.
pub(crate) fn is_complete(folder: &Path) -> bool {
    folder.join(RECORD).is_file()
}

/// Folders of trials, complete or not. Hidden ones are nobody's trials.
pub(crate) fn trial_folders(trials: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(trials) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("read", trials, error)),
    };
    let mut folders = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| StoreError::io("read", trials, error))?;
        if entry.path().is_dir() && !entry.file_name().to_string_lossy().starts_with('.') {
            folders.push(entry.path());
        }
    }
    Ok(folders)
}
