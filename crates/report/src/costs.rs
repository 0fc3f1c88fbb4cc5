//! What policies cost as tables, policies down and gateways across, one for each measure.

use std::borrow::Cow;

use gatebench_analysis::findings::{
    Cost, CostFigure, CostFindings, CostLine, CostMeasure, CostRole, GatewayCosts, Metric,
    RowStatus, Validity,
};
use gatebench_analysis::words::{metric_title, ratio_and_interval, signed};

use crate::number::Scale;
use crate::table::{Cell, Column, Lane, Lanes, Row, Table};

/// The heading over all of it.
pub const TITLE: &str = "What policies cost";

/// How the tables are read.
pub const EXPLANATION: &str = "Each policy stands below the plain proxy of the same requests at the same \
     gateway and shows what it adds to that, paired by block: the mean with its interval, or below ten blocks the \
     median with the range. From ten blocks on, #1 is the least, and gateways that no verdict and no \
     interval separates share a rank. With fewer blocks, nothing is ranked.";

/// One measure of all policies at all gateways.
pub struct CostTable {
    /// The measure.
    pub title: &'static str,
    /// Its load.
    pub load: String,
    /// How the policies' cells are read.
    pub note: &'static str,
    /// Whether a choice is made on it.
    pub foremost: bool,
    /// Which measure it is of [`CostFindings::measures`].
    pub measure: usize,
    /// The table.
    pub table: Table,
}

/// A table for each measure that any gateway has.
pub fn tables(costs: &CostFindings) -> Vec<CostTable> {
    let measures = costs.measures.iter().enumerate();
    measures
        .filter_map(|(index, measure)| table(costs, index, measure))
        .collect()
}

fn table(costs: &CostFindings, index: usize, measure: &CostMeasure) -> Option<CostTable> {
    let scale = scale(costs, index)?;
    let lines = &costs.gateways.first()?.lines;
    let lane = |gateway: &GatewayCosts| Lane {
        column: Column {
            head: [Cow::Owned(gateway.variant.clone()), Cow::Borrowed("")],
            scale,
        },
        cells: gateway
            .lines
            .iter()
            .map(|line| cell(line, &line.figures[index], measure, scale))
            .collect(),
    };
    let lanes = Lanes {
        phase: String::new(),
        label: measure.load.clone(),
        lanes: costs.gateways.iter().map(lane).collect(),
    };
    Some(CostTable {
        title: metric_title(measure.metric),
        load: measure.load.clone(),
        note: note(measure.metric),
        foremost: is_foremost(measure.metric),
        measure: index,
        table: Table::of_lanes(lines.iter().map(row).collect(), vec![lanes]),
    })
}

/// Whether a choice is made on the measure: CPU per request and the median added latency.
pub fn is_foremost(metric: Metric) -> bool {
    matches!(metric, Metric::GatewayCpuPerRequest | Metric::AddedP50)
}

fn note(metric: Metric) -> &'static str {
    match metric {
        Metric::ThroughputPerCore => "Policies as a ratio to their plain proxy.",
        Metric::AddedP50 | Metric::AddedP99 => {
            "Policies as the difference of the two quantiles, and nothing else."
        }
        _ => "Policies as what they add to their plain proxy.",
    }
}

/// One scale for wholes and costs, so that they can be added by eye; none where nothing was measured.
fn scale(costs: &CostFindings, index: usize) -> Option<Scale> {
    let unit = costs.measures[index].unit;
    let lines = || costs.gateways.iter().flat_map(|gateway| &gateway.lines);
    let totals: Vec<f64> = lines()
        .filter_map(|line| line.figures[index].total.as_ref())
        .map(|total| total.median)
        .collect();
    (!totals.is_empty()).then(|| Scale::of_all(totals, unit))
}

fn row(line: &CostLine) -> Row {
    Row {
        name: name(line),
        variant: String::new(),
        validity: None,
        absence: None,
        cells: Vec::new(),
    }
}

/// The scenario, with a sign before what is added to the line above.
pub fn name(line: &CostLine) -> String {
    match &line.role {
        CostRole::Policy { .. } => format!("+ {}", line.scenario),
        CostRole::Plain => line.scenario.clone(),
        CostRole::Answers => format!("{}, answered", line.scenario),
        CostRole::Alone => format!("{}, alone", line.scenario),
    }
}

fn cell(line: &CostLine, figure: &CostFigure, measure: &CostMeasure, scale: Scale) -> Cell {
    match line.status {
        RowStatus::NotSupported { .. } => return Cell::Absent("not supported"),
        RowStatus::Failed => return Cell::Absent("failed"),
        RowStatus::Missing | RowStatus::Measured => {}
    }
    if line.baseline().is_none() {
        let validity = figure.validity.unwrap_or(Validity::Valid);
        let cell = Cell::of(figure.total.as_ref(), validity, scale);
        return with_rank(cell, figure.rank);
    }
    match &figure.cost {
        Some(cost) => with_rank(cost_cell(cost, measure, scale), cost.rank),
        None if figure.validity == Some(Validity::Invalid) => Cell::Invalid,
        None => Cell::Empty,
    }
}

fn cost_cell(cost: &Cost, measure: &CostMeasure, scale: Scale) -> Cell {
    let (median, range) = match &cost.ratio {
        Some(ratio) if measure.metric == Metric::ThroughputPerCore => ratio_and_interval(ratio),
        _ => signed(&cost.difference, |value| scale.number(value)),
    };
    Cell::Value {
        median,
        range,
        limited: cost.validity == Validity::Limited,
    }
}

fn with_rank(cell: Cell, rank: Option<usize>) -> Cell {
    match (cell, rank) {
        (
            Cell::Value {
                median,
                range,
                limited,
            },
            Some(rank),
        ) => Cell::Value {
            median,
            range: format!("{range} #{rank}").trim().to_owned(),
            limited,
        },
        (cell, _) => cell,
    }
}
