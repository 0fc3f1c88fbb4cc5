//! Memory over how many routes, consumers or idle connections there are, both in factors, with a line for
//! each gateway.

use gatebench_analysis::findings::{GatewayScale, ScaleFindings, ScalePoint, Unit};
use gatebench_analysis::words::grouped;

use super::spread;
use crate::axis::Axis;
use crate::number::{Scale, quantity};
use crate::palette::Palette;
use crate::svg::{Anchor, Svg};
use crate::text;

const WIDTH: f64 = 620.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = 112.0;
const TOP: f64 = 12.0;
const HEIGHT_MIN: f64 = 210.0;
const LABEL_GAP: f64 = 14.0;
const LABEL_COLUMNS_MAX: usize = 14;

/// A gateway with its measured points.
struct Line<'a> {
    variant: &'a str,
    points: Vec<(u32, f64)>,
}

/// Draws the measure of that index; none where no gateway has two points of it.
pub fn plot(id: &str, scale: &ScaleFindings, measure: usize, palette: &Palette) -> Option<String> {
    let lines: Vec<Line<'_>> = scale
        .gateways
        .iter()
        .map(|gateway| line(gateway, measure))
        .filter(|line| line.points.len() > 1)
        .collect();
    if lines.is_empty() {
        return None;
    }
    let bottom = HEIGHT_MIN.max(TOP + LABEL_GAP * lines.len() as f64);
    let points = || lines.iter().flat_map(|line| &line.points);
    let counts = points().map(|(count, _)| f64::from(*count));
    let across = Axis::covering_log(counts, (LEFT, WIDTH - RIGHT));
    let unit = scale.measures[measure].unit;
    let largest = points().map(|(_, value)| *value).fold(0.0, f64::max);
    // Round numbers are those of the unit that is written, not bytes.
    let size = Scale::of(largest, unit).divisor;
    let up = Axis::covering_log_closely(points().map(|(_, value)| *value / size), (bottom, TOP));
    let title = format!("Memory over {}s", scale.what.noun());
    let words: Vec<String> = lines.iter().map(|line| described(line, unit)).collect();
    let whole = (WIDTH, bottom + 40.0);
    let mut svg = Svg::new(id, whole, &title, &words.join(" "));
    for tick in up.ticks() {
        let y = up.at(tick);
        svg.line("grid", (LEFT, y), (WIDTH - RIGHT, y));
        let label = Scale::of(largest, unit).tick(tick * size);
        svg.text("", (LEFT - 6.0, y + 4.0), Anchor::End, &label);
    }
    for tick in across.ticks() {
        let at = (across.at(tick), bottom + 16.0);
        svg.text("", at, Anchor::Middle, &grouped(tick));
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let noun = format!("{}s", scale.what.noun());
    svg.text("", (middle, bottom + 34.0), Anchor::Middle, &noun);
    let ends = lines.iter().filter_map(|line| line.points.last());
    let mut heights: Vec<f64> = ends.map(|(_, value)| up.at(*value / size)).collect();
    spread(&mut heights, LABEL_GAP, TOP, bottom);
    for (line, height) in lines.iter().zip(heights) {
        svg.begin_group(&palette.class(line.variant));
        draw(&mut svg, line, (&across, &up, size), unit);
        let label = text::truncate(&text::clean(line.variant), LABEL_COLUMNS_MAX);
        let at = (WIDTH - RIGHT + 10.0, height + 4.0);
        svg.text("label", at, Anchor::Start, &label);
        svg.end_group();
    }
    Some(svg.finish())
}

fn line(gateway: &GatewayScale, measure: usize) -> Line<'_> {
    let point = |point: &ScalePoint| {
        let value = point.values[measure].as_ref()?;
        Some((point.count, value.median))
    };
    Line {
        variant: &gateway.variant,
        points: gateway.points.iter().filter_map(point).collect(),
    }
}

fn described(line: &Line<'_>, unit: Unit) -> String {
    let points = line.points.iter().map(|(count, value)| {
        let count = grouped(f64::from(*count));
        format!("{} with {count}", quantity(*value, unit))
    });
    let points: Vec<String> = points.collect();
    format!("{}: {}.", line.variant, points.join(", "))
}

fn draw(svg: &mut Svg, line: &Line<'_>, (across, up, size): (&Axis, &Axis, f64), unit: Unit) {
    let place = |(count, value): &(u32, f64)| (across.at(f64::from(*count)), up.at(*value / size));
    let places: Vec<(f64, f64)> = line.points.iter().map(place).collect();
    svg.polyline("curve thin", &places);
    for (point, at) in line.points.iter().zip(places) {
        let (count, value) = (grouped(f64::from(point.0)), quantity(point.1, unit));
        let tip = format!("{}: {value} with {count}", line.variant);
        svg.dot("dot", at, 4.0, &tip);
    }
}
