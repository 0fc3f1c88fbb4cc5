//! Ensures that only one process writes into a run directory.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};

use crate::StoreError;

/// The right to write into a run directory. The kernel releases it when the process ends, however
/// it ends, so there are no stale locks.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
}

impl RunLock {
    /// Takes the lock of an existing directory without waiting.
    pub(crate) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(".lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            // The directory may come from another user: open follows no link and does not block on
            // a FIFO.
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
    /// Unlocks explicitly. After a mere close, a child that another thread has forked still holds
    /// the lock until it executes its program, because it shares the open file.
    fn drop(&mut self) {
        // On an error, the kernel unlocks when the last descriptor is closed.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
