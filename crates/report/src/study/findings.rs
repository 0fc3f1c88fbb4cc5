//! The findings: the head of a report, its sentences and verdicts, and what limits them.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{
    AbTestFindings, ComparisonFindings, Interval, RunFacts, ScenarioFindings, Sentence, Status,
    Tone, Validity,
};
use gatebench_analysis::format::{capitalised, metric_title, ratio_and_interval};

use crate::chapter::{
    Block, Chapter, Entry, Fact, Fold, Forms, Head, Line, Lines, MARKDOWN, Note, PAGE, Part, Place,
    TERMINAL, Text,
};
use crate::chart::forest::{Forest, Point};
use crate::palette::Palette;
use crate::problems::{Problem, Repeated, failures_once, problems, word};
use crate::{facts, verdicts};

/// The title, and for a terminal the facts of the run.
pub fn masthead(run: &RunFacts) -> Chapter {
    let status = match run.status {
        Status::Finished => String::new(),
        status => format!("{} · ", facts::status(status)),
    };
    let words = format!(
        "{status}{} · {} · seed {} · {} · {}",
        facts::blocks(run),
        facts::trials(run),
        run.seed,
        run.engine_backend,
        facts::placement(&run.placement),
    );
    let title = format!("gatebench · {}", run.title);
    let blocks = vec![
        Block::from(Part::Title(title.into())).on(TERMINAL),
        Block::sentence(words).on(TERMINAL),
        Block::from(Part::Title(run.title.as_str().into())).on(MARKDOWN),
    ];
    Chapter {
        blocks,
        ..Chapter::default()
    }
}

/// The sentences, and the verdicts that they rest on, which Markdown has among the results.
pub fn chapter(findings: &Findings, palette: &Palette) -> Chapter {
    let mut sentences = findings.headlines.iter().map(fact).peekable();
    let mut blocks = Vec::new();
    if sentences.peek().is_some() {
        blocks.push(Block::heading("Findings").on(TERMINAL));
        let all = findings.headlines.iter().map(fact);
        blocks.push(Block::facts("", all).on(TERMINAL | MARKDOWN));
    }
    let none = || Fact::of("No finding: no trial was completed.", Tone::Plain);
    let headline = sentences.next().unwrap_or_else(none);
    let answer = vec![
        Part::Headline(headline).into(),
        Block::facts("sentences", sentences),
    ];
    blocks.push(Block::card("", answer).on(PAGE));
    let scenarios = findings.scenarios.iter().enumerate();
    blocks.extend(scenarios.filter_map(|(index, scenario)| {
        let forest = forest(index, scenario, findings.ab_test.as_ref(), palette)?;
        Some(forest.on(PAGE))
    }));
    Chapter::new("findings", "Findings", blocks)
}

/// A sentence of the analysis.
pub fn fact(sentence: &Sentence) -> Fact {
    Fact::of(&*sentence.text, sentence.tone)
}

