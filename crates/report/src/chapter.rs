//! The document model. A study makes a [`Chapter`] of blocks and no form of the report; a form writes blocks and knows no
//! study. A block appears in every form that can show its kind, unless it is restricted to some of them.

use gatebench_analysis::findings::FlameGraph;
use serde::Serialize;

use crate::method::anchor;
use crate::palette::Palette;
use crate::table::Table;
use crate::table_view::{TableView, table_view};

/// Forms of the report, as a sum of [`TERMINAL`], [`MARKDOWN`] and [`PAGE`].
pub type Forms = u8;

/// Lines on a terminal, which has no charts and explains its tables below them.
pub const TERMINAL: Forms = 1;
/// The comment on a pull request, which has no charts.
pub const MARKDOWN: Forms = 2;
/// The page.
pub const PAGE: Forms = 4;

/// The layout of charts next to each other.
pub const PANELS: &str = "panels wide purposes";

/// The chapter of one study.
#[derive(Default, Serialize)]
pub struct Chapter {
    /// Its anchor on the page.
    pub id: &'static str,
    /// The words of links to it.
    pub link: &'static str,
    /// Its heading. A terminal shows the headings among the blocks instead, and Markdown if the first block is one.
    pub heading: String,
    /// True if a terminal shows it before the results of the scenarios, and also in a smoke run.
    pub leads: bool,
    /// The sections of docs/METHOD.md that the page appends for it.
    pub methods: &'static [&'static str],
    /// The content.
    pub blocks: Vec<Block>,
}

/// A part of a chapter.
#[derive(Serialize)]
pub struct Block {
    #[serde(skip)]
    forms: Forms,
    /// The content.
    pub part: Part,
}

/// The content of a block.
#[derive(Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Part {
    /// A heading within the chapter.
    Heading(Heading),
    /// The explanation of the chapter or the card: above its tables, and on a terminal below them.
    Lead(Text),
    /// A sentence above a table.
    Sentence(Text),
    /// A sentence below a table.
    Foot(Text),
    /// Sentences that stand for themselves.
    Facts {
        /// The sentences.
        facts: Vec<String>,
    },
    /// A table of medians and ranges.
    Table(Box<TableBlock>),
    /// A table of words.
    Lines(Lines),
    /// Drawings, for the page alone.
    Charts {
        /// Classes of the style sheet that lay them out; empty for one below the other.
        layout: &'static str,
        /// The drawings.
        charts: Vec<Chart>,
    },
    /// Graphs in files of their own.
    Files {
        /// The graphs.
        files: Vec<FlameGraph>,
    },
    /// Blocks that belong together.
    Card {
        /// The class of their colour, or empty.
        class: String,
        /// The blocks, no cards among them.
        blocks: Vec<Block>,
    },
    /// Blocks that are hidden until they are unfolded.
    Fold(Fold),
}

/// A heading.
#[derive(Serialize)]
pub struct Heading {
    /// The words.
    pub text: String,
    /// True if the colour of its card is shown before it.
    key: bool,
    /// A warning behind it.
    chip: Option<&'static str>,
}

/// A sentence, a part of which may be strong.
#[derive(Serialize)]
pub struct Text {
    /// The words before the strong ones, the strong ones, and the words behind them.
    pub spans: [String; 3],
    /// The anchor of the method on the page, or empty.
    method: String,
}

/// A table of medians and ranges.
#[derive(Serialize)]
pub struct TableBlock {
    /// The table.
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
    /// The heads of columns and rows on the page, if rows belong to each other.
    matrix: Option<Matrix>,
}

/// Heads of variants across, and of rows that belong to each other.
#[derive(Serialize)]
pub struct Matrix {
    /// Class and name of each column.
    pub heads: Vec<[String; 2]>,
    /// The rows.
    pub rows: Vec<MatrixRow>,
}

/// The head of a row.
#[derive(Serialize)]
pub struct MatrixRow {
    /// Its class.
    pub class: &'static str,
    /// Its name.
    pub name: String,
    /// The sign before the name.
    pub sign: &'static str,
    /// The remark behind the name.
    pub aside: &'static str,
    /// Its tooltip.
    pub hint: String,
}

