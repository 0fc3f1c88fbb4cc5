//! The findings in a report: the sentences, the verdicts, and their limits.

use gatebench_report::chapter::{
    Block, Chapter, Entry, Fact, Fold, Forms, Head, Line, Lines, MARKDOWN, Note, PAGE, Part,
    TERMINAL, Text,
};
use gatebench_report::chart::forest::{Forest, Point};
use gatebench_report::format::{capitalized, ratio_and_interval};
use gatebench_report::palette::Palette;
use gatebench_report::{Tone, Validity, verdicts};
use gatebench_stats::Interval;

use super::problems::{failures, problems};
use crate::Findings;
use crate::ab::facts::AbTestFindings;
use crate::common::facts::{ComparisonFindings, ScenarioFindings};

/// Returns the sentences and, on the page, the verdicts that they rest on. Markdown shows the
/// verdicts with the results instead.
pub fn chapter(findings: &Findings, palette: &Palette) -> Chapter {
    let mut sentences = findings.headlines.iter().map(Fact::from).peekable();
    let mut blocks = Vec::new();
    if sentences.peek().is_some() {
        blocks.push(Block::heading("Findings").on(TERMINAL));
        let all = findings.headlines.iter().map(Fact::from);
        blocks.push(Block::facts("", all).on(TERMINAL | MARKDOWN));
    }
    let none = || Fact::of("No finding: no trial was completed.", Tone::Plain);
    let headline = sentences.next().unwrap_or_else(none);
    let response = vec![
        Part::Headline(headline).into(),
        Block::facts("sentences", sentences),
    ];
    blocks.push(Block::card("", response).on(PAGE));
    let ab_test = findings.study.of::<AbTestFindings>();
    let scenarios = findings.scenarios.iter().enumerate();
    blocks.extend(scenarios.filter_map(|(index, scenario)| {
        let forest = forest(index, scenario, ab_test, palette)?;
        Some(forest.on(PAGE))
    }));
    Chapter::new("findings", "Findings", blocks)
}

/// Failed trials, the limits of the results, and remarks.
pub fn limits(findings: &Findings, form: Forms, palette: &Palette) -> Chapter {
    let notes = findings.notes.iter().map(|it| Fact::remark(&**it));
    let has_failures = !findings.failures.is_empty();
    let failures = failures(&findings.failures, form);
    let problems = problems(&findings.scenarios, palette);
    let has_problems = !problems.is_empty();
    let problems = problems.into_iter().map(|(_, note)| note);
    let mut blocks = Vec::new();
    if form == PAGE {
        let is_limit = |it: &Note| it.word == Validity::Limited.word();
        let (limits, others): (Vec<_>, Vec<_>) = problems.partition(is_limit);
        blocks.push(Block::facts("notes", notes));
        blocks.push(Block::notes(failures));
        blocks.push(Block::notes(others));
        if !limits.is_empty() {
            let count = limits.len();
            let summary = format!("What limits these figures, and what to do about it ({count})");
            let fold = Fold {
                class: "problem limited".to_owned(),
                is_card: true,
                ..Fold::new(summary, vec![Block::notes(limits)])
            };
            blocks.push(fold.into());
        }
    } else {
        let title = match form {
            TERMINAL => "Failed trials",
            _ => "Failures",
        };
        let mut titled = |title: &str, has_any: bool, block: Block| {
            if has_any {
                blocks.extend([Block::heading(title), block]);
            }
        };
        titled(title, has_failures, Block::notes(failures));
        titled("Validity", has_problems, Block::notes(problems));
        let has_notes = !findings.notes.is_empty();
        titled("Notes", has_notes, Block::facts("", notes));
    }
    Chapter::of(blocks)
}

/// Failed trials and invalid figures with their remedies, for a terminal; empty if there are none.
pub fn failed_or_invalid(findings: &Findings, palette: &Palette) -> Vec<Block> {
    let mut notes = failures(&findings.failures, TERMINAL);
    let problems = problems(&findings.scenarios, palette).into_iter();
    let invalid = problems.filter(|(validity, _)| *validity == Validity::Invalid);
    notes.extend(invalid.map(|(_, note)| note));
    match notes.is_empty() {
        true => Vec::new(),
        false => vec![Block::heading("Problems"), Block::notes(notes)],
    }
}

