//! The files that the rules look at.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that hold nothing of ours.
const SKIPPED: [&str; 3] = ["target", ".git", "gatebench-runs"];

/// Endings of files that people write. Others (pictures, lock files) have no rules.
const TEXT_ENDINGS: [&str; 14] = [
    "rs", "toml", "md", "yaml", "yml", "json", "jinja", "cfg", "conf", "map", "html", "css", "py",
    "txt",
];

/// A text file of the repository.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Relative to the repository.
    pub path: PathBuf,
    /// What is in it.
    pub text: String,
}

impl SourceFile {
    /// Whether it is Rust.
    pub fn is_rust(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == "rs")
    }

    /// The crate it belongs to, as its folder is called: `net`, `bench`, `xtask`; none outside of
    /// crates.
    pub fn crate_name(&self) -> Option<&str> {
        let mut parts = self
            .path
            .iter()
            .map(|part| part.to_str().unwrap_or_default());
        match parts.next() {
            Some("crates") => parts.next(),
            own @ Some("bench" | "xtask") => own,
            _ => None,
        }
    }

    /// Whether it is no part of the product: tests, benchmarks, examples.
    pub fn is_test(&self) -> bool {
        const FOLDERS: [&str; 4] = ["tests", "tests.rs", "benches", "examples"];
        self.path
            .iter()
            .any(|part| FOLDERS.iter().any(|folder| part == *folder))
    }
}

/// Every text file below `root`, in the order of their paths.
pub(crate) fn read(root: &Path) -> io::Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                if !path
                    .file_name()
                    .is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped))
                {
                    folders.push(path);
                }
            } else if is_text(&path) {
                let relative = path.strip_prefix(root).unwrap_or(&path).to_owned();
                files.push(SourceFile {
                    path: relative,
                    text: fs::read_to_string(&path)?,
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Files with a known ending, and those without any: scripts, Makefile, LICENSE.
fn is_text(path: &Path) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some(ending) => TEXT_ENDINGS.contains(&ending),
        None => path
            .file_name()
            .is_some_and(|name| !name.to_string_lossy().starts_with('.')),
    }
}
