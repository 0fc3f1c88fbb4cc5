//! The costs of policies. Each measure has a table with a row for each policy and a column for each
//! gateway. The measures by which users choose a gateway also have a waterfall for each gateway.

use gatebench_report::Validity;
use gatebench_report::axis::Axis;
use gatebench_report::chapter::{
    Block, Chapter, Chart, Fold, MARKDOWN, Matrix, MatrixRow, PAGE, TERMINAL, TableBlock, Text,
};
use gatebench_report::chart::bars::{Bar, Bars};
use gatebench_report::chart::{Names, Ticked};
use gatebench_report::format::{UnitScale, capitalised, ends, ratio_and_interval, signed};
use gatebench_report::palette::Palette;
use gatebench_report::table::{Cell, Column, Lane, Lanes, Row, Table};

use super::facts::{Cost, CostFigure, CostFindings, CostLine, CostMeasure, CostRole, GatewayCosts};
use crate::common::facts::{Metric, RowStatus};
use crate::common::joined;

/// The heading of the chapter.
const TITLE: &str = "What policies cost";

/// The explanation of the tables.
const EXPLANATION: &str = "Each policy is listed below the plain proxy of the same requests at the same \
     gateway. Its figure is what it adds to the plain proxy, paired by block: the mean with its interval or, \
     below ten blocks, the median with the range. From ten blocks on, gateways are ranked: #1 adds the least, and \
     gateways that neither a verdict nor an interval separates share a rank.";

/// Gateways whose largest values differ by more than this factor are drawn on separate axes.
const SHARED_AXIS_MAX: f64 = 4.0;

pub(crate) fn chapter(found: &CostFindings, palette: &Palette) -> Chapter {
    let measures = (0..found.measures.len()).filter_map(|it| measure(found, it, palette));
    let mut blocks = vec![Block::lead(EXPLANATION, "What a policy costs")];
    blocks.extend(measures);
    Chapter::new("costs", "Costs", blocks).headed(TITLE)
}

/// One measure of all policies on all gateways; none if nothing was measured.
fn measure(costs: &CostFindings, index: usize, palette: &Palette) -> Option<Block> {
    let measure = &costs.measures[index];
    let scale = scale(costs, index)?;
    let (load, name, note) = (&measure.load, measure.metric.title(), note(measure.metric));
    let title = capitalised(name);
    let read = [&**load, scale.unit, note];
    let read = joined(read.into_iter().filter(|it| !it.is_empty()), " · ");
    let strong = Text::with_strong("", &format!("{title} at {load}"), &format!(". {note}"));
    let label = format!("{title} of policies");
    let table = TableBlock::new(table(costs, index, scale)?, "policy", &label, palette);
    let table = Block::from(table.matrix(matrix(costs, palette)));
    let mut blocks = vec![
        Block::sentence(strong).on(MARKDOWN),
        Block::sentence(read).on(PAGE),
        table,
    ];
    if !is_foremost(measure.metric) {
        let fold = Fold {
            aside: load.clone(),
            is_card: true,
            ..Fold::new(title, blocks)
        };
        return Some(Block::from(fold).on(MARKDOWN | PAGE));
    }
    blocks.insert(0, Block::heading(format!("{TITLE} · {name}")).on(TERMINAL));
    blocks.insert(1, Block::heading(title).on(PAGE));
    blocks.extend(waterfalls(costs, index, palette));
    Some(Block::card("", blocks))
}

fn table(costs: &CostFindings, index: usize, scale: UnitScale) -> Option<Table> {
    let measure = &costs.measures[index];
    let lines = &costs.gateways.first()?.lines;
    let lane = |gateway: &GatewayCosts| {
        let lines = gateway.lines.iter();
        let cells = lines.map(|line| cell(line, &line.figures[index], measure, scale));
        Lane {
            column: Column::named(&gateway.variant, scale),
            cells: cells.collect(),
        }
    };
    let lanes = costs.gateways.iter().map(lane).collect();
    let lanes = Lanes::new("", &measure.load, lanes);
    let rows = lines.iter().map(|line| Row::new(name(line), ""));
    Some(Table::of_lanes(rows.collect(), vec![lanes]))
}

