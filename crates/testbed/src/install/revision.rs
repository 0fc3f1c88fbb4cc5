//! Commits of a user's repository, each checked out and built in a separate folder for a
//! comparison. The repository itself is only read. Each commit is checked out in a clone and not in
//! a worktree, because git would record a worktree in the repository.

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

const SHORT_DIGITS: usize = 12;

/// The number of digits in the name of a folder for builds. The name is the beginning of a digest
/// of the repository's path and the build command.
const KEY_DIGITS: usize = 16;

/// The variables with which git names a repository to hooks and other programs that it starts (`git
/// rev-parse --local-env-vars`). With them, a command in a clone could change the user's
/// repository. GIT_CONFIG_PARAMETERS and GIT_CONFIG_COUNT are kept, because they contain settings
/// such as `safe.directory`.
const OF_ONE_REPOSITORY: [&str; 14] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// A commit that was checked out and, if there is a build command, built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The user's name for the commit.
    pub reference: String,
    /// The full hash of the commit.
    pub commit: String,
    /// The folder with the files of the commit and the results of the build.
    pub folder: PathBuf,
}

impl Revision {
    /// Returns the first 12 digits of the commit's hash.
    pub fn short(&self) -> &str {
        &self.commit[..self.commit.len().min(SHORT_DIGITS)]
    }
}

/// An error in finding, checking out or building a commit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RevisionError {
    #[error("cannot start git: {0}")]
    NoGit(io::Error),
    #[error("{} is not in a git repository: {message}", folder.display())]
    NoRepository {
        folder: PathBuf,
        /// git's error message.
        message: String,
    },
    #[error("there is no commit '{reference}' in {}", repository.display())]
    NoCommit {
        reference: String,
        repository: PathBuf,
    },
    #[error("cannot check out commit {commit}: {message}")]
    NoCheckout {
        commit: String,
        /// git's error message.
        message: String,
    },
    #[error("the build of {revision} failed: {message}")]
    Build {
        /// The user's name for the commit, and its hash.
        revision: String,
        /// The exit status of the build, and the last lines of its output.
        message: String,
        /// The file with the build's whole output.
        log: PathBuf,
    },
    /// The folder for builds is unknown or cannot be written to, or the build cannot be started.
    #[error("cannot store builds in {}: {source}", folder.display())]
    Place { folder: PathBuf, source: io::Error },
}

impl Blame for RevisionError {
    fn culprit(&self) -> Culprit {
        match self {
            Self::NoRepository { folder, .. } => Culprit::File {
                path: folder.clone(),
                line: None,
            },
            Self::NoCommit { repository, .. } => Culprit::File {
                path: repository.clone(),
                line: None,
            },
            Self::NoGit(_) | Self::NoCheckout { .. } | Self::Build { .. } | Self::Place { .. } => {
                Culprit::Environment
            }
        }
    }