/// Failed trials, what limits the results, and remarks.
pub fn limits(findings: &Findings, form: Forms, palette: &Palette) -> Chapter {
    let notes = findings.notes.iter().map(|it| Fact::remark(&**it));
    let has_failures = !findings.failures.is_empty();
    let failures = failures_once(&findings.failures);
    let failures = failures.iter().map(|it| failure(it, form));
    let problems = problems(findings);
    let has_problems = !problems.is_empty();
    let problems = problems.iter().map(|it| problem(it, palette));
    let mut blocks = Vec::new();
    if form == PAGE {
        let is_limit = |it: &Note| it.word == word(Validity::Limited);
        let (limits, others): (Vec<_>, Vec<_>) = problems.partition(is_limit);
        blocks.push(Block::facts("notes", notes));
        blocks.push(Block::notes(failures));
        blocks.push(Block::notes(others));
        if !limits.is_empty() {
            let count = limits.len();
            let fold = Fold {
                summary: format!("What limits these figures, and what to do about it ({count})"),
                class: "problem limited".to_owned(),
                is_card: true,
                blocks: vec![Block::notes(limits)],
                ..Fold::default()
            };
            blocks.push(Part::Fold(fold).into());
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
    Chapter {
        blocks,
        ..Chapter::default()
    }
}

fn failure(repeated: &Repeated<'_>, form: Forms) -> Note {
    let failure = repeated.failure;
    let phase = match &failure.phase {
        Some(phase) if form == PAGE => format!(", phase {phase}"),
        _ => String::new(),
    };
    Note {
        word: "failed",
        places: vec![Place {
            class: String::new(),
            subject: failure.variant.clone(),
            place: format!("{}, {}{phase}", failure.scenario, repeated.blocks()),
            message: failure.culprit.clone(),
        }],
        reason: Some(failure.reason.clone()),
        remedy: failure.remedy.clone(),
    }
}

fn problem(problem: &Problem<'_>, palette: &Palette) -> Note {
    let places = problem.sightings.iter().map(|it| Place {
        class: palette.class(it.variant),
        subject: it.variant.to_owned(),
        place: it.place(),
        message: it.message.to_owned(),
    });
    Note {
        word: word(problem.validity),
        places: places.collect(),
        reason: None,
        remedy: problem.remedy.to_owned(),
    }
}

/// The comparisons of a scenario on one axis of ratios; none where it has none.
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
        let is_same =
            |it: &ComparisonFindings| (it.metric, &it.phase) == (found.metric, &found.phase);
        let is_first = number == 0 || !is_same(&all[number - 1]);
        let noise = noise(ab_test, all, found);
        let line = line(
            &format!("v{index}-{number}"),
            (found, noise),
            &forest,
            palette,
        );
        Line {
            above: if is_first {
                above(scenario, found)
            } else {
                Text::default()
            },
            ..line
        }
    };
    let title = format!("Verdicts: {}", scenario.name);
    let lines = Lines {
        label: format!("Verdicts of {}", scenario.name),
        class: "verdicts",
        heads: vec![
            Head::text("compared"),
            Head::text("verdict"),
            Head::number("ratio"),
            Head::number("interval"),
            Head::number(""),
            Head::number("confidence"),
            Head::number("blocks"),
        ],
        lines: all.iter().enumerate().map(line).collect(),
        axis: Some((4, forest.ticks(&format!("v{index}-ticks")))),
    };
    let limited = match all.iter().any(|it| it.validity == Validity::Limited) {
        true => " * some of these blocks are limited; the reasons stand below.",
        false => "",
    };
    let (noise, method) = match all.iter().any(|found| is_noise(ab_test, found)) {
        true => (
            " The dashed box is what the baseline differs by from itself: the noise of this \
             machine.",
            "Two beside each other",
        ),
        false => ("", "Blocks"),
    };
    let foot = format!(
        "Ratios of the blocks on a logarithmic axis, the first named over the second; within the \
         shaded ±{} % a difference does not matter.{limited}{noise}",
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
    let primary = if found.primary {
        " · the primary metric"
    } else {
        ""
    };
    Text::strong(&capitalised(metric_title(found.metric)))
        .and(&format!(" · {}{primary}", verdicts::load(scenario, found)))
}

fn line(
    id: &str,
    (found, noise): (&ComparisonFindings, Option<Interval>),
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
    Line {
        cells: vec![
            verdicts::chip(found.result.verdict).into(),
            Text::styled("median", &ratio).into(),
            interval.into(),
            Entry::plot(forest.point(id, &point, &class)),
            confidence.unwrap_or_default().into(),
            verdicts::blocks(found).into(),
        ],
        name: title.into(),
        class,
        hint: found.text.clone(),
        ..Line::default()
    }
}

/// Reports whether it is a baseline next to its other self, which shows the noise of the machine.
fn is_noise(ab_test: Option<&AbTestFindings>, found: &ComparisonFindings) -> bool {
    ab_test.is_some_and(|ab_test| {
        found.candidate == ab_test.baseline && found.baseline == ab_test.again
    })
}

/// The interval of the baseline of a comparison against its other self, if it was measured twice.
fn noise(
    ab_test: Option<&AbTestFindings>,
    all: &[ComparisonFindings],
    found: &ComparisonFindings,
) -> Option<Interval> {
    let of_same = |it: &&ComparisonFindings| it.metric == found.metric && it.phase == found.phase;
    let twice = all
        .iter()
        .filter(of_same)
        .find(|it| is_noise(ab_test, it))?;
    (!is_noise(ab_test, found)).then_some(twice.result.interval)?
}
