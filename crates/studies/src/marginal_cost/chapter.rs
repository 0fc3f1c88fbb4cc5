//! The table of costs that grow with routes, consumers, upstreams and idle connections. It has a
//! row for each gateway and, for each measure, a column for each number and one for the cost of
//! each additional item.

use gatebench_report::axis::Axis;
use gatebench_report::chapter::{
    Block, Chapter, Chart, MARKDOWN, PAGE, PANELS, TERMINAL, TableBlock, Text,
};
use gatebench_report::chart::lines::{Dot, Lines, Panel, Series};
use gatebench_report::chart::{Names, Ticked};
use gatebench_report::format::{UnitScale, capitalized, grouped, short, signed};
use gatebench_report::palette::Palette;
use gatebench_report::table::{Cell, Column, Lane, Lanes, Row, Table};
use gatebench_report::{Unit, Validity};
use gatebench_stats::Difference;

use super::facts::{
    GatewayMarginalCosts, MarginalCostFindings, MarginalCostMeasure, MarginalCostPoint,
    MarginalUnit,
};
use crate::common::facts::{Metric, RowStatus};
use crate::common::joined;

/// The chapter; `None` if no two scenarios or loads of the run differ only in a number.
pub(crate) fn chapter(families: &[MarginalCostFindings], palette: &Palette) -> Option<Chapter> {
    let families = families.iter().enumerate();
    let cards = families.map(|(index, found)| card(index, found, palette));
    let blocks: Vec<Block> = cards.collect();
    (!blocks.is_empty()).then(|| Chapter::new("scale", "Scale", blocks))
}

fn card(index: usize, found: &MarginalCostFindings, palette: &Palette) -> Block {
    let title = title(found);
    let whole = table(found);
    let mut blocks = vec![
        Block::heading(&*title),
        Block::lead(explanation(found), "Scale"),
        Block::table(whole.clone(), "gateway", &title, palette).on(TERMINAL),
    ];
    for table in whole.by_phase() {
        let measure = table.groups[0].label.clone();
        let label = format!("{title}: {measure}");
        let heading = Text::with_strong("", &capitalized(&measure), "");
        blocks.push(Block::sentence(heading).on(MARKDOWN));
        let table = TableBlock::new(table, "gateway", &label, palette).wide();
        blocks.push(Block::from(table).on(MARKDOWN | PAGE));
    }
    let mut measures = found.measures.iter();
    let memory = measures.position(|it| it.metric == Metric::GatewayRssAnonMax);
    let draw = |measure| memory_chart(&format!("scale-{index}"), found, measure, palette);
    let caption = format!(
        "Memory by number of {}s, on logarithmic axes",
        found.what.noun()
    );
    let chart = |svg| Chart::new(caption, svg);
    blocks.push(Block::charts(PANELS, memory.and_then(draw).map(chart)));
    Block::card("", blocks)
}

/// Draws memory against the number, on logarithmic axes; `None` if no gateway has two points.
fn memory_chart(
    id: &str,
    found: &MarginalCostFindings,
    measure: usize,
    palette: &Palette,
) -> Option<String> {
    let unit = found.measures[measure].unit;
    let points = |gateway: &GatewayMarginalCosts| -> Vec<(f64, f64)> {
        let points = gateway.points.iter().filter_map(|it| {
            let value = it.values[measure].as_ref()?.median;
            Some((f64::from(it.count), value))
        });
        points.collect()
    };
    let gateways = found.gateways.iter().map(|it| (&*it.variant, points(it)));
    let lines: Vec<(&str, Vec<(f64, f64)>)> =
        gateways.filter(|(_, points)| points.len() > 1).collect();
    let all = || lines.iter().flat_map(|(_, points)| points);
    let largest = all().map(|(_, value)| *value).reduce(f64::max)?;
    // Ticks are round numbers in the unit of their labels, not in bytes.
    let scale = UnitScale::of(largest, unit);
    let size = scale.divisor;
    let across = Axis::covering_log(all().map(|(count, _)| *count));
    let up = Axis::covering_log_closely(all().map(|(_, value)| value / size));
    let point = |(count, value): &(f64, f64)| {
        let (value, count) = (short(*value, unit), grouped(*count));
        format!("{value} with {count}")
    };
    let described = |(variant, points): &(&str, Vec<(f64, f64)>)| {
        format!("{variant}: {}.", joined(points.iter().map(point), ", "))
    };
    let words = joined(lines.iter().map(described), " ");
    let series = lines.iter().map(|(variant, points)| Series {
        class: palette.class(variant),
        label: (*variant).to_owned(),
        style: "curve thin",
        line: points
            .iter()
            .map(|(count, value)| (*count, value / size))
            .collect(),
        dots: points
            .iter()
            .map(|it| {
                let tip = format!("{variant}: {}", point(it));
                Dot::new((it.0, it.1 / size), "dot", tip)
            })
            .collect(),
        ..Series::default()
    });
    let noun = format!("{}s", found.what.noun());
    let names = Names::new(id, format!("Memory by number of {noun}"), words);
    let up = Ticked::new(up, |tick| scale.tick(tick * size));
    let across = Ticked::new(across, grouped).named(noun.clone());
    let panel = Panel::new(198.0, up, series.collect());
    Some(Lines::new(names, "", across, panel).draw())
}