    fn remedy(&self) -> String {
        match self {
            Self::NoGit(_) => "install git: apt-get install git".into(),
            Self::NoRepository { .. } => "run this command inside the repository".into(),
            Self::NoCommit { .. } => {
                "name a branch, a tag or a hash that `git rev-parse` accepts".into()
            }
            Self::NoCheckout { .. } => {
                "fix the problem that git reports; `git fsck` checks the repository".into()
            }
            Self::Build { log, .. } => format!(
                "make the build command succeed in a fresh clone of that commit; its output is in {}",
                log.display()
            ),
            Self::Place { .. } => {
                "free up disk space, or choose another directory: XDG_DATA_HOME=DIR".into()
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
    /// Prepares builds of commits in the repository that contains `folder`. `build` is a shell
    /// command that runs in the root of each commit's clone; if it is none, nothing is built.
    ///
    /// # Errors
    /// git or the repository is missing, or the folder for builds is unknown.
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

    pub fn repository(&self) -> &Path {
        &self.repository
    }

    /// Checks out a commit and builds it, unless that was done earlier.
    pub fn revision(&self, reference: &str) -> Result<Revision, RevisionError> {
        let object = format!("{reference}^{{commit}}");
        let options = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let found = git(
            &self.repository,
            options.into_iter().chain([object.as_str()]),
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

    /// Locks a commit. No other process builds it until the returned file is dropped.
    fn hold(&self, revision: &Revision) -> Result<File, RevisionError> {
        self.placed(fs::create_dir_all(&self.place))?;
        let lock = self.place.join(format!("{}.lock", revision.commit));
        let file = self.placed(File::create(lock))?;
        self.placed(flock(&file, FlockOperation::LockExclusive).map_err(io::Error::from))?;
        Ok(file)
    }

    fn check_out(&self, revision: &Revision) -> Result<(), RevisionError> {
        // An interrupted or failed build may have left some files.
        if revision.folder.exists() {
            self.placed(fs::remove_dir_all(&revision.folder))?;
        }
        let Revision { commit, folder, .. } = revision;
        let clone = ["clone", "--quiet", "--no-checkout", "--shared"].map(OsStr::new);
        let paths = [self.repository.as_os_str(), folder.as_os_str()];
        must_succeed(commit, &self.place, [&clone[..], &paths].concat())?;
        must_succeed(commit, folder, ["checkout", "--quiet", "--detach", commit])?;
        if folder.join(".gitmodules").is_file() {
            let update = ["submodule", "--quiet", "update", "--init", "--recursive"];
            must_succeed(commit, folder, update)?;
        }
        Ok(())
    }

    fn build(&self, revision: &Revision) -> Result<(), RevisionError> {
        let Some(build) = &self.build else {
            return Ok(());
        };
        let log = self.place.join(format!("{}.log", revision.commit));
        let out = self.placed(File::create(&log))?;
        let errors = self.placed(out.try_clone())?;
        let status = command("sh")
            .args(["-c", build])
            .current_dir(&revision.folder)
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
    command("git")
        .arg("-C")
        .arg(folder)
        .args(words)
        .output()
        .map_err(RevisionError::NoGit)
}

/// Returns a command that has no input, and in which git finds the repository by the command's
/// working folder.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for variable in OF_ONE_REPOSITORY {
        command.env_remove(variable);
    }
    command
}

fn must_succeed<W: AsRef<OsStr>>(
    commit: &str,
    folder: &Path,
    words: impl IntoIterator<Item = W>,
) -> Result<(), RevisionError> {
    let output = git(folder, words)?;
    match output.status.success() {
        true => Ok(()),
        false => Err(RevisionError::NoCheckout {
            commit: commit.to_owned(),
            message: said(&output),
        }),
    }
}

/// Returns git's error message in one line.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    text.trim().lines().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a repository with two commits, each with a script that prints the commit's number.
    fn repository(folder: &Path) {
        let run = |words: &[&str]| {
            let output = git(folder, words).unwrap();
            assert!(output.status.success(), "{words:?}: {}", said(&output));
        };
        run(&["init", "--quiet"]);
        for number in ["1", "2"] {
            fs::write(folder.join("say.sh"), format!("echo {number}\n")).unwrap();
            run(&["add", "say.sh"]);
            let author = ["-c", "user.name=t", "-c", "user.email=t@example.test"];
            run(&[&author[..], &["commit", "--quiet", "-m", number]].concat());
        }
        run(&["tag", "two"]);
    }

    fn with_repository(check: impl FnOnce(&Path, &Path)) {
        let (repo, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        repository(repo.path());
        check(repo.path(), place.path());
    }

    #[test]
    fn each_commit_is_built_once_in_a_separate_folder() {
        with_repository(|repo, place| {
            let output = |words: [&str; 3]| git(repo, words).unwrap().stdout;
            let before = output(["status", "--porcelain", "--ignored"]);
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
            assert_eq!(before, output(["status", "--porcelain", "--ignored"]));
            let worktrees = output(["worktree", "list", "--porcelain"]);
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
