//! Kong against nginx: requests per second over connections, at each target, and who was busy.

use std::collections::BTreeSet;

use gatebench_model::{Scenario, Shape, Variant};
use gatebench_store::CeilingRecord;

use super::measured::{Load, Measured, cell, named};
use super::policies::worst;
use super::published::{CONNECTIONS, DIRECT, TARGETS};
use super::ratio::{Side, ratio, ratio_of};
use crate::findings::{
    Aspect, DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, Unit,
};
use crate::metrics::cores_busy;

/// What must be known of the network's ceiling.
pub(super) const NETWORK: &str = "The document measured its network of 2 Gbit/s by iperf with writes of the sizes of a request and of an answer, on one \
     connection. Here messages of these sizes go back and forth on as many connections as the row has, over loopback: that ceiling \
     is of the cores and of the kernel, not of a network between machines.";

/// Something that the connections lead to.
struct Target<'a> {
    name: String,
    scenario: &'a str,
    /// Whether its scenario has one.
    has_floor: bool,
    is_direct: bool,
    loads: Vec<Load<'a>>,
}

/// The rates, and the cores kept busy; nothing where the run has no load of a number of connections.
pub(super) fn tables(measured: &Measured<'_>) -> Vec<DocumentTable> {
    let targets = targets(measured);
    let numbers: BTreeSet<u32> = targets
        .iter()
        .flat_map(|it| &it.loads)
        .filter_map(connections)
        .collect();
    if numbers.is_empty() {
        return Vec::new();
    }
    let seed = measured.run.manifest().plan.seed;
    let mut tables = Vec::from_iter(network(measured));
    tables.extend([rates(&targets, &numbers, seed), cores(&targets, &numbers)]);
    tables
}

/// What the bare network carried before each load of the upstream alone, and what part of it was reached at each
/// target; none where that was not measured. Each scenario with a floor has rows of its own: its messages have their own
/// sizes.
pub(super) fn network(measured: &Measured<'_>) -> Option<DocumentTable> {
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
                title: "network",
                label: "bare".into(),
                columns: vec![
                    column("exchanges", Unit::RequestsPerSecond),
                    column("both ways", Unit::BitsPerSecond),
                ],
            },
            DocumentGroup {
                title: "network",
                label: "reached ÷ bare".into(),
                columns: targets
                    .iter()
                    .map(|it| column(&it.name, Unit::Ratio))
                    .collect(),
            },
        ],
    })
}

/// The loads of a scenario's floor before which the bare network was measured.
struct Bare<'a> {
    scenario: &'a str,
    loads: Vec<Load<'a>>,
    sizes: CeilingRecord,
}

impl<'a> Bare<'a> {
    /// None for what is no floor, and where nothing was measured.
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

    /// With so many connections: what was carried, and what part of it each target reached. Those of another
    /// scenario with a floor have a ceiling of their own.
    fn row(&self, number: u32, targets: &[Target<'a>], seed: u64) -> DocumentRow {
        let own: Vec<Load<'a>> = self
            .loads
            .iter()
            .filter(|it| connections(it) == Some(number))
            .cloned()
            .collect();
        let mut cells = vec![cell(&own, None, exchanges), cell(&own, None, bits)];
        let share = |target: &Target<'a>| {
            if target.has_floor && target.scenario != self.scenario {
                return DocumentCell::default();
            }
            let reached: Side<'_, 'a> = (Some(Aspect::Throughput), &Load::rate);
            ratio_of(
                (&at(target, number), reached),
                (&own, (None, &exchanges)),
                seed,
            )
        };
        cells.extend(targets.iter().map(share));
        row_of(number, cells)
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

/// Connections of a load that keeps them.
pub(super) fn connections(load: &Load<'_>) -> Option<u32> {
    match &load.phase.shape {
        Shape::Closed(closed) if closed.stages.is_empty() => Some(closed.connections),
        Shape::Closed(_) | Shape::Open(_) => None,
    }
}

/// The targets in the document's order: what answers by itself, the upstream, what is before it.
fn targets<'a>(measured: &Measured<'a>) -> Vec<Target<'a>> {
    let plan = &measured.run.manifest().plan;
    let several = plan.scenarios.iter().filter(|it| it.has_floor()).count() > 1;
    let mut found = Vec::new();
    for scenario in &plan.scenarios {
        for variant in &plan.variants {
            let loads = measured.loads(&scenario.scenario, variant.label());
            if !loads.is_empty() {
                found.push((
                    order(scenario, variant),
                    target(scenario, variant, several, loads),
                ));
            }
        }
    }
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, target)| target).collect()
}

fn order(scenario: &Scenario, variant: &Variant) -> u32 {
    match (scenario.has_floor(), variant) {
        (false, _) => 0,
        (true, Variant::Floor) => 1,
        (true, _) => 2,
    }
}

