//! Checks the length of Rust files. clippy checks the length of functions.

use super::{Finding, SourceFile};

/// The maximum number of lines in a file, including comments and blank lines.
const FILE_LINES_MAX: usize = 600;

pub(crate) fn check(file: &SourceFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    let message =
        format!("{lines} lines; split the file by topic into files of at most {FILE_LINES_MAX}");
    (lines > FILE_LINES_MAX).then(|| Finding::new(file, 1, message))
}
