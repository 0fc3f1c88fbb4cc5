//! The results, scenario by scenario.

use gatebench_report::axis::Axis;
use gatebench_report::chapter::{
    Block, Chapter, Chart, Fact, Fold, Forms, Head, Line, Lines, MARKDOWN, TERMINAL, TableBlock,
    Text,
};
use gatebench_report::chart::dots::{Dots, Row};
use gatebench_report::chart::{Names, Ticked};
use gatebench_report::format::{
    UnitScale, capitalized, counted, ends, grouped, ratio_and_interval, three_figures,
};
use gatebench_report::palette::Palette;
use gatebench_report::{Validity, verdicts};
use gatebench_stats::Estimate;

use super::parts::PartTable;
use super::{parts, table};
use crate::Findings;
use crate::common::facts::{
    ComparisonFindings, ExternalMetricResult, ExternalResults, ExternalThresholdResult, Metric,
    MetricFindings, PhaseKind, ScenarioFindings, Sentence,
};
use crate::common::joined;

/// The maximum number of rows with groups, over all variants, on a terminal and on the page. With
/// many variants, a terminal still shows two groups. The JSON has all groups.
const ROWS_MAX: [usize; 2] = [12, 40];

/// The maximum number of groups of a scenario in Markdown.
const GROUPS_MAX: usize = 8;

/// The maximum number of slowest routes of each variant on a terminal; the page shows all routes of
/// the findings.
const ROUTES_MAX: usize = 5;

/// A table of groups with more rows than this is folded.
const ROWS_OPEN_MAX: usize = 12;

const LEAD: &str = "The figures are medians of the blocks, with their range below: a gateway's \
     throughput, its CPU time per request, and the latency that it adds. Every block starts a \
     fresh gateway process.";

const PROCESS: &str = "Memory is the peak anonymous resident memory (RssAnon) of the gateway's \
     process tree in the last load; start is the time until the gateway is ready.";

/// Shows the table of each scenario, with the further tables and charts that the form has room for.
pub fn chapter(findings: &Findings, form: Forms, palette: &Palette) -> Chapter {
    let mut blocks = vec![Block::lead(LEAD, "Blocks").on(!(TERMINAL | MARKDOWN))];
    for (index, scenario) in findings.scenarios.iter().enumerate() {
        match form {
            TERMINAL => blocks.extend(lines(scenario, palette)),
            MARKDOWN => blocks.extend(comment(scenario, palette)),
            _ => blocks.push(card(index, scenario, findings, palette)),
        }
    }
    Chapter::new("results", "Results", blocks)
}

/// A scenario on a terminal, with the slowest routes of the open load or, if there is none, of the
/// last load.
fn lines(scenario: &ScenarioFindings, palette: &Palette) -> Vec<Block> {
    let block = |table| Block::table(table, "", "", palette);
    let heading = format!("{} · {}", scenario.name, scenario.title);
    let mut blocks = vec![Block::heading(heading), block(table::of(scenario))];
    let variants = scenario.rows.len().max(1);
    let groups = parts::groups(scenario, (ROWS_MAX[0] / variants).max(2));
    let phase = scenario.phase(PhaseKind::Open);
    let phase = phase.or(scenario.phases.last());
    let routes = phase.map(|phase| parts::routes(scenario, &phase.name, ROUTES_MAX));
    for part in groups.into_iter().chain(routes.into_iter().flatten()) {
        let heading = format!("{} · {}", scenario.name, part.title);
        blocks.extend([Block::heading(heading), block(part.table)]);
    }
    blocks
}

