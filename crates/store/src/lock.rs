//! One run per directory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::StoreError;

/// The right to write into a run directory. The kernel takes it back when the process ends, however
/// it ends, so no stale lock has to be told from a live one.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
}

impl RunLock {
    /// Takes the lock of `dir`, which exists, without waiting.
    pub(crate) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(".lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            // The directory may come from somebody else: a link is not followed, and a FIFO not waited for.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(&path)
            .map_err(|error| StoreError::io("create", &path, error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { file }),
            Err(rustix::io::Errno::WOULDBLOCK) => Err(StoreError::Locked {
                dir: dir.to_owned(),
            }),
            Err(error) => Err(StoreError::io("lock", &path, io::Error::from(error))),
        }
    }
}

impl Drop for RunLock {
    /// Unlocks by name. Closing alone would leave the lock to a child that another thread has forked
    /// but that has not yet become its program: until then it holds the same open file.
    fn drop(&mut self) {
        // An error leaves what closing does: the kernel unlocks with the last descriptor.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
