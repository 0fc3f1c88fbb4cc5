//! A search for capacity: a row for each gateway, and a curve for each.

use gatebench_analysis::Findings;
use gatebench_analysis::findings::{
    Answer, Bottleneck, CapacityFindings, CapacityPoint, GatewayCapacity, ObjectiveBound, Rate,
    Sustained, Unit, Validity,
};

use crate::axis::Axis;
use crate::chapter::{
    Block, Chapter, Chart, Fact, Fold, MARKDOWN, PAGE, Part, TERMINAL, TableBlock, Text,
};
use crate::chart::lines::{Dot, Lines, Panel, Series};
use crate::chart::{Names, Ticked};
use crate::number::{UnitScale, quantity};
use crate::palette::Palette;
use crate::problems::word;
use crate::table::{Cell, Column, Lane, Lanes, Row, Table};

const TITLE: &str = "Capacity";

/// How a curve is read.
const CURVE: &str = "Steps of equal rate together. Held and missed count steps; response times count from when a request was due; \
     cores are those kept busy.";

/// How the drawing of a curve is read.
const DRAWING: &str = "full: every step held; hollow: one missed; dotted line and band: the sustained rate and its interval; \
     thin line: half of the steps hold";

/// A column with its unit, and its number of a row, which may be missing.
type Figure<T> = ([&'static str; 2], Unit, fn(&T) -> Option<f64>);

/// The chapter; none where the run was not made to search.
pub fn chapter(findings: &Findings, palette: &Palette) -> Option<Chapter> {
    let found = findings.capacity.as_ref()?;
    let lead = Text::with_strong(
        "The rate at which each gateway holds ",
        &found.objective,
        " in a step with 95 % probability, and the rate at which half of the steps hold it, with intervals where there \
         are three repeats or more.",
    );
    let table = TableBlock::new(table(found), "gateway", "Capacity of each gateway", palette)
        .limits("a lower bound (≥ is the lower end of the interval).");
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

/// The curve of a gateway.
fn card(index: usize, found: &CapacityFindings, of: &GatewayCapacity, palette: &Palette) -> Block {
    let (name, class) = (name(found, of), palette.class(&of.variant));
    let heading = match of.validity {
        Validity::Valid => Text::from(&*name),
        Validity::Limited | Validity::Invalid => {
            let chip = format!("chip {}", word(of.validity));
            Text::from(format!("{name} ")).and_styled(&chip, word(of.validity))
        }
    };
    let chart = draw(&format!("capacity-{index}"), found, of, &class).map(|svg| Chart {
        class: "capacity".to_owned(),
        caption: "Response time and cores over the offered rate".to_owned(),
        aside: DRAWING.into(),
        svg,
        ..Chart::default()
    });
    let steps: u32 = of.curve.iter().map(|it| it.held + it.missed).sum();
    let fold = Fold {
        summary: "All rates that were tried".to_owned(),
        aside: format!("{steps} steps"),
        markdown: format!("All rates that {name} was tried at"),
        blocks: vec![
            Block::heading(format!("Curve · {name}")).on(TERMINAL),
            Block::table(curve(of), "offered", &format!("Steps of {name}"), palette),
            Block::foot(CURVE, "").on(MARKDOWN | PAGE),
        ],
        ..Fold::default()
    };
    let steps = match of.curve.is_empty() {
        true => Block::from(Part::Fold(fold)).on(MARKDOWN | PAGE),
        false => Part::Fold(fold).into(),
    };
    let blocks = vec![
        Block::coloured_heading(heading).on(PAGE),
        Block::sentence(&*of.text).on(PAGE),
        Block::charts("", chart),
        steps,
    ];
    Block::card(class, blocks)
}

/// Rates beyond this multiple of the answer are left to the table: the search grows far over it.
const BEYOND_ANSWER: f64 = 1.25;

/// A line of a chart: its label, its style, and its value at a point.
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
    ("engine", "curve thin", |it| it.engine_cores),
    ("upstream", "curve thin dashed", |it| it.upstream_cores),
];

/// Draws response times over the offered rate with the objective, and below them the cores that
/// were kept busy; `class` sets the colour of the gateway. None with fewer than two points.
fn draw(
    id: &str,
    capacity: &CapacityFindings,
    found: &GatewayCapacity,
    class: &str,
) -> Option<String> {
    let (rate, half) = match &found.answer {
        Some(Answer::Found(found)) => (Some(found.rate), Some(found.half.rate_per_second)),
        Some(Answer::AtLeast {
            rate_per_second, ..
        }) => {
            let rate = Rate {
                rate_per_second: *rate_per_second,
                interval: None,
            };
            (Some(rate), None)
        }
        _ => (None, None),
    };
    let is_near = |point: &&CapacityPoint| {
        rate.is_none_or(|it| point.offered_per_second <= it.rate_per_second * BEYOND_ANSWER)
    };
    let points: Vec<&CapacityPoint> = found.curve.iter().filter(is_near).collect();
    (points.len() > 1).then_some(())?;
    let offered = points.iter().map(|it| it.offered_per_second);
    let across = Axis::from_zero(offered.fold(0.0, f64::max));
    let interval = rate.and_then(|it| it.interval);
    let rules = [
        ("half", half),
        ("answer", rate.map(|it| it.rate_per_second)),
    ];
    let rules = rules.into_iter();
    let names = Names {
        id,
        title: &format!("Capacity of {}", found.variant),
        description: &found.text,
    };
    let across = Ticked::scaled(across, Unit::RequestsPerSecond);
    let times = times(capacity, &points, class);
    let mut chart = Lines::new(names, class, across, times);
    chart.bands = interval.iter().map(|it| (it.low, it.high)).collect();
    chart.rules = rules.filter_map(|(style, at)| Some((style, at?))).collect();
    chart.panels.push(cores(&points, class));
    Some(chart.draw())
}

/// The values of a line.
fn series(points: &[&CapacityPoint], (label, style, value): Drawn, class: &str) -> Series {
    let place = |it: &&CapacityPoint| Some((it.offered_per_second, value(it)?));
    Series {
        class: class.to_owned(),
        label: label.to_owned(),
        style,
        line: points.iter().filter_map(place).collect(),
        ..Series::default()
    }
}

/// Response times, with the p99 of each rate: full if every step held, hollow if one missed.
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
            quantity(point.offered_per_second, Unit::RequestsPerSecond),
            quantity(point.achieved_per_second, Unit::RequestsPerSecond),
            quantity(p99_ns, Unit::Nanoseconds),
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

/// The gateways, a row each.
fn table(found: &CapacityFindings) -> Table {
    let rows = found.gateways.iter().map(|it| Row {
        absence: it.answer.is_none().then(|| "no answer".into()),
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
    let mut lanes = vec![answers(all)];
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
    let together = Lanes {
        phase: found.objective.clone(),
        label: String::new(),
        lanes,
    };
    Table::of_lanes(rows.collect(), vec![together])
}

/// The steps of a gateway, a row for each rate.
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
        (["engine", ""], Unit::Cores, |it| it.engine_cores),
        (["upstream", ""], Unit::Cores, |it| it.upstream_cores),
    ];
    let counts = |head, count: fn(&CapacityPoint) -> u32| {
        Lane::counts([head, ""], points.iter().map(|it| Some(count(it).into())))
    };
    let mut lanes: Vec<Lane> = figures.iter().filter_map(|it| lane(points, it)).collect();
    lanes.push(counts("held", |it| it.held));
    lanes.push(counts("missed", |it| it.missed));
    let together = Lanes {
        phase: found.variant.clone(),
        label: String::new(),
        lanes,
    };
    Table::of_lanes(rows.collect(), vec![together])
}

/// The variant, with its scenario where there are several.
fn name(found: &CapacityFindings, of: &GatewayCapacity) -> String {
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
    let scale = UnitScale::of_all(all.iter().filter_map(rate), Unit::RequestsPerSecond);
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
    let scale = UnitScale::of_all(rates, Unit::RequestsPerSecond);
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
fn range(rate: &Rate, scale: &UnitScale) -> String {
    let limits = rate
        .interval
        .map(|it| (scale.number(it.low), scale.number(it.high)));
    let range = limits
        .map(|(low, high)| format!("{}–{high}", low.strip_suffix(scale.letter).unwrap_or(&low)));
    range.unwrap_or_default()
}

/// A figure of all rows in one scale; none where no row has it.
fn lane<T>(all: &[T], (head, unit, figure): &Figure<T>) -> Option<Lane> {
    let values: Vec<Option<f64>> = all.iter().map(figure).collect();
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
        Bottleneck::Engine => "engine",
        Bottleneck::Upstream => "upstream",
        Bottleneck::EngineAndUpstream => "engine + upstream",
        Bottleneck::Nothing => "nothing",
    }
}
