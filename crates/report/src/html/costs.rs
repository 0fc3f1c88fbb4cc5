//! What policies cost: for each measure a table, policies down and gateways across, and where a choice
//! is made on it a waterfall for each gateway.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{CostFindings, CostRole};
use gatebench_analysis::words::capitalised;
use serde::Serialize;

use crate::costs::{CostTable, tables};
use crate::palette::Palette;
use crate::plots::waterfall;
use crate::table::Cell;

/// Gateways whose reaches differ by more are drawn on axes of their own.
const SHARED_AXIS_MAX: f64 = 4.0;

/// One measure.
#[derive(Serialize)]
pub struct CostView {
    title: String,
    load: String,
    note: &'static str,
    unit: &'static str,
    /// Whether it is seen without being unfolded.
    open: bool,
    gateways: Vec<HeadView>,
    rows: Vec<RowView>,
    has_limits: bool,
    /// Whether the drawings have one axis.
    shared_axis: bool,
    panels: Vec<PanelView>,
}

#[derive(Serialize)]
struct HeadView {
    class: String,
    name: String,
}

#[derive(Serialize)]
struct RowView {
    name: String,
    /// `plain`, `policy`, `answers` or `alone`.
    role: &'static str,
    policies: String,
    cells: Vec<CellView>,
}

#[derive(Serialize)]
struct CellView {
    mark: String,
    range: String,
    rank: String,
    class: &'static str,
}

#[derive(Serialize)]
struct PanelView {
    class: String,
    gateway: String,
    svg: String,
}

/// A view of each measure.
pub fn costs(findings: &Findings, palette: &Palette) -> Vec<CostView> {
    let Some(costs) = &findings.costs else {
        return Vec::new();
    };
    let tables = tables(costs).into_iter();
    tables.map(|table| view(costs, &table, palette)).collect()
}

fn view(costs: &CostFindings, table: &CostTable, palette: &Palette) -> CostView {
    let gateways = costs.gateways.iter().map(|gateway| HeadView {
        class: palette.class(&gateway.variant),
        name: gateway.variant.clone(),
    });
    let lines = costs.gateways.first().map(|gateway| &gateway.lines);
    let rows = lines.into_iter().flatten().zip(&table.table.rows);
    let columns = table.table.groups.iter().flat_map(|group| &group.columns);
    let (shared_axis, panels) = panels(costs, table, palette);
    CostView {
        title: capitalised(table.title),
        load: table.load.clone(),
        note: table.note,
        unit: columns.map(|column| column.scale.unit).next().unwrap_or(""),
        open: table.foremost,
        gateways: gateways.collect(),
        rows: rows
            .map(|(line, row)| RowView {
                name: line.scenario.clone(),
                role: match line.role {
                    CostRole::Answers => "answers",
                    CostRole::Plain => "plain",
                    CostRole::Policy { .. } => "policy",
                    CostRole::Alone => "alone",
                },
                policies: line.policies.join(", "),
                cells: row.cells.iter().flatten().map(cell).collect(),
            })
            .collect(),
        has_limits: table.table.has_limits(),
        shared_axis,
        panels,
    }
}

fn cell(cell: &Cell) -> CellView {
    let (range, rank) = match cell.range().rsplit_once('#') {
        Some((range, rank)) => (range.trim_end().to_owned(), rank.to_owned()),
        None => (cell.range().to_owned(), String::new()),
    };
    CellView {
        mark: cell.mark(),
        range,
        rank,
        class: match cell {
            Cell::Empty | Cell::Absent(_) => "absent",
            Cell::Invalid => "invalid",
            Cell::Value { .. } => "median",
        },
    }
}

/// The waterfalls of the measures that a choice is made on, and whether they share an axis.
fn panels(costs: &CostFindings, table: &CostTable, palette: &Palette) -> (bool, Vec<PanelView>) {
    let reaches: Vec<(usize, f64)> = costs
        .gateways
        .iter()
        .enumerate()
        .filter(|_| table.foremost)
        .filter_map(|(index, gateway)| Some((index, waterfall::reach(gateway, table.measure)?)))
        .collect();
    let all = || reaches.iter().map(|(_, reach)| *reach);
    let (least, most) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(0.0, f64::max),
    );
    let shared = most <= least * SHARED_AXIS_MAX;
    let panel = |(index, own): &(usize, f64)| {
        let gateway = &costs.gateways[*index];
        let class = palette.class(&gateway.variant);
        let measure = (table.measure, &costs.measures[table.measure]);
        let id = format!("w{}-{index}", table.measure);
        let reach = if shared { most } else { *own };
        Some(PanelView {
            svg: waterfall::plot(&id, gateway, measure, reach, &class)?,
            class,
            gateway: gateway.variant.clone(),
        })
    };
    (shared, reaches.iter().filter_map(panel).collect())
}
