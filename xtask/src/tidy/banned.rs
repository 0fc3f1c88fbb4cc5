//! Words that do not belong in the repository, each with what to write instead.

use super::{Finding, SourceFile};

/// Word, and what to write instead.
const BANNED: [(&str, &str); 13] = [
    ("todo!", "write it, or leave the feature out"),
    ("unimplemented!", "write it, or leave the feature out"),
    ("dbg!", "remove it"),
    ("FIXME", "fix it, or open an issue"),
    ("XXX", "say what is meant"),
    ("HACK", "say why it has to be so"),
    ("/home/", "a path relative to the repository"),
    ("pkill", "end the process you started, by its id"),
    ("killall", "end the process you started, by its id"),
    ("foreign engine", "external load generator"),
    ("gateway under the test", "gateway under test"),
    (
        "average percentile",
        "percentiles are never averaged: merge the histograms",
    ),
    ("thread_rng", "a generator seeded by the plan"),
];

/// The one file that has to name them.
const THIS_FILE: &str = "xtask/src/tidy/banned.rs";

pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !file.path.ends_with(THIS_FILE)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            for (word, instead) in BANNED {
                if stands_alone(line, word) {
                    let message = format!("'{word}' is not used here; instead: {instead}");
                    findings.push(Finding {
                        path: file.path.clone(),
                        line: number,
                        message,
                    });
                }
            }
        }
    }
    findings
}

/// Whether the word occurs without being part of a longer one: a path begins with `/home/`, and
/// `DIR/home/` holds it.
fn stands_alone(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_.}".contains(c))
    })
}
