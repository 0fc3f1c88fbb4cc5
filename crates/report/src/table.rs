//! The table of results, laid out once for the terminal, Markdown and HTML: which columns there
//! are, in which unit, and what stands in each cell.

use std::borrow::Cow;

use gatebench_analysis::findings::{
    Estimate, Metric, MetricFindings, PhaseKind, PhaseLine, RowStatus, ScenarioFindings, Unit,
    Validity, VariantRow,
};

use gatebench_analysis::format::grouped;

use crate::number::UnitScale;

/// The results of one scenario.
#[derive(Clone, Debug)]
pub struct Table {
    /// The columns of each phase, from left to right.
    pub groups: Vec<Group>,
    /// One row per variant, or per part of one.
    pub rows: Vec<Row>,
}

/// Columns that stand together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Name of the phase, or what else the columns have in common.
    pub phase: String,
    /// The load in words.
    pub label: String,
    /// The columns, never none.
    pub columns: Vec<Column>,
}

/// What is told in one column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Head: what it is, and where needed which of several.
    pub head: [Cow<'static, str>; 2],
    /// How its values are written.
    pub scale: UnitScale,
}

/// A column with its cells, from top to bottom.
pub struct Lane {
    /// The column.
    pub column: Column,
    /// A cell for each row.
    pub cells: Vec<Cell>,
}

/// Lanes that stand together.
pub struct Lanes {
    /// Name of the phase, or what else they have in common.
    pub phase: String,
    /// The load in words.
    pub label: String,
    /// The lanes.
    pub lanes: Vec<Lane>,
}

/// A variant, or a part of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// What stands at its left: the variant, or the part.
    pub name: String,
    /// Label of the variant, which gives the colour.
    pub variant: String,
    /// Validity of its trials.
    pub validity: Option<Validity>,
    /// Stands in place of the cells where nothing was measured.
    pub absence: Option<String>,
    /// The cells of each group, as many as it has columns.
    pub cells: Vec<Vec<Cell>>,
}

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Nothing of the kind exists for the variant, as gateway CPU for the direct variant.
    Empty,
    /// It was measured in no block that may be used.
    Invalid,
    /// Why there is nothing, in a word or two.
    Absent(&'static str),
    /// Median and range of the blocks.
    Value {
        /// The median.
        median: String,
        /// The range, `39.8–41.6k`; empty where there is but one block.
        range: String,
        /// Whether the limit that the row's reasons name applies.
        limited: bool,
    },
}

impl Cell {
    /// The cell of an estimate; where there is none, the validity says whether there should be one.
    pub fn of(estimate: Option<&Estimate>, validity: Validity, scale: UnitScale) -> Self {
        let Some(estimate) = estimate else {
            return if validity == Validity::Invalid {
                Self::Invalid
            } else {
                Self::Empty
            };
        };
        let range = if estimate.blocks > 1 {
            let (low, high) = (scale.number(estimate.min), scale.number(estimate.max));
            let low = low.strip_suffix(scale.letter).unwrap_or(&low);
            format!("{low}–{high}")
        } else {
            String::new()
        };
        Self::Value {
            median: scale.number(estimate.median),
            range,
            limited: validity == Validity::Limited,
        }
    }

    /// The cell of a count.
    pub fn count(count: u64) -> Self {
        Self::words(grouped(count as f64))
    }

    /// A cell without a range.
    pub fn words(median: String) -> Self {
        Self::Value {
            median,
            range: String::new(),
            limited: false,
        }
    }

    /// The median, or what stands for it; a limited one is marked with an asterisk.
    pub fn mark(&self) -> String {
        match self {
            Self::Empty => "–".into(),
            Self::Invalid => "invalid".into(),
            Self::Absent(why) => (*why).into(),
            Self::Value {
                median, limited, ..
            } => format!("{median}{}", if *limited { "*" } else { "" }),
        }
    }

    /// The range of the blocks; empty where there is none.
    pub fn range(&self) -> &str {
        match self {
            Self::Value { range, .. } => range,
            Self::Empty | Self::Invalid | Self::Absent(_) => "",
        }
    }
}

impl Row {
    /// A row without cells yet, of a variant or of a part of it.
    pub fn new(name: impl Into<String>, variant: &str) -> Self {
        Self {
            name: name.into(),
            variant: variant.to_owned(),
            validity: None,
            absence: None,
            cells: Vec::new(),
        }
    }
}