/// A scenario in Markdown.
fn comment(scenario: &ScenarioFindings, palette: &Palette) -> Vec<Block> {
    let mut loads = Text::default();
    for (index, phase) in scenario.phases.iter().enumerate() {
        let between = if index == 0 { "" } else { "; " };
        let label = format!(": {}", phase.label);
        loads = loads.and(between).and_strong(&phase.name).and(&label);
    }
    let mut blocks = vec![
        Block::heading(&*scenario.name),
        Block::sentence(&*scenario.title),
        Block::sentence(loads.and(". Median and range of the blocks.")),
        Block::table(table::of(scenario), "variant", "", palette),
    ];
    if !scenario.comparisons.is_empty() {
        blocks.push(verdict_table(scenario).into());
    }
    if let Some(part) = parts::groups(scenario, GROUPS_MAX) {
        let title = format!("{}:", capitalized(&part.title));
        blocks.push(Block::sentence(title));
        let tables = part.table.by_phase().into_iter();
        blocks.extend(tables.map(|it| Block::table(it, "group", "", palette)));
    }
    blocks
}

fn verdict_table(scenario: &ScenarioFindings) -> Lines {
    let line = |found: &ComparisonFindings| {
        let (ratio, interval) = ratio_and_interval(&found.result);
        let load = found.load(scenario);
        let cells = vec![
            format!("{} ÷ {}", found.candidate, found.baseline).into(),
            format!("{}, {load}", found.metric.title()).into(),
            ratio.into(),
            interval.into(),
            found.counted_blocks().into(),
        ];
        Line::new(Text::strong(verdicts::word(found.result.verdict)), cells)
    };
    let heads = Head::row("verdict | compared | metric |> ratio |> interval |> blocks");
    Lines::new("", heads, scenario.comparisons.iter().map(line))
}

/// A scenario on the page.
fn card(
    index: usize,
    scenario: &ScenarioFindings,
    findings: &Findings,
    palette: &Palette,
) -> Block {
    let name = &scenario.name;
    let table = table::whole(scenario);
    let has_process = table::has_process(&table);
    let label = format!("Results of {name}");
    let mut blocks = vec![
        Block::heading(&**name),
        Block::sentence(&*scenario.title),
        TableBlock::new(table, "variant", &label, palette)
            .wide()
            .into(),
    ];
    if has_process {
        blocks.push(Block::foot(PROCESS, ""));
    }
    // A headline is a sentence preceded by the name of its scenario.
    let headline = |known: &Sentence, said: &Sentence| {
        known.scenario == said.scenario && known.text.ends_with(&said.text)
    };
    let is_new = |said: &&Sentence| !findings.headlines.iter().any(|it| headline(it, said));
    let sentences = scenario.sentences.iter().filter(is_new);
    blocks.push(Block::facts("sentences more", sentences.map(Fact::from)));
    let most = ROWS_MAX[1] / scenario.rows.len().max(1);
    blocks.extend(parts::groups(scenario, most).map(|it| groups(name, it, palette)));
    let phases = scenario.phases.iter();
    let routes = phases.flat_map(|phase| parts::routes(scenario, &phase.name, usize::MAX));
    let routes: Vec<Block> = routes.flat_map(|it| part(it, "route", palette)).collect();
    if !routes.is_empty() {
        blocks.push(Fold::new("Slowest routes", routes).into());
    }
    let reported = scenario.external_results.iter();
    blocks.extend(reported.map(|it| external(it, palette)));
    let charts = charts(&format!("s{index}"), scenario, palette);
    if !charts.is_empty() {
        blocks.push(Block::charts("panels wide dots", charts));
        let foot = "Each point is a block, and the tick is their median; a hollow point is invalid and not part \
             of the median.";
        blocks.push(Block::foot(foot, ""));
    }
    Block::card("", blocks)
}

fn part(part: PartTable, first: &'static str, palette: &Palette) -> Vec<Block> {
    let title = capitalized(&part.title);
    let tables = part.table.by_phase().into_iter();
    let mut blocks = vec![Block::heading(&*title)];
    blocks.extend(tables.map(|it| Block::table(it, first, &title, palette)));
    blocks
}