fn target<'a>(
    scenario: &'a Scenario,
    variant: &Variant,
    several: bool,
    loads: Vec<Load<'a>>,
) -> Target<'a> {
    let label = variant.label();
    let name = match (scenario.has_floor(), variant) {
        (false, _) => format!("{label} itself"),
        (true, Variant::Floor) => "upstream".into(),
        (true, _) => format!("via {label}"),
    };
    Target {
        name: if several && scenario.has_floor() {
            format!("{}: {name}", scenario.scenario)
        } else {
            name
        },
        scenario: &scenario.scenario,
        has_floor: scenario.has_floor(),
        is_direct: *variant == Variant::Floor,
        loads,
    }
}

/// Those of a target's loads that have so many connections; of several such phases the first.
fn at<'a>(target: &Target<'a>, number: u32) -> Vec<Load<'a>> {
    let mut loads = target.loads.iter();
    let first = loads.find(|it| connections(it) == Some(number));
    named(&target.loads, first.map(|it| it.phase.name.as_str()))
}

fn rates(targets: &[Target<'_>], numbers: &BTreeSet<u32>, seed: u64) -> DocumentTable {
    let direct = targets.iter().find(|it| it.is_direct);
    let through: Vec<&Target<'_>> = targets.iter().filter(|it| !it.is_direct).collect();
    let row = |number: &u32| {
        let all = targets.iter().map(|it| at(it, *number));
        let mut cells: Vec<DocumentCell> = all
            .map(|loads| cell(&loads, Some(Aspect::Throughput), Load::rate))
            .collect();
        let base = direct.map(|it| at(it, *number)).unwrap_or_default();
        cells.extend(through.iter().map(|it| {
            ratio(
                &at(it, *number),
                &base,
                Aspect::Throughput,
                Load::rate,
                seed,
            )
        }));
        cells.extend(published(*number));
        row_of(*number, cells)
    };
    let column = |name: &str, unit| DocumentColumn::new([name, ""], unit);
    let names = |unit| targets.iter().map(move |it| column(&it.name, unit));
    DocumentTable {
        title: "requests per second over connections".into(),
        first: "connections",
        rows: numbers.iter().map(row).collect(),
        groups: vec![
            DocumentGroup {
                title: "document",
                label: "requests/s".into(),
                columns: names(Unit::RequestsPerSecond).collect(),
            },
            DocumentGroup {
                title: "ratio",
                label: "here ÷ upstream".into(),
                columns: through
                    .iter()
                    .map(|it| column(&it.name, Unit::Ratio))
                    .collect(),
            },
            DocumentGroup {
                title: "ratio",
                label: "published ÷ upstream".into(),
                columns: TARGETS
                    .iter()
                    .map(|(name, _)| column(name, Unit::Ratio))
                    .collect(),
            },
        ],
    }
}

/// The published ratios to the upstream at so many connections; none at numbers that were not tried.
fn published(number: u32) -> Vec<DocumentCell> {
    let place = CONNECTIONS.iter().position(|it| *it == number);
    let of = |rates: &[Option<f64>; 11]| {
        let place = place?;
        Some(rates[place]? / DIRECT[place]?)
    };
    let cells = TARGETS
        .iter()
        .map(|(_, rates)| DocumentCell::of_one(of(rates)));
    cells.collect()
}

/// Which component was the bottleneck: the one whose cores were all busy.
fn cores(targets: &[Target<'_>], numbers: &BTreeSet<u32>) -> DocumentTable {
    const COMPONENTS: [&str; 3] = ["gateway", "upstream", "engine"];
    let busy = |loads: &[Load<'_>], component: &str| {
        cell(loads, Some(Aspect::CpuPerRequest), |it| {
            cores_busy(it.phase, component)
        })
    };
    let row = |number: &u32| {
        let cells = targets.iter().flat_map(|target| {
            let loads = at(target, *number);
            COMPONENTS.map(|component| busy(&loads, component))
        });
        row_of(*number, cells.collect())
    };
    let group = |target: &Target<'_>| DocumentGroup {
        title: "cores busy",
        label: target.name.clone(),
        columns: COMPONENTS
            .map(|it| DocumentColumn::new([it, ""], Unit::Cores))
            .into(),
    };
    DocumentTable {
        title: "who was busy: cores of each component".into(),
        first: "connections",
        rows: numbers.iter().map(row).collect(),
        groups: targets.iter().map(group).collect(),
    }
}

fn row_of(number: u32, cells: Vec<DocumentCell>) -> DocumentRow {
    DocumentRow {
        name: number.to_string(),
        variant: String::new(),
        absence: None,
        validity: worst(&cells),
        cells,
    }
}

/// Each target with its loads of the most connections.
pub(super) fn at_most_connections<'a>(measured: &Measured<'a>) -> Vec<(String, Vec<Load<'a>>)> {
    let most = |target: Target<'a>| {
        let number = target.loads.iter().filter_map(connections).max()?;
        let name = format!("{}, {number} connections", target.name);
        Some((name, at(&target, number)))
    };
    targets(measured).into_iter().filter_map(most).collect()
}
