//! The report of a comparison of two runs, or of a run and its baseline.

use gatebench_report::chapter::{
    Block, Chapter, Document, Entry, Fact, Forms, Head, Line, Lines, MARKDOWN, PAGE, Part, Report,
    TERMINAL, Text,
};
use gatebench_report::chart::forest::{Forest, Point};
use gatebench_report::format::{
    UnitScale, capitalized, counted, distinct, instant, ratio_and_interval,
};
use gatebench_report::palette::Palette;
use gatebench_report::{Tone, verdicts};
use gatebench_stats::Verdict;

use super::facts::{
    CellFindings, CompareFindings, CompareMode, Control, Place, RunDifference, RunLine, Weight,
};
use crate::common::by_key;

/// The sections of docs/METHOD.md that describe the comparison.
const METHODS: [&str; 2] = ["Comparing runs", "Validity"];

const DIFFERENCES: &str = "What differs besides the figures";

impl Report for CompareFindings {
    fn document(&self, form: Forms) -> Document {
        let mut chapters = vec![response(self)];
        if !self.differences.is_empty() {
            chapters.push(differences(self));
        }
        chapters.extend([figures(self), runs(self)]);
        let foot = match form {
            PAGE => Text::from("Written by ")
                .and_styled("mono", "gatebench compare")
                .and(" from the run directories."),
            _ => format!("{} The metric in bold decides.", explanation(self.mode)).into(),
        };
        Document {
            brand: "compare".to_owned(),
            title: title(self),
            chapters: chapters.into_iter().map(|it| it.only(form)).collect(),
            methods: METHODS.into(),
            foot,
            gatebench: self.candidate.gatebench.clone(),
            ..Document::default()
        }
    }
}

fn response(found: &CompareFindings) -> Chapter {
    let title = title(found);
    let mark = found.decision.mark();
    let notes = found.notes.iter();
    let notes = notes.map(|it| Fact::of(&*it.text, Tone::Caution));
    let headline = Part::Headline(Fact::of(&*found.text, found.decision.tone()));
    let response = vec![
        Block::from(headline).on(TERMINAL | PAGE),
        Block::facts("sentences", notes),
    ];
    let blocks = vec![
        Block::from(Part::Title(format!("gatebench compare · {title}").into())).on(TERMINAL),
        Block::heading(format!("{mark} {}", found.text)).on(MARKDOWN),
        Block::sentence(format!("{title}.")).on(MARKDOWN),
        Block::card("", response),
    ];
    Chapter::new("findings", "Findings", blocks)
}

fn differences(found: &CompareFindings) -> Chapter {
    let fact = |it: &RunDifference| {
        let words = format!(
            "{}: {} → {} ({})",
            it.what,
            shown(&it.baseline),
            shown(&it.candidate),
            weight(it.weight)
        );
        match it.weight {
            Weight::Forbids => Fact::of(words, Tone::Alarm),
            Weight::LeavesOut | Weight::Caution => Fact::of(words, Tone::Caution),
            Weight::Subject => Fact::of(words, Tone::Plain),
            Weight::Noted => Fact::remark(words),
        }
    };
    let line = |it: &RunDifference| {
        let cells = [&*it.what, shown(&it.baseline), shown(&it.candidate)];
        Line::new(weight(it.weight), cells.map(Entry::from).into())
    };
    let heads = Head::row("| difference | baseline | candidate");
    let lines = Lines::new("Differences", heads, found.differences.iter().map(line));
    let blocks = vec![
        Block::heading(DIFFERENCES).on(TERMINAL),
        Block::facts("", found.differences.iter().map(fact)).on(TERMINAL),
        Block::card("", vec![lines.into()]).on(MARKDOWN | PAGE),
    ];
    Chapter::new("differences", "What differs", blocks).headed(DIFFERENCES)
}

