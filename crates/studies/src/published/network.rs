//! The throughput of the bare network before loads that go straight to the upstream, and the share
//! of it that each target reached.

use std::collections::BTreeSet;

use gatebench_report::Unit;
use gatebench_report::figures::{FigureCell, FigureColumn, FigureGroup, FigureRow, FigureTable};
use gatebench_store::CeilingRecord;

use super::figures::{Point, cell, ratio_of, values, worst};
use super::measured::{Load, Measured};
use super::targets::{Target, connections, targets};
use crate::common::facts::Aspect;

/// Returns `None` if the bare network was not measured. Each scenario with direct loads has
/// separate rows, because its messages differ in size.
pub(super) fn table(measured: &Measured<'_>) -> Option<FigureTable> {
    let targets = targets(measured);
    let seed = measured.run.manifest().plan.seed;
    let bare: Vec<Bare<'_>> = targets.iter().filter_map(Bare::before).collect();
    let first = bare.first()?;
    let is_one = bare.len() == 1;
    let sizes = |of: &Bare<'_>| {
        let (there, back) = (of.sizes.asked_bytes, of.sizes.answered_bytes);
        format!("{there} B out and {back} B back")
    };
    let rows = bare.iter().flat_map(|own| {
        let numbers: BTreeSet<u32> = own.loads.iter().filter_map(connections).collect();
        let (targets, sizes) = (&targets, &sizes);
        numbers.into_iter().map(move |number| {
            let row = own.row(number, targets, seed);
            let several = || format!("{}, {number} · {}", own.scenario, sizes(own));
            FigureRow {
                name: if is_one { row.name } else { several() },
                ..row
            }
        })
    });
    let rows = rows.collect();
    let messages = if is_one {
        format!("messages of {}", sizes(first))
    } else {
        "messages of the size of requests and responses".into()
    };
    let column = |name: &str, unit| FigureColumn::new([name, ""], unit);
    let bare_columns = [
        column("exchanges", Unit::RequestsPerSecond),
        column("both ways", Unit::BitsPerSecond),
    ];
    let shares = targets.iter().map(|it| column(&it.name, Unit::Ratio));
    Some(FigureTable {
        title: format!("the bare network ({messages}), and the share of it that was reached"),
        first: "connections",
        rows,
        groups: vec![
            FigureGroup::new("network", "bare", bare_columns),
            FigureGroup::new("network", "reached ÷ bare", shares.collect::<Vec<_>>()),
        ],
    })
}

struct Bare<'a> {
    scenario: &'a str,
    loads: Vec<Load<'a>>,
    sizes: CeilingRecord,
}

impl<'a> Bare<'a> {
    /// Returns `None` if no load of the target was preceded by a measurement of the bare network.
    fn before(target: &Target<'a>) -> Option<Self> {
        let loads = target.loads.iter().filter(|it| carried(it).is_some());
        let loads: Vec<Load<'a>> = loads.cloned().collect();
        let sizes = carried(loads.first()?)?;
        Some(Self {
            scenario: target.scenario,
            loads,
            sizes,
        })
    }

    /// The row for a number of connections. Targets of other scenarios with direct loads have empty
    /// cells, because they have a separate ceiling.
    fn row(&self, number: u32, targets: &[Target<'a>], seed: u64) -> FigureRow {
        let own = self.loads.iter().cloned();
        let own: Vec<Load<'a>> = own.filter(|it| connections(it) == Some(number)).collect();
        let carried: Vec<Point> = values(&own, None, exchanges);
        let mut cells = vec![cell(&carried), cell(&values(&own, None, bits))];
        let share = |target: &Target<'a>| {
            if target.has_direct && target.scenario != self.scenario {
                return FigureCell::default();
            }
            let reached = values(&target.at(number), Some(Aspect::Throughput), Load::rate);
            ratio_of(&reached, &carried, seed)
        };
        cells.extend(targets.iter().map(share));
        FigureRow {
            validity: worst(&cells),
            ..FigureRow::new(number.to_string(), "", cells)
        }
    }
}

fn carried(load: &Load<'_>) -> Option<CeilingRecord> {
    load.phase.ceiling.filter(|it| it.exchanges > 0)
}

/// Exchanges per second.
fn exchanges(load: &Load<'_>) -> Option<f64> {
    let carried = carried(load)?;
    Some(carried.exchanges as f64 * 1e9 / carried.measure_ns as f64)
}

/// Bits per second, both directions together.
fn bits(load: &Load<'_>) -> Option<f64> {
    let carried = carried(load)?;
    Some(exchanges(load)? * 8.0 * (carried.asked_bytes + carried.answered_bytes) as f64)
}
