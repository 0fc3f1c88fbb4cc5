//! Checks that files and prose do not contain certain words.

use super::{Finding, SourceFile};

/// Words that no file may contain, each with a replacement or a remedy.
const BANNED: [(&str, &str); 12] = [
    ("todo!", "write it, or leave the feature out"),
    ("unimplemented!", "write it, or leave the feature out"),
    ("dbg!", "remove it"),
    ("FIXME", "fix it, or open an issue"),
    ("XXX", "state what is meant"),
    ("HACK", "state why the code has to be this way"),
    ("/home/", "a path relative to the repository"),
    ("pkill", "end the process that you started, by its ID"),
    ("killall", "end the process that you started, by its ID"),
    ("gateway under the test", "gateway under test"),
    (
        "average percentile",
        "percentiles are never averaged: merge the histograms",
    ),
    ("thread_rng", "a generator seeded by the plan"),
];

/// Words that prose must not use, each with its replacement. Code may use them, because files with
/// old key names must remain readable.
const OLD_WORDS: [(&str, &str); 11] = [
    ("answer", "response, or: respond"),
    ("answers", "responses, or: responds"),
    ("answered", "responded to"),
    ("tell", "report, print or state"),
    ("tells", "reports, prints or states"),
    ("told", "reported, printed or stated"),
    ("beside", "next to, or: besides"),
    ("anew", "again"),
    ("so many", "that many"),
    ("so much", "that much"),
    ("foreign engine", "external load generator"),
];

const THIS_FILE: &str = "xtask/src/tidy/banned.rs";

pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !file.path.ends_with(THIS_FILE)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let everywhere = BANNED.iter().filter(|(word, _)| stands_alone(line, word));
            let prose = file.prose(line).map(without_code).unwrap_or_default();
            let old = OLD_WORDS.iter().filter(|(word, _)| is_word(&prose, word));
            for (word, instead) in everywhere.chain(old) {
                let message = format!("do not use '{word}'; instead: {instead}");
                findings.push(Finding::new(file, number, message));
            }
        }
    }
    findings
}

/// Reports whether the word occurs other than at the end of a longer word: a path that begins with
/// `/home/` is found, but `DIR/home/` is not.
fn stands_alone(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_.}".contains(c))
    })
}

/// Returns a line in lowercase, without quoted code.
fn without_code(prose: &str) -> String {
    prose.to_lowercase().split('`').step_by(2).collect()
}

fn is_word(prose: &str, word: &str) -> bool {
    prose.match_indices(word).any(|(at, _)| {
        let around = (
            prose[..at].chars().next_back(),
            prose[at + word.len()..].chars().next(),
        );
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !is_letter(around.0) && !is_letter(around.1)
    })
}
