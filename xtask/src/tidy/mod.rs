//! The rules of the house, as a function of the source tree. Each rule says what to write instead.

mod banned;
mod cycles;
mod layers;
mod links;
mod paths;
mod pins;
mod rust;
mod scan;
mod sizes;
mod tree;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use tree::SourceFile;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the repository.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.message)
    }
}

/// Every broken rule of the repository in `root`, in the order of paths and lines.
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

/// The rules that need nothing but the files' texts.
pub fn check_files(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = layers::check(files);
    findings.extend(banned::check(files));
    findings.extend(pins::check(files));
    for file in files.iter().filter(|file| file.is_rust()) {
        let code = scan::Code::of(&file.text);
        findings.extend(rust::check(file, &code));
        findings.extend(sizes::check(file));
    }
    findings.sort();
    findings
}
