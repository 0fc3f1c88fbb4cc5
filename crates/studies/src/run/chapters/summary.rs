//! The first screen: for each scenario, a table, a sentence on its meaning, and one on how far to
//! trust it.

use gatebench_model::Variant;
use gatebench_report::chapter::{
    Block, Chapter, Fact, Fold, Forms, MARKDOWN, PAGE, Part, TERMINAL, TableBlock, Text,
};
use gatebench_report::format::{UnitScale, distinct};
use gatebench_report::palette::Palette;
use gatebench_report::table::{Cell, Lane, Lanes, Row, Table};
use gatebench_report::{Tone, Validity};
use gatebench_stats::Estimate;

use super::findings;
use crate::Findings;
use crate::common::facts::{Metric, ScenarioFindings, ScenarioSummary, SummaryColumn, VariantRow};

/// The maximum number of scenarios that fit in a comment on a pull request; the others are folded.
const UNFOLDED_MAX: usize = 4;

/// The label of the embedded reference gateway.
const REFERENCE: &str = "reference";

pub fn has(findings: &Findings) -> bool {
    findings.scenarios.iter().any(|it| it.summary.is_some())
}

pub fn chapter(findings: &Findings, form: Forms, palette: &Palette) -> Chapter {
    let mut cards = Vec::new();
    for scenario in &findings.scenarios {
        if let Some(summary) = &scenario.summary {
            cards.push(Block::card("", blocks(scenario, summary, palette)));
        }
    }
    if form == MARKDOWN && cards.len() > UNFOLDED_MAX {
        let rest = cards.split_off(UNFOLDED_MAX);
        let words = format!("{} more scenarios", rest.len());
        let markdown = words.clone();
        cards.push(Block::from(Fold {
            markdown,
            ..Fold::new(words, rest)
        }));
    }
    if form != TERMINAL {
        cards.push(Block::sentence(legend(findings).trim_end()));
    }
    let chapter = Chapter::new("summary", "Summary", cards);
    match form {
        PAGE => chapter,
        _ => chapter.headed(""),
    }
}

fn blocks(scenario: &ScenarioFindings, summary: &ScenarioSummary, palette: &Palette) -> Vec<Block> {
    let title = format!("{} · {}", scenario.name, scenario.title);
    let table = TableBlock::new(
        table(scenario, summary),
        "gateway",
        &format!("Summary of {}", scenario.name),
        palette,
    );
    vec![
        Block::heading(title),
        Part::Headline(Fact::of(Text::strong(&summary.meaning), summary.tone)).into(),
        Block::sentence(&*summary.trust),
        table.summary().into(),
    ]
}

/// The alarms below the first screen on a terminal: failed trials and invalid figures with their
/// remedies or, if there are none, the alarms among the findings. The last line states how to see
/// everything else.
pub fn alarms(run: &Findings, palette: &Palette) -> Chapter {
    let mut blocks = findings::failed_or_invalid(run, palette);
    if blocks.is_empty() {
        let alarms = run.headlines.iter().filter(|it| it.tone == Tone::Alarm);
        let alarms: Vec<_> = alarms.map(Fact::from).collect();
        if !alarms.is_empty() {
            blocks = vec![Block::heading("Problems"), Block::facts("", alarms)];
        }
    }
    let rows = run.scenarios.iter().flat_map(|it| &it.rows);
    let notes = rows.filter_map(|row| Some(format!("{}: {}", row.variant, note(row)?)));
    let names = match &distinct(notes)[..] {
        [] => String::new(),
        notes => format!("{}. ", notes.join("; ")),
    };
    let words = format!("{names}More: --verbose, or the page:");
    blocks.push(Block::sentence(words));
    Chapter::of(blocks)
}

