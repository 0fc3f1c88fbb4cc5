//! The page: one file that needs no network and no script, in light and dark, for screens of any
//! width and for paper. It is well-formed XML as well as HTML, so that a parser can prove that
//! nothing escaped its element.

pub(crate) mod pages;

use serde::Serialize;

use crate::chapter::{Document, PAGE, Report};
use crate::method::{self, Section};

#[derive(Serialize)]
struct Page<'a> {
    #[serde(flatten)]
    document: &'a Document,
    method: Vec<Section>,
}

/// Writes a report as a page.
pub fn render<R: Report + ?Sized>(report: &R) -> String {
    let document = &report.document(PAGE);
    let of_chapters = document.chapters.iter().flat_map(|it| it.methods);
    let methods = document.methods.iter().chain(of_chapters).copied();
    let method = method::sections(&Vec::from_iter(methods));
    pages::render("page.html", &Page { document, method })
}
