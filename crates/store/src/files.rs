//! Lists the raw files of a run, so that a reader can trace a figure to its source.

use std::fs::{self, File};
use std::path::Path;

use crate::StoreError;
use crate::below::Below;
use crate::run::TRIALS;

const FILES_MAX: usize = 2_000;
/// The maximum depth of listed subfolders.
const DEPTH_MAX: u32 = 6;

/// A file of a run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The path relative to the listed folder, with `/` between the parts.
    pub path: String,
    pub bytes: u64,
}

/// Returns the files directly in the run directory `dir`, ordered by name.
///
/// # Errors
/// [`StoreError::Io`].
pub fn files_of_run(dir: &Path) -> Result<Vec<StoredFile>, StoreError> {
    listed(&Below::run(dir), 0)
}

/// Returns the files of a trial, including those in subfolders, ordered by path.
///
/// # Errors
/// [`StoreError::Link`], [`StoreError::Io`].
pub fn files_of_trial(dir: &Path, trial: &str) -> Result<Vec<StoredFile>, StoreError> {
    listed(&Below::run(dir).join(TRIALS).join(trial), DEPTH_MAX)
}

/// Opens a file of the run in `dir` by its path relative to `dir`; `None` if it does not exist, or
/// if `path` is absolute or contains `..`.
///
/// # Errors
/// [`StoreError::Link`], [`StoreError::Corrupt`] if it is not a regular file, [`StoreError::Io`].
pub fn open_file(dir: &Path, path: &str) -> Result<Option<File>, StoreError> {
    Below::run(dir).join(path).file()
}

/// Like [`open_file`], but with a path relative to the folder of a trial.
///
/// # Errors
/// See [`open_file`].
pub fn open_trial_file(dir: &Path, trial: &str, path: &str) -> Result<Option<File>, StoreError> {
    Below::run(dir).join(TRIALS).join(trial).join(path).file()
}

/// Lists the regular files in a folder and, down to `depth`, in its subfolders. Links, hidden
/// names, names that are not UTF-8, and files after the first [`FILES_MAX`] are left out.
fn listed(folder: &Below, depth: u32) -> Result<Vec<StoredFile>, StoreError> {
    let mut files = Vec::new();
    let mut folders = vec![(folder.clone(), String::new(), depth)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        if !folder.is_folder()? {
            continue;
        }
        let path = folder.path();
        let failed = |error| StoreError::io("read", &path, error);
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // The file may have been removed in the meantime.
            let (Ok(name), Ok(status)) = (entry.file_name().into_string(), entry.metadata()) else {
                continue;
            };
            if name.starts_with('.') || files.len() >= FILES_MAX {
                continue;
            }
            let path = format!("{prefix}{name}");
            if status.is_file() {
                let bytes = status.len();
                files.push(StoredFile { path, bytes });
            } else if status.is_dir() && depth > 0 {
                folders.push((folder.join(&name), path + "/", depth - 1));
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}
