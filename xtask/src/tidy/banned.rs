//! Checks that files and prose do not contain certain words.

use super::paths::items_for_tests;
use super::scan::Code;
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

/// Words that prose must not use, each with its replacement. Prose is Markdown, comments, and the
/// strings that the product writes. Code may use these words, because files with old key names must
/// remain readable.
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

/// The minimum number of words in a string that is prose. A shorter string may be a key.
const PROSE_WORDS_MIN: usize = 3;

const THIS_FILE: &str = "xtask/src/tidy/banned.rs";

/// Checks all words of a file, and the prose in its comments (see [`SourceFile::prose`]).
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !file.path.ends_with(THIS_FILE)) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let found = BANNED.iter().filter(|(word, _)| stands_alone(line, word));
            findings.extend(found.map(|(word, instead)| finding(file, number, word, instead)));
            let prose = file.prose(line).map(without_code).unwrap_or_default();
            findings.extend(old_words(file, number, &prose));
        }
    }
    findings
}

/// Checks the strings that are prose, such as help, errors and remedies, except in tests.
pub(crate) fn check_strings(file: &SourceFile, code: &Code) -> Vec<Finding> {
    if file.is_test() || file.path.ends_with(THIS_FILE) {
        return Vec::new();
    }
    let for_tests = items_for_tests(&code.text);
    let mut findings = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for string in &code.strings {
        line += code.text[counted..string.start].matches('\n').count();
        counted = string.start;
        if for_tests.iter().any(|item| item.contains(&string.start)) {
            continue;
        }
        for (number, prose) in (line..).zip(prose_of_string(&file.text[string.clone()])) {
            findings.extend(old_words(file, number, &prose));
        }
    }
    findings
}

fn finding(file: &SourceFile, line: usize, word: &str, instead: &str) -> Finding {
    let message = format!("do not use '{word}'; instead: {instead}");
    Finding::new(file, line, message)
}

fn old_words(file: &SourceFile, line: usize, prose: &str) -> Vec<Finding> {
    OLD_WORDS
        .iter()
        .filter(|(word, _)| is_word(prose, word))
        .map(|(word, instead)| finding(file, line, word, instead))
        .collect()
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

/// Returns the lines of a string in lowercase, without names; no lines if the string has fewer than
/// [`PROSE_WORDS_MIN`] other words.
fn prose_of_string(text: &str) -> Vec<String> {
    let lines: Vec<String> = text.lines().map(without_names).collect();
    let words = lines.iter().flat_map(|line| line.split_whitespace());
    match words.count() < PROSE_WORDS_MIN {
        true => Vec::new(),
        false => lines,
    }
}

/// Returns a line with nothing in place of quoted words, placeholders, and words with digits or
/// signs, all of which may be names of keys or files.
fn without_names(line: &str) -> String {
    let prose = without_code(&line.replace("\\n", " "));
    let words = prose
        .split(' ')
        .map(|word| if is_plain(word) { word } else { "" });
    words.collect::<Vec<_>>().join(" ")
}

fn is_plain(word: &str) -> bool {
    let bare = word.trim_start_matches('(');
    let bare = bare.trim_end_matches(['.', ',', ':', ';', '!', '?', ')']);
    bare.starts_with(char::is_alphabetic) && bare.chars().all(|c| c.is_alphabetic() || c == '\'')
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(text: &str) -> Vec<usize> {
        let file = SourceFile {
            path: "crates/net/src/a.rs".into(),
            text: text.into(),
        };
        let findings = check_strings(&file, &Code::of(text));
        findings.iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn old_words_in_strings_are_found() {
        let text = "f(\"{name} got no answer.\");\nf(\"Why?\\nTell us\");\n\
                    f(r#\"of the {told}, one\n\n    was told\"#);\n";
        assert_eq!(lines_found(text), [1, 2, 5]);
    }

    #[test]
    fn names_data_and_tests_may_contain_old_words() {
        let text = "f(\"no answer\", \"é: the key 'answers' is old\", b\"there is no answer\");\n\
                    f(\"run `told` at once\", \"{told} of all requests\", \"{\\\"told\\\": a b c d}\");\n\
                    f(\"the scenario answer-1mib of the suite\"); // \"there is no answer\"\n\
                    #[cfg(test)]\nmod tests { f(\"there is no answer\"); }\n\
                    f(\"but here is an answer\");\n";
        assert_eq!(lines_found(text), [6]);
    }
}
