//! The far end's own working folder: private, removed at the end, and where that was cut off, by whoever
//! comes next.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// How the folders are called, before the number of the process.
const PREFIX: &str = "gatebench-remote-";
/// Held locked by the process whose folder it is; the kernel lets go of it when that process ends.
const LOCK: &str = "lock";
const PRIVATE: u32 = 0o700;

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct WorkFolder {
    path: PathBuf,
    _lock: File,
}

impl WorkFolder {
    /// Removes those in `parent` whose processes are gone, and makes one.
    pub(super) fn make(parent: &Path) -> io::Result<Self> {
        remove_left(parent);
        let pid = std::process::id();
        let new = parent.join(format!("new-{PREFIX}{pid}"));
        let path = parent.join(format!("{PREFIX}{pid}"));
        DirBuilder::new().mode(PRIVATE).create(&new)?;
        let lock = File::create(new.join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        // Under its name it is locked from the first moment.
        fs::rename(&new, &path)?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // What cannot be removed now, the next one tries again.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn remove_left(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // Another user's cannot be opened.
        let lock = is_ours
            .then(|| File::open(entry.path().join(LOCK)).ok())
            .flatten();
        if lock.is_some_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_goes_with_its_owner_or_with_the_next_one() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(format!("{PREFIX}4000000"));
        fs::create_dir(&left).unwrap();
        File::create(left.join(LOCK)).unwrap();
        let other = parent.path().join("somebody-elses");
        fs::create_dir(&other).unwrap();
        let folder = WorkFolder::make(parent.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let path = folder.path().to_owned();
        remove_left(parent.path());
        assert!(path.exists(), "it is still held");
        drop(folder);
        assert!(!path.exists());
    }
}
