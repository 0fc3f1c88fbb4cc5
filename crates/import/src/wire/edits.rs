//! Edits a document, and lists the changed lines.

use std::ops::Range;

use super::mask;
use super::tree::NewEntry;

/// A changed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name of the file, which may be an included file.
    pub file: String,
    /// The line number, from 1.
    pub line: usize,
    /// The line as the user wrote it, without secrets; empty if the line is new.
    pub before: String,
    /// The line in the template, without secrets; empty if the line is removed.
    pub after: String,
    pub why: &'static str,
}

/// The prefix of the markers that stand for replacements.
const MARK: &str = "gatebench-replacement-";

pub(super) struct Edits<'t> {
    file: &'t str,
    text: &'t str,
    all: Vec<Edit>,
    /// The changes in included files.
    further: Vec<Change>,
}

struct Edit {
    span: Range<usize>,
    /// The value, which is a template.
    new: String,
    /// The text before and after the value, such as the key of a new entry.
    around: (String, String),
    why: &'static str,
    /// True if the replacement is the text of another file, whose changes are listed instead.
    is_include: bool,
}

impl Edit {
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

    /// Inserts a template before the byte at `at`.
    pub(super) fn insert(&mut self, at: usize, new: impl Into<String>, why: &'static str) {
        self.push(&(at..at), new.into(), why, false);
    }

    /// Inserts an entry, whose value is a template, into a mapping.
    pub(super) fn insert_entry(&mut self, entry: NewEntry, value: &str, why: &'static str) {
        let NewEntry { at, before, after } = entry;
        self.push(&(at..at), value.to_owned(), why, false);
        if let Some(edit) = self.all.last_mut() {
            edit.around = (before, after);
        }
    }

    /// Replaces bytes of the text with the contents of a file.
    pub(super) fn include(&mut self, span: &Range<usize>, file: String, changes: Vec<Change>) {
        self.push(span, file, "the included file is inlined", true);
        self.further.extend(changes);
    }

    fn push(&mut self, span: &Range<usize>, new: String, why: &'static str, is_include: bool) {
        // A multi-line scalar extends to the next token, so keep its final newline.
        let kept = self.text[span.clone()].trim_end().len();
        let span = span.start..span.start + kept;
        // An edit inside another edit is dropped.
        let contains = |edit: &Edit| edit.span.start <= span.start && span.end <= edit.span.end;
        let mut others = self.all.iter().filter(|edit| !edit.span.is_empty());
        if others.any(contains) {
            return;
        }
        self.all
            .retain(|edit| edit.span.is_empty() || !is_within(edit, span.start, span.end));
        self.all.push(Edit {
            span,
            new,
            around: Default::default(),
            why,
            is_include,
        });
    }

    /// Returns the text as a template, and the changed lines.
    pub(super) fn finish(mut self) -> (String, Vec<Change>) {
        self.sort();
        let out = self.edited(0, self.text.len(), literal, |_, edit| edit.whole(&edit.new));
        let mut changes = self.changes();
        changes.append(&mut self.further);
        (out, changes)
    }

    fn sort(&mut self) {
        self.all
            .sort_by_key(|edit| (edit.span.start, edit.span.end));
    }

    /// Converts the text from YAML or JSON to a JSON template, and also returns the changed lines.
    /// Every replacement must be a template for a JSON value.
    pub(super) fn finish_as_json(mut self) -> (String, Vec<Change>) {
        self.sort();
        let mark = |number: usize| format!("{MARK}{number}.");
        let marked = |number, edit: &Edit| match edit.new.is_empty() {
            true => String::new(),
            false => edit.whole(&mark(number)),
        };
        let marked = self.edited(0, self.text.len(), str::to_owned, marked);
        // Parsing cannot fail, because the text has been parsed before and markers are plain words.
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
            let before = &self.text[..edit.span.start];
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            if edit.span.start < done {
                continue;
            }
            let rest = &self.text[edit.span.end..];
            let end = edit.span.end + rest.find('\n').unwrap_or(rest.len());
            done = end;
            let within = self.all.iter().filter(|it| is_within(it, start, end));
            let is_new = edit.span.is_empty() && within.count() == 1;
            let before = if is_new { "" } else { &self.text[start..end] };
            let after = match edit.is_include {
                _ if is_new => edit.whole(&edit.new),
                true => "(the included text)".to_owned(),
                false => self.edited(start, end, str::to_owned, |_, edit| edit.whole(&edit.new)),
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

    /// Returns these bytes with the edits applied. `kept` converts the text between edits, and
    /// `new` returns the text of an edit.
    fn edited(
        &self,
        start: usize,
        end: usize,
        kept: fn(&str) -> String,
        new: impl Fn(usize, &Edit) -> String,
    ) -> String {
        let mut out = String::new();
        let mut at = start;
        for (number, edit) in self.all.iter().enumerate() {
            if is_within(edit, start, end) && edit.span.start >= at {
                out.push_str(&kept(&self.text[at..edit.span.start]));
                out.push_str(&new(number, edit));
                at = edit.span.end;
            }
        }
        out + &kept(&self.text[at..end])
    }
}

fn is_within(edit: &Edit, start: usize, end: usize) -> bool {
    start <= edit.span.start && edit.span.end <= end
}

/// Returns the first non-blank line, without surrounding white space.
fn first_line(text: &str) -> &str {
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

/// Escapes a string so that a template renders it unchanged.
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
        let changes = changes.iter();
        let shown: Vec<_> = changes
            .map(|it| (it.line, &*it.before, &*it.after))
            .collect();
        let expected = [
            (1, "a 1;", "a {{ one }};"),
            (3, "c password ***;", "e password ***;"),
            (4, "d", ""),
        ];
        assert_eq!(shown, expected);
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
