//! The page: one file that needs no network and no scripts, has a light and a dark theme, and fits
//! screens of any width as well as paper. It shows flame graphs as pictures, and links to separate
//! files in which they can be searched and zoomed. The page is also well-formed XML, so that tests
//! can parse it and verify that all text is escaped.

mod pages;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::chapter::{Block, Document, Fold, PAGE, Part, Report};
use crate::flame::FlameGraph;
use crate::method::{self, Section};

pub use pages::{STYLE, fill};

/// The content of a page, as the templates use it.
#[derive(Serialize)]
pub struct Page {
    #[serde(flatten)]
    pub document: Document,
    /// The sections of docs/METHOD.md that explain the document's figures.
    pub method: Vec<Section>,
}

impl Page {
    pub fn of<R: Report + ?Sized>(report: &R) -> Self {
        let document = report.document(PAGE);
        let of_chapters = document.chapters.iter().flat_map(|it| it.methods);
        let methods = document.methods.iter().chain(of_chapters).copied();
        let method = method::sections(&Vec::from_iter(methods));
        Self { document, method }
    }
}

pub fn render<R: Report + ?Sized>(report: &R) -> String {
    let mut page = Page::of(report);
    for chapter in &mut page.document.chapters {
        embed_graphs(&mut chapter.blocks);
    }
    fill(&[], "page.html", &page)
}

fn embed_graphs(blocks: &mut [Block]) {
    for block in blocks {
        match &mut block.part {
            Part::Files { files, pictures } => *pictures = files.iter().map(encoded).collect(),
            Part::Card { blocks, .. }
            | Part::Row { blocks, .. }
            | Part::Fold(Fold { blocks, .. }) => embed_graphs(blocks),
            _ => {}
        }
    }
}

/// Returns the picture of a graph in Base64, or nothing if the graph has no stacks.
fn encoded(graph: &FlameGraph) -> String {
    STANDARD.encode(graph.picture().unwrap_or_default())
}
