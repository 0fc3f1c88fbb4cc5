//! The report of a search for capacity: a row and a curve for each gateway.

use gatebench_report::axis::Axis;
use gatebench_report::chapter::{
    Block, Chapter, Chart, Fact, Fold, MARKDOWN, PAGE, TERMINAL, TableBlock, Text,
};
use gatebench_report::chart::lines::{Dot, Lines, Panel, Series};
use gatebench_report::chart::{Names, Ticked};
use gatebench_report::format::{UnitScale, short};
use gatebench_report::palette::Palette;
use gatebench_report::table::{Cell, Column, Lane, Lanes, Row, Table};
use gatebench_report::{Unit, Validity, verdicts};
use gatebench_stats::capacity::{Outcome, Rate, Sustained};

use super::facts::{Bottleneck, CapacityFindings, CapacityPoint, GatewayCapacity, ObjectiveBound};
use super::gateway::rate_of;
use crate::common::facts::Decision;
use crate::kind::StudyFacts;

const TITLE: &str = "Capacity";

const CURVE: &str = "Steps at about the same rate share a row. \"held\" is the number of steps \
     that met the objective, and \"missed\" the number of those that missed it. Response times are \
     measured from when a request was due. The columns \"gateway\", \"load generator\" and \
     \"upstream\" show how many cores each of them kept busy.";

const DRAWING: &str = "filled: every step met the objective; hollow: at least one missed it; \
     dotted line and band: the sustained rate and its interval; thin line: half of the steps meet \
     the objective";

