//! Reads and writes `baselines.json`, which contains named sets of runs that other runs are
//! compared with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{StoreError, atomic, schema};

pub const FILE: &str = "baselines.json";

/// The version of the file's format.
const SCHEMA: u32 = 1;

/// The baselines of a folder of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baselines {
    /// The schema version of the file.
    schema: u32,
    /// The paths of the run directories, by the name of their baseline. Paths of directories in the
    /// folder are relative, so that the folder can be moved; the others are absolute.
    #[serde(default)]
    pub baselines: BTreeMap<String, Vec<PathBuf>>,
}

impl Default for Baselines {
    fn default() -> Self {
        Self {
            schema: SCHEMA,
            baselines: BTreeMap::new(),
        }
    }
}

impl Baselines {
    /// Reads the baselines of a folder. A folder without the file has no baselines.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], [`StoreError::NewerSchema`], [`StoreError::Io`].
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        match fs::read(&path) {
            Ok(text) => {
                let mut known: Self = schema::parse(&path, &text)?;
                let sets = known.baselines.values_mut();
                sets.for_each(|runs| keep_once(folder, runs));
                Ok(known)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(StoreError::io("read", path, error)),
        }
    }

    /// Writes the baselines of a folder. Creates the folder if necessary.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn write(&self, folder: &Path) -> Result<(), StoreError> {
        fs::create_dir_all(folder).map_err(|error| StoreError::io("create", folder, error))?;
        let path = folder.join(FILE);
        atomic::write(&path, &schema::render(&path, self)?)
    }

    /// Gives a set of runs a name. The set replaces an earlier one with this name. The paths in
    /// `dirs` must be absolute. Returns the number of different runs.
    pub fn set(&mut self, folder: &Path, name: &str, dirs: &[PathBuf]) -> usize {
        let kept = |dir: &PathBuf| {
            dir.strip_prefix(folder)
                .map_or_else(|_| dir.clone(), Path::to_owned)
        };
        let mut runs: Vec<PathBuf> = dirs.iter().map(kept).collect();
        keep_once(folder, &mut runs);
        let count = runs.len();
        self.baselines.insert(name.to_owned(), runs);
        count
    }

    /// The runs of a baseline as paths that can be opened; `None` if there is no such baseline.
    pub fn runs(&self, folder: &Path, name: &str) -> Option<Vec<PathBuf>> {
        let runs = self.baselines.get(name)?;
        Some(runs.iter().map(|run| folder.join(run)).collect())
    }
}

/// Keeps only the first of the paths that lead to the same run. If a run counted more than once,
/// runs would seem to vary less than they do, and the interval of a comparison would be too narrow.
fn keep_once(folder: &Path, runs: &mut Vec<PathBuf>) {
    let mut seen = BTreeSet::new();
    runs.retain(|run| {
        let dir = folder.join(run);
        seen.insert(dir.canonicalize().unwrap_or(dir))
    });
}
