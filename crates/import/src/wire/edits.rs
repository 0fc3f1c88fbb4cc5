//! Replacements in a document, and the lines that they change.

use std::ops::Range;

use super::mask;
use super::tree::NewEntry;

/// A changed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name of the file, which may be an included one.
    pub file: String,
    /// The line number, from 1.
    pub line: usize,
    /// The line as the user wrote it, without secrets.
    pub before: String,
    /// The line in the template, without secrets; empty if it is removed.
    pub after: String,
    /// The reason.
    pub why: &'static str,
}

/// The beginning of the marker of a replacement.
const MARK: &str = "gatebench-replacement-";

/// Replacements in the text of one file.
pub(super) struct Edits<'t> {
    file: &'t str,
    text: &'t str,
    all: Vec<Edit>,
    /// Changes in included files.
    further: Vec<Change>,
}

struct Edit {
    span: Range<usize>,
    /// A template.
    new: String,
    /// Text around it that is not part of the template.
    around: (String, String),
    why: &'static str,
    /// True if the replacement is the text of another file, whose own changes are listed.
    is_include: bool,
}

impl Edit {
    /// A value with the text around it.
    fn whole(&self, value: &str) -> String {
        format!("{}{value}{}", self.around.0, self.around.1)
    }
}

impl<'t> Edits<'t> {
    pub(super) fn new(file: &'t str, text: &'t str) -> Self {
        Self {
            file,
            text,
            all: Vec::new(),
            further: Vec::new(),
        }
    }

    /// Replaces bytes of the text with a template.
    pub(super) fn replace(
        &mut self,
        span: &Range<usize>,
        new: impl Into<String>,
        why: &'static str,
    ) {
        self.push(span, new.into(), why, false);
    }

    pub(super) fn remove(&mut self, span: &Range<usize>, why: &'static str) {
        self.push(span, String::new(), why, false);
    }

    /// Inserts a template before a byte.
    pub(super) fn insert(&mut self, at: usize, new: impl Into<String>, why: &'static str) {
        self.push(&(at..at), new.into(), why, false);
    }

    /// Inserts an entry into a mapping; its value is a template.
    pub(super) fn insert_entry(&mut self, entry: NewEntry, value: &str, why: &'static str) {
        let NewEntry { at, before, after } = entry;
        self.push(&(at..at), value.to_owned(), why, false);
        if let Some(edit) = self.all.last_mut() {
            edit.around = (before, after);
        }
    }

    /// Replaces bytes of the text with the contents of a file.
    pub(super) fn include(&mut self, span: &Range<usize>, file: String, changes: Vec<Change>) {
        self.push(span, file, "the included file is part of the text", true);
        self.further.extend(changes);
    }

    fn push(&mut self, span: &Range<usize>, new: String, why: &'static str, is_include: bool) {
        // A multi-line scalar ends where the next token begins; its final newline stays.
        let kept = self.text[span.clone()].trim_end().len();
        let span = &(span.start..span.start + kept);
        // Changes inside a removed part are dropped.
        let is_within = |edit: &Edit| edit.span.start <= span.start && span.end <= edit.span.end;
        if self
            .all
            .iter()
            .any(|edit| is_within(edit) && !edit.span.is_empty())
        {
            return;
        }
        self.all.retain(|edit| {
            edit.span.is_empty() || !(span.start <= edit.span.start && edit.span.end <= span.end)
        });
        let span = span.clone();
        let around = (String::new(), String::new());
        self.all.push(Edit {
            span,
            new,
            around,
            why,
            is_include,
        });
    }

    /// The text as a template, and the changed lines.
    pub(super) fn finish(mut self) -> (String, Vec<Change>) {
        self.all
            .sort_by_key(|edit| (edit.span.start, edit.span.end));
        let mut out = String::new();
        let mut at = 0;
        for edit in &self.all {
            if edit.span.start < at {
                continue;
            }
            out.push_str(&literal(&self.text[at..edit.span.start]));
            out.push_str(&edit.whole(&edit.new));
            at = edit.span.end;
        }
        out.push_str(&literal(&self.text[at..]));
        let mut changes = self.changes();
        changes.append(&mut self.further);
        (out, changes)
    }

