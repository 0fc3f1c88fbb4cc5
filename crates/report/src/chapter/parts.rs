//! The types that make up the parts of a chapter.

use serde::Serialize;

use super::{Block, Text};
use crate::palette::Palette;
use crate::table::Table;
use crate::table_view::{TableView, table_view};

/// A line in bold above the blocks that follow.
#[derive(Serialize)]
pub struct Heading {
    pub text: Text,
    /// True if a mark in the color of its card precedes the heading.
    pub key: bool,
}

/// The importance of a sentence, which determines its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// A requirement that was met.
    Success,
    /// An ordinary fact.
    Plain,
    /// A fact that limits the use of other facts.
    Caution,
    /// A failure, or a figure that must not be used.
    Alarm,
}

/// A sentence that stands alone: a headline or an item of a list.
#[derive(Serialize)]
pub struct Fact {
    pub text: Text,
    /// The tone; `None` for a remark.
    pub tone: Option<Tone>,
}

/// A failure or a limit of the results, with its remedy.
#[derive(Serialize)]
pub struct Note {
    /// The severity, which is also the CSS class on the page.
    pub word: &'static str,
    /// The observations, each with the place where it was made.
    pub places: Vec<Place>,
    /// The reason for a failed trial, which may contain a gateway's output; `None` for a limit.
    pub reason: Option<String>,
    pub remedy: String,
}

/// An observation, and where in the run it was made.
#[derive(PartialEq, Eq, Serialize)]
pub struct Place {
    /// The CSS class of the gateway's color, or empty.
    pub class: String,
    /// The gateway, or empty if the observation applies everywhere.
    pub subject: String,
    /// The scenario and, if they are known, the phase or the blocks.
    pub place: String,
    /// The observation, as a sentence.
    pub message: String,
}

impl Place {
    pub fn everywhere(message: String) -> Self {
        Self {
            class: String::new(),
            subject: String::new(),
            place: String::new(),
            message,
        }
    }

    /// Returns the observation, preceded by its place if it has one: `nginx, latency: it was late`.
    pub fn sentence(&self) -> String {
        match self.subject.is_empty() {
            true => self.message.clone(),
            false => format!("{}, {}: {}", self.subject, self.place, self.message),
        }
    }
}

/// The text of a file or a command.
#[derive(Serialize)]
pub struct Code {
    /// The caption, or empty.
    pub caption: Text,
    pub text: String,
    /// True if the text is a command line, which the page wraps.
    pub is_command: bool,
}

/// The results of a JUnit test suite.
#[derive(Serialize)]
pub struct Cases {
    pub suite: String,
    pub cases: Vec<Case>,
}

/// A test with its result.
#[derive(Serialize)]
pub struct Case {
    /// The test's group, which JUnit calls its class.
    pub class: String,
    pub name: String,
    pub outcome: Outcome,
    /// The result as a sentence.
    pub text: String,
}

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Outcome {
    Passed,
    Failed,
    /// The test has no clear result.
    Skipped,
}

/// A table of medians and ranges.
#[derive(Serialize)]
pub struct TableBlock {
    #[serde(skip)]
    pub table: Table,
    view: TableView,
    /// The header of the first column.
    pub first: &'static str,
    /// The table's name for screen readers.
    label: String,
    class: &'static str,
    /// The text with which the page explains the mark on limited cells. If it is empty, the page
    /// refers to the findings.
    limits: &'static str,
    /// True if the sentences above the table explain its symbols. A terminal then prints each row
    /// on one line if all lines fit.
    pub is_summary: bool,
    /// The column and row headers on the page, if some rows are parts of others.
    matrix: Option<Matrix>,
}

/// The headers of a table that has a column for each variant and whose rows may be parts of other
/// rows.
#[derive(Serialize)]
pub struct Matrix {
    /// The CSS class and the name of each column.
    pub heads: Vec<[String; 2]>,
    pub rows: Vec<MatrixRow>,
}

/// The header of a row.
#[derive(Serialize)]
pub struct MatrixRow {
    pub class: &'static str,
    pub name: String,
    /// The symbol before the name.
    pub sign: &'static str,
    /// The remark after the name.
    pub aside: &'static str,
    /// The tooltip of the header.
    pub hint: String,
}

/// A chart with its caption.
#[derive(Default, Serialize)]
pub struct Chart {
    /// The CSS class of the figure.
    pub class: String,
    /// True if a mark in the color of `class` precedes the caption.
    pub key: bool,
    pub caption: String,
    /// The remark after the caption.
    pub aside: Text,
    /// The sentences below the drawing.
    pub notes: Vec<Text>,
    /// The drawing as an SVG element.
    pub svg: String,
}

/// Blocks that are hidden until they are unfolded. A terminal always shows them.
#[derive(Default, Serialize)]
pub struct Fold {
    /// The line that the page shows even while the blocks are hidden.
    pub summary: String,
    /// The remark after the summary.
    pub aside: String,
    /// The summary in Markdown, or empty if the blocks are not folded there.
    #[serde(skip)]
    pub markdown: String,
    /// The CSS classes of the fold's color and style, or empty.
    pub class: String,
    /// True if a mark in the color of `class` precedes the summary.
    pub key: bool,
    /// True if the page shows the blocks initially.
    pub is_open: bool,
    /// True if the fold is a card itself.
    pub is_card: bool,
    /// The blocks, which must not be cards, rows or folds.
    pub blocks: Vec<Block>,
}

impl TableBlock {
    /// `first` is the header of the first column, and `label` is for screen readers.
    pub fn new(table: Table, first: &'static str, label: &str, palette: &Palette) -> Self {
        Self {
            view: table_view(&table, palette),
            table,
            first,
            label: label.to_owned(),
            class: " parts",
            limits: "",
            is_summary: false,
            matrix: None,
        }
    }

    /// Gives the table a minimum width and more space between its rows.
    pub fn wide(self) -> Self {
        self.kind("")
    }

    /// Sets the CSS classes of the table's layout. `class` must be empty or begin with a space.
    pub fn kind(mut self, class: &'static str) -> Self {
        self.class = class;
        self
    }

    /// Marks the table as a summary whose symbols are explained above it.
    pub fn summary(mut self) -> Self {
        self.is_summary = true;
        self.kind(" summary")
    }

    pub fn limits(mut self, words: &'static str) -> Self {
        self.limits = words;
        self
    }

    pub fn matrix(mut self, matrix: Matrix) -> Self {
        self.matrix = Some(matrix);
        self
    }
}

impl Chart {
    pub fn new(caption: impl Into<String>, svg: String) -> Self {
        Self {
            caption: caption.into(),
            svg,
            ..Self::default()
        }
    }

    pub fn aside(self, aside: impl Into<Text>) -> Self {
        let aside = aside.into();
        Self { aside, ..self }
    }

    pub fn note(mut self, note: impl Into<Text>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Shows a mark in the color of a CSS class before the caption.
    pub fn colored(self, class: String) -> Self {
        let key = true;
        Self { class, key, ..self }
    }
}

impl Fold {
    pub fn new(summary: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            summary: summary.into(),
            blocks,
            ..Self::default()
        }
    }
}

impl Fact {
    /// Creates a sentence without a tone.
    pub fn remark(text: impl Into<Text>) -> Self {
        let (text, tone) = (text.into(), None);
        Self { text, tone }
    }

    pub fn of(text: impl Into<Text>, tone: Tone) -> Self {
        let (text, tone) = (text.into(), Some(tone));
        Self { text, tone }
    }
}
