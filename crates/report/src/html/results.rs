//! A scenario on the page: its table and its plots.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{ScenarioFindings, Sentence, Validity};
use gatebench_analysis::words::capitalised;
use serde::Serialize;

use super::figures::{DotFigure, Percentiles, TimelineRow};
use super::figures::{dot_figures, percentiles, timelines};
use super::told::{ToldView, told};
use super::view::{Pair, SentenceView, pair, sentence};
use crate::palette::Palette;
use crate::parts::{self, PartTable};
use crate::problems::word;
use crate::table::{Cell, Row, Table};

/// Rows of groups over all variants; the JSON has all groups.
const GROUP_ROWS_MAX: usize = 40;
/// More rows than these are folded.
const ROWS_OPEN_MAX: usize = 12;

/// One scenario.
#[derive(Serialize)]
pub struct ScenarioView {
    anchor: String,
    name: String,
    title: String,
    loads: Vec<Pair>,
    /// What the findings at the head of the page leave out.
    sentences: Vec<SentenceView>,
    table: TableView,
    /// Groups; none where there is but one.
    groups: Option<PartView>,
    /// The slowest routes of each phase and variant.
    routes: Vec<PartView>,
    told: Vec<ToldView>,
    dots: Vec<DotFigure>,
    percentiles: Vec<Percentiles>,
    timelines: Vec<TimelineRow>,
}

/// A table of groups or routes.
#[derive(Serialize)]
struct PartView {
    title: String,
    /// Whether it is too long to be seen at once.
    folded: bool,
    /// One for each phase.
    tables: Vec<TableView>,
}

/// A table.
#[derive(Serialize)]
pub struct TableView {
    groups: Vec<GroupView>,
    rows: Vec<RowView>,
    columns: usize,
    has_limits: bool,
    /// Whether memory and start are among the columns.
    has_process: bool,
}

#[derive(Serialize)]
struct GroupView {
    phase: String,
    label: String,
    columns: Vec<ColumnView>,
}

#[derive(Serialize)]
struct ColumnView {
    head: String,
    unit: &'static str,
}

#[derive(Serialize)]
struct RowView {
    name: String,
    class: String,
    /// Shown where the row is not valid.
    validity: Option<&'static str>,
    absence: Option<String>,
    /// The cells of each phase.
    groups: Vec<Vec<CellView>>,
}

#[derive(Serialize)]
struct CellView {
    mark: String,
    range: String,
    rank: String,
    class: &'static str,
}

impl ScenarioView {
    /// Lays out the scenario that stands at `index`.
    pub fn of(
        index: usize,
        scenario: &ScenarioFindings,
        findings: &Findings,
        palette: &Palette,
    ) -> Self {
        let anchor = format!("s{index}");
        // A headline is a sentence with the name of its scenario before it.
        let headline = |known: &Sentence, said: &Sentence| {
            known.scenario == said.scenario && known.text.ends_with(&said.text)
        };
        let untold = |said: &&Sentence| {
            let mut known = findings.headlines.iter();
            !known.any(|known| headline(known, said))
        };
        let groups = parts::groups(scenario, GROUP_ROWS_MAX / scenario.rows.len().max(1));
        Self {
            name: scenario.name.clone(),
            title: scenario.title.clone(),
            loads: scenario
                .phases
                .iter()
                .map(|phase| pair(phase.name.as_str(), phase.label.as_str()))
                .collect(),
            sentences: scenario
                .sentences
                .iter()
                .filter(untold)
                .map(sentence)
                .collect(),
            table: table_view(&Table::whole(scenario), palette),
            groups: groups.map(|part| part_view(part, palette)),
            routes: scenario
                .phases
                .iter()
                .flat_map(|phase| parts::routes(scenario, &phase.name, usize::MAX))
                .map(|part| part_view(part, palette))
                .collect(),
            told: told(scenario, palette),
            dots: dot_figures(&anchor, scenario, palette),
            percentiles: percentiles(&anchor, scenario, palette),
            timelines: timelines(&anchor, scenario, &findings.trials, palette),
            anchor,
        }
    }
}

fn part_view(part: PartTable, palette: &Palette) -> PartView {
    let folded = part.table.rows.len() > ROWS_OPEN_MAX;
    let tables = part.table.by_phase();
    PartView {
        title: capitalised(&part.title),
        folded,
        tables: tables.iter().map(|it| table_view(it, palette)).collect(),
    }
}

/// A table as the page has it.
pub fn table_view(table: &Table, palette: &Palette) -> TableView {
    let groups: Vec<GroupView> = table
        .groups
        .iter()
        .map(|group| GroupView {
            phase: group.phase.clone(),
            // Its name stands before it.
            label: group.label.replace(&format!(" ({})", group.phase), ""),
            columns: group
                .columns
                .iter()
                .map(|column| ColumnView {
                    head: column.head.join(" ").trim().into(),
                    unit: column.scale.unit,
                })
                .collect(),
        })
        .collect();
    TableView {
        columns: groups.iter().map(|group| group.columns.len()).sum(),
        groups,
        rows: table
            .rows
            .iter()
            .map(|row| row_view(row, palette))
            .collect(),
        has_limits: table.has_limits(),
        has_process: table.has_process(),
    }
}

fn row_view(row: &Row, palette: &Palette) -> RowView {
    let not_valid = row.validity.filter(|validity| *validity != Validity::Valid);
    RowView {
        name: row.name.clone(),
        class: palette.class(&row.variant),
        validity: not_valid.map(word),
        absence: row.absence.clone(),
        groups: row
            .cells
            .iter()
            .map(|cells| cells.iter().map(cell_view).collect())
            .collect(),
    }
}

fn cell_view(cell: &Cell) -> CellView {
    // Only costs have ranks.
    let (range, rank) = cell.range().rsplit_once('#').unwrap_or((cell.range(), ""));
    CellView {
        mark: cell.mark(),
        range: range.trim_end().into(),
        rank: rank.into(),
        class: match cell {
            Cell::Empty | Cell::Absent(_) => "absent",
            Cell::Invalid => "invalid",
            Cell::Value { .. } => "median",
        },
    }
}