fn groups(scenario: &str, found: PartTable, palette: &Palette) -> Block {
    let title = capitalized(&found.title);
    let is_long = found.table.rows.len() > ROWS_OPEN_MAX;
    let label = format!("Groups of {scenario}");
    let tables = found.table.by_phase().into_iter();
    let tables = tables.map(|it| Block::table(it, "group", &label, palette));
    let mut blocks: Vec<Block> = tables.collect();
    let foot = "Requests, errors and failed checks are sums over all trials; the times are \
         response times.";
    blocks.push(Block::foot(foot, ""));
    if is_long {
        return Fold::new(title, blocks).into();
    }
    blocks.insert(0, Block::heading(title));
    Block::row("part", blocks)
}

/// The checks, thresholds, groups and metrics that an external load generator reported for a
/// script.
fn external(found: &ExternalResults, palette: &Palette) -> Block {
    let crossed = found.thresholds.iter().any(|it| it.crossed > 0);
    let failed = found.checks.iter().any(|check| check.failed > 0);
    let mut blocks = Vec::new();
    if !found.groups.is_empty() {
        let groups = format!("Groups of the script: {}", found.groups.join(", "));
        blocks.push(Block::foot(groups, ""));
    }
    let mut table = |heads: &str, lines: Vec<Line>| {
        let heads = Head::row(heads);
        if !lines.is_empty() {
            let label = format!("{} of {}", heads[0].words, found.variant);
            let lines = Lines::new(label, heads, lines).class("external");
            blocks.push(lines.into());
        }
    };
    let thresholds = found.thresholds.iter().map(threshold).collect();
    table("threshold |> result", thresholds);
    let checks = found.checks.iter().map(|check| {
        let passed = check.passed.map(|passed| grouped(passed as f64));
        let cells = vec![
            passed.as_deref().unwrap_or("–").into(),
            mark(check.failed > 0, &grouped(check.failed as f64)).into(),
        ];
        Line::new(&*check.name, cells)
    });
    table("check |> passed |> failed", checks.collect());
    let metrics = found.metrics.iter().map(external_metric).collect();
    table("metric, in its own unit |> median |> range", metrics);
    let trials = counted(u64::from(found.trials), "trial");
    let fold = Fold {
        aside: format!("reported by {} · {} · {trials}", found.engine, found.phase),
        class: palette.class(&found.variant),
        key: true,
        is_open: crossed || failed,
        ..Fold::new(&*found.variant, blocks)
    };
    fold.into()
}

fn mark(is_failed: bool, words: &str) -> Text {
    Text::chip(if is_failed { "failed" } else { "passed" }, words)
}

fn threshold(found: &ExternalThresholdResult) -> Line {
    let (held, crossed) = (found.held, found.crossed);
    let words = match (held, crossed) {
        (_, 0) => "passed".to_owned(),
        (0, _) => "crossed".to_owned(),
        _ => format!("crossed in {crossed} of {} trials", held + crossed),
    };
    Line::new(&*found.name, vec![mark(crossed > 0, &words).into()])
}

fn external_metric(found: &ExternalMetricResult) -> Line {
    let name = Text::from(format!("{} ", found.name)).and_styled("absent", &found.statistic);
    let (median, range) = (number(found.estimate.median), range(&found.estimate));
    Line::new(name, vec![median.into(), range.into()])
}

fn range(estimate: &Estimate) -> String {
    match estimate.blocks > 1 && estimate.min < estimate.max {
        true => ends(&number(estimate.min), &number(estimate.max)),
        false => String::new(),
    }
}

/// Formats a whole number without decimals, and any other number as [`three_figures`] does. The
/// unit is the script's own.
fn number(value: f64) -> String {
    match value.fract() == 0.0 {
        true => grouped(value),
        false => three_figures(value),
    }
}