fn figures(found: &CompareFindings) -> Chapter {
    let gateways = found.cells.iter().map(|it| &it.place);
    let gateways = gateways.filter(|it| it.control != Some(Control::Direct));
    let palette = &Palette::of_labels(&distinct(gateways.map(|it| &*it.gateway)));
    let scenarios = by_key(found.cells.iter().map(|it| (&*it.place.scenario, it)));
    let card = |(at, (name, cells)): (usize, (&str, Vec<&CellFindings>))| {
        Block::card(
            "",
            vec![
                Block::heading(name).on(TERMINAL | PAGE),
                Block::sentence(Text::strong(name)).on(MARKDOWN),
                short(found.mode, &cells).on(TERMINAL),
                comment(found.mode, &cells).on(MARKDOWN),
                plots(found.mode, at, name, &cells, palette).on(PAGE),
                foot(found.mode, &cells).on(PAGE),
            ],
        )
    };
    let mut blocks: Vec<Block> = scenarios.into_iter().enumerate().map(card).collect();
    if !blocks.is_empty() {
        blocks.push(Block::foot(explanation(found.mode), "").on(TERMINAL));
    }
    Chapter::new("figures", "Figures", blocks)
}

/// The cells on a terminal.
fn short(mode: CompareMode, cells: &[&CellFindings]) -> Block {
    let line = |cell: &&CellFindings| {
        let words = Row::of(cell, mode);
        let cells = vec![
            words.metric.into(),
            words.baseline.into(),
            words.candidate.into(),
            verdicts::ratio(&cell.result).into(),
            words.verdict.into(),
        ];
        Line::new(words.gateway, cells)
    };
    let heads = Head::row("gateway | metric | baseline | candidate | ratio | verdict");
    Lines::new("", heads, cells.iter().map(line)).into()
}

/// The cells in Markdown.
fn comment(mode: CompareMode, cells: &[&CellFindings]) -> Block {
    let line = |cell: &&CellFindings| {
        let words = Row::of(cell, mode);
        let metric = format!("{} at {}", words.metric, cell.place.load);
        let cells = vec![
            Text::from(metric).strong_if(cell.place.primary).into(),
            words.baseline.into(),
            words.candidate.into(),
            words.ratio.into(),
            shown(&words.interval).into(),
            words.verdict.into(),
            words.count.into(),
        ];
        Line::new(words.gateway, cells)
    };
    let heads = "gateway|metric|> baseline|> candidate|> ratio|> interval|verdict|> blocks";
    Lines::new("", Head::row(heads), cells.iter().map(line)).into()
}

/// The cells on the page, grouped by metric on one axis of ratios.
fn plots(
    mode: CompareMode,
    at: usize,
    name: &str,
    cells: &[&CellFindings],
    palette: &Palette,
) -> Block {
    let effect = cells.first().map_or(0.0, |it| it.smallest_effect);
    let forest = Forest::covering(effect, cells.iter().map(|it| &it.result));
    let of_metric = |it: &CellFindings| {
        let place = &it.place;
        (place.primary, place.metric, place.phase.clone())
    };
    let line = |(index, cell): (usize, &&CellFindings)| {
        let words = Row::of(cell, mode);
        let is_first = index == 0 || of_metric(cells[index - 1]) != of_metric(cell);
        let Place { gateway, load, .. } = &cell.place;
        let decides = cells.iter().any(|it| {
            let is_gateway = it.place.control != Some(Control::Direct);
            it.place.primary && is_gateway && of_metric(it) == of_metric(cell)
        });
        let decides = if decides { " · decides" } else { "" };
        let above = match is_first {
            true => Text::strong(&words.metric).and(&format!(" · {load}{decides}")),
            false => Text::default(),
        };
        let class = palette.class(gateway);
        let point = Point {
            title: &format!("{gateway}: candidate ÷ baseline"),
            text: &cell.text,
            result: &cell.result,
            noise: None,
        };
        let svg = forest.point(&format!("c{at}-{index}"), &point, &class);
        let chip = match (cell.result.verdict, cell.place.control) {
            (Verdict::Better | Verdict::Worse, Some(_)) => "limited",
            (verdict, _) => verdicts::class(verdict),
        };
        let cells = vec![
            Text::chip(chip, words.verdict).into(),
            Text::styled("median", &words.ratio).into(),
            words.interval.into(),
            Entry::plot(svg),
            words.baseline.into(),
            words.candidate.into(),
            words.count.into(),
        ];
        Line {
            above,
            class,
            hint: cell.text.clone(),
            ..Line::new(words.gateway, cells)
        }
    };
    let heads = "gateway|verdict|> ratio|> interval|>|> baseline|> candidate|> blocks";
    let label = format!("Comparison of {name}");
    let lines = Lines {
        class: "verdicts runs",
        axis: Some((4, forest.ticks(&format!("c{at}-ticks")))),
        ..Lines::new(label, Head::row(heads), cells.iter().enumerate().map(line))
    };
    lines.into()
}