/// Explains the values that readers may misunderstand.
fn legend(run: &Findings) -> String {
    let mut text = String::new();
    if run.run.blocks_complete > 1 {
        text.push_str("Values: median and range of the blocks. ");
    }
    let has_percentages = |it: &ScenarioFindings| {
        let summary = it.summary.as_ref();
        !it.comparisons.is_empty() && summary.is_some_and(|it| it.meaning.contains('%'))
    };
    if run.scenarios.iter().any(has_percentages) {
        text.push_str("Percentages with an interval compare the gateways within each block. ");
    }
    if run.scenarios.iter().any(|it| it.row(REFERENCE).is_some()) {
        text.push_str("reference is the gateway that is built into gatebench. ");
    }
    text
}

fn table(scenario: &ScenarioFindings, summary: &ScenarioSummary) -> Table {
    let order = summary.order.iter();
    let rows: Vec<&VariantRow> = order.filter_map(|it| scenario.row(it)).collect();
    let mut all: Vec<Lanes> = Vec::new();
    for column in &summary.columns {
        let load = scenario.load(&column.phase).unwrap_or_default();
        let lane = lane(column, &rows);
        match all.last_mut() {
            Some(lanes) if lanes.label == load => lanes.lanes.push(lane),
            _ => all.push(Lanes::new("", load, vec![lane])),
        }
    }
    let row = |row: &&VariantRow| Row {
        note: note(row),
        absence: row.status.absence(),
        ..Row::new(&*row.variant, &row.variant)
    };
    Table::of_lanes(rows.iter().map(row).collect(), all)
}

/// Explains the name of a variant that is not a product, in few characters, so that the name's
/// column does not become wider.
fn note(row: &VariantRow) -> Option<&'static str> {
    match row.variant.as_str() {
        _ if row.kind == Variant::Direct => Some("no gateway"),
        REFERENCE => Some("built in"),
        _ => None,
    }
}

/// The estimate of a cell with its validity; `None` if the metric was not measured.
type Shown<'f> = Option<(Option<&'f Estimate>, Validity)>;

fn lane(column: &SummaryColumn, rows: &[&VariantRow]) -> Lane {
    let found = rows.iter().map(|row| {
        let found = row.metric_in(&column.phase, column.metric)?;
        Some((found.estimate.as_ref(), found.validity))
    });
    let found: Vec<Shown<'_>> = found.collect();
    let estimates = found.iter().flatten().filter_map(|(estimate, _)| *estimate);
    let values: Vec<f64> = estimates
        .flat_map(|it| [it.min, it.median, it.max])
        .collect();
    let scale = UnitScale::shortest(&values, column.metric.unit());
    let blocks = |it: &Shown<'_>| Some((*it)?.0?.blocks);
    let has_ranges = found.iter().filter_map(blocks).any(|it| it > 1);
    let mut lane = Lane::in_scale([head(column.metric), ""], scale, found.clone());
    for ((row, shown), cell) in rows.iter().zip(&found).zip(&mut lane.cells) {
        // Other cells of the column have ranges; `1 block` explains why this cell has none.
        if let Some((Some(estimate), validity)) = shown
            && has_ranges
            && estimate.blocks == 1
        {
            let number = scale.number(estimate.median);
            *cell = Cell::value(number, "1 block".to_owned(), *validity);
        }
        if row.kind == Variant::Direct && is_added(column.metric) {
            // The results have this value, which is the overhead of the measurement.
            *cell = Cell::Empty;
        } else if column.best.as_ref() == Some(&row.variant) {
            if let (true, Cell::Value { limited, .. }) = (column.is_best_noisy, &mut *cell) {
                // The verdict allows for the noise.
                *limited = false;
            }
            cell.mark_best();
        }
    }
    lane
}

fn is_added(metric: Metric) -> bool {
    matches!(metric, Metric::AddedP50 | Metric::AddedP99)
}

fn head(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::GatewayCpuPerRequest => "CPU/request",
        Metric::AddedP50 => "added p50",
        Metric::AddedP99 => "added p99",
        Metric::ResponseP50 => "response p50",
        Metric::ResponseP99 => "response p99",
        _ => "memory",
    }
}
