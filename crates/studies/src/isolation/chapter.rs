//! The report of an isolation test: a good group next to failing groups.

use gatebench_report::axis::Axis;
use gatebench_report::chapter::{
    Block, Chapter, Chart, Head, Line, Lines, MARKDOWN, PAGE, PANELS, TERMINAL, Text,
};
use gatebench_report::chart::lines::{Dot, Panel, Series};
use gatebench_report::chart::{Names, Ticked, lines};
use gatebench_report::format::{UnitScale, capitalized, grouped};
use gatebench_report::palette::Palette;
use gatebench_report::verdicts;

use super::facts::{IsolationCounts, IsolationFindings, IsolationMeasure};
use crate::common::facts::Decision;
use crate::kind::StudyFacts;

const TITLE: &str = "Isolation";

/// The section of docs/METHOD.md on isolation tests.
const METHOD: &str = "Isolation";

const EXPLANATION: &str = "Each ratio is a figure of the good group next to failing groups, \
     divided by that of the same group next to healthy ones at the same rates; the two are paired \
     by block, and each is measured in a fresh process. The column \"healthy ÷ itself\" compares \
     two healthy runs and shows the noise of this machine.";

const READ: &str = " Filled: next to failing requests; hollow: next to healthy ones.";

impl StudyFacts for Vec<IsolationFindings> {
    fn key(&self) -> &'static str {
        "isolation"
    }

    fn chapter(&self, palette: &Palette) -> Option<Chapter> {
        (!self.is_empty()).then(|| {
            let mut blocks = Vec::from(Block::explanation(EXPLANATION, METHOD));
            let cards = self.iter().enumerate();
            blocks.extend(cards.map(|(index, found)| card(index, found, palette)));
            Chapter::new("isolation", TITLE, blocks).methods(&[METHOD])
        })
    }

    fn decision(&self) -> Option<Decision> {
        let is = |decision| self.iter().any(|it| it.decision == decision);
        Some(match () {
            () if is(Decision::Worse) => Decision::Worse,
            () if is(Decision::Open) || self.is_empty() => Decision::Open,
            () => Decision::Fine,
        })
    }

    fn decided(&self) -> Vec<String> {
        self.iter().map(|it| it.text.clone()).collect()
    }
}

fn card(index: usize, found: &IsolationFindings, palette: &Palette) -> Block {
    let (scenario, group) = (&found.scenario, &found.group);
    let class = palette.class(&found.variant);
    let chart = |(place, measure): (usize, &IsolationMeasure)| {
        let svg = pairs(&format!("isolation-{index}-{place}"), measure, &class);
        Chart::new(capitalized(measure.title), svg).note(Text::from(&*measure.text).and(READ))
    };
    let (failing, healthy) = (counts(found.next_to_failing), counts(found.next_to_healthy));
    let brief = |name: &str, counts: &str| Line::brief(name, vec![counts.into()]);
    let title = format!("{scenario}: group '{group}' through {}", found.variant);
    let lines = |heads, lines: Vec<Line>| Block::from(Lines::new(&*title, heads, lines));
    let sides = vec![
        brief("next to failing", &failing),
        brief("next to healthy", &healthy),
    ];
    let decided = found.measures.iter().any(|it| it.decides);
    let measures = found.measures.iter().map(|it| line(it, decided)).collect();
    let heads = Head::row("| verdict |> failing ÷ healthy |> healthy ÷ itself |> blocks");
    let words = format!(
        ", group '{group}': next to failing requests {failing}; next to healthy ones {healthy}."
    );
    let blocks = vec![
        Block::heading(format!("{TITLE} · {scenario} · group '{group}'")).on(TERMINAL),
        Block::heading(&*title).on(PAGE),
        lines(Vec::new(), sides).on(TERMINAL),
        Block::sentence(format!("Next to failing requests: {failing}.")).on(PAGE),
        Block::sentence(format!("Next to healthy ones: {healthy}.")).on(PAGE),
        Block::sentence(Text::with_strong("", scenario, &words)).on(MARKDOWN),
        lines(heads, measures),
        Block::charts(PANELS, found.measures.iter().enumerate().map(chart)),
    ];
    Block::card("", blocks)
}

/// The line of a measure; `decided` is true if any of the measures decides.
fn line(measure: &IsolationMeasure, decided: bool) -> Line {
    let verdict = measure.result.verdict;
    let ratio = verdicts::ratio(&measure.result);
    let own = measure.own.as_ref().map_or(String::new(), verdicts::ratio);
    Line {
        name: Text::from(capitalized(measure.title)).strong_if(measure.decides),
        decides: measure.decides,
        brief: vec![
            verdicts::word(verdict).into(),
            ratio.clone().into(),
            format!("noise {own}").into(),
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

/// Draws a measure block by block. Filled points are values next to failing groups, and hollow
/// points are values next to healthy groups.
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
            "block {}: {} next to failing, {} next to healthy requests",
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
    let names = Names::new(id, found.title, &found.text);
    let across = Ticked::with(Axis::linear((0.0, count)), Vec::new());
    let across = across.named("block by block".to_owned());
    let panel = Panel::new(110.0, Ticked::scaled(up, found.unit), vec![series]);
    lines::Lines::new(names, class, across, panel).draw()
}

fn counts(counts: IsolationCounts) -> String {
    format!(
        "{} responses, {} failed a check, {} without a response, {} never sent",
        grouped(counts.responses as f64),
        grouped(counts.checks_failed as f64),
        grouped(counts.errors as f64),
        grouped(counts.dropped as f64)
    )
}