/// The metrics that are drawn for a phase: throughput for a closed load, CPU time for any other
/// load (and for a closed load if there is no open one), and added latency for an open load.
fn drawn(kind: PhaseKind, has_open: bool) -> &'static [(Metric, &'static str, &'static str)] {
    const LESS: &str = "lower is better";
    static DRAWN: [(Metric, &str, &str); 4] = [
        (Metric::Throughput, "Throughput", "higher is better"),
        (
            Metric::GatewayCpuPerRequest,
            "Gateway CPU per request",
            LESS,
        ),
        (Metric::AddedP50, "Added latency, p50", LESS),
        (Metric::AddedP99, "Added latency, p99", LESS),
    ];
    match (kind, has_open) {
        (PhaseKind::Closed, true) => &DRAWN[..1],
        (PhaseKind::Closed, false) => &DRAWN[..2],
        (PhaseKind::Paced | PhaseKind::SideBySide, _) => &DRAWN[1..2],
        (PhaseKind::Open, _) => &DRAWN[1..],
    }
}

fn charts(anchor: &str, scenario: &ScenarioFindings, palette: &Palette) -> Vec<Chart> {
    let has_open = scenario.has_open();
    let mut charts = Vec::new();
    for phase in &scenario.phases {
        for (metric, title, good) in drawn(phase.kind, has_open) {
            let rows = scenario.rows.iter().filter_map(|row| {
                let found = row.metric_in(&phase.name, *metric)?;
                Some((&*row.variant, found))
            });
            let rows: Vec<(&str, &MetricFindings)> = rows.collect();
            let id = format!("{anchor}-d{}", charts.len());
            let Some(svg) = dots(&id, title, &rows, palette) else {
                continue;
            };
            let aside = format!("{} · {good}", phase.label);
            charts.push(Chart::new(*title, svg).aside(aside));
        }
    }
    charts
}

fn dots(
    id: &str,
    title: &str,
    found: &[(&str, &MetricFindings)],
    palette: &Palette,
) -> Option<String> {
    let unit = found.first()?.1.unit;
    let blocks = found.iter().flat_map(|(_, found)| &found.blocks);
    let values = blocks.map(|it| it.value).filter(|it| it.is_finite());
    let axis = Axis::from_zero(values.fold(0.0, f64::max));
    let medians = found.iter().filter_map(|(_, it)| it.estimate.as_ref());
    let scale = UnitScale::of_all(medians.map(|it| it.median), unit);
    let words = |(variant, found): &(&str, &MetricFindings)| match &found.estimate {
        Some(it) => format!(
            "{variant}: median {}, blocks from {} to {}.",
            scale.full(it.median),
            scale.full(it.min),
            scale.full(it.max)
        ),
        None => format!("{variant}: no valid block."),
    };
    let row = |(variant, found): &(&str, &MetricFindings)| dot_row(variant, found, scale, palette);
    let dots = Dots {
        names: Names::new(id, title, joined(found.iter().map(words), " ")),
        across: Ticked::scaled(axis, unit),
        rows: found.iter().map(row).collect(),
    };
    Some(dots.draw())
}

fn dot_row(variant: &str, found: &MetricFindings, scale: UnitScale, palette: &Palette) -> Row {
    let median = found.estimate.as_ref().map(|it| it.median);
    let mark = found.validity.mark();
    let blocks = found.blocks.iter().filter(|it| it.value.is_finite());
    let dots = blocks.map(|it| {
        let (style, note) = match it.validity {
            Validity::Invalid => ("dot hollow", ", invalid"),
            Validity::Valid | Validity::Limited => ("dot", ""),
        };
        let tip = format!("block {}: {}{note}", it.block, scale.full(it.value));
        (it.value, style, tip)
    });
    Row {
        class: palette.class(variant),
        name: variant.to_owned(),
        which: "",
        span: median.map(|it| (0.0, it)),
        dots: dots.collect(),
        median,
        value: match median {
            Some(median) => format!("{}{mark}", scale.full(median)),
            None => "invalid".to_owned(),
        },
    }
}