impl Column {
    /// A column with a head that is known beforehand.
    pub fn new(head: [&'static str; 2], scale: UnitScale) -> Self {
        let head = head.map(Cow::Borrowed);
        Self { head, scale }
    }

    /// The second line of the head: which of several, and the unit.
    pub fn subhead(&self) -> String {
        [self.head[1].as_ref(), self.scale.unit]
            .join(" ")
            .trim()
            .into()
    }
}

impl Lane {
    /// Returns a column of estimates in one scale, with an empty cell for each row that has none.
    pub fn of<'a>(
        head: [&'static str; 2],
        unit: Unit,
        found: impl Iterator<Item = Option<(Option<&'a Estimate>, Validity)>>,
    ) -> Self {
        let found: Vec<_> = found.collect();
        let medians = found.iter().flatten().filter_map(|(estimate, _)| *estimate);
        let scale = UnitScale::of_all(medians.map(|estimate| estimate.median), unit);
        let cell = |(estimate, validity)| Cell::of(estimate, validity, scale);
        Self {
            cells: found
                .into_iter()
                .map(|it| it.map_or(Cell::Empty, cell))
                .collect(),
            column: Column::new(head, scale),
        }
    }

    /// Returns a column of counts.
    pub fn counts(head: [&'static str; 2], counts: impl Iterator<Item = Option<u64>>) -> Self {
        Self {
            column: Column::new(head, UnitScale::of(0.0, Unit::Count)),
            cells: counts
                .map(|it| it.map_or(Cell::Empty, Cell::count))
                .collect(),
        }
    }
}

impl Table {
    /// Lays out the results of a scenario. Columns in which no variant has a value are left out.
    pub fn of(scenario: &ScenarioFindings) -> Self {
        Self::with(scenario, loads(scenario))
    }

    /// As [`Table::of`], with what the gateway's process needs: for where there is more room.
    pub fn whole(scenario: &ScenarioFindings) -> Self {
        let mut groups = loads(scenario);
        groups.push(process(scenario));
        Self::with(scenario, groups)
    }

    fn with(scenario: &ScenarioFindings, lanes: Vec<Lanes>) -> Self {
        let row = |row: &VariantRow| Row {
            validity: row.validity,
            absence: absence(&row.status),
            ..Row::new(&row.variant, &row.variant)
        };
        Self::of_lanes(scenario.rows_and_null().map(row).collect(), lanes)
    }

    /// Puts the cells of lanes into rows, which have none yet. Where nothing stands together, nothing
    /// is left of it.
    pub fn of_lanes(mut rows: Vec<Row>, lanes: Vec<Lanes>) -> Self {
        let filled = lanes.into_iter().filter(|lanes| !lanes.lanes.is_empty());
        let mut groups = Vec::new();
        for Lanes {
            phase,
            label,
            lanes,
        } in filled
        {
            for (index, row) in rows.iter_mut().enumerate() {
                let cells = lanes.iter().map(|lane| lane.cells[index].clone());
                row.cells.push(cells.collect());
            }
            let columns = lanes.into_iter().map(|lane| lane.column).collect();
            groups.push(Group {
                phase,
                label,
                columns,
            });
        }
        Self { groups, rows }
    }

    /// A table for each phase, for where two beside each other are too wide.
    pub fn by_phase(self) -> Vec<Self> {
        let Self { groups, rows } = self;
        let of_phase = |(index, group): (usize, Group)| {
            let row = |row: &Row| Row {
                cells: vec![row.cells[index].clone()],
                ..row.clone()
            };
            Self {
                rows: rows.iter().map(row).collect(),
                groups: vec![group],
            }
        };
        groups.into_iter().enumerate().map(of_phase).collect()
    }

    /// Whether there are columns on the gateway's process, which need an explanation.
    pub fn has_process(&self) -> bool {
        self.groups.iter().any(|group| group.phase == PROCESS)
    }

    /// Whether any cell is limited, so that the mark needs an explanation.
    pub fn has_limits(&self) -> bool {
        let limited = |cell: &Cell| matches!(cell, Cell::Value { limited: true, .. });
        self.rows
            .iter()
            .any(|row| row.cells.iter().flatten().any(limited))
    }
}

/// A metric of a variant in a named phase.
pub fn metric_in<'a>(
    row: &'a VariantRow,
    phase: &str,
    metric: Metric,
) -> Option<&'a MetricFindings> {
    row.metrics
        .iter()
        .find(|found| found.metric == metric && found.phase == phase)
}

fn is_open(phase: &PhaseLine) -> bool {
    phase.kind == PhaseKind::Open
}

/// What a phase is there to show. Latency of a closed load follows from its throughput, so it is
/// shown only where no open load measured it.
fn metrics(kind: PhaseKind, has_open: bool) -> &'static [(Metric, [&'static str; 2])] {
    const THROUGHPUT: (Metric, [&str; 2]) = (Metric::Throughput, ["throughput", ""]);
    const CPU: (Metric, [&str; 2]) = (Metric::GatewayCpuPerRequest, ["CPU/request", ""]);
    const P50: (Metric, [&str; 2]) = (Metric::ResponseP50, ["response", "p50"]);
    const P99: (Metric, [&str; 2]) = (Metric::ResponseP99, ["response", "p99"]);
    const ADDED_P50: (Metric, [&str; 2]) = (Metric::AddedP50, ["added", "p50"]);
    const ADDED_P99: (Metric, [&str; 2]) = (Metric::AddedP99, ["added", "p99"]);
    const OVER_NULL_P50: (Metric, [&str; 2]) = (Metric::AddedP50OverNull, ["over null", "p50"]);
    const OVER_NULL_P99: (Metric, [&str; 2]) = (Metric::AddedP99OverNull, ["over null", "p99"]);
    // Of phases in which something was changed.
    const AFFECTED: (Metric, [&str; 2]) = (Metric::ChangeAffected, ["affected", "requests"]);
    const FAILED: (Metric, [&str; 2]) = (Metric::ChangeErrors, ["failed", "requests"]);
    const WORST: (Metric, [&str; 2]) = (Metric::ChangeWorst, ["longest", "response"]);
    const RECOVERY: (Metric, [&str; 2]) = (Metric::ChangeRecovery, ["recovered", "after"]);
    const EFFECT: (Metric, [&str; 2]) = (Metric::ChangeEffective, ["in effect", "after"]);
    // Of phases in which a target was ill.
    const SHARE: (Metric, [&str; 2]) = (Metric::FailureShare, ["to the", "ill one"]);
    const AGAIN: (Metric, [&str; 2]) = (Metric::FailureSentAgain, ["sent", "again"]);
    const ADDED_ILL: (Metric, [&str; 2]) = (Metric::FailureAdded, ["added p99", "meanwhile"]);
    match (kind, has_open) {
        (PhaseKind::SideBySide, _) => &[CPU],
        (PhaseKind::Closed, true) => &[THROUGHPUT, CPU],
        (PhaseKind::Closed, false) | (PhaseKind::Paced, _) => &[THROUGHPUT, CPU, P50, P99],
        (PhaseKind::Open, _) => &[
            CPU,
            P50,
            P99,
            ADDED_P50,
            ADDED_P99,
            OVER_NULL_P50,
            OVER_NULL_P99,
            AFFECTED,
            FAILED,
            WORST,
            RECOVERY,
            EFFECT,
            SHARE,
            AGAIN,
            ADDED_ILL,
        ],
    }
}

