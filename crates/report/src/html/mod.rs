//! The page: one file that needs no network and no script, in light and dark, for screens of any
//! width and for paper. It is well-formed XML as well as HTML, so that a parser can prove that
//! nothing escaped its element.

mod cores;
mod evidence;
mod figures;
mod forest;
pub(crate) mod pages;
mod results;
mod told;
mod view;
mod wire;

use gatebench_analysis::Findings;

/// Writes the page.
pub fn render(findings: &Findings) -> String {
    pages::render("page.html", &view::Page::of(findings))
}