/// A column for each gateway, and each policy below the plain proxy to which it is added.
fn matrix(costs: &CostFindings, palette: &Palette) -> Matrix {
    let head = |it: &GatewayCosts| [palette.class(&it.variant), it.variant.clone()];
    let row = |line: &CostLine| {
        let (class, sign, aside) = match line.role {
            CostRole::Responses => ("answers", "", "response by the gateway"),
            CostRole::Plain => ("plain", "", "plain"),
            CostRole::Policy { .. } => ("policy", "+", ""),
            CostRole::Alone => ("alone", "", "no plain proxy next to it"),
        };
        MatrixRow {
            class,
            name: line.scenario.clone(),
            sign,
            aside,
            hint: line.policies.join(", "),
        }
    };
    let lines = costs.gateways.first().into_iter().flat_map(|it| &it.lines);
    Matrix {
        heads: costs.gateways.iter().map(head).collect(),
        rows: lines.map(row).collect(),
    }
}

/// A waterfall for each gateway, and an explanation of the symbols; empty if none can be drawn.
fn waterfalls(costs: &CostFindings, index: usize, palette: &Palette) -> Vec<Block> {
    let measure = &costs.measures[index];
    let lines = costs.gateways.iter().map(|it| drawn(it, index));
    let lines: Vec<Vec<Drawn<'_>>> = lines.collect();
    let reach = |lines: &Vec<Drawn<'_>>| {
        let ends = lines.iter().map(|it| it.span.1.max(it.ends.1));
        ends.reduce(f64::max)
    };
    let reaches: Vec<Option<f64>> = lines.iter().map(reach).collect();
    let all = || reaches.iter().flatten().copied();
    let (least, most) = (
        all().fold(f64::INFINITY, f64::min),
        all().fold(0.0, f64::max),
    );
    let shared = most <= least * SHARED_AXIS_MAX;
    let chart = |(place, gateway): (usize, &GatewayCosts)| {
        let class = palette.class(&gateway.variant);
        let reach = reaches[place].map(|own| if shared { most } else { own })?;
        let id = format!("w{index}-{place}");
        let variant = &*gateway.variant;
        let svg = waterfall(&id, variant, &lines[place], measure, reach, &class);
        let chart = Chart::new(variant, svg).coloured(class);
        Some(chart.aside(&*measure.load))
    };
    let gateways = costs.gateways.iter().enumerate();
    let charts: Vec<Chart> = gateways.filter_map(chart).collect();
    if charts.is_empty() {
        return Vec::new();
    }
    let axes = match shared {
        true => "All gateways share one axis.",
        false => "Each gateway has a separate axis.",
    };
    let read = format!(
        "Pale: the plain proxy. Filled: what a policy adds, beginning where the plain proxy ends; hollow: what it takes \
         away. {axes}"
    );
    vec![
        Block::charts("panels wide waterfalls", charts),
        Block::foot(read, "").on(PAGE),
    ]
}

/// A scenario as a bar.
struct Drawn<'a> {
    line: &'a CostLine,
    figure: &'a CostFigure,
    /// The beginning (zero or the end of the plain proxy's bar) and the end.
    span: (f64, f64),
    /// The ends of the figure's interval or range.
    ends: (f64, f64),
}

/// The scenarios that have figures for a measure.
fn drawn(gateway: &GatewayCosts, index: usize) -> Vec<Drawn<'_>> {
    let mut plain = None;
    let mut drawn = Vec::new();
    for line in &gateway.lines {
        let figure = &line.figures[index];
        let total = figure.total.as_ref();
        if line.role == CostRole::Plain {
            plain = total.map(|total| total.median);
        }
        let (span, ends) = match (&line.role, &figure.cost, plain, total) {
            (CostRole::Policy { .. }, Some(cost), Some(plain), _) => {
                let (low, high) = cost.difference.span();
                let span = (plain, plain + cost.difference.effect);
                (span, (plain + low, plain + high))
            }
            (CostRole::Policy { .. }, ..) | (_, _, _, None) => continue,
            (.., Some(total)) => ((0.0, total.median), (total.min, total.max)),
        };
        drawn.push(Drawn {
            line,
            figure,
            span,
            ends,
        });
    }
    drawn
}

