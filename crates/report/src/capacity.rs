//! Capacities as tables: a row for each gateway, and a curve for each.

use gatebench_analysis::findings::{
    Answer, Bottleneck, CapacityFindings, CapacityPoint, GatewayCapacity, Rate, Sustained, Unit,
    Validity,
};

use crate::number::Scale;
use crate::table::{Cell, Column, Lane, Lanes, Row, Table};

/// The heading over capacities.
pub const TITLE: &str = "Capacity";

/// How a curve is read.
pub const CURVE: &str = "Steps of equal rate together. Held and missed count steps; response times count from when a request was due; \
     cores are those kept busy.";

/// How many steps came out so.
type Count = fn(&CapacityPoint) -> u32;

/// A number that may be missing.
type Figure<'a, T> = Box<dyn Fn(&T) -> Option<f64> + 'a>;

/// The gateways, a row each.
pub fn table(found: &CapacityFindings) -> Table {
    let rows = found.gateways.iter().map(|it| Row {
        name: name(found, it),
        variant: it.variant.clone(),
        validity: None,
        absence: it.answer.is_none().then(|| "no answer".into()),
        cells: Vec::new(),
    });
    let all = &found.gateways;
    let mut lanes = vec![answers(all)];
    lanes.extend(halves(all));
    let figures: [(_, Unit, Figure<'_, GatewayCapacity>); 5] = [
        (
            ["per core", ""],
            Unit::RequestsPerSecond,
            Box::new(|it| it.per_core_per_second),
        ),
        (
            ["CPU/request", ""],
            Unit::CpuNanosecondsPerRequest,
            Box::new(|it| it.cpu_ns_per_request),
        ),
        (["memory", ""], Unit::Bytes, Box::new(|it| it.memory_bytes)),
        (
            ["knee", ""],
            Unit::RequestsPerSecond,
            Box::new(|it| Some(it.knee?.rate_per_second)),
        ),
        (
            ["saturation", ""],
            Unit::RequestsPerSecond,
            Box::new(|it| it.saturation_per_second),
        ),
    ];
    lanes.extend(
        figures
            .into_iter()
            .filter_map(|(head, unit, figure)| lane(all, head, unit, figure)),
    );
    let full = all.iter().map(|it| {
        it.bottleneck
            .map_or(Cell::Empty, |full| Cell::Absent(word(full)))
    });
    lanes.push(Lane {
        column: Column::new(["full", "beyond"], Scale::of(0.0, Unit::Count)),
        cells: full.collect(),
    });
    let together = Lanes {
        phase: found.objective.clone(),
        label: String::new(),
        lanes,
    };
    Table::of_lanes(rows.collect(), vec![together])
}

/// The steps of a gateway, a row for each rate.
pub fn curve(found: &GatewayCapacity) -> Table {
    let points = &found.curve;
    let scale = Scale::of_all(
        points.iter().map(|it| it.offered_per_second),
        Unit::RequestsPerSecond,
    );
    let rows = points.iter().map(|point| Row {
        name: scale.full(point.offered_per_second),
        variant: found.variant.clone(),
        validity: None,
        absence: None,
        cells: Vec::new(),
    });
    let figures: [(_, Unit, Figure<'_, CapacityPoint>); 7] = [
        (
            ["achieved", ""],
            Unit::RequestsPerSecond,
            Box::new(|it| Some(it.achieved_per_second)),
        ),
        (
            ["response", "p50"],
            Unit::Nanoseconds,
            Box::new(|it| it.p50_ns),
        ),
        (
            ["response", "p99"],
            Unit::Nanoseconds,
            Box::new(|it| it.p99_ns),
        ),
        (
            ["response", "p99.9"],
            Unit::Nanoseconds,
            Box::new(|it| it.p999_ns),
        ),
        (
            ["gateway", ""],
            Unit::Cores,
            Box::new(|it| it.gateway_cores),
        ),
        (["engine", ""], Unit::Cores, Box::new(|it| it.engine_cores)),
        (
            ["upstream", ""],
            Unit::Cores,
            Box::new(|it| it.upstream_cores),
        ),
    ];
    let figures = figures
        .into_iter()
        .filter_map(|(head, unit, figure)| lane(points, head, unit, figure));
    let mut lanes: Vec<Lane> = figures.collect();
    let counts: [(&'static str, Count); 2] = [("held", |it| it.held), ("missed", |it| it.missed)];
    for (head, count) in counts {
        lanes.push(Lane {
            column: Column::new([head, ""], Scale::of(0.0, Unit::Count)),
            cells: points
                .iter()
                .map(|it| Cell::count(u64::from(count(it))))
                .collect(),
        });
    }
    let together = Lanes {
        phase: found.variant.clone(),
        label: String::new(),
        lanes,
    };
    Table::of_lanes(rows.collect(), vec![together])
}

/// The variant, with its scenario where there are several.
pub fn name(found: &CapacityFindings, of: &GatewayCapacity) -> String {
    let is_same = |it: &GatewayCapacity| it.scenario == of.scenario;
    if found.gateways.iter().all(is_same) {
        of.variant.clone()
    } else {
        format!("{} · {}", of.variant, of.scenario)
    }
}

fn answers(all: &[GatewayCapacity]) -> Lane {
    let rate = |it: &GatewayCapacity| match it.answer.as_ref()? {
        Answer::Found(found) => Some(found.rate.rate_per_second),
        Answer::AtLeast {
            rate_per_second, ..
        }
        | Answer::Below { rate_per_second } => Some(*rate_per_second),
        Answer::Lapsing { .. } => None,
    };
    let scale = Scale::of_all(all.iter().filter_map(rate), Unit::RequestsPerSecond);
    let cell = |it: &GatewayCapacity| {
        let Some(answer) = &it.answer else {
            return Cell::Empty;
        };
        let (sign, value, range) = match answer {
            Answer::Found(found) if it.validity == Validity::Limited => {
                let low = found.rate.interval.map(|interval| interval.low);
                let sign = low.map_or("", |_| "≥ ");
                let bound = low.unwrap_or(found.rate.rate_per_second);
                (sign, bound, String::new())
            }
            Answer::Found(found) => ("", found.rate.rate_per_second, range(&found.rate, &scale)),
            Answer::AtLeast {
                rate_per_second, ..
            } => ("≥ ", *rate_per_second, String::new()),
            Answer::Below { rate_per_second } => ("< ", *rate_per_second, String::new()),
            Answer::Lapsing { .. } => return Cell::Absent("none"),
        };
        Cell::Value {
            median: format!("{sign}{}", scale.number(value)),
            range,
            limited: it.validity == Validity::Limited,
        }
    };
    Lane {
        column: Column::new(["sustains", "95 %"], scale),
        cells: all.iter().map(cell).collect(),
    }
}

/// The rates at which half of the steps hold; none where none was found.
fn halves(all: &[GatewayCapacity]) -> Option<Lane> {
    let half = |it: &GatewayCapacity| match it.answer.as_ref()? {
        Answer::Found(Sustained { half, .. }) | Answer::Lapsing { half, .. } => {
            Some((*half, it.validity == Validity::Limited))
        }
        _ => None,
    };
    let halves: Vec<Option<(Rate, bool)>> = all.iter().map(half).collect();
    halves.iter().any(Option::is_some).then_some(())?;
    let rates = halves.iter().flatten().map(|(it, _)| it.rate_per_second);
    let scale = Scale::of_all(rates, Unit::RequestsPerSecond);
    let cell = |half: &Option<(Rate, bool)>| {
        half.map_or(Cell::Empty, |(half, limited)| Cell::Value {
            median: scale.number(half.rate_per_second),
            range: range(&half, &scale),
            limited,
        })
    };
    Some(Lane {
        cells: halves.iter().map(cell).collect(),
        column: Column::new(["half of", "the steps"], scale),
    })
}

/// `19.7–20.3k`; empty where there is no interval.
fn range(rate: &Rate, scale: &Scale) -> String {
    let limits = rate
        .interval
        .map(|it| (scale.number(it.low), scale.number(it.high)));
    let range = limits
        .map(|(low, high)| format!("{}–{high}", low.strip_suffix(scale.letter).unwrap_or(&low)));
    range.unwrap_or_default()
}

/// A figure of all rows in one scale; none where no row has it.
fn lane<T>(all: &[T], head: [&'static str; 2], unit: Unit, figure: Figure<'_, T>) -> Option<Lane> {
    let values: Vec<Option<f64>> = all.iter().map(figure).collect();
    values.iter().any(Option::is_some).then_some(())?;
    let scale = Scale::of_all(values.iter().flatten().copied(), unit);
    let cell = |value: &Option<f64>| {
        value.map_or(Cell::Empty, |value| Cell::Value {
            median: scale.number(value),
            range: String::new(),
            limited: false,
        })
    };
    Some(Lane {
        column: Column::new(head, scale),
        cells: values.iter().map(cell).collect(),
    })
}

fn word(full: Bottleneck) -> &'static str {
    match full {
        Bottleneck::Gateway => "gateway",
        Bottleneck::Engine => "engine",
        Bottleneck::Upstream => "upstream",
        Bottleneck::EngineAndUpstream => "engine + upstream",
        Bottleneck::Nothing => "nothing",
    }
}
