//! The document model. A study builds a [`Chapter`] from blocks, and a renderer writes blocks
//! without knowing the study. A block appears in every form that can show it, unless it is
//! restricted to some forms.

mod parts;
mod text;

use serde::Serialize;

use crate::flame::FlameGraph;
use crate::palette::Palette;
use crate::table::Table;

pub use parts::{
    Case, Cases, Chart, Code, Fact, Fold, Heading, Matrix, MatrixRow, Note, Outcome, Place,
    TableBlock, Tone,
};
pub use text::{Entry, Head, Line, Lines, Span, Text};

/// A set of report forms. Combine [`TERMINAL`] and the constants below it with `|`.
pub type Forms = u8;

/// Plain lines for a terminal, without charts.
pub const TERMINAL: Forms = 1;

/// The comment on a pull request, without charts.
pub const MARKDOWN: Forms = 2;

/// The HTML page.
pub const PAGE: Forms = 4;

/// Test results for a CI system.
pub const JUNIT: Forms = 8;

/// Values for a spreadsheet.
pub const CSV: Forms = 16;

/// Combined with [`TERMINAL`], requests the brief form of a report. For a run that has a first
/// screen, it consists of this screen and the most severe problems.
pub const BRIEF: Forms = 32;

/// The CSS classes that place charts side by side.
pub const PANELS: &str = "panels wide purposes";

/// A report that can be written in every form.
pub trait Report {
    fn document(&self, form: Forms) -> Document;
}

/// The chapters of a report, its title and the text around the chapters.
#[derive(Default, Serialize)]
pub struct Document {
    /// The text that follows the program's name in the page header and in the name of the JUnit
    /// test suites.
    pub brand: String,
    pub title: String,
    /// A warning next to the title.
    pub chip: Option<&'static str>,
    /// Names and values below the title.
    pub facts: Vec<[String; 2]>,
    pub chapters: Vec<Chapter>,
    /// The headings of the sections of docs/METHOD.md that the page appends.
    #[serde(skip)]
    pub methods: Vec<&'static str>,
    /// The number of chapters that a pull-request comment shows before it folds the rest; `None` if
    /// it shows all.
    #[serde(skip)]
    pub unfolded: Option<usize>,
    /// The last line of the page and of the Markdown; may be empty.
    pub foot: Text,
    /// The gatebench version that the page states in its metadata.
    pub gatebench: String,
}

/// A chapter of a report, such as the findings or the results of one study.
#[derive(Default, Serialize)]
pub struct Chapter {
    /// The chapter's anchor on the page.
    pub id: &'static str,
    /// The text of links to the chapter.
    pub link: &'static str,
    /// The chapter's heading, or empty. It is left out on a terminal, and in Markdown if the first
    /// block is a heading.
    pub heading: String,
    /// True if a terminal shows the chapter before the results of the scenarios, and even in a
    /// smoke run.
    pub leads: bool,
    /// The headings of the sections of docs/METHOD.md that the page appends for the chapter.
    pub methods: &'static [&'static str],
    pub blocks: Vec<Block>,
}

/// A part of a chapter.
#[derive(Serialize)]
pub struct Block {
    #[serde(skip)]
    forms: Forms,
    pub part: Part,
}

/// The content of a block.
#[derive(Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Part {
    /// The title of the document. The page shows [`Document::title`] in its header instead.
    Title(Text),
    /// A heading within the chapter.
    Heading(Heading),
    /// The main result in a sentence.
    Headline(Fact),
    /// The explanation of the chapter or card. It appears above the tables, except on a terminal,
    /// where it follows them.
    Lead(Text),
    /// A sentence that introduces what follows, such as a table.
    Sentence(Text),
    /// A sentence below a table.
    Foot(Text),
    /// A list of separate sentences.
    Facts {
        /// The CSS class of the list on the page.
        class: &'static str,
        facts: Vec<Fact>,
    },
    /// A table of medians and ranges.
    Table(Box<TableBlock>),
    /// A table of text.
    Lines(Lines),
    /// Drawings, only on the page.
    Charts {
        /// CSS classes that arrange the drawings; if empty, the drawings are stacked.
        layout: &'static str,
        charts: Vec<Chart>,
    },
    /// Graphs in separate files.
    Files {
        files: Vec<FlameGraph>,
        /// The picture of each graph as SVG in Base64, for a page that must not need other files;
        /// otherwise empty.
        pictures: Vec<String>,
    },
    /// Failures and limits of the results, each with its remedy.
    Notes { notes: Vec<Note> },
    /// Names and values, only on the page.
    Terms { terms: Vec<[String; 2]> },
    /// The text of a file or a command, only on the page.
    Code(Code),
    /// Test results, only for a CI system.
    Cases(Cases),
    /// Values under a header, only for a spreadsheet.
    Records {
        /// The names of the fields, separated by commas.
        head: &'static str,
        /// The records, with one value for each name.
        #[serde(skip)]
        records: Vec<Vec<String>>,
    },
    /// Related blocks, framed as a card.
    Card {
        /// The CSS class of the color, or empty.
        class: String,
        /// The blocks, which must not be cards.
        blocks: Vec<Block>,
    },
    /// Related blocks within a card.
    Row {
        /// The CSS classes of color and layout, or empty.
        class: String,
        /// The blocks, which must not be cards, rows or folds.
        blocks: Vec<Block>,
    },
    /// Blocks that are hidden until they are unfolded.
    Fold(Fold),
}

