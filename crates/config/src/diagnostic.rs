//! Mistakes in a file, each with its place, a description and a remedy.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
    ThemeCharacters, ThemeStyles,
};
use serde::Serialize;

/// A mistake whose place is a byte range of the text. A [`Diagnostic`] adds the line and column.
#[derive(Clone, Debug)]
pub struct Problem {
    pub span: Range<usize>,
    pub message: String,
    /// The remedy, such as the correct text or a correct value.
    pub help: String,
}

impl Problem {
    pub fn new(span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: help.into(),
        }
    }
}

/// A mistake whose place is a line and a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The name of the file, as given by the caller.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The offset of the mistake's first byte in the text.
    pub offset: usize,
    /// The length of the mistake within its first line, in bytes; 0 if it has no text, as in an
    /// empty file.
    pub length: usize,
    pub message: String,
    /// The remedy, such as the correct text or a correct value.
    pub help: String,
}

impl Diagnostic {
    fn locate(file: &str, text: &str, problem: Problem) -> Self {
        let start = floor_char_boundary(text, problem.span.start);
        let end = floor_char_boundary(text, problem.span.end).max(start);
        let first_line = text[start..end].lines().next().unwrap_or("").trim_end();
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.into(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            offset: start,
            length: first_line.len(),
            message: problem.message,
            help: problem.help,
        }
    }
}

impl fmt::Display for Diagnostic {
    /// Writes one line, `FILE:LINE:COLUMN: MESSAGE; HELP`, as compilers do, so that editors can
    /// parse it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}; {}",
            self.file, self.line, self.column, self.message, self.help
        )
    }
}

/// The last character boundary of the text at or before `index`.
fn floor_char_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// The mistakes that were found in one file, at least one, in the order of their places.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    file: String,
    text: String,
    all: Vec<Diagnostic>,
}

impl Diagnostics {
    /// `problems` must not be empty.
    pub fn new(file: &str, text: &str, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.span.start);
        // The mistakes in a value are found again at each alias of the value.
        let mut known = HashSet::new();
        problems.retain(|it| known.insert((it.span.clone(), it.message.clone())));
        let all = problems
            .into_iter()
            .map(|problem| Diagnostic::locate(file, text, problem))
            .collect();
        Self {
            file: file.into(),
            text: text.into(),
            all,
        }
    }

    pub fn all(&self) -> &[Diagnostic] {
        &self.all
    }

    /// Renders all mistakes with their lines, carets and remedies, wrapped at `width` columns.
    pub fn render(&self, color: bool, width: usize) -> String {
        let styles = match color {
            true => ThemeStyles::ansi(),
            false => ThemeStyles::none(),
        };
        let characters = ThemeCharacters {
            underline: '^',
            uarrow: '^',
            ..ThemeCharacters::unicode()
        };
        let handler = GraphicalReportHandler::new_themed(GraphicalTheme { characters, styles })
            .with_width(width)
            .with_links(false);
        let mut out = String::new();
        for diagnostic in &self.all {
            if !out.is_empty() {
                out.push('\n');
            }
            let label = LabeledSpan::new(None, diagnostic.offset, diagnostic.length);
            let shown = MietteDiagnostic::new(&diagnostic.message)
                .with_help(&diagnostic.help)
                .with_label(label);
            let source = NamedSource::new(&self.file, self.text.clone());
            let shown = Report::new(shown).with_source_code(source);
            // Writing to a string fails only if a formatter fails. The one-line form does not use
            // miette's formatters.
            if handler.render_report(&mut out, shown.as_ref()).is_err() {
                out.push_str(&format!("{diagnostic}\n"));
            }
        }
        out + &format!("\n{self}\n")
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.all.len() == 1 { "" } else { "s" };
        write!(f, "{}: {} mistake{plural}", self.file, self.all.len())
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_that_an_alias_repeats_are_reported_once() {
        let problems = ["a", "b", "a", "b"].map(|message| Problem::new(0..1, message, "help"));
        let found = Diagnostics::new("f.yaml", "x", problems.into());
        let messages = found.all().iter().map(|it| it.message.as_str());
        assert_eq!(messages.collect::<Vec<_>>(), ["a", "b"]);
    }
}