/// What each load shows.
fn loads(scenario: &ScenarioFindings) -> Vec<Lanes> {
    let has_open = scenario.phases.iter().any(is_open);
    let phases = scenario.phases.iter();
    phases
        .map(|phase| {
            let wanted = metrics(phase.kind, has_open).iter();
            let lane = |(metric, head): &(_, _)| lane(scenario, &phase.name, *metric, *head);
            Lanes {
                phase: phase.name.clone(),
                label: phase.label.clone(),
                lanes: wanted.filter_map(lane).collect(),
            }
        })
        .collect()
}

/// What the columns on the gateway's process have in common.
const PROCESS: &str = "process";

/// Memory in the last load, before which all others went, and the time from start to readiness.
fn process(scenario: &ScenarioFindings) -> Lanes {
    let in_phase =
        |phase: &PhaseLine, metric, head| lane(scenario, &phase.name, metric, [head, ""]);
    let memory = scenario
        .phases
        .last()
        .and_then(|phase| in_phase(phase, Metric::GatewayRssAnonMax, "memory"));
    let start = scenario
        .phases
        .first()
        .and_then(|phase| in_phase(phase, Metric::GatewayStart, "start"));
    Lanes {
        phase: PROCESS.into(),
        label: String::new(),
        lanes: [memory, start].into_iter().flatten().collect(),
    }
}

/// A metric of all variants; none where no variant has it.
fn lane(
    scenario: &ScenarioFindings,
    phase: &str,
    metric: Metric,
    head: [&'static str; 2],
) -> Option<Lane> {
    let found: Vec<Option<&MetricFindings>> = scenario
        .rows_and_null()
        .map(|row| metric_in(row, phase, metric))
        .collect();
    let unit = found.iter().flatten().next()?.unit;
    let found = found
        .into_iter()
        .map(|it| it.map(|it| (it.estimate.as_ref(), it.validity)));
    Some(Lane::of(head, unit, found))
}

fn absence(status: &RowStatus) -> Option<String> {
    match status {
        RowStatus::Measured => None,
        RowStatus::NotSupported { policies } => {
            Some(format!("not supported: {}", policies.join(", ")))
        }
        RowStatus::Failed => Some("failed".into()),
        RowStatus::Missing => Some("not measured".into()),
    }
}
