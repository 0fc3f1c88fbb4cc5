//! The contents of blocks.

use serde::Serialize;

use super::{Block, Text};
use crate::palette::Palette;
use crate::table::Table;
use crate::table_view::{TableView, table_view};

/// A line in bold above the blocks that follow.
#[derive(Serialize)]
pub struct Heading {
    /// The text.
    pub text: Text,
    /// True if the colour of its card is shown before it.
    pub key: bool,
}

/// The weight of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// A fact.
    Plain,
    /// A fact that limits others.
    Caution,
    /// Something failed or must not be used.
    Alarm,
}

/// A separate sentence.
#[derive(Serialize)]
pub struct Fact {
    /// The text.
    pub text: Text,
    /// The kind of statement; none for a remark.
    pub tone: Option<Tone>,
}

/// A failure, or a limit of the results, with its remedy.
#[derive(Serialize)]
pub struct Note {
    /// The severity, which is also its class on the page.
    pub word: &'static str,
    /// The observation and its place.
    pub places: Vec<Place>,
    /// The output of a failed trial; none for a limit.
    pub reason: Option<String>,
    pub remedy: String,
}

/// A place where something was seen.
#[derive(PartialEq, Eq, Serialize)]
pub struct Place {
    /// The class of the colour of its subject, or empty.
    pub class: String,
    pub subject: String,
    /// The rest of the place.
    pub place: String,
    /// The observation.
    pub message: String,
}

/// A text as it is in a file.
#[derive(Serialize)]
pub struct Code {
    /// The caption, or nothing.
    pub caption: Text,
    pub text: String,
    /// True if it is a command, which is wrapped.
    pub is_command: bool,
}

/// Results of tests that belong together.
#[derive(Serialize)]
pub struct Cases {
    /// The name of the suite.
    pub suite: String,
    /// The tests.
    pub cases: Vec<Case>,
}

/// The result of a test.
#[derive(Serialize)]
pub struct Case {
    /// The group that the name belongs to.
    pub class: String,
    pub name: String,
    /// The result.
    pub outcome: Outcome,
    /// The result as a sentence.
    pub text: String,
}

/// The result of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// It is as it should be.
    Passed,
    /// It is not.
    Failed,
    /// It is not known.
    Skipped,
}

/// A table of medians and ranges.
#[derive(Serialize)]
pub struct TableBlock {
    #[serde(skip)]
    pub table: Table,
    view: TableView,
    /// The head of the first column.
    pub first: &'static str,
    /// Its name for a screen reader.
    label: String,
    class: &'static str,
    /// The meaning of a limited cell, or empty for the usual one.
    limits: &'static str,
    /// True if the sentences above it explain its signs, and a terminal has one line for each row
    /// if they fit.
    pub is_summary: bool,
    /// The heads of columns and rows on the page, if rows belong to each other.
    matrix: Option<Matrix>,
}

/// Heads of variants across, and of rows that belong to each other.
#[derive(Serialize)]
pub struct Matrix {
    /// Class and name of each column.
    pub heads: Vec<[String; 2]>,
    pub rows: Vec<MatrixRow>,
}

/// The head of a row.
#[derive(Serialize)]
pub struct MatrixRow {
    /// CSS class of the head.
    pub class: &'static str,
    pub name: String,
    /// The sign before the name.
    pub sign: &'static str,
    /// The remark after the name.
    pub aside: &'static str,
    /// Its tooltip.
    pub hint: String,
}

/// A drawing.
#[derive(Default, Serialize)]
pub struct Chart {
    /// The class of the figure.
    pub class: String,
    /// True if the class is a colour, which is then shown before the caption.
    pub key: bool,
    pub caption: String,
    /// The remark after the caption.
    pub aside: Text,
    /// The sentences below the drawing.
    pub notes: Vec<Text>,
    /// The drawing.
    pub svg: String,
}

/// Blocks that are hidden until they are unfolded. A terminal shows them as if they were not
/// folded.
#[derive(Default, Serialize)]
pub struct Fold {
    /// The line that replaces them.
    pub summary: String,
    /// The remark after the summary.
    pub aside: String,
    /// The summary in Markdown, or empty if they are not folded there.
    #[serde(skip)]
    pub markdown: String,
    /// The classes of its colour and style, or empty.
    pub class: String,
    /// True if the colour is shown before the summary.
    pub key: bool,
    /// True if it is unfolded initially.
    pub is_open: bool,
    /// True if it is a card itself.
    pub is_card: bool,
    /// The blocks, no cards or folds among them.
    pub blocks: Vec<Block>,
}

impl TableBlock {
    /// A table whose first column is `first`.
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

    /// The table with rows that have room.
    pub fn wide(self) -> Self {
        self.kind("")
    }

    /// The table in the layout of these classes.
    pub fn kind(mut self, class: &'static str) -> Self {
        self.class = class;
        self
    }

    /// The table below sentences that explain its signs.
    pub fn summary(mut self) -> Self {
        self.is_summary = true;
        self.kind(" summary")
    }

    /// The table with the meaning of its limited cells.
    pub fn limits(mut self, words: &'static str) -> Self {
        self.limits = words;
        self
    }

    /// The table with rows that belong to each other.
    pub fn matrix(mut self, matrix: Matrix) -> Self {
        self.matrix = Some(matrix);
        self
    }
}

impl Chart {
    /// A drawing with its caption.
    pub fn new(caption: impl Into<String>, svg: String) -> Self {
        Self {
            caption: caption.into(),
            svg,
            ..Self::default()
        }
    }

    /// The drawing with a remark after its caption.
    pub fn aside(self, aside: impl Into<Text>) -> Self {
        let aside = aside.into();
        Self { aside, ..self }
    }

    /// The drawing with a sentence below it.
    pub fn note(mut self, note: impl Into<Text>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The drawing with the colour of a class, which is shown before its caption.
    pub fn coloured(self, class: String) -> Self {
        let key = true;
        Self { class, key, ..self }
    }
}

impl Fold {
    /// Blocks that are hidden behind a line.
    pub fn new(summary: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self {
            summary: summary.into(),
            blocks,
            ..Self::default()
        }
    }
}

impl Fact {
    /// A sentence without a tone.
    pub fn remark(text: impl Into<Text>) -> Self {
        let (text, tone) = (text.into(), None);
        Self { text, tone }
    }

    /// A sentence that is meant so.
    pub fn of(text: impl Into<Text>, tone: Tone) -> Self {
        let (text, tone) = (text.into(), Some(tone));
        Self { text, tone }
    }
}
