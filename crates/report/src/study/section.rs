//! What only some runs measure: a table, and how it is read.

use gatebench_analysis::findings::{FlameGraph, SectionFindings};

use crate::chapter::{Block, Chapter, MARKDOWN, PAGE, Part, TERMINAL};
use crate::document;
use crate::palette::Palette;

/// The chapter of a section.
pub fn chapter(found: &SectionFindings, palette: &Palette) -> Chapter {
    let title = format!("{} · {}", found.heading, found.table.title);
    let table = Block::table(
        document::table(&found.table),
        found.table.first,
        &title,
        palette,
    );
    // The stacks are in the file.
    let file = |it: &FlameGraph| FlameGraph {
        file: it.file.clone(),
        title: it.title.clone(),
        text: it.text.clone(),
        stacks: Vec::new(),
    };
    let files = found.graphs.iter().map(file).collect();
    let card = vec![
        Block::heading(&*title).on(PAGE),
        table,
        Part::Files { files }.into(),
    ];
    let blocks = vec![
        Block::heading(title).on(TERMINAL | MARKDOWN),
        Block::lead(found.explanation, ""),
        Block::card("", card),
    ];
    Chapter::new(found.id, found.heading, blocks)
}
