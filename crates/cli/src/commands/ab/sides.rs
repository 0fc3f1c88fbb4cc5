//! The two sides of a comparison: two named gateways, or two commits of a repository.

use std::path::{Path, PathBuf};

use gatebench_model::Blame as _;
use gatebench_testbed::install::{Builds, Revision, RevisionError};

use crate::failure::Failure;
use crate::terminal;

/// A gateway as named on the command line, and the label that replaces the one derived from that
/// name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub word: String,
    pub label: Option<String>,
}

impl Side {
    /// Returns the side that an argument names. A folder is labeled with its own name, because two
    /// folders may contain the same gateway.
    pub fn named(word: &str) -> Self {
        let path = Path::new(word);
        let name = path.file_name().filter(|_| path.is_dir());
        Self {
            word: word.to_owned(),
            label: name.map(|it| it.to_string_lossy().into_owned()),
        }
    }
}

/// Returns the gateway at each commit of a repository. Each commit is built with the command
/// `build`, if it is given. The repository is the one that contains the gateway's folder or, for
/// `NAME@PREFIX`, the current directory.
pub fn commits(
    references: &[&str],
    gateway: &Path,
    build: Option<&str>,
) -> Result<Vec<Side>, Failure> {
    let place = Place::of(gateway)?;
    let repository = match &place {
        Place::Folder(folder) => folder,
        Place::Program { .. } => Path::new("."),
    };
    let builds = Builds::of(repository, build).map_err(failed)?;
    let side = |reference: &str| {
        terminal::complain(&format!("building {reference} …"));
        let revision = builds.revision(reference).map_err(failed)?;
        Ok::<_, Failure>(Side {
            word: place.in_clone(&revision, builds.repository())?,
            label: Some(label(&revision)),
        })
    };
    references.iter().map(|reference| side(reference)).collect()
}

/// The location of a gateway in a repository, from which its location in each clone is derived.
enum Place {
    /// The gateway's folder in the user's repository.
    Folder(PathBuf),
    /// The program of the gateway `name`, below `prefix` in each clone.
    Program { name: String, prefix: String },
}

impl Place {
    fn of(gateway: &Path) -> Result<Self, Failure> {
        let error = match gateway.canonicalize() {
            Ok(folder) => return Ok(Self::Folder(folder)),
            Err(error) => error,
        };
        let word = gateway.display().to_string();
        match word.split_once('@') {
            Some((name, prefix)) if Path::new(prefix).is_relative() => Ok(Self::Program {
                name: name.into(),
                prefix: prefix.into(),
            }),
            _ => Err(Failure::words(
                format!("--gateway {word}"),
                format!("cannot open the folder: {error}"),
                "name the gateway's folder in your repository, for example ./gateway; or a gateway \
                 and the prefix of its program in each clone, for example kong@prefix",
            )),
        }
    }

    /// Returns the argument that names the gateway in the clone of a commit.
    fn in_clone(&self, revision: &Revision, repository: &Path) -> Result<String, Failure> {
        let missing = |path: &Path, remedy| {
            Failure::words(
                format!("--git {}", revision.reference),
                format!("this commit has no {}", path.display()),
                remedy,
            )
        };
        match self {
            Self::Folder(folder) => {
                let within = folder.strip_prefix(repository).unwrap_or(Path::new("."));
                let folder = revision.folder.join(within);
                if folder.join("gateway.yaml").is_file() {
                    return Ok(folder.display().to_string());
                }
                let remedy = "name commits that contain the gateway's folder";
                Err(missing(&within.join("gateway.yaml"), remedy))
            }
            Self::Program { name, prefix } => {
                // The plan resolves this path and looks up the label by the resolved path.
                if let Ok(place) = revision.folder.join(prefix).canonicalize() {
                    return Ok(format!("{name}@{}", place.display()));
                }
                let remedy = "name a folder that the commit contains or that the command given with --build creates";
                Err(missing(Path::new(prefix), remedy))
            }
        }
    }
}

/// Returns a label such as `main-1a2b3c4d5e6f`, because a branch may later point to another commit.
/// If the reference is itself a hash, the label is the short hash.
fn label(revision: &Revision) -> String {
    let (short, reference) = (revision.short(), &revision.reference);
    if revision.commit.starts_with(reference) {
        return short.to_owned();
    }
    let name = reference.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    format!("{}-{short}", name.trim_matches('-'))
}

fn failed(error: RevisionError) -> Failure {
    Failure::words("your repository", error.to_string(), error.remedy())
}
