//! What grows with routes, consumers and idle connections, on the page.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{Metric, ScaleFindings};
use serde::Serialize;

use super::results::{TableView, table_view};
use crate::palette::Palette;
use crate::plots::scale as plots;
use crate::scale;

/// A family of scenarios or loads that differ in one number.
#[derive(Serialize)]
pub struct ScaleView {
    title: String,
    explanation: String,
    /// One for each measure.
    tables: Vec<TableView>,
    /// Memory over the number.
    svg: Option<String>,
}

/// The families of a run.
pub fn scales(findings: &Findings, palette: &Palette) -> Vec<ScaleView> {
    let families = findings.scale.iter().enumerate();
    families
        .map(|(index, found)| view(index, found, palette))
        .collect()
}

fn view(index: usize, found: &ScaleFindings, palette: &Palette) -> ScaleView {
    let tables = scale::table(found).by_phase();
    let mut measures = found.measures.iter();
    let memory = measures.position(|it| it.metric == Metric::GatewayRssAnonMax);
    let plot = |measure| plots::plot(&format!("scale-{index}"), found, measure, palette);
    ScaleView {
        title: scale::title(found),
        explanation: scale::explanation(found),
        tables: tables.iter().map(|it| table_view(it, palette)).collect(),
        svg: memory.and_then(plot),
    }
}
