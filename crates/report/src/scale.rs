//! What grows with routes and consumers, as a table: numbers down, measures across.

use gatebench_analysis::findings::{
    Difference, GatewayScale, Metric, RowStatus, ScaleFindings, ScaleMeasure, ScalePoint, Scaled,
    Validity,
};
use gatebench_analysis::words::{grouped, signed};

use crate::number::Scale;
use crate::table::{Cell, Column, Lane, Lanes, Row, Table};

/// How the table is read.
pub const EXPLANATION: &str = "Medians and ranges of the blocks. The last line of a gateway is what each \
     further one takes, from the smallest to the largest number, paired by block. Memory is that after all loads.";

/// The heading over a family.
pub fn title(scale: &ScaleFindings) -> String {
    let idle = match scale.what {
        Scaled::Routes => "that are not asked for",
        Scaled::Consumers => "who do not ask",
    };
    format!("What {}s cost {idle}", scale.what.noun())
}

/// The table of a family.
pub fn table(scale: &ScaleFindings) -> Table {
    let measures = scale.measures.iter().enumerate();
    let lanes: Vec<Lane> = measures
        .filter_map(|(index, measure)| lane(scale, index, measure))
        .collect();
    let rows = scale
        .gateways
        .iter()
        .flat_map(|gateway| rows(scale, gateway));
    let lanes = Lanes {
        phase: scale.name.clone(),
        label: String::new(),
        lanes,
    };
    Table::of_lanes(rows.collect(), vec![lanes])
}

fn rows(scale: &ScaleFindings, gateway: &GatewayScale) -> Vec<Row> {
    let row = |name: String, absence| Row {
        name: format!("{} · {name}", gateway.variant),
        variant: gateway.variant.clone(),
        validity: None,
        absence,
        cells: Vec::new(),
    };
    let point = |point: &ScalePoint| row(grouped(f64::from(point.count)), absence(&point.status));
    let mut rows: Vec<Row> = gateway.points.iter().map(point).collect();
    rows.push(row(format!("each {}", scale.what.noun()), None));
    rows
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

/// A measure of all gateways; none where none has it.
fn lane(scale: &ScaleFindings, index: usize, measure: &ScaleMeasure) -> Option<Lane> {
    let points = || scale.gateways.iter().flat_map(|gateway| &gateway.points);
    let medians: Vec<f64> = points()
        .filter_map(|point| point.values[index].as_ref())
        .map(|value| value.median)
        .collect();
    (!medians.is_empty()).then_some(())?;
    let own = Scale::of_all(medians, measure.unit);
    let mut cells = Vec::new();
    for gateway in &scale.gateways {
        let value = |point: &ScalePoint| {
            let validity = if point.status == RowStatus::Measured {
                Validity::Invalid
            } else {
                Validity::Valid
            };
            match &point.values[index] {
                Some(value) => Cell::of(Some(value), Validity::Valid, own),
                None => Cell::of(None, validity, own),
            }
        };
        cells.extend(gateway.points.iter().map(value));
        cells.push(each(gateway.each[index].as_ref(), measure));
    }
    Some(Lane {
        column: Column::new(head(measure.metric), own),
        cells,
    })
}

/// What each one takes, with its unit: it is far smaller than the wholes above it.
fn each(difference: Option<&Difference>, measure: &ScaleMeasure) -> Cell {
    let Some(difference) = difference else {
        return Cell::Empty;
    };
    let (low, high) = difference.span();
    let scale = Scale::of(
        difference.effect.abs().max(low.abs()).max(high.abs()),
        measure.unit,
    );
    let (effect, range) = signed(difference, |value| scale.number(value));
    Cell::Value {
        median: format!("{effect} {}", scale.unit).trim().to_owned(),
        range,
        limited: false,
    }
}

fn head(metric: Metric) -> [&'static str; 2] {
    match metric {
        Metric::GatewayRssAnonMax => ["memory", ""],
        Metric::GatewayStart => ["start", ""],
        Metric::GatewayCpuPerRequest => ["CPU/request", ""],
        Metric::AddedP50 => ["added", "p50"],
        _ => ["added", "p99"],
    }
}
