//! The files that the rules examine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Folders that contain no files of the project.
const SKIPPED: [&str; 3] = ["target", ".git", "gatebench-runs"];

/// The suffixes of the files that are checked. Files with other suffixes, such as pictures and lock
/// files, are not.
const TEXT_ENDINGS: [&str; 15] = [
    "rs", "toml", "md", "yaml", "yml", "json", "jinja", "cfg", "conf", "map", "html", "css", "py",
    "lua", "txt",
];

/// A text file of the repository.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path relative to the repository.
    pub path: PathBuf,
    pub text: String,
}

impl SourceFile {
    pub fn is_rust(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == "rs")
    }

    /// The folder of the file's crate, such as `net` or `bench`; `None` outside of crates/, bench/
    /// and xtask/.
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

    /// Returns the prose of a line without its indentation and comment marks. In Markdown, every
    /// line is prose, except in the expected results of tests. In code, a line is prose if it
    /// contains only a comment.
    pub fn prose<'l>(&self, line: &'l str) -> Option<&'l str> {
        let line = line.trim_start();
        let ending = self.path.extension().and_then(|ending| ending.to_str());
        let comment = match ending.unwrap_or_default() {
            "md" => return (!self.is_test()).then_some(line),
            "rs" => line.strip_prefix("//")?,
            "lua" => line.strip_prefix("--")?,
            "yaml" | "yml" | "toml" | "conf" | "cfg" | "py" | "" => line.strip_prefix('#')?,
            _ => return None,
        };
        Some(
            comment
                .trim_start_matches(['/', '!', '#', '-'])
                .trim_start(),
        )
    }

    /// Reports whether the file is a test, a benchmark or an example, and therefore not part of the
    /// product.
    pub fn is_test(&self) -> bool {
        const FOLDERS: [&str; 4] = ["tests", "tests.rs", "benches", "examples"];
        self.path
            .iter()
            .any(|part| FOLDERS.iter().any(|folder| part == *folder))
    }
}

/// Returns all text files below `root`, in the order of their paths, except sample reports and the
/// files in [`SKIPPED`] folders.
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
                if is_report(&relative) {
                    continue;
                }
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

/// Reports whether the file is the report of a sample run, which gatebench wrote.
fn is_report(path: &Path) -> bool {
    let is_named = path.file_stem().is_some_and(|stem| stem == "report");
    is_named && path.starts_with("docs/sample")
}

/// Reports whether a file has a suffix in [`TEXT_ENDINGS`], or no suffix, like the scripts,
/// Makefile and LICENSE. Hidden files without a suffix are left out.
fn is_text(path: &Path) -> bool {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some(ending) => TEXT_ENDINGS.contains(&ending),
        None => path
            .file_name()
            .is_some_and(|name| !name.to_string_lossy().starts_with('.')),
    }
}
