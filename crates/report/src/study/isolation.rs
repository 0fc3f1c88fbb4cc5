//! A test of isolation: a good group beside failing groups.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{IsolationCounts, IsolationFindings, IsolationMeasure};
use gatebench_analysis::format::{capitalised, grouped};

use crate::axis::Axis;
use crate::chapter::{
    Block, Chapter, Chart, Head, Line, Lines, MARKDOWN, PAGE, PANELS, TERMINAL, Text,
};
use crate::chart::lines::{self, Dot, Panel, Series};
use crate::chart::{Names, Ticked};
use crate::number::UnitScale;
use crate::palette::Palette;
use crate::verdicts;

const TITLE: &str = "Isolation";

/// The section of docs/METHOD.md that says how it is computed.
const METHOD: &str = "Isolation";

/// How to read it.
const EXPLANATION: &str = "The good group beside failing groups, over the same group beside healthy ones, at the same \
     rates, paired by blocks of fresh processes; beside itself stands the healthy run once more, which is the noise of this \
     machine.";

/// How the drawing of a measure is read.
const READ: &str = " Full: beside failing requests; hollow: beside healthy ones.";

/// The chapter; none where the run was not made to test isolation.
pub fn chapter(findings: &Findings, palette: &Palette) -> Option<Chapter> {
    let tests = &findings.isolation;
    (!tests.is_empty()).then(|| {
        let mut blocks = Vec::from(Block::explanation(EXPLANATION, METHOD));
        let cards = tests.iter().enumerate();
        blocks.extend(cards.map(|(index, found)| card(index, found, palette)));
        Chapter {
            methods: &[METHOD],
            ..Chapter::new("isolation", TITLE, blocks)
        }
    })
}

/// A scenario.
fn card(index: usize, found: &IsolationFindings, palette: &Palette) -> Block {
    let (scenario, group) = (&found.scenario, &found.group);
    let class = palette.class(&found.variant);
    let chart = |(place, measure): (usize, &IsolationMeasure)| Chart {
        caption: capitalised(measure.title),
        notes: vec![Text::from(&*measure.text).and(READ)],
        svg: pairs(&format!("isolation-{index}-{place}"), measure, &class),
        ..Chart::default()
    };
    let (failing, healthy) = (counts(found.beside_failing), counts(found.beside_healthy));
    let brief = |name: &str, counts: &str| Line {
        name: name.into(),
        brief: vec![counts.to_owned()],
        ..Line::default()
    };
    let title = format!("{scenario}: group '{group}' through {}", found.variant);
    let lines = |heads, lines| {
        Block::from(Lines {
            label: title.clone(),
            heads,
            lines,
            ..Lines::default()
        })
    };
    let sides = vec![
        brief("beside failing", &failing),
        brief("beside healthy", &healthy),
    ];
    let decided = found.measures.iter().any(|it| it.decides);
    let measures = found.measures.iter().map(|it| line(it, decided)).collect();
    let heads = vec![
        Head::text(""),
        Head::text("verdict"),
        Head::number("failing ÷ healthy"),
        Head::number("healthy ÷ itself"),
        Head::number("blocks"),
    ];
    let words = format!(
        ", group '{group}': beside failing requests {failing}; beside healthy ones {healthy}."
    );
    let blocks = vec![
        Block::heading(format!("{TITLE} · {scenario} · group '{group}'")).on(TERMINAL),
        Block::heading(&*title).on(PAGE),
        lines(Vec::new(), sides).on(TERMINAL),
        Block::sentence(format!("Beside failing requests: {failing}.")).on(PAGE),
        Block::sentence(format!("Beside healthy ones: {healthy}.")).on(PAGE),
        Block::sentence(Text::with_strong("", scenario, &words)).on(MARKDOWN),
        lines(heads, measures),
        Block::charts(PANELS, found.measures.iter().enumerate().map(chart)),
    ];
    Block::card("", blocks)
}

/// A measure; `decided` is true if any of them decides.
fn line(measure: &IsolationMeasure, decided: bool) -> Line {
    let verdict = measure.result.verdict;
    let (ratio, own) = (
        verdicts::ratio(&measure.result),
        measure
            .own
            .as_ref()
            .map(verdicts::ratio)
            .unwrap_or_default(),
    );
    Line {
        name: Text::from(capitalised(measure.title)).strong_if(measure.decides),
        decides: measure.decides,
        brief: vec![
            verdicts::word(verdict).to_owned(),
            ratio.clone(),
            format!("noise {own}"),
        ],
        cells: vec![
            verdicts::chip(verdict).strong_if(!decided).into(),
            ratio.into(),
            own.into(),
            measure.blocks.len().to_string().into(),
        ],
        ..Line::default()
    }
}

/// Draws a measure block by block: full points beside failing groups, hollow ones beside healthy
/// groups.
fn pairs(id: &str, found: &IsolationMeasure, class: &str) -> String {
    let values = found.blocks.iter().flat_map(|it| [it.failing, it.healthy]);
    let up = Axis::from_zero(values.fold(0.0, f64::max));
    let scale = UnitScale::of(up.domain().1, found.unit);
    let mut series = Series {
        class: class.to_owned(),
        ..Series::default()
    };
    for (block, index) in found.blocks.iter().zip(0_u32..) {
        let at = f64::from(index) + 0.5;
        let tip = format!(
            "block {}: {} beside failing, {} beside healthy requests",
            block.block,
            scale.full(block.failing),
            scale.full(block.healthy)
        );
        series.ranges.push((at, block.failing, block.healthy));
        for (style, value) in [("dot hollow", block.healthy), ("dot", block.failing)] {
            series.dots.push(Dot::new((at, value), style, tip.clone()));
        }
    }
    let count = found.blocks.len().max(1) as f64;
    let names = Names {
        id,
        title: found.title,
        description: &found.text,
    };
    let across = Ticked::with(Axis::linear((0.0, count)), Vec::new());
    let across = across.named("block by block".to_owned());
    let panel = Panel::new(110.0, Ticked::scaled(up, found.unit), vec![series]);
    lines::Lines::new(names, class, across, panel).draw()
}

/// What became of the good group's requests on one side.
fn counts(counts: IsolationCounts) -> String {
    format!(
        "{} answers, {} failed a check, {} without an answer, {} never sent",
        grouped(counts.answers as f64),
        grouped(counts.checks_failed as f64),
        grouped(counts.errors as f64),
        grouped(counts.dropped as f64)
    )
}
