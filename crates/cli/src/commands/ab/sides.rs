//! The two sides of a comparison: two named gateways, or two commits of a repository.

use std::path::{Path, PathBuf};

use gatebench_model::Blame as _;
use gatebench_testbed::install::{Builds, Revision, RevisionError};

use crate::failure::Failure;
use crate::terminal;

/// A gateway as named on the command line, and its label if that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub word: String,
    pub label: Option<String>,
}

impl Side {
    /// Labels a folder with its own name, because another folder may also contain an nginx.
    pub fn named(word: &str) -> Self {
        let path = Path::new(word);
        let name = path.file_name().filter(|_| path.is_dir());
        Self {
            word: word.to_owned(),
            label: name.map(|it| it.to_string_lossy().into_owned()),
        }
    }
}

/// Returns the folder `gateway` at each commit of its repository, built with the command `build`.
pub fn commits(
    references: &[&str],
    gateway: &Path,
    build: Option<&str>,
) -> Result<Vec<Side>, Failure> {
    let gateway = gateway.canonicalize().map_err(|error| {
        Failure::words(
            format!("--gateway {}", gateway.display()),
            format!("cannot open the folder: {error}"),
            "name the gateway's folder in your repository, for example ./gateway",
        )
    })?;
    let builds = Builds::of(&gateway, build).map_err(failed)?;
    let within = gateway
        .strip_prefix(builds.repository())
        .map_or_else(|_| PathBuf::from("."), Path::to_owned);
    let side = |reference: &str| {
        terminal::complain(&format!("building {reference} …"));
        let revision = builds.revision(reference).map_err(failed)?;
        Ok::<_, Failure>(Side {
            word: folder_of(&revision, &within)?,
            label: Some(label(&revision)),
        })
    };
    references.iter().map(|reference| side(reference)).collect()
}

/// Returns the gateway's folder in the clone of a commit.
fn folder_of(revision: &Revision, within: &Path) -> Result<String, Failure> {
    let folder = revision.folder.join(within);
    if folder.join("gateway.yaml").is_file() {
        return Ok(folder.display().to_string());
    }
    Err(Failure::words(
        format!("--git {}", revision.reference),
        format!("this commit has no {}/gateway.yaml", within.display()),
        "name commits that contain the gateway's folder",
    ))
}

/// Returns a label such as `main-1a2b3c4d5e6f`, because a branch may later point to another commit.
/// A hash is returned as is.
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