/// Draws the costs that policies add to the plain proxy of a gateway. Each bar begins where that of
/// the plain proxy ends, and the axis ends at `reach`.
fn waterfall(
    id: &str,
    variant: &str,
    lines: &[Drawn<'_>],
    measure: &CostMeasure,
    reach: f64,
    class: &str,
) -> String {
    let scale = UnitScale::of_all(lines.iter().map(|it| it.span.1), measure.unit);
    let bar = |(index, it): (usize, &Drawn<'_>)| {
        let follows = index > 0 && lines[index - 1].is_policy();
        let begins = it.line.role == CostRole::Plain || (follows && !it.is_policy());
        Bar {
            class: class.to_owned(),
            name: it.line.scenario.clone(),
            is_part: it.is_policy(),
            is_apart: begins && index > 0,
            span: Some(it.span),
            ends: it.ends,
            value: match it.cost() {
                Some(cost) => signed(&cost.difference, |value| scale.number(value)).0,
                None => scale.number(it.span.1),
            },
            tip: it.words(scale),
        }
    };
    let rows: Vec<Bar> = lines.iter().enumerate().map(bar).collect();
    let bars = Bars {
        names: Names::new(id, variant, joined(rows.iter().map(|it| &it.tip), " ")),
        across: Ticked::scaled(Axis::from_zero(reach), measure.unit),
        rows,
    };
    bars.draw()
}

impl Drawn<'_> {
    fn is_policy(&self) -> bool {
        self.line.role.baseline().is_some()
    }

    /// The cost of a policy; none for the total of a scenario.
    fn cost(&self) -> Option<&Cost> {
        self.figure.cost.as_ref().filter(|_| self.is_policy())
    }

    /// The bar in words: `+ api-key: +1.24 µs, 1.10–1.38.`
    fn words(&self, scale: UnitScale) -> String {
        let name = &self.line.scenario;
        match self.cost() {
            Some(cost) => {
                let (effect, span) = signed(&cost.difference, |value| scale.number(value));
                let span = if span.is_empty() {
                    span
                } else {
                    format!(" ({span})")
                };
                format!("{name} adds {effect} {}{span}.", scale.unit)
            }
            None => {
                let (low, high) = self.ends;
                let range = ends(&scale.number(low), &scale.number(high));
                format!("{name}: {} ({range}).", scale.full(self.span.1))
            }
        }
    }
}

/// Reports whether users choose a gateway by this measure: CPU per request and the median added
/// latency.
fn is_foremost(metric: Metric) -> bool {
    matches!(metric, Metric::GatewayCpuPerRequest | Metric::AddedP50)
}

fn note(metric: Metric) -> &'static str {
    match metric {
        Metric::ThroughputPerCore => "Each policy is shown as a ratio to its plain proxy.",
        Metric::AddedP50 | Metric::AddedP99 => {
            "Each policy is shown as its quantile minus the plain proxy's; this difference is not a \
             quantile of the policy's cost."
        }
        _ => "Each policy is shown as its cost over the plain proxy.",
    }
}

/// A common scale for totals and costs, so that they can be added by eye; none if nothing was
/// measured.
fn scale(costs: &CostFindings, index: usize) -> Option<UnitScale> {
    let unit = costs.measures[index].unit;
    let lines = costs.gateways.iter().flat_map(|gateway| &gateway.lines);
    let totals = lines.filter_map(|line| Some(line.figures[index].total.as_ref()?.median));
    let totals: Vec<f64> = totals.collect();
    (!totals.is_empty()).then(|| UnitScale::of_all(totals, unit))
}

/// The name of the scenario, with a plus sign if its cost is added to the line above.
fn name(line: &CostLine) -> String {
    match &line.role {
        CostRole::Policy { .. } => format!("+ {}", line.scenario),
        CostRole::Plain => line.scenario.clone(),
        CostRole::Responses => format!("{}, no proxy", line.scenario),
        CostRole::Alone => format!("{}, alone", line.scenario),
    }
}

fn cell(line: &CostLine, figure: &CostFigure, measure: &CostMeasure, scale: UnitScale) -> Cell {
    match line.status {
        RowStatus::NotSupported { .. } => return Cell::Absent("not supported"),
        RowStatus::Failed => return Cell::Absent("failed"),
        RowStatus::Missing | RowStatus::Measured => {}
    }
    if line.role.baseline().is_none() {
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

fn cost_cell(cost: &Cost, measure: &CostMeasure, scale: UnitScale) -> Cell {
    let (median, range) = match &cost.ratio {
        Some(ratio) if measure.metric == Metric::ThroughputPerCore => ratio_and_interval(ratio),
        _ => signed(&cost.difference, |value| scale.number(value)),
    };
    Cell::value(median, range, cost.validity)
}

fn with_rank(mut cell: Cell, rank: Option<usize>) -> Cell {
    if let (Cell::Value { range, .. }, Some(rank)) = (&mut cell, rank) {
        *range = format!("{range} #{rank}").trim().to_owned();
    }
    cell
}
