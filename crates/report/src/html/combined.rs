//! The combined results of a specification on the page.

use gatebench_analysis::Findings;
use gatebench_analysis::words::capitalised;
use serde::Serialize;

use super::method::anchor;
use crate::combined;
use crate::palette::Palette;
use crate::plots::combined as plots;

/// The section.
#[derive(Serialize)]
pub struct CombinedView {
    title: String,
    explanation: &'static str,
    /// Where the page says how it is computed.
    method: String,
    heads: [&'static str; 6],
    rows: Vec<RowView>,
    facts: Vec<String>,
    figures: Vec<FigureView>,
}

#[derive(Serialize)]
struct RowView {
    name: String,
    class: String,
    cells: [String; 6],
}

#[derive(Serialize)]
struct FigureView {
    title: String,
    svg: String,
}

/// The combined results; none where the run was made from no specification.
pub fn combined(findings: &Findings, palette: &Palette) -> Option<CombinedView> {
    let found = findings.combined.as_ref()?;
    let rows = combined::lines(found).into_iter().map(|line| RowView {
        class: palette.class(&line.variant),
        name: line.name,
        cells: line.cells,
    });
    let figure = |title: &str, svg: Option<String>| {
        Some(FigureView {
            title: capitalised(title),
            svg: svg?,
        })
    };
    let trends = plots::trends(found, palette).into_iter();
    let figures = [
        figure(
            "throughput, with the slowest and the fastest run",
            plots::rates(found, palette),
        ),
        figure("p90 and p99 of the runs", plots::boxes(found, palette)),
    ];
    let trends = trends.map(|it| figure(&it.title, Some(it.svg)));
    Some(CombinedView {
        title: combined::title(found),
        explanation: combined::EXPLANATION,
        method: anchor(combined::METHOD),
        heads: combined::HEADS,
        rows: rows.collect(),
        facts: combined::facts(found),
        figures: figures.into_iter().chain(trends).flatten().collect(),
    })
}
