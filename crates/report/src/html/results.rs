//! A scenario on the page: its table and its plots.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{ScenarioFindings, Sentence};
use gatebench_analysis::words::capitalised;
use serde::Serialize;

use super::figures::{Percentiles, TimelineRow, dot_figures, percentiles, timelines};
use super::told::{ToldView, told};
use super::view::{SentenceView, sentence};
use crate::chapter::Chart;
use crate::palette::Palette;
use crate::parts::{self, PartTable};
use crate::table::Table;
use crate::table_view::{TableView, table_view};

/// Rows of groups over all variants; the JSON has all groups.
const GROUP_ROWS_MAX: usize = 40;
/// More rows than these are folded.
const ROWS_OPEN_MAX: usize = 12;

/// One scenario.
#[derive(Serialize)]
pub struct ScenarioView {
    name: String,
    title: String,
    /// What the findings at the head of the page leave out.
    sentences: Vec<SentenceView>,
    table: TableView,
    /// Groups; none where there is but one.
    groups: Option<PartView>,
    /// The slowest routes of each phase and variant.
    routes: Vec<PartView>,
    told: Vec<ToldView>,
    dots: Vec<Chart>,
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