fn foot(mode: CompareMode, cells: &[&CellFindings]) -> Block {
    let effect = cells.first().map_or(0.0, |it| it.smallest_effect) * 100.0;
    let words = format!(
        "{} Within the shaded ±{effect} %, a difference does not matter. Variants that are unchanged, or have no \
         gateway, show the noise of the machine.",
        explanation(mode)
    );
    Block::foot(words, METHODS[0])
}

fn runs(found: &CompareFindings) -> Chapter {
    let term = |role: &str, run: &RunLine| {
        let created = instant(&run.created);
        let facts = format!(
            "{} · {} · {created} · {}",
            run.name,
            run.suite,
            counted(run.blocks.into(), "block")
        );
        [role.to_owned(), facts]
    };
    let mut terms = vec![term("candidate", &found.candidate)];
    terms.extend(found.baseline.iter().map(|it| term("baseline", it)));
    let card = Block::card("", vec![Part::Terms { terms }.into()]).on(PAGE);
    Chapter::new("runs", "Runs", vec![card])
}

/// The title: `CANDIDATE against BASELINE`, or in [`CompareMode::Runs`] `CANDIDATE against a
/// baseline of N`.
fn title(found: &CompareFindings) -> String {
    let baseline: Vec<&str> = found.baseline.iter().map(|run| run.name.as_str()).collect();
    let against = match (found.mode, baseline.as_slice()) {
        (CompareMode::Blocks, [one]) => (*one).to_owned(),
        (_, runs) => format!("a baseline of {}", runs.len()),
    };
    format!("{} against {against}", found.candidate.name)
}

/// The meaning of the intervals, for readers who do not know the method.
fn explanation(mode: CompareMode) -> &'static str {
    match mode {
        CompareMode::Blocks => {
            "Candidate ÷ baseline. The interval contains the true ratio of these two runs in 95 of \
             100 cases (Welch, on the logarithms of the blocks, widened for the number of \
             comparisons)."
        }
        CompareMode::Runs => {
            "Candidate ÷ the baseline's mean. The width of the interval reflects the differences \
             among the baseline's runs: without a change, at most 5 of 100 runs have an \
             interval that excludes 1 (prediction interval, widened for the number of \
             comparisons)."
        }
    }
}

struct Row {
    gateway: String,
    metric: String,
    baseline: String,
    candidate: String,
    ratio: String,
    interval: String,
    verdict: &'static str,
    count: String,
}

impl Row {
    fn of(found: &CellFindings, mode: CompareMode) -> Self {
        let (ratio, interval) = ratio_and_interval(&found.result);
        let medians = [found.baseline.median, found.candidate.median];
        let scale = UnitScale::of_all(medians, found.place.unit);
        let limited = found.validity.mark();
        let role = match found.place.control {
            None => "",
            Some(Control::SameGateway) => " (unchanged)",
            Some(Control::Direct) => " (no gateway)",
        };
        let blocks = [found.baseline.blocks, found.candidate.blocks];
        Self {
            gateway: format!("{}{role}", found.place.gateway),
            metric: capitalized(found.place.metric.title()),
            baseline: scale.full(medians[0]),
            candidate: scale.full(medians[1]),
            ratio,
            interval,
            verdict: verdict(found, mode),
            count: format!("{} / {}{limited}", blocks[0], blocks[1]),
        }
    }
}

/// The verdict on a control describes the machine.
fn verdict(found: &CellFindings, mode: CompareMode) -> &'static str {
    match (found.result.verdict, found.place.control, mode) {
        (Verdict::Better | Verdict::Worse, Some(_), _) => "moved",
        (Verdict::NoChange, Some(_), _) => "still",
        (Verdict::TooFewBlocks { .. }, _, CompareMode::Runs) => "too few runs",
        (verdict, _, _) => verdicts::word(verdict),
    }
}

fn weight(weight: Weight) -> &'static str {
    match weight {
        Weight::Forbids => "cannot be compared",
        Weight::LeavesOut => "left out",
        Weight::Caution => "caution",
        Weight::Subject => "changed",
        Weight::Noted => "differs",
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "–" } else { value }
}