impl Chapter {
    /// Returns a chapter whose heading is also the text of links to it.
    pub fn new(id: &'static str, heading: &'static str, blocks: Vec<Block>) -> Self {
        Self {
            id,
            link: heading,
            heading: heading.to_owned(),
            blocks,
            ..Self::default()
        }
    }

    pub fn of(blocks: Vec<Block>) -> Self {
        Self {
            blocks,
            ..Self::default()
        }
    }

    /// Replaces the heading, but not the text of links to the chapter.
    pub fn headed(self, heading: impl Into<String>) -> Self {
        let heading = heading.into();
        Self { heading, ..self }
    }

    pub fn methods(self, methods: &'static [&'static str]) -> Self {
        Self { methods, ..self }
    }

    pub fn only(mut self, forms: Forms) -> Self {
        self.blocks = only(self.blocks, forms);
        self
    }
}

fn only(mut blocks: Vec<Block>, forms: Forms) -> Vec<Block> {
    blocks.retain(|block| block.forms & forms != 0);
    for block in &mut blocks {
        if let Part::Card { blocks, .. }
        | Part::Row { blocks, .. }
        | Part::Fold(Fold { blocks, .. }) = &mut block.part
        {
            *blocks = only(std::mem::take(blocks), forms);
        }
    }
    blocks
}

impl From<Part> for Block {
    fn from(part: Part) -> Self {
        let forms = match part {
            Part::Charts { .. } | Part::Terms { .. } | Part::Code(_) => PAGE,
            Part::Cases(_) => JUNIT,
            Part::Records { .. } => CSV,
            _ => TERMINAL | MARKDOWN | PAGE,
        };
        Self { forms, part }
    }
}

impl Block {
    /// Restricts the block to these forms.
    pub fn on(mut self, forms: Forms) -> Self {
        self.forms &= forms;
        self
    }

    pub fn heading(text: impl Into<Text>) -> Self {
        let (text, key) = (text.into(), false);
        Part::Heading(Heading { text, key }).into()
    }

    /// Creates a heading preceded by a mark in the color of its card.
    pub fn colored_heading(text: impl Into<Text>) -> Self {
        let (text, key) = (text.into(), true);
        Part::Heading(Heading { text, key }).into()
    }

    pub fn facts(class: &'static str, facts: impl IntoIterator<Item = Fact>) -> Self {
        let facts = facts.into_iter().collect();
        Part::Facts { class, facts }.into()
    }

    pub fn notes(notes: impl IntoIterator<Item = Note>) -> Self {
        let notes = notes.into_iter().collect();
        Part::Notes { notes }.into()
    }

    pub fn records(head: &'static str, records: Vec<Vec<String>>) -> Self {
        Part::Records { head, records }.into()
    }

    pub fn code(caption: impl Into<Text>, text: &str, is_command: bool) -> Self {
        let code = Code {
            caption: caption.into(),
            text: text.to_owned(),
            is_command,
        };
        Part::Code(code).into()
    }

    /// Groups blocks of a card, with CSS classes for color and layout.
    pub fn row(class: impl Into<String>, blocks: Vec<Self>) -> Self {
        let class = class.into();
        Part::Row { class, blocks }.into()
    }

    /// Creates the explanation of the chapter or card. `method` is the heading of the section of
    /// docs/METHOD.md to link to, or empty for no link.
    pub fn lead(words: impl Into<Text>, method: &str) -> Self {
        Part::Lead(words.into().computed_as(method)).into()
    }

    /// Returns the explanation as two blocks: one for the page, with a link to a section of
    /// docs/METHOD.md, and one for Markdown, which names the section instead.
    pub fn explanation(words: &str, method: &str) -> [Self; 2] {
        let written = format!("{words} How this is computed: docs/METHOD.md, {method}.");
        [
            Self::lead(words, method).on(PAGE),
            Self::sentence(written).on(MARKDOWN),
        ]
    }

    pub fn sentence(words: impl Into<Text>) -> Self {
        Part::Sentence(words.into()).into()
    }

    /// Creates a sentence below a table. `method` is the heading of the section of docs/METHOD.md
    /// to link to, or empty for no link.
    pub fn foot(words: impl Into<Text>, method: &str) -> Self {
        Part::Foot(words.into().computed_as(method)).into()
    }

    pub fn charts(layout: &'static str, charts: impl IntoIterator<Item = Chart>) -> Self {
        let charts = charts.into_iter().collect();
        Part::Charts { layout, charts }.into()
    }

    /// Frames blocks as a card, in the color of a CSS class.
    pub fn card(class: impl Into<String>, blocks: Vec<Self>) -> Self {
        let class = class.into();
        Part::Card { class, blocks }.into()
    }

    /// `first` is the header of the first column, and `label` is for screen readers.
    pub fn table(table: Table, first: &'static str, label: &str, palette: &Palette) -> Self {
        TableBlock::new(table, first, label, palette).into()
    }
}

impl From<TableBlock> for Block {
    fn from(table: TableBlock) -> Self {
        Part::Table(Box::new(table)).into()
    }
}

impl From<Fold> for Block {
    fn from(fold: Fold) -> Self {
        Part::Fold(fold).into()
    }
}

impl From<Lines> for Block {
    fn from(lines: Lines) -> Self {
        Part::Lines(lines).into()
    }
}
