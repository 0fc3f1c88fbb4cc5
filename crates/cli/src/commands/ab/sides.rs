//! The two that are compared: by name, or two commits of a repository.

use std::path::{Path, PathBuf};

use gatebench_model::Blame as _;
use gatebench_testbed::{Builds, Revision, RevisionError};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal;

/// A gateway's word, and what to call it where its folder's name is not enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub word: String,
    pub label: Option<String>,
}

/// Baseline and candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    pub baseline: Side,
    pub candidate: Side,
}

impl Side {
    /// A folder is called by its own name: it may hold another nginx.
    pub fn named(word: &str) -> Self {
        let path = Path::new(word);
        let name = path.file_name().filter(|_| path.is_dir());
        Self {
            word: word.to_owned(),
            label: name.map(|it| it.to_string_lossy().into_owned()),
        }
    }
}

impl Sides {
    /// Gateways by their words.
    pub fn named(baseline: &str, candidate: &str) -> Self {
        Self {
            baseline: Side::named(baseline),
            candidate: Side::named(candidate),
        }
    }

    /// The folder `gateway` of two commits of the repository that it is in, each built by `build`.
    pub fn of_commits(
        [baseline, candidate]: [&str; 2],
        gateway: &Path,
        build: Option<&str>,
    ) -> Result<Self, Failure> {
        let mut sides = commits(&[baseline, candidate], gateway, build)?.into_iter();
        let mut next = || sides.next().expect("there is a side for each commit");
        Ok(Self {
            baseline: next(),
            candidate: next(),
        })
    }
}

/// The folder `gateway` of each commit of the repository that it is in, each built by `build`.
pub fn commits(
    references: &[&str],
    gateway: &Path,
    build: Option<&str>,
) -> Result<Vec<Side>, Failure> {
    let gateway = gateway.canonicalize().map_err(|error| {
        Failure::words(
            &format!("--gateway {}", gateway.display()),
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

/// The gateway's folder in a commit.
fn folder_of(revision: &Revision, within: &Path) -> Result<String, Failure> {
    let folder = revision.folder.join(within);
    if folder.join("gateway.yaml").is_file() {
        return Ok(folder.display().to_string());
    }
    Err(Failure::words(
        &format!("--git {}", revision.reference),
        format!("this commit has no {}/gateway.yaml", within.display()),
        "name commits that contain the gateway's folder",
    ))
}

/// `main-1a2b3c4d5e6f`: a name may mean another commit tomorrow. A hash needs no second one.
fn label(revision: &Revision) -> String {
    let short = revision.short();
    let name: String = revision
        .reference
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() { it } else { '-' })
        .collect();
    if revision.commit.starts_with(&revision.reference) {
        short.to_owned()
    } else {
        format!("{}-{short}", name.trim_matches('-'))
    }
}

fn failed(error: RevisionError) -> Failure {
    Failure::Said {
        culprit: "your repository".into(),
        what: error.to_string(),
        remedy: error.remedy(),
        exit: Exit::WrongWords,
    }
}
