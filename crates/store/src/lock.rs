//! The lock of a run directory, which a process holds while it writes a run.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::StoreError;
use crate::below::Below;

const LOCK: &str = ".lock";

/// The maximum number of attempts to take the lock. A reader that tests the lock holds it for
/// microseconds.
const ATTEMPTS_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// The lock that a process must hold to write to a run directory. The kernel releases it no matter
/// how the process ends, so there are no stale locks.
#[derive(Debug)]
pub(crate) struct RunLock {
    file: File,
}

impl RunLock {
    /// Takes the lock of the existing directory `dir` without waiting for another run.
    pub(crate) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(LOCK);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            // The directory may come from another user, so links are not followed, and opening a
            // FIFO does not block.
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed())
            .open(&path)
            .map_err(|error| StoreError::io("create", &path, error))?;
        for attempt in 1.. {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) if attempt < ATTEMPTS_MAX => thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK) => {
                    return Err(StoreError::Locked {
                        dir: dir.to_owned(),
                    });
                }
                Err(error) => return Err(StoreError::io("lock", &path, io::Error::from(error))),
            }
        }
        Ok(Self { file })
    }

    /// Reports whether a process holds the lock of the directory; false if there is no lock file.
    pub(crate) fn is_taken(dir: &Path) -> Result<bool, StoreError> {
        let Some(file) = Below::run(dir).join(LOCK).file()? else {
            return Ok(false);
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                drop(Self { file });
                Ok(false)
            }
            Err(Errno::WOULDBLOCK) => Ok(true),
            Err(error) => Err(StoreError::io("lock", dir.join(LOCK), error.into())),
        }
    }
}

impl Drop for RunLock {
    /// Unlocks explicitly. If the file were only closed, a child that another thread has just
    /// forked would keep the lock until it executes a program, because it shares the open file.
    fn drop(&mut self) {
        // On an error, the kernel unlocks when the last descriptor is closed.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}
