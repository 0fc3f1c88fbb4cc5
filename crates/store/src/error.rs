//! The errors of reading and writing run directories, each with a culprit and a remedy.

use std::io;
use std::path::{Path, PathBuf};

use gatebench_model::{Blame, Culprit};

/// An error of reading or writing a run directory. The message names the file or directory.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system rejected an operation.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation as a verb, such as `create`, `write` or `read`.
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("another gatebench run is writing to {}", dir.display())]
    Locked { dir: PathBuf },
    #[error("{} already contains a run", dir.display())]
    AlreadyARun { dir: PathBuf },
    #[error("{} is not a run directory: it has no manifest.json", dir.display())]
    NotARun { dir: PathBuf },
    /// A newer gatebench wrote the document.
    #[error(
        "{} has schema version {found}, but this gatebench supports only versions up to {known}",
        path.display()
    )]
    NewerSchema {
        path: PathBuf,
        found: u32,
        /// The newest version that this program reads.
        known: u32,
    },
    #[error("{} is damaged: {reason}", path.display())]
    Corrupt {
        path: PathBuf,
        /// The damage, with its location if known.
        reason: String,
    },
    #[error(
        "{} is a symbolic link, which gatebench does not follow inside a run directory",
        path.display()
    )]
    Link { path: PathBuf },
    #[error("cannot use the index {}: {reason}", path.display())]
    Index {
        path: PathBuf,
        /// SQLite's message.
        reason: String,
    },
    /// The caller passed a record that does not match its trial or its histograms, which is a bug
    /// in gatebench.
    #[error("the record of trial {trial} cannot be stored: {reason}")]
    Inconsistent { trial: u32, reason: String },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io {
            doing,
            path: path.into(),
            source,
        }
    }

    pub(crate) fn corrupt(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::Corrupt {
            path: path.into(),
            reason: reason.into(),
        }
    }
}

impl Blame for StoreError {
    fn culprit(&self) -> Culprit {
        match self {
            Self::Io { .. } | Self::Corrupt { .. } | Self::Locked { .. } | Self::Index { .. } => {
                Culprit::Environment
            }
            Self::AlreadyARun { dir: path }
            | Self::NotARun { dir: path }
            | Self::NewerSchema { path, .. }
            | Self::Link { path } => Culprit::File {
                path: path.clone(),
                line: None,
            },
            Self::Inconsistent { .. } => Culprit::Engine,
        }
    }

    fn remedy(&self) -> String {
        match self {
            Self::Io { source, path, .. } => io_remedy(source, path),
            Self::Locked { .. } => {
                "wait until that run has ended, or choose another directory with --dir DIR".into()
            }
            Self::AlreadyARun { dir } => format!(
                "to finish that run, use --resume {0}; to begin a new one, choose another \
                 directory with --dir DIR",
                dir.display()
            ),
            Self::NotARun { .. } => {
                "specify a directory that `gatebench run` or another measuring command has written"
                    .into()
            }
            Self::NewerSchema { .. } => {
                "read it with the version of gatebench that wrote it, or with a newer one".into()
            }
            Self::Corrupt { path, .. } => format!(
                "restore {} from a copy; or, if a trial is damaged, remove its folder and measure it \
                 again with --resume",
                path.display()
            ),
            Self::Link { .. } => {
                "if you trust the link, replace it with its target; a link to the whole run \
                 directory is allowed"
                    .into()
            }
            Self::Index { .. } => {
                "wait until no other gatebench process writes to it, or rebuild it from the run \
                 directories with `gatebench history --rescan`"
                    .into()
            }
            Self::Inconsistent { .. } => "report this message as a bug in gatebench".into(),
        }
    }
}

fn io_remedy(source: &io::Error, path: &Path) -> String {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => format!(
            "free up space on the disk of {}, or choose another directory with --dir DIR; finished \
             trials are kept, and --resume measures the rest",
            path.display()
        ),
        io::ErrorKind::FileTooLarge => {
            "raise the limit on file sizes (ulimit -f), or choose another directory with --dir DIR"
                .into()
        }
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::NotADirectory => {
            "check the permissions of the directory, or choose another with --dir DIR".into()
        }
        io::ErrorKind::NotFound => format!("check that {} exists", path.display()),
        _ => format!("check the disk and the permissions of {}", path.display()),
    }
}
