//! Files and folders below a run directory. The directory may come from another user, so symbolic
//! links in it are not followed: a link could lead to a private file of the reader, which the
//! report would then publish. The directory itself may be a link.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, openat, statat};
use rustix::io::Errno;

use crate::StoreError;

/// The path of a file or folder in a run directory. Nothing need exist at this path.
#[derive(Clone, Debug)]
pub(crate) struct Below {
    run: PathBuf,
    /// The path relative to the run directory; empty for the run directory itself.
    within: PathBuf,
}

impl Below {
    /// The run directory itself.
    pub(crate) fn run(dir: &Path) -> Self {
        Self {
            run: dir.to_owned(),
            within: PathBuf::new(),
        }
    }

    pub(crate) fn join(&self, part: impl AsRef<Path>) -> Self {
        Self {
            run: self.run.clone(),
            within: self.within.join(part),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        let mut path = self.run.clone();
        path.extend(&self.within);
        path
    }

    pub(crate) fn name(&self) -> String {
        let name = self.within.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Reports whether anything, including a link, exists at this path.
    pub(crate) fn is_there(&self) -> bool {
        fs::symlink_metadata(self.path()).is_ok()
    }

    /// Reads the whole file; `None` if it does not exist, or if its path is absolute or contains
    /// `..`.
    pub(crate) fn read(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(mut file) = self.file()? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(|error| StoreError::io("read", self.path(), error))?;
        Ok(Some(bytes))
    }

    /// Opens the file, which must be regular; `None` if it does not exist, or if its path is
    /// absolute or contains `..`.
    pub(crate) fn file(&self) -> Result<Option<File>, StoreError> {
        let Some(file) = self.open(OFlags::empty())? else {
            return Ok(None);
        };
        let status = fstat(&file).map_err(|it| StoreError::io("read", self.path(), it.into()))?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(StoreError::corrupt(self.path(), "it is not a regular file"));
        }
        Ok(Some(File::from(file)))
    }

    /// Reports whether the folder exists. A file or a link at this path is an error.
    pub(crate) fn is_folder(&self) -> Result<bool, StoreError> {
        Ok(self.open(OFlags::DIRECTORY)?.is_some())
    }

    /// Returns the folders in this folder, except hidden ones; empty if this folder does not exist.
    /// A symbolic link in this folder is an error, unless its name is hidden.
    pub(crate) fn folders(&self) -> Result<Vec<Self>, StoreError> {
        if !self.is_folder()? {
            return Ok(Vec::new());
        }
        let path = self.path();
        let failed = |error| StoreError::io("read", &path, error);
        let mut folders = Vec::new();
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_symlink() {
                return Err(StoreError::Link { path: entry.path() });
            }
            if kind.is_dir() {
                folders.push(self.join(entry.file_name()));
            }
        }
        Ok(folders)
    }

    /// Opens the path component by component, without blocking on a FIFO. `kind` is
    /// [`OFlags::DIRECTORY`] if the last component must be a folder. Returns `None` if a component
    /// does not exist, or if the path is absolute or contains `..`.
    fn open(&self, kind: OFlags) -> Result<Option<OwnedFd>, StoreError> {
        let mut path = self.run.clone();
        let mut at = match open(&path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(run) => run,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(StoreError::io("read", path, error.into())),
        };
        let mut parts = self.within.components().peekable();
        while let Some(part) = parts.next() {
            let Component::Normal(name) = part else {
                return Ok(None);
            };
            path.push(name);
            let is_last = parts.peek().is_none();
            let step = if is_last { kind } else { OFlags::DIRECTORY };
            let flags = step | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            at = match openat(&at, name, flags, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => {
                    // The error code for a link is not the same for folders and files.
                    let status = statat(&at, name, AtFlags::SYMLINK_NOFOLLOW);
                    let kind = status.map(|it| FileType::from_raw_mode(it.st_mode));
                    return Err(match kind {
                        Ok(FileType::Symlink) => StoreError::Link { path },
                        _ => StoreError::io("read", path, error.into()),
                    });
                }
            };
        }
        Ok(Some(at))
    }
}
