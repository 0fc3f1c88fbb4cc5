//! Collects the mistakes and the notes of an import while a document is read.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use gatebench_config::{Diagnostics, Entry, Node, Problem};

use crate::error::ImportError;

/// A part of the input that the result simplifies or omits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The line number in the input, from 1.
    pub line: usize,
    /// A description of the part and, if it is simplified, of its replacement.
    pub what: String,
    pub effect: Effect,
}

/// The consequence of a note for the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Only the user's own gateway does what the part describes. Other gateways do not support the
    /// scenario.
    NotUnderstood,
    /// The scenario omits the part, or replaces it with something simpler that every gateway
    /// supports.
    Simplified,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

pub(crate) struct Log<'t> {
    file: &'t str,
    text: &'t str,
    /// The offset of the first byte of each line.
    lines: Vec<usize>,
    problems: Vec<Problem>,
    pub(crate) notes: Vec<Note>,
}

impl<'t> Log<'t> {
    pub(crate) fn new(file: &'t str, text: &'t str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            file,
            text,
            lines: std::iter::once(0).chain(breaks).collect(),
            problems: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Returns the line number of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at)
    }

    pub(crate) fn problem(
        &mut self,
        span: &Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems
            .push(Problem::new(span.clone(), message, help));
    }

    /// Notes a part that only the user's gateway supports, and returns the entry for a scenario's
    /// `not_understood`.
    pub(crate) fn not_understood(
        &mut self,
        span: &Range<usize>,
        what: impl Into<String>,
    ) -> String {
        let (line, what) = (self.line(span.start), what.into());
        let words = format!("{what} (line {line})");
        self.note(line, what, Effect::NotUnderstood);
        words
    }

    pub(crate) fn simplified(&mut self, span: &Range<usize>, what: impl Into<String>) {
        self.note(self.line(span.start), what.into(), Effect::Simplified);
    }

    fn note(&mut self, line: usize, what: String, effect: Effect) {
        let note = Note { line, what, effect };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns a scalar as text. A number or a boolean is written as in the input. Any other value
    /// is a mistake.
    pub(crate) fn text_of(&mut self, node: &Node, what: &str) -> Option<String> {
        if let Some(text) = node.text() {
            return Some(text.to_owned());
        }
        if node.number().is_some() || node.flag().is_some() {
            return Some(self.text[node.span.clone()].to_owned());
        }
        self.problem(&node.span, format!("{what} is not text"), "write one value");
        None
    }

    pub(crate) fn texts_of(&mut self, entries: &[Entry]) -> BTreeMap<String, String> {
        let text = |entry: &Entry| {
            let text = self.text_of(&entry.value, &format!("`{}`", entry.key))?;
            Some((entry.key.clone(), text))
        };
        entries.iter().filter_map(text).collect()
    }

    /// Returns all notes, ordered by line.
    ///
    /// # Errors
    /// Returns all mistakes, if there are any.
    pub(crate) fn finish(mut self) -> Result<Vec<Note>, ImportError> {
        if !self.problems.is_empty() {
            let all = Diagnostics::new(self.file, self.text, self.problems);
            return Err(Box::new(all).into());
        }
        self.notes.sort_by_key(|note| note.line);
        Ok(self.notes)
    }
}