fn explanation(costs: &MarginalCostFindings) -> String {
    let memory = match costs.what {
        MarginalUnit::Routes | MarginalUnit::Consumers | MarginalUnit::Upstreams => {
            "Memory is the peak in the last load."
        }
        MarginalUnit::Connections => {
            "Memory is the gateway's own maximum while that many connections are idle; the kernel's memory for \
             sockets is not included."
        }
    };
    let at_load = |measure: &&MarginalCostMeasure| {
        let of_process = [Metric::GatewayRssAnonMax, Metric::GatewayStart];
        !of_process.contains(&measure.metric)
    };
    let load = costs.measures.iter().find(at_load);
    let load = load
        .and_then(|measure| measure.load.as_ref())
        .map_or_else(String::new, |load| {
            format!(" The cost of a request is measured at {load}.")
        });
    format!(
        "Figures are the medians of the blocks, with their ranges. The last column of a measure is \
         the cost of each additional item, computed between the smallest and the largest number \
         and paired by block. {memory}{load}"
    )
}

fn title(costs: &MarginalCostFindings) -> String {
    match costs.what {
        MarginalUnit::Routes => "The cost of unused routes".into(),
        MarginalUnit::Consumers => "The cost of unused consumers".into(),
        MarginalUnit::Upstreams => "The cost of unused upstreams and their routes".into(),
        MarginalUnit::Connections => format!("The cost of idle connections · {}", costs.name),
    }
}

fn table(costs: &MarginalCostFindings) -> Table {
    let rows = costs.gateways.iter().map(|gateway| Row {
        absence: absence(gateway),
        ..Row::new(&gateway.variant, &gateway.variant)
    });
    let measures = costs.measures.iter().enumerate();
    let lanes = measures.map(|(index, measure)| {
        Lanes::new("", label(measure.metric), lanes(costs, index, measure))
    });
    Table::of_lanes(rows.collect(), lanes.collect())
}

/// The reason why a gateway has no figures; `None` if something was measured, or if no number was
/// planned.
fn absence(gateway: &GatewayMarginalCosts) -> Option<String> {
    let mut statuses = gateway.points.iter().map(|point| &point.status);
    if gateway.points.is_empty() || statuses.any(|status| *status == RowStatus::Measured) {
        return None;
    }
    match &gateway.points[0].status {
        status @ RowStatus::NotSupported { .. } => status.absence(),
        status => why(status).map(str::to_owned),
    }
}

fn why(status: &RowStatus) -> Option<&'static str> {
    match status {
        RowStatus::Measured => None,
        RowStatus::NotSupported { .. } => Some("unsupported"),
        RowStatus::Failed => Some("failed"),
        RowStatus::Missing => Some("not run"),
    }
}

/// Returns no column if no gateway has the measure.
fn lanes(costs: &MarginalCostFindings, index: usize, measure: &MarginalCostMeasure) -> Vec<Lane> {
    let points = || costs.gateways.iter().flat_map(|gateway| &gateway.points);
    let medians = points().filter_map(|point| point.values[index].as_ref().map(|it| it.median));
    let medians: Vec<f64> = medians.collect();
    if medians.is_empty() {
        return Vec::new();
    }
    let own = UnitScale::of_all(medians, measure.unit);
    let mut counts: Vec<u32> = points().map(|point| point.count).collect();
    counts.sort_unstable();
    counts.dedup();
    let number = |count: &u32| {
        let of_gateway = |gateway: &GatewayMarginalCosts| {
            let point = gateway.points.iter().find(|point| point.count == *count);
            point.map_or(Cell::Empty, |point| cell(point, index, own))
        };
        Lane {
            column: Column::named(&grouped(f64::from(*count)), own),
            cells: costs.gateways.iter().map(of_gateway).collect(),
        }
    };
    let mut lanes: Vec<Lane> = counts.iter().map(number).collect();
    let each = |gateway: &GatewayMarginalCosts| each(gateway.each[index].as_ref(), measure);
    lanes.push(Lane {
        column: Column::new(["each", costs.what.noun()], UnitScale::of(0.0, Unit::Count)),
        cells: costs.gateways.iter().map(each).collect(),
    });
    lanes
}

fn cell(point: &MarginalCostPoint, index: usize, scale: UnitScale) -> Cell {
    match (&point.values[index], why(&point.status)) {
        (Some(value), _) => Cell::of(Some(value), Validity::Valid, scale),
        (None, Some(why)) => Cell::Absent(why),
        (None, None) => Cell::Invalid,
    }
}

/// The cost of each item, in a unit of its own, because it is far smaller than the totals next to
/// it.
fn each(difference: Option<&Difference>, measure: &MarginalCostMeasure) -> Cell {
    let Some(difference) = difference else {
        return Cell::Empty;
    };
    let (low, high) = difference.span();
    let scale = UnitScale::of(
        difference.effect.abs().max(low.abs()).max(high.abs()),
        measure.unit,
    );
    let (effect, range) = signed(difference, |value| scale.number(value));
    let effect = format!("{effect} {}", scale.unit).trim().to_owned();
    Cell::value(effect, range, Validity::Valid)
}

fn label(metric: Metric) -> &'static str {
    match metric {
        Metric::GatewayRssAnonMax => "memory",
        Metric::GatewayStart => "time until ready",
        Metric::GatewayCpuPerRequest => "CPU time per request",
        Metric::AddedP50 => "added latency p50",
        _ => "added latency p99",
    }
}
