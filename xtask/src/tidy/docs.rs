//! Checks that public types have doc comments, and that no doc comment begins with "What" or merely
//! repeats a name.

use super::{Finding, SourceFile};

/// Keywords that may precede the name of an item.
const ITEMS: [&str; 8] = [
    "fn", "struct", "enum", "trait", "type", "const", "static", "unsafe",
];

/// Keywords of public items that need a doc comment. Fields, variants and functions need none,
/// because their names and types may suffice.
const DOCUMENTED: [&str; 4] = ["struct", "enum", "trait", "type"];

/// Words that add nothing to a name.
const EMPTY_WORDS: [&str; 15] = [
    "the", "a", "an", "of", "it", "its", "in", "to", "for", "is", "one", "this", "each", "number",
    "and",
];

pub(crate) fn check(file: &SourceFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut comment: Option<(usize, String)> = None;
    let mut in_attribute = false;
    for (number, full) in (1..).zip(file.text.lines()) {
        let line = full.trim();
        if let Some(text) = line.strip_prefix("///") {
            let (_, words) = comment.get_or_insert_with(|| (number, String::new()));
            words.push_str(text);
        } else if in_attribute || line.starts_with("#[") || line.starts_with("// ") {
            in_attribute = !line.ends_with(']') && !line.starts_with("// ");
        } else {
            findings.extend(judge(file, comment.take(), number, full));
        }
    }
    findings
}

fn judge(
    file: &SourceFile,
    comment: Option<(usize, String)>,
    number: usize,
    line: &str,
) -> Option<Finding> {
    let Some((first, text)) = comment else {
        let message = "state the purpose of this public type in a doc comment";
        return (is_public_item(line) && !file.is_test())
            .then(|| Finding::new(file, number, message));
    };
    let message = if text.trim_start().starts_with("What ") {
        "name the thing itself, without 'What ...'"
    } else if repeats(&text, name(line)) {
        "this comment only repeats the name; add to it, or delete it"
    } else {
        return None;
    };
    Some(Finding::new(file, first, message))
}

/// Reports whether a line begins a public type at the top level of a file. Types in an inner
/// module, such as the messages of a protocol, are exempt, because a specification defines their
/// names.
fn is_public_item(line: &str) -> bool {
    if line.starts_with(' ') {
        return false;
    }
    let mut words = line.split_whitespace();
    words.next() == Some("pub") && words.next().is_some_and(|word| DOCUMENTED.contains(&word))
}

fn name(line: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = line
        .split(|c| !is_word(c))
        .filter(|word| !matches!(*word, "" | "pub" | "super" | "in" | "async" | "mut"));
    let first = words.next().unwrap_or_default();
    match first {
        "crate" => words.find(|word| !ITEMS.contains(word)).unwrap_or_default(),
        word if ITEMS.contains(&word) => words.find(|it| !ITEMS.contains(it)).unwrap_or_default(),
        word => word,
    }
}

/// Reports whether every word of a comment is part of the name, apart from [`EMPTY_WORDS`].
fn repeats(text: &str, name: &str) -> bool {
    let parts: Vec<String> = parts(name).iter().map(stem).collect();
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty())
        .map(stem)
        .filter(|word| !EMPTY_WORDS.contains(&word.as_str()))
        .collect();
    !words.is_empty() && words.iter().all(|word| parts.contains(word))
}

/// Splits `rate_per_second` and `RatePerSecond` into words.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for c in name.chars() {
        let last = parts.last_mut().filter(|it| !it.is_empty());
        match (c, last) {
            ('_', _) => parts.push(String::new()),
            (c, Some(last)) if c.is_uppercase() && !last.ends_with(char::is_uppercase) => {
                parts.push(c.to_string());
            }
            (c, _) => parts.last_mut().into_iter().for_each(|it| it.push(c)),
        }
    }
    parts
}

/// A word in lowercase without its grammatical ending.
fn stem(word: impl AsRef<str>) -> String {
    let word = word.as_ref().to_lowercase();
    let endings = ["ing", "ed", "es", "s"];
    let without = endings.iter().find_map(|ending| word.strip_suffix(ending));
    without.unwrap_or(&word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_found(text: &str) -> Vec<usize> {
        let file = SourceFile {
            path: "crates/net/src/a.rs".into(),
            text: text.into(),
        };
        check(&file).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn comments_that_repeat_the_name_are_found() {
        let text = "/// The number of the rounds.\npub rounds: u32,\n\
                    /// Rounds after the first.\npub rounds: u32,\n\
                    /// A trial record.\n#[derive(Debug)]\npub(crate) struct TrialRecord {\n\
                    /// Reads it once more.\npub(super) fn read(&self) {}\n\
                    /// Per second.\npub rate_per_second: f64,\n";
        assert_eq!(lines_found(text), [1, 5, 10]);
    }

    #[test]
    fn comments_that_begin_with_what_and_items_without_any_are_found() {
        let text = "/// What a run needs.\nstruct Needs;\npub struct Bare;\n    pub field: u32,\n\
                    pub fn bare() {}\n/// Opens the file.\n#[derive(\n    Debug,\n)]\npub enum Open {}\n\
                    pub mod parts;\npub use parts::Part;\n";
        assert_eq!(lines_found(text), [1, 3]);
    }
}
