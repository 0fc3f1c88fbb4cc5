//! Reads and writes `baselines.json`, which contains named sets of runs that other runs are
//! compared with.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{SCHEMA_VERSION, StoreError, atomic, schema};

pub const FILE: &str = "baselines.json";

/// The baselines of a folder of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baselines {
    /// The schema version of the file, [`SCHEMA_VERSION`] when written.
    schema: u32,
    /// The directories of the runs, by the name of their baseline. Directories in the folder are
    /// relative, so that the folder can be moved; others are absolute.
    #[serde(default)]
    pub baselines: BTreeMap<String, Vec<PathBuf>>,
}

impl Default for Baselines {
    fn default() -> Self {
        Self {
            schema: SCHEMA_VERSION,
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
            Ok(text) => schema::parse(&path, &text),
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

    /// Names a set of runs, replacing any earlier set with the same name. The paths in `dirs` must
    /// be absolute.
    pub fn set(&mut self, folder: &Path, name: &str, dirs: &[PathBuf]) {
        let kept = |dir: &PathBuf| {
            dir.strip_prefix(folder)
                .map_or_else(|_| dir.clone(), Path::to_owned)
        };
        self.baselines
            .insert(name.to_owned(), dirs.iter().map(kept).collect());
    }

    /// The runs of a baseline as paths that can be opened; `None` if there is no such baseline.
    pub fn runs(&self, folder: &Path, name: &str) -> Option<Vec<PathBuf>> {
        let runs = self.baselines.get(name)?;
        Some(runs.iter().map(|run| folder.join(run)).collect())
    }
}
