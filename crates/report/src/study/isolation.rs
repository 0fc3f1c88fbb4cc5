//! A test of isolation: a good group beside failing groups.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{IsolationCounts, IsolationFindings, IsolationMeasure};
use gatebench_analysis::words::{capitalised, grouped};

use crate::chapter::{
    Block, Chapter, Chart, Line, Lines, MARKDOWN, PAGE, PANELS, Part, TERMINAL, Text,
};
use crate::palette::Palette;
use crate::plots::pairs;
use crate::verdicts;

const TITLE: &str = "Isolation";

/// The section of docs/METHOD.md that says how it is computed.
const METHOD: &str = "Isolation";

/// How to read it.
const EXPLANATION: &str = "The good group beside failing groups, over the same group beside healthy ones, at the same \
     rates, paired by blocks of fresh processes; beside itself stands the healthy run once more, which is the noise of this \
     machine.";

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
        text: format!(
            "{} Full: beside failing requests; hollow: beside healthy ones.",
            measure.text
        ),
        svg: pairs::plot(&format!("isolation-{index}-{place}"), measure, &class),
        ..Chart::default()
    };
    let (failing, healthy) = (counts(found.beside_failing), counts(found.beside_healthy));
    let brief = |name: &str, counts: &str| Line {
        name: name.to_owned(),
        brief: vec![counts.to_owned()],
        ..Line::default()
    };
    let title = format!("{scenario}: group '{group}' through {}", found.variant);
    let lines = |heads, lines| {
        let (label, first) = (title.clone(), "");
        Block::from(Part::Lines(Lines {
            label,
            first,
            heads,
            lines,
        }))
    };
    let sides = vec![
        brief("beside failing", &failing),
        brief("beside healthy", &healthy),
    ];
    let measures = found.measures.iter().map(line).collect();
    let words = format!(
        ", group '{group}': beside failing requests {failing}; beside healthy ones {healthy}."
    );
    let blocks = vec![
        Block::heading(format!("{TITLE} · {scenario} · group '{group}'")).on(TERMINAL),
        Block::heading(&*title).on(PAGE),
        lines(&[], sides).on(TERMINAL),
        Block::sentence(format!("Beside failing requests: {failing}.")).on(PAGE),
        Block::sentence(format!("Beside healthy ones: {healthy}.")).on(PAGE),
        Block::sentence(Text::with_strong("", scenario, &words)).on(MARKDOWN),
        lines(
            &["failing ÷ healthy", "healthy ÷ itself", "blocks"],
            measures,
        ),
        Block::charts(PANELS, found.measures.iter().enumerate().map(chart)),
    ];
    Block::card("", blocks)
}

fn line(measure: &IsolationMeasure) -> Line {
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
        name: capitalised(measure.title),
        decides: measure.decides,
        verdict: Some([verdicts::word(verdict), verdicts::class(verdict)]),
        brief: vec![
            verdicts::word(verdict).to_owned(),
            ratio.clone(),
            format!("noise {own}"),
        ],
        cells: vec![ratio, own, measure.blocks.len().to_string()],
        ..Line::default()
    }
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
