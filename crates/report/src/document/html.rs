//! A run in a document's columns as a page.

use gatebench_analysis::findings::{DocumentFindings, DocumentTable};
use serde::Serialize;

use super::{CORRECTIONS, EFFECT, EXPLANATION, doubt, effects, parts, table};
use crate::html::pages;
use crate::palette::Palette;
use crate::problems::word;
use crate::table_view::{TableView, table_view};

#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    setting: &'a str,
    explanation: &'static str,
    gatebench: String,
    command: String,
    tables: Vec<TablePart>,
    notes: Vec<String>,
    /// Validity, rows, and what was seen.
    doubts: Vec<[String; 3]>,
    corrected: &'static str,
    effect: &'static str,
    corrections: Vec<CorrectionView<'a>>,
}

#[derive(Serialize)]
struct TablePart {
    title: String,
    first: &'static str,
    tables: Vec<TableView>,
    has_limits: bool,
}

#[derive(Serialize)]
struct CorrectionView<'a> {
    title: &'a str,
    published: &'a str,
    here: &'a str,
    untold: Option<&'a str>,
    table: TableView,
}

/// Writes the page.
pub fn render(found: &DocumentFindings) -> String {
    let mut variants: Vec<&str> = Vec::new();
    for row in found.tables.iter().flat_map(|it| &it.rows) {
        if !row.variant.is_empty() && !variants.contains(&row.variant.as_str()) {
            variants.push(&row.variant);
        }
    }
    let palette = Palette::of_labels(&variants);
    let part = |it: &DocumentTable| TablePart {
        title: it.title.clone(),
        first: it.first,
        tables: parts(it)
            .iter()
            .map(|it| table_view(it, &palette))
            .collect(),
        has_limits: table(it).has_limits(),
    };
    let corrections = found.corrections.iter().map(|it| CorrectionView {
        title: &it.title,
        published: &it.published,
        here: &it.here,
        untold: it.untold.as_deref(),
        table: table_view(&effects(it), &palette),
    });
    let doubts = found.doubts.iter().map(|it| {
        let [rows, said] = doubt(it);
        [word(it.validity).to_owned(), rows, said]
    });
    pages::render(
        "document.html",
        &Page {
            title: &found.title,
            setting: &found.setting,
            explanation: EXPLANATION,
            gatebench: found.gatebench.clone(),
            command: found.command.clone(),
            tables: found.tables.iter().map(part).collect(),
            notes: found.notes.clone(),
            doubts: doubts.collect(),
            corrected: CORRECTIONS,
            effect: EFFECT,
            corrections: corrections.collect(),
        },
    )
}
