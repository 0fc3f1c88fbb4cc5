//! The page: one file that needs no network and no scripts, has a light and a dark theme, and fits
//! screens of any width as well as paper. Only flame graphs are separate files next to the page.
//! The page is also well-formed XML, so that tests can parse it and verify that all text is
//! escaped.

mod pages;

use serde::Serialize;

use crate::chapter::{Document, PAGE, Report};
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
    fill(&[], "page.html", &Page::of(report))
}
