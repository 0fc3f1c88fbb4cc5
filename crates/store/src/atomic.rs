//! Files that are whole or absent, also after a power cut.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// Writes `bytes` to `path`: a temporary neighbour is written, flushed to the disk and renamed, so a
/// reader sees the old contents or the new ones.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = neighbour(path);
    let written = write_synced(&temporary, bytes).and_then(|()| {
        fs::rename(&temporary, path).map_err(|error| StoreError::io("write", path, error))
    });
    if written.is_err() {
        // What could not be written whole must not take up what little space there is.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    sync_parent(path)
}

/// Writes a file and flushes it to the disk.
fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("write", path, error);
    let mut file = File::create(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// Flushes the directory that holds `path`, so that a rename in it outlives a power cut.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| StoreError::io("flush", parent, error))
}

/// A hidden name beside `path`.
fn neighbour(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    path.with_file_name(format!(".{name}.tmp"))
}
