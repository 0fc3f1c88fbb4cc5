//! Files with one idea. clippy checks that functions fit a screen.

use super::{Finding, SourceFile};

/// Lines of a file.
const FILE_LINES_MAX: usize = 600;

pub(crate) fn check(file: &SourceFile) -> Option<Finding> {
    let lines = file.text.lines().count();
    (lines > FILE_LINES_MAX).then(|| Finding {
        path: file.path.clone(),
        line: 1,
        message: format!("{lines} lines; split it by ideas into files of at most {FILE_LINES_MAX}"),
    })
}
