//! Files that are whole or absent, also after a power cut.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// What a file may be for whom, before the user's mask is taken off.
const FOR_ALL: u32 = 0o666;
const FOR_THE_USER: u32 = 0o600;

/// Writes `bytes` to `path`: a temporary neighbour is written, flushed to the disk and renamed, so a
/// reader sees the old contents or the new ones.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_for(FOR_ALL, path, bytes)
}

/// The same for a file that may hold the keys and passwords of a scenario: nobody else may read it.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_for(FOR_THE_USER, path, bytes)
}

fn write_for(mode: u32, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = neighbour(path);
    let written = write_synced(mode, &temporary, bytes).and_then(|()| {
        fs::rename(&temporary, path).map_err(|error| StoreError::io("write", path, error))
    });
    if written.is_err() {
        // What could not be written whole must not take up what little space there is.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    sync_parent(path)
}

/// Writes a file and flushes it to the disk. One that is there was left by a process that was killed; it is not written
/// into, since it may be a link.
fn write_synced(mode: u32, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("write", path, error);
    // What cannot be removed cannot be made anew either, which is told.
    let _ = fs::remove_file(path);
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path);
    let mut file = file.map_err(failed)?;
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