/// The comparisons of a scenario on one axis of ratios; `None` if there are no comparisons.
fn forest(
    index: usize,
    scenario: &ScenarioFindings,
    ab_test: Option<&AbTestFindings>,
    palette: &Palette,
) -> Option<Block> {
    let all = &scenario.comparisons;
    let effect = all.first()?.smallest_effect;
    let forest = Forest::covering(effect, all.iter().map(|it| &it.result));
    let line = |(number, found): (usize, &ComparisonFindings)| {
        let is_first = number == 0 || !is_same(&all[number - 1], found);
        let noise = noise(ab_test, all, found);
        let id = format!("v{index}-{number}");
        Line {
            above: match is_first {
                true => above(scenario, found),
                false => Text::default(),
            },
            ..line(&id, found, noise, &forest, palette)
        }
    };
    let title = format!("Verdicts: {}", scenario.name);
    let heads = Head::row("compared|verdict|> ratio|> interval|>|> confidence|> blocks");
    let label = format!("Verdicts of {}", scenario.name);
    let lines = Lines {
        class: "verdicts",
        axis: Some((4, forest.ticks(&format!("v{index}-ticks")))),
        ..Lines::new(label, heads, all.iter().enumerate().map(line))
    };
    let limited = match all.iter().any(|it| it.validity == Validity::Limited) {
        true => " * some of these blocks are limited; the reasons are listed below.",
        false => "",
    };
    let (noise, method) = match all.iter().any(|found| is_noise(ab_test, found)) {
        true => (
            " The dashed box is the difference of the baseline from itself: the noise of this \
             machine.",
            "Comparing two gateways",
        ),
        false => ("", "Blocks"),
    };
    let foot = format!(
        "The ratios of the blocks are drawn on a logarithmic axis; each is the figure of the \
         gateway named first divided by that of the one named second. Within the shaded ±{} %, a \
         difference does not matter.{limited}{noise}",
        effect * 100.0
    );
    let blocks = vec![
        Block::heading(title),
        lines.into(),
        Block::foot(foot, method),
    ];
    Some(Block::card("", blocks))
}

fn above(scenario: &ScenarioFindings, found: &ComparisonFindings) -> Text {
    let load = found.load(scenario);
    let load = match found.primary {
        true => format!(" · {load} · the primary metric"),
        false => format!(" · {load}"),
    };
    Text::strong(&capitalized(found.metric.title())).and(&load)
}

fn line(
    id: &str,
    found: &ComparisonFindings,
    noise: Option<Interval>,
    forest: &Forest,
    palette: &Palette,
) -> Line {
    let class = palette.class(&found.candidate);
    let (ratio, interval) = ratio_and_interval(&found.result);
    let title = format!("{} ÷ {}", found.candidate, found.baseline);
    let point = Point {
        title: &title,
        text: &found.text,
        result: &found.result,
        noise,
    };
    let confidence = found.result.interval.map(|it| it.confidence);
    let confidence = confidence.map(|share| format!("{:.1} %", share * 100.0));
    let cells = vec![
        verdicts::chip(found.result.verdict).into(),
        Text::styled("median", &ratio).into(),
        interval.into(),
        Entry::plot(forest.point(id, &point, &class)),
        confidence.unwrap_or_default().into(),
        found.counted_blocks().into(),
    ];
    Line {
        class,
        hint: found.text.clone(),
        ..Line::new(title, cells)
    }
}

fn is_noise(ab_test: Option<&AbTestFindings>, found: &ComparisonFindings) -> bool {
    ab_test.is_some_and(|it| found.is_of(&it.baseline, &it.again))
}

/// The interval of the comparison of the baseline with its second process, on the same metric in
/// the same phase. `None` if that comparison has no interval, or if `found` is that comparison.
fn noise(
    ab_test: Option<&AbTestFindings>,
    all: &[ComparisonFindings],
    found: &ComparisonFindings,
) -> Option<Interval> {
    let mut of_same = all.iter().filter(|it| is_same(it, found));
    let twice = of_same.find(|it| is_noise(ab_test, it))?;
    (!is_noise(ab_test, found)).then_some(twice.result.interval)?
}

fn is_same(one: &ComparisonFindings, other: &ComparisonFindings) -> bool {
    (one.metric, &one.phase) == (other.metric, &other.phase)
}
