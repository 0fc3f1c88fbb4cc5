//! The capacity curve of a gateway: response times over the offered rate with the objective, and below them the
//! cores that gateway, engine and upstream kept busy.

use gatebench_analysis::findings::{
    Answer, CapacityFindings, CapacityPoint, GatewayCapacity, Unit,
};

use super::spread;
use crate::axis::Axis;
use crate::number::{Scale, quantity};
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 460.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 66.0;
const TOP: f64 = 10.0;
/// Where the response times end, and where the cores begin and end.
const TIMES_BOTTOM: f64 = 220.0;
const CORES_TOP: f64 = 246.0;
const CORES_BOTTOM: f64 = 310.0;
const HEIGHT: f64 = 334.0;
const LABEL_GAP: f64 = 13.0;

/// Rates beyond this multiple of the answer are left to the table: the search grows far over it.
const BEYOND_ANSWER: f64 = 1.25;

/// A figure of a point that is drawn as a line.
struct Line {
    word: &'static str,
    style: &'static str,
    /// The class of its colour.
    class: String,
    points: Vec<(f64, f64)>,
}

/// Draws the curve; `class` sets the colour of the gateway. None where there are fewer than two points.
pub fn plot(
    id: &str,
    capacity: &CapacityFindings,
    found: &GatewayCapacity,
    class: &str,
) -> Option<String> {
    let rate = rate_of(found);
    let is_near = |point: &&CapacityPoint| {
        rate.is_none_or(|rate| point.offered_per_second <= rate * BEYOND_ANSWER)
    };
    let points: Vec<&CapacityPoint> = found.curve.iter().filter(is_near).collect();
    (points.len() > 1).then_some(())?;
    let most = points
        .iter()
        .map(|it| it.offered_per_second)
        .fold(0.0, f64::max);
    let rates = Axis::from_zero(most, (LEFT, WIDTH - RIGHT));
    let title = format!("Capacity of {}", found.variant);
    let mut svg = Svg::new(id, (WIDTH, HEIGHT), &title, &found.text);
    answer(&mut svg, found, &rates, class);
    rate_ticks(&mut svg, &rates);
    times(&mut svg, capacity, &points, &rates, class);
    cores(&mut svg, &points, &rates, class);
    Some(svg.finish())
}

fn rate_of(found: &GatewayCapacity) -> Option<f64> {
    match &found.answer {
        Some(Answer::Found(found)) => Some(found.rate.rate_per_second),
        Some(Answer::AtLeast {
            rate_per_second, ..
        }) => Some(*rate_per_second),
        _ => None,
    }
}

/// The answer with its interval, behind everything else.
fn answer(svg: &mut Svg, found: &GatewayCapacity, rates: &Axis, class: &str) {
    let Some(rate) = rate_of(found) else { return };
    let half = match &found.answer {
        Some(Answer::Found(found)) => {
            if let Some(interval) = found.rate.interval {
                let (low, high) = (rates.at(interval.low), rates.at(interval.high));
                svg.rect("band", (low, TOP), (high - low, CORES_BOTTOM - TOP), 0.0);
            }
            Some(found.half.rate_per_second)
        }
        _ => None,
    };
    svg.begin_group(class);
    if let Some(half) = half {
        let x = rates.at(half);
        svg.line("half", (x, TOP), (x, CORES_BOTTOM));
    }
    let x = rates.at(rate);
    svg.line("answer", (x, TOP), (x, CORES_BOTTOM));
    svg.end_group();
}

fn rate_ticks(svg: &mut Svg, rates: &Axis) {
    let scale = Scale::of(rates.domain().1, Unit::RequestsPerSecond);
    for tick in rates.ticks() {
        let x = rates.at(tick);
        svg.line("grid", (x, TOP), (x, TIMES_BOTTOM));
        svg.line("grid", (x, CORES_TOP), (x, CORES_BOTTOM));
        svg.text(
            "",
            (x, CORES_BOTTOM + 16.0),
            Anchor::Middle,
            &scale.tick(tick),
        );
    }
}

