//! Replaces files atomically: even after a power failure, a file has either its old or its new
//! contents.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::StoreError;

/// The mode of files that are not private, before the umask is applied.
const FOR_ALL: u32 = 0o666;
/// The mode of files that only the user may read and write.
const FOR_THE_USER: u32 = 0o600;

/// Writes `bytes` to `path`. A temporary file next to it is written, flushed to the disk and
/// renamed, so a reader sees either the old or the new contents.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_for(FOR_ALL, path, bytes)
}

/// Writes a file that only the user may read, because it may contain keys and passwords of a
/// scenario.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    write_for(FOR_THE_USER, path, bytes)
}

fn write_for(mode: u32, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let temporary = neighbor(path);
    let written = write_synced(mode, &temporary, bytes).and_then(|()| {
        fs::rename(&temporary, path).map_err(|error| StoreError::io("write", path, error))
    });
    if written.is_err() {
        // An incomplete file must not occupy the remaining disk space.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    sync_parent(path)
}

/// Writes a file and flushes it to the disk. An existing file, which a killed process may have left
/// behind, is removed first, because it may be a link.
fn write_synced(mode: u32, path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("write", path, error);
    // If an existing file cannot be removed, the creation below fails and returns the error.
    let _ = fs::remove_file(path);
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(mode).open(path);
    let mut file = file.map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.sync_all().map_err(failed)
}

/// Flushes the directory that contains `path`, so that a rename in it survives a power failure.
pub(crate) fn sync_parent(path: &Path) -> Result<(), StoreError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    File::open(parent)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| StoreError::io("flush", parent, error))
}

/// Returns the error of a removal, unless there was nothing to remove.
pub(crate) fn absent_is_fine(removed: io::Result<()>, path: &Path) -> Result<(), StoreError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("remove", path, error))
        }
        _ => Ok(()),
    }
}

fn neighbor(path: &Path) -> PathBuf {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy())
        .unwrap_or_default();
    path.with_file_name(format!(".{name}.tmp"))
}
