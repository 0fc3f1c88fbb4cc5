//! Commits of a user's repository, each checked out and built in a separate folder for a
//! comparison. The repository itself is only read. It is cloned, because git records a worktree in
//! the repository.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use gatebench_model::{Blame, Culprit};
use rustix::fs::{FlockOperation, flock};

use crate::process::last_lines;
use crate::system::digest::sha256_of;
use crate::system::installed;

/// Digits of a short hash.
const SHORT_DIGITS: usize = 12;

/// Digits of the digest that distinguishes builds of different repositories and commands.
const KEY_DIGITS: usize = 16;

/// A commit that was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The user's name for it.
    pub reference: String,
    /// Its full hash.
    pub commit: String,
    /// Its files, including the results of the build.
    pub folder: PathBuf,
}

impl Revision {
    /// The first digits of its hash.
    pub fn short(&self) -> &str {
        &self.commit[..self.commit.len().min(SHORT_DIGITS)]
    }
}

/// An error concerning a commit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevisionError {
    /// git is not installed.
    #[error("cannot start git: {0}")]
    NoGit(io::Error),
    /// The folder belongs to no repository.
    #[error("{} is not in a git repository: {message}", folder.display())]
    NoRepository {
        folder: PathBuf,
        /// The message of git.
        message: String,
    },
    /// The repository has no such commit.
    #[error("there is no commit '{reference}' in {}", repository.display())]
    NoCommit {
        /// The name that the user wrote.
        reference: String,
        repository: PathBuf,
    },
    /// The commit could not be checked out.
    #[error("cannot check out commit {commit}: {message}")]
    NoCheckout {
        commit: String,
        /// The message of git.
        message: String,
    },
    /// The user's build failed.
    #[error("the build of {revision} failed: {message}")]
    Build {
        /// The user's name for the commit, and its hash.
        revision: String,
        /// The exit status of the build and its last output.
        message: String,
        /// Its whole output.
        log: PathBuf,
    },
    /// There is no folder for builds, or it cannot be written.
    #[error("cannot store builds in {}: {source}", folder.display())]
    Place {
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl Blame for RevisionError {
    fn culprit(&self) -> Culprit {
        match self {
            Self::NoRepository { folder: path, .. }
            | Self::NoCommit {
                repository: path, ..
            } => Culprit::File {
                path: path.clone(),
                line: None,
            },
            Self::NoGit(_) | Self::NoCheckout { .. } | Self::Build { .. } | Self::Place { .. } => {
                Culprit::Environment
            }
        }
    }

    fn remedy(&self) -> String {
        match self {
            Self::NoGit(_) => "install it: apt-get install git".into(),
            Self::NoRepository { .. } => "run this command inside the repository".into(),
            Self::NoCommit { .. } => {
                "name a branch, a tag or a hash that `git rev-parse` knows".into()
            }
            Self::NoCheckout { .. } => "check the repository: git fsck".into(),
            Self::Build { log, .. } => format!(
                "make the command succeed in a fresh clone of that commit; its output is in {}",
                log.display()
            ),
            Self::Place { .. } => {
                "free disk space, or choose another directory: XDG_DATA_HOME=DIR".into()
            }
        }
    }
}

/// Commits of a repository, each built by the same command.
#[derive(Clone, Debug)]
pub struct Builds {
    repository: PathBuf,
    build: Option<String>,
    place: PathBuf,
}

impl Builds {
    /// Builds for the repository that contains `folder`. `build` is a shell command that runs in
    /// the root of each commit's clone; without it, nothing is built.
    ///
    /// # Errors
    /// There is no git, no repository, or no folder for builds.
    pub fn of(folder: &Path, build: Option<&str>) -> Result<Self, RevisionError> {
        let place = installed::data_folder().ok_or_else(|| RevisionError::Place {
            folder: PathBuf::from("~/.local/share/gatebench"),
            source: io::Error::other("neither HOME nor XDG_DATA_HOME is set"),
        })?;
        Self::at(folder, build, &place.join("builds"))
    }

    fn at(folder: &Path, build: Option<&str>, place: &Path) -> Result<Self, RevisionError> {
        let top = git(folder, ["rev-parse", "--show-toplevel"])?;
        if !top.status.success() {
            return Err(RevisionError::NoRepository {
                folder: folder.to_owned(),
                message: said(&top),
            });
        }
        let repository = PathBuf::from(String::from_utf8_lossy(&top.stdout).trim());
        let key = sha256_of(format!("{}\n{build:?}", repository.display()).as_bytes());
        Ok(Self {
            repository,
            build: build.map(str::to_owned),
            place: place.join(&key[..KEY_DIGITS]),
        })
    }

    /// The root of the repository.
    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// Checks out a commit and builds it, unless that was done earlier.
    ///
    /// # Errors
    /// The repository has no such commit, or it cannot be checked out or built.
    pub fn revision(&self, reference: &str) -> Result<Revision, RevisionError> {
        let asked = format!("{reference}^{{commit}}");
        let found = git(
            &self.repository,
            [
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &asked,
            ],
        )?;
        if !found.status.success() {
            return Err(RevisionError::NoCommit {
                reference: reference.to_owned(),
                repository: self.repository.clone(),
            });
        }
        let commit = String::from_utf8_lossy(&found.stdout).trim().to_owned();
        let revision = Revision {
            reference: reference.to_owned(),
            folder: self.place.join(&commit),
            commit,
        };
        let _held = self.hold(&revision)?;
        let built = self.place.join(format!("{}.built", revision.commit));
        if !built.is_file() {
            self.check_out(&revision)?;
            self.build(&revision)?;
            self.placed(fs::write(&built, ""))?;
        }
        Ok(revision)
    }

    /// Locks a commit: until the returned file is dropped, no other process builds it.
    fn hold(&self, revision: &Revision) -> Result<File, RevisionError> {
        self.placed(fs::create_dir_all(&self.place))?;
        let lock = self.place.join(format!("{}.lock", revision.commit));
        let file = self.placed(File::create(lock))?;
        self.placed(flock(&file, FlockOperation::LockExclusive).map_err(io::Error::from))?;
        Ok(file)
    }

    fn check_out(&self, revision: &Revision) -> Result<(), RevisionError> {
        // An interrupted build may have left some of the files.
        if revision.folder.exists() {
            self.placed(fs::remove_dir_all(&revision.folder))?;
        }
        let folder = revision.folder.as_os_str();
        let clone = [
            OsStr::new("clone"),
            OsStr::new("--quiet"),
            OsStr::new("--no-checkout"),
            OsStr::new("--shared"),
            self.repository.as_os_str(),
            folder,
        ];
        let checkout = ["checkout", "--quiet", "--detach", &revision.commit].map(OsStr::new);
        let submodules =
            ["submodule", "--quiet", "update", "--init", "--recursive"].map(OsStr::new);
        self.must(revision, &self.place, &clone)?;
        self.must(revision, &revision.folder, &checkout)?;
        if revision.folder.join(".gitmodules").is_file() {
            self.must(revision, &revision.folder, &submodules)?;
        }
        Ok(())
    }

    fn must(
        &self,
        revision: &Revision,
        folder: &Path,
        words: &[&OsStr],
    ) -> Result<(), RevisionError> {
        let output = git(folder, words)?;
        if output.status.success() {
            return Ok(());
        }
        Err(RevisionError::NoCheckout {
            commit: revision.commit.clone(),
            message: said(&output),
        })
    }

    fn build(&self, revision: &Revision) -> Result<(), RevisionError> {
        let Some(build) = &self.build else {
            return Ok(());
        };
        let log = self.place.join(format!("{}.log", revision.commit));
        let out = self.placed(File::create(&log))?;
        let errors = self.placed(out.try_clone())?;
        let status = Command::new("sh")
            .args(["-c", build])
            .current_dir(&revision.folder)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(errors)
            .status();
        let status = self.placed(status)?;
        if status.success() {
            return Ok(());
        }
        let text = fs::read(&log).unwrap_or_default();
        let tail = last_lines(&String::from_utf8_lossy(&text));
        Err(RevisionError::Build {
            revision: format!("{} ({})", revision.reference, revision.short()),
            message: format!("{status}\n{tail}"),
            log,
        })
    }

    fn placed<T>(&self, result: io::Result<T>) -> Result<T, RevisionError> {
        result.map_err(|source| RevisionError::Place {
            folder: self.place.clone(),
            source,
        })
    }
}

fn git<W: AsRef<OsStr>>(
    folder: &Path,
    words: impl IntoIterator<Item = W>,
) -> Result<Output, RevisionError> {
    Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(words)
        .stdin(Stdio::null())
        .output()
        .map_err(RevisionError::NoGit)
}

/// Returns git's error message in one line.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.trim().lines().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// A repository with two commits of a program that prints its number.
    fn repository(folder: &Path) {
        let run = |words: &[&str]| {
            let output = git(folder, words).unwrap();
            assert!(output.status.success(), "{words:?}: {}", said(&output));
        };
        run(&["init", "--quiet"]);
        for number in ["1", "2"] {
            fs::write(folder.join("say.sh"), format!("echo {number}\n")).unwrap();
            run(&["add", "say.sh"]);
            run(&[
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.test",
                "commit",
                "--quiet",
                "-m",
                number,
            ]);
        }
        run(&["tag", "two"]);
    }

    fn with_repository(check: impl FnOnce(&Path, &Path)) {
        let (repo, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        repository(repo.path());
        check(repo.path(), place.path());
    }

    #[test]
    fn commits_are_built_apart_and_once() {
        with_repository(|repo, place| {
            let before = git(repo, ["status", "--porcelain", "--ignored"])
                .unwrap()
                .stdout;
            let command = "sh say.sh > said; echo built >> ../builds";
            let builds = Builds::at(repo, Some(command), place).unwrap();
            let [old, new] = ["HEAD~1", "two"].map(|it| builds.revision(it).unwrap());
            let said = |it: &Revision| fs::read_to_string(it.folder.join("said")).unwrap();
            assert_eq!((said(&old), said(&new)), ("1\n".into(), "2\n".into()));
            assert_ne!(old.commit, new.commit);
            assert_eq!(new.short().len(), SHORT_DIGITS);
            assert_eq!(builds.revision("HEAD").unwrap().folder, new.folder);
            let counted = fs::read_to_string(new.folder.parent().unwrap().join("builds")).unwrap();
            assert_eq!(
                counted, "built\nbuilt\n",
                "the same commit is not built again"
            );
            let after = git(repo, ["status", "--porcelain", "--ignored"])
                .unwrap()
                .stdout;
            assert_eq!(before, after);
            let worktrees = git(repo, ["worktree", "list", "--porcelain"])
                .unwrap()
                .stdout;
            let worktrees = String::from_utf8(worktrees).unwrap();
            assert_eq!(worktrees.matches("worktree ").count(), 1, "{worktrees}");
        });
    }

    #[test]
    fn a_build_that_failed_is_reported_and_tried_again() {
        with_repository(|repo, place| {
            let command = "echo from the compiler >&2; test -f ../../ready";
            let builds = Builds::at(repo, Some(command), place).unwrap();
            let error = builds.revision("two").unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("the build of two ("), "{text}");
            assert!(
                text.ends_with("exit status: 1\nfrom the compiler"),
                "{text}"
            );
            assert!(error.remedy().contains(".log"), "{}", error.remedy());
            fs::write(place.join("ready"), "").unwrap();
            assert!(builds.revision("two").unwrap().folder.is_dir());
        });
    }

    #[test]
    fn missing_commits_and_repositories_are_named() {
        with_repository(|repo, place| {
            let builds = Builds::at(repo, None, place).unwrap();
            for reference in ["nothing", "--all", "two:say.sh"] {
                let error = builds.revision(reference).unwrap_err();
                assert!(matches!(error, RevisionError::NoCommit { .. }), "{error}");
            }
            let elsewhere = Builds::at(place, None, place).unwrap_err();
            assert!(
                matches!(elsewhere, RevisionError::NoRepository { .. }),
                "{elsewhere}"
            );
        });
    }
}
