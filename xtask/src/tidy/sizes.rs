//! Functions that fit a screen, files with one idea.

use super::scan::Code;
use super::{Finding, SourceFile};

/// Lines of a function.
const FUNCTION_LINES_MAX: usize = 70;

/// Lines of a file.
const FILE_LINES_MAX: usize = 600;

/// Functions that were too long when the rule came. The list may only become shorter.
const LONG_FUNCTIONS: [(&str, &str); 0] = [];

pub(crate) fn check(file: &SourceFile, code: &Code) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = file.text.lines().count();
    if lines > FILE_LINES_MAX {
        let message =
            format!("{lines} lines; split it by ideas into files of at most {FILE_LINES_MAX}");
        findings.push(Finding {
            path: file.path.clone(),
            line: 1,
            message,
        });
    }
    // A table of cases is as long as it has cases.
    if file.is_test() {
        return findings;
    }
    for function in code
        .functions()
        .into_iter()
        .filter(|function| function.lines > FUNCTION_LINES_MAX)
    {
        let known = LONG_FUNCTIONS
            .iter()
            .any(|(path, name)| file.path.ends_with(path) && function.name == *name);
        if !known {
            let message = format!(
                "fn {} has {} lines; split it into steps of at most {FUNCTION_LINES_MAX}",
                function.name, function.lines
            );
            findings.push(Finding {
                path: file.path.clone(),
                line: function.line,
                message,
            });
        }
    }
    findings
}
