//! Checks that only certain crates use `unsafe`, that only certain crates print, and that each
//! crate states its purpose.

use super::scan::{Code, words};
use super::{Finding, SourceFile};

const UNSAFE_CRATES: [&str; 2] = ["net", "xml"];

const PRINTING_CRATES: [&str; 4] = ["bench", "cli", "faulty", "xtask"];

/// Files whose code runs in separate processes, which print to their own logs.
const PRINTING_FILES: [&str; 1] = ["crates/testbed/src/process/supervise.rs"];

const PRINTS: [&str; 4] = ["println", "eprintln", "print", "eprint"];

pub(crate) fn check(file: &SourceFile, code: &Code) -> Vec<Finding> {
    let mut findings = unsafe_code(file, code);
    findings.extend(printing(file, code));
    findings.extend(crate_documentation(file));
    findings
}

/// Finds uses of `unsafe` outside [`UNSAFE_CRATES`]. clippy checks that each allowed use states its
/// reason.
fn unsafe_code(file: &SourceFile, code: &Code) -> Vec<Finding> {
    let home = file.crate_name();
    if home.is_some_and(|name| UNSAFE_CRATES.contains(&name)) {
        return Vec::new();
    }
    let uses = code.lines();
    let uses = uses.filter(|(_, line)| words(line).any(|(_, word)| word == "unsafe"));
    let message = format!(
        "`unsafe` is allowed only in {}; use a safe wrapper",
        UNSAFE_CRATES.join(" and ")
    );
    uses.map(|(line, _)| Finding::new(file, line, message.as_str()))
        .collect()
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
        .map(|(line, _)| Finding::new(file, line, "do not print here; return the text or an error"))
        .collect()
}

fn crate_documentation(file: &SourceFile) -> Option<Finding> {
    let is_root = file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    let says = file
        .text
        .lines()
        .next()
        .is_some_and(|line| line.starts_with("//! ") && line.len() > 12);
    let message = "begin with a `//!` comment that states the purpose and the limits of the crate";
    (is_root && !says).then(|| Finding::new(file, 1, message))
}