fn times(
    svg: &mut Svg,
    capacity: &CapacityFindings,
    points: &[&CapacityPoint],
    rates: &Axis,
    class: &str,
) {
    type Figure = fn(&CapacityPoint) -> Option<f64>;
    let figures: [(&'static str, &'static str, Figure); 3] = [
        ("p50", "curve thin", |it| it.p50_ns),
        ("p99", "curve", |it| it.p99_ns),
        ("p99.9", "curve dashed", |it| it.p999_ns),
    ];
    let bounds = capacity.bounds.iter().map(|bound| bound.below_ns as f64);
    let all = figures
        .iter()
        .flat_map(|(.., figure)| points.iter().filter_map(|point| figure(point)));
    let axis = Axis::covering_log(all.chain(bounds), (TIMES_BOTTOM, TOP));
    for tick in axis.ticks() {
        let y = axis.at(tick);
        svg.line("grid", (LEFT, y), (WIDTH - RIGHT, y));
        let label = Scale::of(tick, Unit::Nanoseconds).tick(tick);
        svg.text("", (LEFT - 6.0, y + 4.0), Anchor::End, &label);
    }
    for bound in &capacity.bounds {
        let y = axis.at(bound.below_ns as f64);
        svg.line("slo", (LEFT, y), (WIDTH - RIGHT, y));
        let below = Scale::of(bound.below_ns as f64, Unit::Nanoseconds).tick(bound.below_ns as f64);
        let label = format!("p{} {} {below}", bound.percentile, bound.sign);
        svg.text("slo", (LEFT + 6.0, y - 5.0), Anchor::Start, &label);
    }
    let line = |(word, style, figure): (&'static str, &'static str, Figure)| Line {
        word,
        style,
        class: class.to_owned(),
        points: points
            .iter()
            .filter_map(|it| Some((rates.at(it.offered_per_second), axis.at(figure(it)?))))
            .collect(),
    };
    lines(
        svg,
        figures.map(line).into(),
        (TOP + 4.0, TIMES_BOTTOM - 2.0),
    );
    dots(svg, points, (rates, &axis), class);
}

/// The p99 of each rate: full where every step held, hollow where one missed.
fn dots(svg: &mut Svg, points: &[&CapacityPoint], (rates, axis): (&Axis, &Axis), class: &str) {
    svg.begin_group(class);
    for point in points {
        let Some(p99_ns) = point.p99_ns else { continue };
        let style = if point.missed > 0 {
            "dot hollow"
        } else {
            "dot"
        };
        let tip = format!(
            "{} offered, {} achieved, p99 {}: {} held, {} missed",
            quantity(point.offered_per_second, Unit::RequestsPerSecond),
            quantity(point.achieved_per_second, Unit::RequestsPerSecond),
            quantity(p99_ns, Unit::Nanoseconds),
            point.held,
            point.missed
        );
        let at = (rates.at(point.offered_per_second), axis.at(p99_ns));
        svg.dot(style, at, 3.5, &tip);
    }
    svg.end_group();
}

fn cores(svg: &mut Svg, points: &[&CapacityPoint], rates: &Axis, class: &str) {
    type Figure = fn(&CapacityPoint) -> Option<f64>;
    let figures: [(&'static str, &'static str, &str, Figure); 3] = [
        ("gateway", "curve", class, |it| it.gateway_cores),
        ("engine", "curve thin", "v0", |it| it.engine_cores),
        ("upstream", "curve thin dashed", "v0", |it| {
            it.upstream_cores
        }),
    ];
    let all = figures
        .iter()
        .flat_map(|(.., figure)| points.iter().filter_map(|point| figure(point)));
    let axis = Axis::from_zero(all.fold(1.0, f64::max).ceil(), (CORES_BOTTOM, CORES_TOP));
    for tick in [0.0, axis.domain().1] {
        let y = axis.at(tick);
        svg.line(
            if tick == 0.0 { "base" } else { "grid" },
            (LEFT, y),
            (WIDTH - RIGHT, y),
        );
        svg.text("", (LEFT - 6.0, y + 4.0), Anchor::End, &format!("{tick}"));
    }
    svg.text("", (LEFT, CORES_TOP - 8.0), Anchor::Start, "cores busy");
    let line = |(word, style, class, figure): (&'static str, &'static str, &str, Figure)| Line {
        word,
        style,
        class: class.to_owned(),
        points: points
            .iter()
            .filter_map(|it| Some((rates.at(it.offered_per_second), axis.at(figure(it)?))))
            .collect(),
    };
    lines(svg, figures.map(line).into(), (CORES_TOP, CORES_BOTTOM));
}

/// Lines with their words at their ends.
fn lines(svg: &mut Svg, lines: Vec<Line>, (low, high): (f64, f64)) {
    let drawn: Vec<Line> = lines
        .into_iter()
        .filter(|line| !line.points.is_empty())
        .collect();
    let end = |line: &Line| line.points.last().copied().unwrap_or_default();
    let mut heights: Vec<f64> = drawn.iter().map(|line| end(line).1).collect();
    spread(&mut heights, LABEL_GAP, low, high);
    for (line, height) in drawn.iter().zip(heights) {
        svg.begin_group(&line.class);
        svg.polyline(line.style, &line.points);
        svg.text(
            "label",
            (WIDTH - RIGHT + 6.0, height + 4.0),
            Anchor::Start,
            line.word,
        );
        svg.end_group();
    }
}
