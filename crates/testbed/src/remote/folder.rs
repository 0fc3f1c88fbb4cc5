//! The working folder of the remote end: private, and removed at the end or by the next remote end.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, flock, fstat, open, openat};
use rustix::process::geteuid;

/// The prefix of the folders' names, which random characters follow.
const PREFIX: &str = "gatebench-remote-";
/// A shell pattern for the lock files of all folders.
pub(super) const LOCKS: &str = "gatebench-remote-*/lock";
/// The lock file, which contains the process ID of the process that uses the folder. That process
/// keeps it locked, and the kernel releases the lock when that process ends.
const LOCK: &str = "lock";
const PRIVATE: u32 = 0o700;
/// Every user may write to a folder for temporary files. With these flags, no link in it is
/// followed, and opening a FIFO does not block.
const WARY: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct WorkFolder {
    path: PathBuf,
    _lock: File,
}

impl WorkFolder {
    /// Removes abandoned folders in `parent`, and creates a new folder there.
    pub(super) fn make(parent: &Path) -> io::Result<Self> {
        remove_left(parent);
        let new = tempfile::Builder::new()
            .prefix(&format!("new-{PREFIX}"))
            .permissions(Permissions::from_mode(PRIVATE))
            .tempdir_in(parent)?;
        let mut lock = File::create_new(new.path().join(LOCK))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        writeln!(lock, "{}", std::process::id())?;
        let name = new.path().file_name().unwrap_or_default().to_owned();
        let path = parent.join(name.to_string_lossy().trim_start_matches("new-"));
        // The folder is locked before it has its final name, so that no other remote end removes
        // it.
        fs::rename(new.path(), &path)?;
        let _ = new.keep();
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // If this fails, the next remote end removes the folder.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn remove_left(parent: &Path) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_one = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_one && is_left(&entry.path()).unwrap_or(false) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Reports whether a folder belongs to this user and is not locked.
fn is_left(folder: &Path) -> io::Result<bool> {
    let folder = open(folder, WARY.union(OFlags::DIRECTORY), Mode::empty())?;
    if fstat(&folder)?.st_uid != geteuid().as_raw() {
        return Ok(false);
    }
    let lock = openat(&folder, LOCK, WARY, Mode::empty())?;
    let is_file = FileType::from_raw_mode(fstat(&lock)?.st_mode) == FileType::RegularFile;
    Ok(is_file && flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};
    use std::process::Command;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Creates a folder like the one that a killed process leaves behind.
    fn left(parent: &Path, name: &str) -> PathBuf {
        let left = parent.join(format!("{PREFIX}{name}"));
        fs::create_dir(&left).unwrap();
        File::create(left.join(LOCK)).unwrap();
        left
    }

    #[test]
    fn a_folder_is_removed_by_its_owner_or_by_the_next_remote_end() {
        let parent = tempfile::tempdir().unwrap();
        let left = left(parent.path(), "4000000");
        let other = parent.path().join("somebody-elses");
        fs::create_dir(&other).unwrap();
        let folder = WorkFolder::make(parent.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let path = folder.path().to_owned();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
        remove_left(parent.path());
        assert!(path.exists(), "it is still locked");
        drop(folder);
        assert!(!path.exists());
        let rest: Vec<_> = fs::read_dir(parent.path()).unwrap().collect();
        assert_eq!(rest.len(), 1, "{rest:?}");
    }

    #[test]
    fn entries_of_other_users_do_not_block_and_are_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(format!("{PREFIX}{name}"));
        let fifo = at("fifo");
        fs::create_dir(&fifo).unwrap();
        let made = Command::new("mkfifo").arg(fifo.join(LOCK)).status();
        assert!(made.unwrap().success());
        let linked_lock = at("linked-lock");
        fs::create_dir(&linked_lock).unwrap();
        File::create(elsewhere.path().join(LOCK)).unwrap();
        symlink(elsewhere.path().join(LOCK), linked_lock.join(LOCK)).unwrap();
        let linked = at("linked");
        symlink(elsewhere.path(), &linked).unwrap();
        let mut kept = vec![fifo, linked_lock, linked];
        if geteuid().is_root() {
            let anothers = left(parent.path(), "anothers");
            chown(&anothers, Some(65_534), None).unwrap();
            kept.push(anothers);
        }
        let (sender, receiver) = mpsc::channel();
        let place = parent.path().to_owned();
        thread::spawn(move || sender.send(WorkFolder::make(&place)));
        let folder = receiver.recv_timeout(Duration::from_secs(20));
        assert!(folder.expect("making a folder must not wait").is_ok());
        for path in kept {
            assert!(path.symlink_metadata().is_ok(), "{}", path.display());
        }
        assert!(elsewhere.path().join(LOCK).exists());
    }
}
