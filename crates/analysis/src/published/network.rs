//! The bare network before loads of the upstream alone, and the part of it that each target
//! reached.

use std::collections::BTreeSet;

use gatebench_store::CeilingRecord;

use super::cells::{Point, cell, points, ratio_of, worst};
use super::measured::{Load, Measured};
use super::targets::{Target, connections, targets};
use crate::findings::{
    Aspect, DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, Unit,
};

/// What the bare network carried before each load of the upstream alone, and what part of it was
/// reached at each target; none where that was not measured. Each scenario with direct loads has
/// rows of its own: its messages have their own sizes.
pub(super) fn table(measured: &Measured<'_>) -> Option<DocumentTable> {
    let targets = targets(measured);
    let seed = measured.run.manifest().plan.seed;
    let bare: Vec<Bare<'_>> = targets.iter().filter_map(Bare::before).collect();
    let first = bare.first()?;
    let is_one = bare.len() == 1;
    let sizes = |of: &Bare<'_>| {
        let CeilingRecord {
            asked_bytes,
            answered_bytes,
            ..
        } = of.sizes;
        format!("{asked_bytes} B there and {answered_bytes} B back")
    };
    let rows = bare.iter().flat_map(|own| {
        let numbers: BTreeSet<u32> = own.loads.iter().filter_map(connections).collect();
        let (targets, sizes) = (&targets, &sizes);
        numbers.into_iter().map(move |number| {
            let row = own.row(number, targets, seed);
            let several = || format!("{}, {number} · {}", own.scenario, sizes(own));
            DocumentRow {
                name: if is_one { row.name } else { several() },
                ..row
            }
        })
    });
    let rows = rows.collect();
    let told = if is_one {
        format!("messages of {}", sizes(first))
    } else {
        "messages of the size of requests and answers".into()
    };
    let column = |name: &str, unit| DocumentColumn::new([name, ""], unit);
    Some(DocumentTable {
        title: format!("the bare network: {told}, and how much of it was reached"),
        first: "connections",
        rows,
        groups: vec![
            DocumentGroup {
                title: "network".into(),
                label: "bare".into(),
                columns: vec![
                    column("exchanges", Unit::RequestsPerSecond),
                    column("both ways", Unit::BitsPerSecond),
                ],
            },
            DocumentGroup {
                title: "network".into(),
                label: "reached ÷ bare".into(),
                columns: targets
                    .iter()
                    .map(|it| column(&it.name, Unit::Ratio))
                    .collect(),
            },
        ],
    })
}

/// The direct loads of a scenario before which the bare network was measured.
struct Bare<'a> {
    scenario: &'a str,
    loads: Vec<Load<'a>>,
    sizes: CeilingRecord,
}

impl<'a> Bare<'a> {
    /// None for what is not the direct variant, and where nothing was measured.
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

    /// With this number of connections: what was carried, and what part of it each target reached.
    /// Those of another scenario with direct loads have a ceiling of their own.
    fn row(&self, number: u32, targets: &[Target<'a>], seed: u64) -> DocumentRow {
        let own: Vec<Load<'a>> = self
            .loads
            .iter()
            .filter(|it| connections(it) == Some(number))
            .cloned()
            .collect();
        let carried: Vec<Point> = points(&own, None, exchanges);
        let mut cells = vec![cell(&carried), cell(&points(&own, None, bits))];
        let share = |target: &Target<'a>| {
            if target.has_direct && target.scenario != self.scenario {
                return DocumentCell::default();
            }
            let reached = points(&target.at(number), Some(Aspect::Throughput), Load::rate);
            ratio_of(&reached, &carried, seed)
        };
        cells.extend(targets.iter().map(share));
        DocumentRow {
            name: number.to_string(),
            variant: String::new(),
            absence: None,
            validity: worst(&cells),
            cells,
        }
    }
}

fn carried(load: &Load<'_>) -> Option<CeilingRecord> {
    load.phase.ceiling.filter(|it| it.exchanges > 0)
}

/// Exchanges in a second.
fn exchanges(load: &Load<'_>) -> Option<f64> {
    let carried = carried(load)?;
    Some(carried.exchanges as f64 * 1e9 / carried.measure_ns as f64)
}

/// Bits in a second, there and back.
fn bits(load: &Load<'_>) -> Option<f64> {
    let carried = carried(load)?;
    Some(exchanges(load)? * 8.0 * (carried.asked_bytes + carried.answered_bytes) as f64)
}
