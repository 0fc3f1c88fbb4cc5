//! What only some crates may do.

use super::scan::{Code, words};
use super::{Finding, SourceFile};

/// Crates that hold `unsafe`.
const UNSAFE_CRATES: [&str; 2] = ["net", "xml"];

/// Crates that print.
const PRINTING_CRATES: [&str; 2] = ["cli", "xtask"];

/// Files that are programs of their own and print to a log of their own.
const PRINTING_FILES: [&str; 1] = ["crates/drivers/src/supervise.rs"];

const PRINTS: [&str; 4] = ["println", "eprintln", "print", "eprint"];

pub(crate) fn check(file: &SourceFile, code: &Code) -> Vec<Finding> {
    let mut findings = unsafe_code(file, code);
    findings.extend(printing(file, code));
    findings.extend(crate_documentation(file));
    findings
}

fn unsafe_code(file: &SourceFile, code: &Code) -> Vec<Finding> {
    let source: Vec<&str> = file.text.lines().collect();
    let at_home = file
        .crate_name()
        .is_some_and(|name| UNSAFE_CRATES.contains(&name));
    let uses = code
        .lines()
        .filter(|(_, line)| words(line).any(|(_, word)| word == "unsafe"));
    let complaint = |line: usize| {
        if !at_home {
            return Some(format!(
                "`unsafe` lives in {} alone; use a safe wrapper",
                UNSAFE_CRATES.join(" and ")
            ));
        }
        (!is_explained(&source, line))
            .then(|| "write above it, after `// SAFETY:`, why it holds".to_owned())
    };
    uses.filter_map(|(line, _)| {
        complaint(line).map(|message| Finding {
            path: file.path.clone(),
            line,
            message,
        })
    })
    .collect()
}

/// Whether the comment directly above a line, or the line itself, says SAFETY; a statement may begin
/// a few lines above its `unsafe`.
fn is_explained(source: &[&str], line: usize) -> bool {
    /// Lines between the comment and the word in a statement that is broken over several.
    const REACH: usize = 4;
    let says = |text: &str| text.contains("SAFETY:") || text.contains("# Safety");
    if says(source[line - 1]) {
        return true;
    }
    let mut code_lines = 0;
    for text in source[..line - 1].iter().rev() {
        let text = text.trim_start();
        if says(text) {
            return true;
        }
        if !(text.starts_with("//") || text.starts_with('#')) {
            code_lines += 1;
            if code_lines > REACH || text.is_empty() {
                return false;
            }
        }
    }
    false
}

fn printing(file: &SourceFile, code: &Code) -> Vec<Finding> {
    let may = file
        .crate_name()
        .is_none_or(|name| PRINTING_CRATES.contains(&name))
        || PRINTING_FILES.iter().any(|path| file.path.ends_with(path))
        || file.path.ends_with("build.rs")
        || file.is_test();
    if may {
        return Vec::new();
    }
    let prints = |line: &str| {
        words(line)
            .any(|(at, word)| PRINTS.contains(&word) && line[at + word.len()..].starts_with('!'))
    };
    code.lines()
        .filter(|(_, line)| prints(line))
        .map(|(line, _)| Finding {
            path: file.path.clone(),
            line,
            message: "only cli prints; return the text or an error".into(),
        })
        .collect()
}

fn crate_documentation(file: &SourceFile) -> Option<Finding> {
    let is_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    let says = file
        .text
        .lines()
        .next()
        .is_some_and(|line| line.starts_with("//! ") && line.len() > 12);
    (is_root && !says).then(|| Finding {
        path: file.path.clone(),
        line: 1,
        message: "begin with a `//!` comment that says what the crate is for and where it ends"
            .into(),
    })
}