    /// The text, which is YAML or JSON, as a JSON template, and the changed lines. Every
    /// replacement must be a template of a JSON value.
    pub(super) fn finish_as_json(mut self) -> (String, Vec<Change>) {
        self.all
            .sort_by_key(|edit| (edit.span.start, edit.span.end));
        let mark = |number: usize| format!("{MARK}{number}.");
        let mut marked = String::new();
        let mut at = 0;
        for (number, edit) in self.all.iter().enumerate() {
            if edit.span.start < at {
                continue;
            }
            marked.push_str(&self.text[at..edit.span.start]);
            if !edit.new.is_empty() {
                marked.push_str(&edit.whole(&mark(number)));
            }
            at = edit.span.end;
        }
        marked.push_str(&self.text[at..]);
        // The text has been parsed before, and markers are plain words.
        let value = gatebench_config::yaml_value(&marked).unwrap_or_default();
        let mut out = literal(&format!("{value:#}"));
        for (number, edit) in self.all.iter().enumerate() {
            out = out.replace(&format!("\"{}\"", mark(number)), &edit.new);
        }
        (out, self.changes())
    }

    fn changes(&self) -> Vec<Change> {
        let mut changes: Vec<Change> = Vec::new();
        let mut done = 0;
        for edit in &self.all {
            let start = self.text[..edit.span.start]
                .rfind('\n')
                .map_or(0, |at| at + 1);
            if edit.span.start < done {
                continue;
            }
            let rest = &self.text[edit.span.end..];
            let end = edit.span.end + rest.find('\n').unwrap_or(rest.len());
            done = end;
            let is_new = edit.span.is_empty() && self.within(start, end).count() == 1;
            let before = if is_new { "" } else { &self.text[start..end] };
            let after = match edit.is_include {
                _ if is_new => edit.whole(&edit.new),
                true => "(its text)".to_owned(),
                false => self.edited(start, end),
            };
            let shown = |text: &str| mask::without_secrets(first_line(text));
            changes.push(Change {
                file: self.file.to_owned(),
                line: self.text[..start].matches('\n').count() + 1,
                before: shown(before),
                after: shown(&after),
                why: edit.why,
            });
        }
        changes
    }

    /// The edits in these bytes.
    fn within(&self, start: usize, end: usize) -> impl Iterator<Item = &Edit> {
        self.all
            .iter()
            .filter(move |it| it.span.start >= start && it.span.end <= end)
    }

    /// These bytes with all edits in them.
    fn edited(&self, start: usize, end: usize) -> String {
        let mut out = String::new();
        let mut at = start;
        for edit in self.within(start, end) {
            if edit.span.start < at {
                continue;
            }
            out.push_str(&self.text[at..edit.span.start]);
            out.push_str(&edit.whole(&edit.new));
            at = edit.span.end;
        }
        out.push_str(&self.text[at..end]);
        out
    }
}

/// The first non-blank line, without surrounding white space.
fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// A string that a template renders unchanged.
pub(super) fn literal(text: &str) -> String {
    if !text.contains('{') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('{', Some('{' | '%' | '#')) => out.push_str("{{ '{' }}"),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_edited_and_its_changed_lines_are_listed() {
        let text = "a 1;\n  b 2 {# c #};\nc password 3;\nd\n";
        let at = |part: &str| {
            let start = text.find(part).unwrap_or_default();
            start..start + part.len()
        };
        let mut edits = Edits::new("x.conf", text);
        edits.replace(&at("1"), "{{ one }}", "first");
        edits.replace(&at("c password"), "e password", "third");
        edits.remove(&at("d\n"), "last");
        let (template, changes) = edits.finish();
        let expected = "a {{ one }};\n  b 2 {{ '{' }}# c #};\ne password 3;\n\n";
        assert_eq!(template, expected);
        let shown: Vec<_> = changes
            .iter()
            .map(|it| (it.line, &*it.before, &*it.after))
            .collect();
        let expected = [
            (1, "a 1;", "a {{ one }};"),
            (3, "c password 3;", "e password ***;"),
            (4, "d", ""),
        ];
        assert_eq!(
            shown,
            [
                expected[0],
                (3, "c password ***;", expected[1].2),
                expected[2]
            ]
        );
    }

    #[test]
    fn an_edit_within_a_removed_part_is_dropped() {
        let mut edits = Edits::new("x.conf", "abcdef");
        edits.replace(&(2..3), "X", "inner");
        edits.remove(&(1..5), "outer");
        edits.replace(&(3..4), "Y", "inner");
        let (template, changes) = edits.finish();
        assert_eq!((template.as_str(), changes.len()), ("af", 1));
    }
}
