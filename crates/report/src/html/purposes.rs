//! Soaks and tests of isolation on the page.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{IsolationFindings, SoakFindings, SoakSegment};
use gatebench_analysis::words::capitalised;
use serde::Serialize;

use super::method::anchor;
use crate::palette::Palette;
use crate::plots::{floor, pairs};
use crate::{isolation, soak};

/// A soak, or a test of isolation.
#[derive(Serialize)]
pub struct PurposeView {
    title: &'static str,
    explanation: &'static str,
    /// Where the page says how it is computed.
    method: String,
    parts: Vec<PartView>,
}

/// A process of a soak, or a scenario of a test.
#[derive(Serialize)]
struct PartView {
    title: String,
    /// Facts before the table.
    facts: Vec<String>,
    heads: [&'static str; 3],
    rows: Vec<RowView>,
    figures: Vec<FigureView>,
}

#[derive(Serialize)]
struct RowView {
    title: String,
    decides: bool,
    verdict: &'static str,
    class: &'static str,
    cells: [String; 3],
}

#[derive(Serialize)]
struct FigureView {
    title: String,
    text: String,
    svg: String,
}

/// What the run was made for; empty where it was made to measure or to compare.
pub fn purposes(findings: &Findings, palette: &Palette) -> Vec<PurposeView> {
    let soaked = findings.soak.iter().map(|found| PurposeView {
        title: soak::TITLE,
        explanation: soak::EXPLANATION,
        method: anchor(soak::METHOD),
        parts: found
            .segments
            .iter()
            .map(|segment| segment_view(found, segment, palette))
            .collect(),
    });
    let tested = (!findings.isolation.is_empty()).then(|| PurposeView {
        title: isolation::TITLE,
        explanation: isolation::EXPLANATION,
        method: anchor(isolation::METHOD),
        parts: findings
            .isolation
            .iter()
            .enumerate()
            .map(|(index, found)| isolation_view(index, found, palette))
            .collect(),
    });
    soaked.chain(tested).collect()
}

fn segment_view(found: &SoakFindings, segment: &SoakSegment, palette: &Palette) -> PartView {
    let class = palette.class(&found.variant);
    let rows = soak::lines(segment).into_iter().map(|line| RowView {
        title: line.title,
        decides: false,
        verdict: line.verdict,
        class: line.class,
        cells: [line.slope, line.interval, line.smallest],
    });
    let figure = |(index, quantity): (usize, _)| {
        let quantity: &gatebench_analysis::findings::SoakQuantity = quantity;
        FigureView {
            title: capitalised(&quantity.title),
            text: quantity.text.clone(),
            svg: floor::plot(&format!("soak-{}-{index}", segment.trial), quantity, &class),
        }
    };
    PartView {
        title: format!("{} in {}", found.variant, found.scenario),
        facts: vec![soak::segment_title(found, segment)],
        heads: ["per hour", "interval", "a leak is seen from"],
        rows: rows.collect(),
        figures: segment.quantities.iter().enumerate().map(figure).collect(),
    }
}

fn isolation_view(index: usize, found: &IsolationFindings, palette: &Palette) -> PartView {
    let class = palette.class(&found.variant);
    let rows = isolation::lines(found).into_iter().map(|line| RowView {
        title: line.title,
        decides: line.decides,
        verdict: line.verdict,
        class: line.class,
        cells: [line.ratio, line.own, line.blocks.to_string()],
    });
    let figures = found
        .measures
        .iter()
        .enumerate()
        .map(|(place, measure)| FigureView {
            title: capitalised(measure.title),
            text: format!(
                "{} Full: beside failing requests; hollow: beside healthy ones.",
                measure.text
            ),
            svg: pairs::plot(&format!("isolation-{index}-{place}"), measure, &class),
        });
    PartView {
        title: format!(
            "{}: group '{}' through {}",
            found.scenario, found.group, found.variant
        ),
        facts: vec![
            format!(
                "Beside failing requests: {}.",
                isolation::counts(found.beside_failing)
            ),
            format!(
                "Beside healthy ones: {}.",
                isolation::counts(found.beside_healthy)
            ),
        ],
        heads: ["failing ÷ healthy", "healthy ÷ itself", "blocks"],
        rows: rows.collect(),
        figures: figures.collect(),
    }
}
