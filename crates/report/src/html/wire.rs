//! What was counted on the wire: facts down, variants across.

use gatebench_analysis::findings::{WireFact, WireFindings, WireName};
use serde::Serialize;

/// One fact of all variants.
#[derive(Serialize)]
pub struct WireRow {
    name: &'static str,
    cells: Vec<WireCell>,
}

#[derive(Serialize)]
struct WireCell {
    text: String,
    differs: bool,
}

/// The facts that any variant has.
pub fn rows<'a>(
    wire: &[WireFindings],
    variants: impl Iterator<Item = &'a str> + Clone,
) -> Vec<WireRow> {
    let fact = |variant: &str, name| -> Option<&WireFact> {
        let found = wire.iter().find(|found| found.variant == variant)?;
        found.facts.iter().find(|fact| fact.name == name)
    };
    let row = |name: WireName| {
        let cells = variants.clone().map(|variant| fact(variant, name));
        let cells: Vec<_> = cells.collect();
        cells.iter().any(Option::is_some).then(|| WireRow {
            name: name.title(),
            cells: cells.into_iter().map(cell).collect(),
        })
    };
    WireName::ALL.into_iter().filter_map(row).collect()
}

fn cell(fact: Option<&WireFact>) -> WireCell {
    WireCell {
        text: fact.map_or_else(|| "–".into(), |fact| fact.text.clone()),
        differs: fact.is_some_and(|fact| fact.differs),
    }
}