/// A table of words.
#[derive(Serialize)]
pub struct Lines {
    /// Its name for a screen reader.
    pub label: String,
    /// The head of the first column, or empty.
    pub first: &'static str,
    /// The heads of the cells.
    pub heads: &'static [&'static str],
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a table of words.
#[derive(Default, Serialize)]
pub struct Line {
    /// The head of the line.
    pub name: String,
    /// The class of its colour, or empty.
    pub class: String,
    /// True if the answer rests on it.
    pub decides: bool,
    /// The verdict and its class.
    pub verdict: Option<[&'static str; 2]>,
    /// The cells.
    pub cells: Vec<String>,
    /// The cells for a terminal, which has no room for heads.
    #[serde(skip)]
    pub brief: Vec<String>,
    /// The cells that have lines of their own on a terminal.
    #[serde(skip)]
    pub more: Vec<String>,
}

/// A drawing.
#[derive(Default, Serialize)]
pub struct Chart {
    /// The class of the figure.
    pub class: String,
    /// True if the class is a colour, which is then shown before the caption.
    pub key: bool,
    /// The caption.
    pub caption: String,
    /// The remark behind the caption.
    pub aside: String,
    /// The sentence below the drawing.
    pub text: String,
    /// The drawing.
    pub svg: String,
}

/// Blocks that are hidden until they are unfolded. A terminal shows them as if they were not folded.
#[derive(Serialize)]
pub struct Fold {
    /// The line that stands for them.
    pub summary: String,
    /// The remark behind the summary.
    pub aside: String,
    /// The summary in Markdown, or empty if they are not folded there.
    #[serde(skip)]
    pub markdown: String,
    /// True if it is a card itself.
    pub is_card: bool,
    /// The blocks, no cards or folds among them.
    pub blocks: Vec<Block>,
}

impl Chapter {
    /// Returns a chapter with a heading that is short enough for links to it.
    pub fn new(id: &'static str, heading: &'static str, blocks: Vec<Block>) -> Self {
        Self {
            id,
            link: heading,
            heading: heading.to_owned(),
            blocks,
            ..Self::default()
        }
    }

    /// Returns the chapter with the blocks of these forms.
    pub fn only(mut self, forms: Forms) -> Self {
        self.blocks = only(self.blocks, forms);
        self
    }
}

fn only(mut blocks: Vec<Block>, forms: Forms) -> Vec<Block> {
    blocks.retain(|block| block.forms & forms != 0);
    for block in &mut blocks {
        if let Part::Card { blocks, .. } | Part::Fold(Fold { blocks, .. }) = &mut block.part {
            *blocks = only(std::mem::take(blocks), forms);
        }
    }
    blocks
}

impl From<Part> for Block {
    fn from(part: Part) -> Self {
        let forms = match part {
            Part::Charts { .. } => PAGE,
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

    /// A heading within the chapter.
    pub fn heading(text: impl Into<String>) -> Self {
        Self::coloured_heading(text, false, None)
    }

    /// A heading behind the colour of its card and before a warning.
    pub fn coloured_heading(
        text: impl Into<String>,
        key: bool,
        chip: Option<&'static str>,
    ) -> Self {
        let text = text.into();
        Part::Heading(Heading { text, key, chip }).into()
    }

    /// The explanation of the chapter or the card, with the section of docs/METHOD.md on its method.
    pub fn lead(words: impl Into<Text>, method: &str) -> Self {
        Part::Lead(words.into().computed_as(method)).into()
    }

    /// The same for the page and for Markdown, which names the section.
    pub fn explanation(words: &str, method: &str) -> [Self; 2] {
        let written = format!("{words} How this is computed: docs/METHOD.md, {method}.");
        [
            Self::lead(words, method).on(PAGE),
            Self::sentence(written).on(MARKDOWN),
        ]
    }

    /// A sentence above a table.
    pub fn sentence(words: impl Into<Text>) -> Self {
        Part::Sentence(words.into()).into()
    }

    /// A sentence below a table.
    pub fn foot(words: impl Into<Text>, method: &str) -> Self {
        Part::Foot(words.into().computed_as(method)).into()
    }

    /// Drawings in the layout of a class.
    pub fn charts(layout: &'static str, charts: impl IntoIterator<Item = Chart>) -> Self {
        let charts = charts.into_iter().collect();
        Part::Charts { layout, charts }.into()
    }

    /// Blocks that belong together, in the colour of a class.
    pub fn card(class: impl Into<String>, blocks: Vec<Self>) -> Self {
        let class = class.into();
        Part::Card { class, blocks }.into()
    }

    /// A table whose first column is `first`.
    pub fn table(table: Table, first: &'static str, label: &str, palette: &Palette) -> Self {
        TableBlock::new(table, first, label, palette).into()
    }
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
            matrix: None,
        }
    }

    /// The table with rows that have room.
    pub fn wide(mut self) -> Self {
        self.class = "";
        self
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

impl From<TableBlock> for Block {
    fn from(table: TableBlock) -> Self {
        Part::Table(Box::new(table)).into()
    }
}

impl Text {
    /// Words with strong ones among them.
    pub fn with_strong(before: &str, strong: &str, after: &str) -> Self {
        Self {
            spans: [before, strong, after].map(ToOwned::to_owned),
            method: String::new(),
        }
    }

    fn computed_as(mut self, method: &str) -> Self {
        if !method.is_empty() {
            self.method = anchor(method);
        }
        self
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::with_strong(words, "", "")
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::from(words.as_str())
    }
}
