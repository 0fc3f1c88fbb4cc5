//! Checks that the source tree follows the project's own rules.

mod banned;
mod cycles;
mod docs;
mod layers;
mod links;
mod paths;
mod pins;
mod rust;
mod scan;
mod signatures;
mod sizes;
mod tree;
mod width;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use tree::SourceFile;

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the repository.
    pub path: PathBuf,
    /// The line number, from 1.
    pub line: usize,
    /// The violation, usually with its remedy.
    pub message: String,
}

impl Finding {
    fn new(file: &SourceFile, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: file.path.clone(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

/// Returns every violation in the repository at `root`, sorted by path and line.
///
/// # Errors
/// The tree cannot be read.
pub fn check(root: &Path) -> io::Result<Vec<Finding>> {
    let files = tree::read(root)?;
    let mut findings = check_files(&files);
    findings.extend(links::check(root, &files));
    findings.extend(cycles::check(&files));
    findings.sort();
    Ok(findings)
}

/// Returns every violation in these files, except broken links and cycles of modules.
pub fn check_files(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = layers::check(files);
    findings.extend(banned::check(files));
    findings.extend(pins::check(files));
    findings.extend(files.iter().flat_map(width::check));
    for file in files.iter().filter(|file| file.is_rust()) {
        let code = scan::Code::of(&file.text);
        findings.extend(banned::check_strings(file, &code));
        findings.extend(rust::check(file, &code));
        findings.extend(signatures::check(file, &code));
        findings.extend(docs::check(file));
        findings.extend(sizes::check(file));
    }
    findings.sort();
    findings
}