/// A column's head and unit, and the function that returns the value of a row, if the row has one.
type Figure<T> = ([&'static str; 2], Unit, fn(&T) -> Option<f64>);

impl StudyFacts for CapacityFindings {
    fn key(&self) -> &'static str {
        "capacity"
    }

    fn chapter(&self, palette: &Palette) -> Option<Chapter> {
        let found = self;
        let lead = Text::with_strong(
            "The rate at which each gateway meets ",
            &found.objective,
            " in a step with 95 % probability, and the rate at which half of the steps meet it, \
             with intervals if there are three or more repeats.",
        );
        let table = TableBlock::new(table(found), "gateway", "Capacity of each gateway", palette)
            .limits("the gateway may sustain more. A number after ≥ is a lower bound.");
        let facts = found.sizings.iter().map(|it| Fact::remark(&*it.text));
        let gateways = vec![
            table.into(),
            Block::facts("sentences more", facts).on(PAGE),
            Block::foot(&*found.method, TITLE).on(MARKDOWN | PAGE),
        ];
        let mut blocks = vec![
            Block::heading(format!("{TITLE} · {}", found.objective)).on(TERMINAL),
            Block::lead(lead, "").on(PAGE),
            Block::card("", gateways),
        ];
        let curves = found.gateways.iter().enumerate();
        blocks.extend(curves.map(|(index, it)| card(index, found, it, palette)));
        blocks.push(Block::foot(CURVE, "").on(TERMINAL));
        Some(Chapter {
            leads: true,
            methods: &["Capacity", "Cores for a rate"],
            ..Chapter::new("capacity", TITLE, blocks)
        })
    }

    /// Returns [`Decision::Open`] if a gateway has neither a sustained rate nor a lower bound, or
    /// if no number of cores was found for the requested rate.
    fn decision(&self) -> Option<Decision> {
        let has_rate = |it: &GatewayCapacity| it.outcome.as_ref().and_then(rate_of).is_some();
        let is_whole =
            self.gateways.iter().all(has_rate) && self.sizings.iter().all(|it| it.sizing.is_some());
        Some(match is_whole {
            true => Decision::Fine,
            false => Decision::Open,
        })
    }
}

fn card(index: usize, found: &CapacityFindings, of: &GatewayCapacity, palette: &Palette) -> Block {
    let (name, class) = (name(found, of), palette.class(&of.variant));
    let heading = verdicts::with_validity(&name, of.validity);
    let chart = draw(&format!("capacity-{index}"), found, of, &class).map(|svg| Chart {
        class: "capacity".to_owned(),
        ..Chart::new("Response time and cores by offered rate", svg).aside(DRAWING)
    });
    let steps: u32 = of.curve.iter().map(|it| it.held + it.missed).sum();
    let tried = vec![
        Block::heading(format!("Curve · {name}")).on(TERMINAL),
        Block::table(curve(of), "offered", &format!("Steps of {name}"), palette),
        Block::foot(CURVE, "").on(MARKDOWN | PAGE),
    ];
    let mut steps = Block::from(Fold {
        aside: format!("{steps} steps"),
        markdown: format!("All rates at which {name} was tried"),
        ..Fold::new("All rates that were tried", tried)
    });
    if of.curve.is_empty() {
        steps = steps.on(MARKDOWN | PAGE);
    }
    let blocks = vec![
        Block::colored_heading(heading).on(PAGE),
        Block::sentence(&*of.text).on(PAGE),
        Block::charts("", chart),
        steps,
    ];
    Block::card(class, blocks)
}

/// Rates above this multiple of the result appear only in the table, because the search goes far
/// beyond the result.
const BEYOND_RATE_MAX: f64 = 1.25;

/// A line of a chart: its label, its style, and the function that returns its value at a point.
type Drawn = (
    &'static str,
    &'static str,
    fn(&CapacityPoint) -> Option<f64>,
);

const TIMES: [Drawn; 3] = [
    ("p50", "curve thin", |it| it.p50_ns),
    ("p99", "curve", |it| it.p99_ns),
    ("p99.9", "curve dashed", |it| it.p999_ns),
];

const CORES: [Drawn; 3] = [
    ("gateway", "curve", |it| it.gateway_cores),
    ("load generator", "curve thin", |it| it.engine_cores),
    ("upstream", "curve thin dashed", |it| it.upstream_cores),
];

/// Draws response times against the offered rate, with the objective, and the busy cores below
/// them. `class` sets the color of the gateway. `None` if there are fewer than two points.
fn draw(
    id: &str,
    capacity: &CapacityFindings,
    found: &GatewayCapacity,
    class: &str,
) -> Option<String> {
    let rate = found.outcome.as_ref().and_then(rate_of);
    let (interval, half) = match &found.outcome {
        Some(Outcome::Found(it)) => (it.rate.interval, Some(it.half.rate_per_second)),
        _ => (None, None),
    };
    let is_near = |point: &&CapacityPoint| {
        rate.is_none_or(|rate| point.offered_per_second <= rate * BEYOND_RATE_MAX)
    };
    let points: Vec<&CapacityPoint> = found.curve.iter().filter(is_near).collect();
    (points.len() > 1).then_some(())?;
    let offered = points.iter().map(|it| it.offered_per_second);
    let across = Axis::from_zero(offered.fold(0.0, f64::max));
    let rules = [("half", half), ("found-rate", rate)].into_iter();
    let names = Names::new(id, format!("Capacity of {}", found.variant), &*found.text);
    let across = Ticked::scaled(across, Unit::RequestsPerSecond);
    let times = times(capacity, &points, class);
    let mut chart = Lines::new(names, class, across, times);
    chart.bands = interval.iter().map(|it| (it.low, it.high)).collect();
    chart.rules = rules.filter_map(|(style, at)| Some((style, at?))).collect();
    chart.panels.push(cores(&points, class));
    Some(chart.draw())
}

fn series(points: &[&CapacityPoint], drawn: Drawn, class: &str) -> Series {
    let (label, style, value) = drawn;
    let place = |it: &&CapacityPoint| Some((it.offered_per_second, value(it)?));
    Series {
        class: class.to_owned(),
        label: label.to_owned(),
        style,
        line: points.iter().filter_map(place).collect(),
        ..Series::default()
    }
}

/// Response times, with a point for the p99 of each rate: filled if every step met the objective,
/// hollow if at least one missed it.
fn times(capacity: &CapacityFindings, points: &[&CapacityPoint], class: &str) -> Panel {
    let bound = |bound: &ObjectiveBound| {
        let below = bound.below_ns as f64;
        let tick = UnitScale::of(below, Unit::Nanoseconds).tick(below);
        (
            below,
            format!("p{} {} {tick}", bound.percentile, bound.sign),
        )
    };
    let bounds: Vec<(f64, String)> = capacity.bounds.iter().map(bound).collect();
    let mut lines: Vec<Series> = TIMES.map(|it| series(points, it, class)).into();
    let dots = points.iter().filter_map(|point| {
        let p99_ns = point.p99_ns?;
        let tip = format!(
            "{} offered, {} achieved, p99 {}: {} held, {} missed",
            short(point.offered_per_second, Unit::RequestsPerSecond),
            short(point.achieved_per_second, Unit::RequestsPerSecond),
            short(p99_ns, Unit::Nanoseconds),
            point.held,
            point.missed
        );
        let style = if point.missed > 0 {
            "dot hollow"
        } else {
            "dot"
        };
        Some(Dot::new((point.offered_per_second, p99_ns), style, tip))
    });
    lines.push(Series {
        class: class.to_owned(),
        dots: dots.collect(),
        ..Series::default()
    });
    let drawn = lines.iter().flat_map(|it| &it.line).map(|(_, ns)| *ns);
    let all: Vec<f64> = drawn
        .chain(bounds.iter().map(|(below, _)| *below))
        .collect();
    Panel {
        title: "",
        height: 210.0,
        up: Ticked::times(all),
        bounds,
        series: lines,
    }
}

fn cores(points: &[&CapacityPoint], class: &str) -> Panel {
    let classes = [class, "v0", "v0"];
    let lines = CORES.into_iter().zip(classes);
    let lines: Vec<Series> = lines.map(|(it, class)| series(points, it, class)).collect();
    let drawn = lines
        .iter()
        .flat_map(|it| &it.line)
        .map(|(_, cores)| *cores);
    let up = Axis::from_zero(drawn.fold(1.0, f64::max).ceil());
    let top = up.domain().1;
    Panel {
        title: "cores busy",
        height: 64.0,
        up: Ticked::with(up, [0.0, top].map(|it| (it, it.to_string())).into()),
        bounds: Vec::new(),
        series: lines,
    }
}

fn table(found: &CapacityFindings) -> Table {
    let rows = found.gateways.iter().map(|it| Row {
        absence: it.outcome.is_none().then(|| "no result".into()),
        ..Row::new(name(found, it), &it.variant)
    });
    let all = &found.gateways;
    let rate = Unit::RequestsPerSecond;
    let figures: [Figure<GatewayCapacity>; 5] = [
        (["per core", ""], rate, |it| it.per_core_per_second),
        (["CPU/request", ""], Unit::CpuNanosecondsPerRequest, |it| {
            it.cpu_ns_per_request
        }),
        (["memory", ""], Unit::Bytes, |it| it.memory_bytes),
        (["knee", ""], rate, |it| Some(it.knee?.rate_per_second)),
        (["saturation", ""], rate, |it| it.saturation_per_second),
    ];
    let mut lanes = vec![outcomes(all)];
    lanes.extend(halves(all));
    lanes.extend(figures.iter().filter_map(|it| lane(all, it)));
    let full = all.iter().map(|it| {
        it.bottleneck
            .map_or(Cell::Empty, |full| Cell::Absent(bottleneck(full)))
    });
    lanes.push(Lane {
        column: Column::new(["full", "beyond"], UnitScale::of(0.0, Unit::Count)),
        cells: full.collect(),
    });
    let together = Lanes::new(&found.objective, "", lanes);
    Table::of_lanes(rows.collect(), vec![together])
}

fn curve(found: &GatewayCapacity) -> Table {
    let points = &found.curve;
    let offered = points.iter().map(|it| it.offered_per_second);
    let scale = UnitScale::of_all(offered, Unit::RequestsPerSecond);
    let rows = points
        .iter()
        .map(|it| Row::new(scale.full(it.offered_per_second), &found.variant));
    let (rate, time) = (Unit::RequestsPerSecond, Unit::Nanoseconds);
    let figures: [Figure<CapacityPoint>; 7] = [
        (["achieved", ""], rate, |it| Some(it.achieved_per_second)),
        (["response", "p50"], time, |it| it.p50_ns),
        (["response", "p99"], time, |it| it.p99_ns),
        (["response", "p99.9"], time, |it| it.p999_ns),
        (["gateway", ""], Unit::Cores, |it| it.gateway_cores),
        (["load", "generator"], Unit::Cores, |it| it.engine_cores),
        (["upstream", ""], Unit::Cores, |it| it.upstream_cores),
    ];
    let counts = |head, count: fn(&CapacityPoint) -> u32| {
        Lane::counts([head, ""], points.iter().map(|it| Some(count(it).into())))
    };
    let mut lanes: Vec<Lane> = figures.iter().filter_map(|it| lane(points, it)).collect();
    lanes.push(counts("held", |it| it.held));
    lanes.push(counts("missed", |it| it.missed));
    let together = Lanes::new(&found.variant, "", lanes);
    Table::of_lanes(rows.collect(), vec![together])
}

/// The label of the variant, with its scenario if there are several scenarios.
fn name(found: &CapacityFindings, of: &GatewayCapacity) -> String {
    let is_same = |it: &GatewayCapacity| it.scenario == of.scenario;
    if found.gateways.iter().all(is_same) {
        of.variant.clone()
    } else {
        format!("{} · {}", of.variant, of.scenario)
    }
}

fn outcomes(all: &[GatewayCapacity]) -> Lane {
    let rate = |it: &GatewayCapacity| match it.outcome.as_ref()? {
        Outcome::Found(found) => Some(found.rate.rate_per_second),
        Outcome::AtLeast {
            rate_per_second, ..
        }
        | Outcome::Below { rate_per_second } => Some(*rate_per_second),
        Outcome::Lapsing { .. } => None,
    };
    let scale = UnitScale::of_all(all.iter().filter_map(rate), Unit::RequestsPerSecond);
    let cell = |it: &GatewayCapacity| {
        let Some(outcome) = &it.outcome else {
            return Cell::Empty;
        };
        let (sign, value, range) = match outcome {
            Outcome::Found(found) if it.validity == Validity::Limited => {
                let low = found.rate.interval.map(|interval| interval.low);
                let sign = low.map_or("", |_| "≥ ");
                let bound = low.unwrap_or(found.rate.rate_per_second);
                (sign, bound, String::new())
            }
            Outcome::Found(found) => ("", found.rate.rate_per_second, range(&found.rate, &scale)),
            Outcome::AtLeast {
                rate_per_second, ..
            } => ("≥ ", *rate_per_second, String::new()),
            Outcome::Below { rate_per_second } => ("< ", *rate_per_second, String::new()),
            Outcome::Lapsing { .. } => return Cell::Absent("none"),
        };
        let median = format!("{sign}{}", scale.number(value));
        Cell::value(median, range, it.validity)
    };
    Lane {
        column: Column::new(["sustains", "95 %"], scale),
        cells: all.iter().map(cell).collect(),
    }
}

/// The rates at which half of the steps meet the objective; `None` if no gateway has such a rate.
fn halves(all: &[GatewayCapacity]) -> Option<Lane> {
    let half = |it: &GatewayCapacity| match it.outcome.as_ref()? {
        Outcome::Found(Sustained { half, .. }) | Outcome::Lapsing { half, .. } => {
            Some((*half, it.validity))
        }
        _ => None,
    };
    let halves: Vec<Option<(Rate, Validity)>> = all.iter().map(half).collect();
    halves.iter().any(Option::is_some).then_some(())?;
    let rates = halves.iter().flatten().map(|(it, _)| it.rate_per_second);
    let scale = UnitScale::of_all(rates, Unit::RequestsPerSecond);
    let cell = |half: &Option<(Rate, Validity)>| {
        half.map_or(Cell::Empty, |(half, validity)| {
            let median = scale.number(half.rate_per_second);
            Cell::value(median, range(&half, &scale), validity)
        })
    };
    Some(Lane {
        cells: halves.iter().map(cell).collect(),
        column: Column::new(["half of", "the steps"], scale),
    })
}

/// An interval such as `19.7–20.3k`; empty if there is none.
fn range(rate: &Rate, scale: &UnitScale) -> String {
    let range = rate.interval.map(|it| scale.range(it.low, it.high));
    range.unwrap_or_default()
}

/// The values of a column on one scale; `None` if no row has a value.
fn lane<T>(all: &[T], figure: &Figure<T>) -> Option<Lane> {
    let (head, unit, value) = figure;
    let values: Vec<Option<f64>> = all.iter().map(value).collect();
    values.iter().any(Option::is_some).then_some(())?;
    let scale = UnitScale::of_all(values.iter().flatten().copied(), *unit);
    let cell =
        |value: &Option<f64>| value.map_or(Cell::Empty, |value| Cell::words(scale.number(value)));
    Some(Lane {
        column: Column::new(*head, scale),
        cells: values.iter().map(cell).collect(),
    })
}

fn bottleneck(full: Bottleneck) -> &'static str {
    match full {
        Bottleneck::Gateway => "gateway",
        Bottleneck::Engine => "load generator",
        Bottleneck::Upstream => "upstream",
        Bottleneck::EngineAndUpstream => "load generator + upstream",
        Bottleneck::Nothing => "nothing",
    }
}
