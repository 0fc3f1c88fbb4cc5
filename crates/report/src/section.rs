//! Chapters that consist of a table of figures and its explanation.

use serde::Serialize;

use crate::chapter::{Block, Chapter, MARKDOWN, PAGE, Part, TERMINAL};
use crate::figures::FigureTable;
use crate::flame::FlameGraph;
use crate::palette::Palette;

/// A table of figures with its explanation.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// The section's anchor: lowercase words, joined by hyphens.
    pub id: &'static str,
    pub heading: &'static str,
    pub explanation: &'static str,
    pub table: FigureTable,
    /// The section's flame graphs, each also in a file next to the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub graphs: Vec<FlameGraph>,
}

impl Section {
    pub fn chapter(&self, palette: &Palette) -> Chapter {
        let title = format!("{} · {}", self.heading, self.table.title);
        let table = Block::table(self.table.laid_out(), self.table.first, &title, palette);
        let files = Part::Files {
            files: self.graphs.clone(),
            pictures: Vec::new(),
        };
        let card = vec![Block::heading(&*title).on(PAGE), table, files.into()];
        let blocks = vec![
            Block::heading(title).on(TERMINAL | MARKDOWN),
            Block::lead(self.explanation, ""),
            Block::card("", card),
        ];
        Chapter::new(self.id, self.heading, blocks)
    }
}
