//! Percentile curves on an axis of nines, one panel per gateway with the floor behind it.

use gatebench_analysis::findings::{CurveMetric, PercentileCurve, ScenarioFindings, Unit};

use super::spread;
use crate::axis::{Axis, nines};
use crate::number::Scale;
use crate::palette::{FLOOR, Palette};
use crate::svg::{Anchor, Svg};

/// One panel.
pub struct Panel {
    /// Label of the variant.
    pub variant: String,
    /// The drawing.
    pub svg: String,
    /// Samples in the curve of the gateway's response.
    pub samples: u64,
}

const WIDTH: f64 = 330.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 68.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 30.0;
const LABEL_GAP: f64 = 13.0;
const MARKS: [(f64, &str); 6] = [
    (50.0, "p50"),
    (90.0, "p90"),
    (99.0, "p99"),
    (99.9, "p99.9"),
    (99.99, "p99.99"),
    (99.999, "p99.999"),
];

/// The panels of a phase: all on the same axes, so that they can be compared. `prefix` makes the
/// ids unique.
pub fn panels(
    prefix: &str,
    scenario: &ScenarioFindings,
    phase: &str,
    palette: &Palette,
) -> Vec<Panel> {
    let curves: Vec<&PercentileCurve> = scenario
        .curves
        .iter()
        .filter(|curve| curve.phase == phase && is_drawn(curve) && !curve.points.is_empty())
        .collect();
    let axes = Axes::over(&curves);
    let gateways = scenario.rows.iter().filter(|row| row.variant != FLOOR);
    gateways
        .enumerate()
        .filter_map(|(index, row)| {
            let id = format!("{prefix}-{index}");
            panel(&id, &row.variant, &curves, &axes, palette)
        })
        .collect()
}

fn is_drawn(curve: &PercentileCurve) -> bool {
    matches!(curve.metric, CurveMetric::Response | CurveMetric::Added)
}

/// Both axes of all panels of a phase.
struct Axes {
    nines: Axis,
    latency: Axis,
    last_percentile: f64,
}

impl Axes {
    fn over(curves: &[&PercentileCurve]) -> Self {
        let last_percentile = curves
            .iter()
            .flat_map(|curve| drawn_points(curve))
            .map(|(percentile, _)| percentile)
            .fold(99.0, f64::max);
        let latencies = curves
            .iter()
            .flat_map(|curve| drawn_points(curve))
            .map(|(_, latency)| latency);
        Self {
            nines: Axis::linear((0.0, position(last_percentile)), (LEFT, WIDTH - RIGHT)),
            latency: Axis::covering_log(latencies, (HEIGHT - BOTTOM, TOP)),
            last_percentile,
        }
    }

    fn at(&self, (percentile, latency): (f64, f64)) -> (f64, f64) {
        (
            self.nines.at(position(percentile)),
            self.latency.at(latency),
        )
    }
}

fn position(percentile: f64) -> f64 {
    nines(percentile / 100.0)
}

/// The points that may be shown: those that are not beyond the last trustworthy percentile.
fn drawn_points(curve: &PercentileCurve) -> impl Iterator<Item = (f64, f64)> {
    curve
        .points
        .iter()
        .filter(|point| point.percentile <= curve.trusted_percentile && point.percentile < 100.0)
        .map(|point| (point.percentile, point.latency_ns as f64))
}

/// A curve in a panel, with the words at its end.
struct Line<'a> {
    curve: &'a PercentileCurve,
    word: &'static str,
    style: &'static str,
}

fn panel(
    id: &str,
    variant: &str,
    curves: &[&PercentileCurve],
    axes: &Axes,
    palette: &Palette,
) -> Option<Panel> {
    let find = |of: &str, metric: CurveMetric| {
        curves
            .iter()
            .copied()
            .find(|curve| curve.variant == of && curve.metric == metric)
    };
    let main = find(variant, CurveMetric::Response).or(find(variant, CurveMetric::Added))?;
    let wanted = [
        (
            FLOOR,
            CurveMetric::Added,
            "floor added",
            "curve thin dashed",
        ),
        (FLOOR, CurveMetric::Response, "floor", "curve thin"),
        (variant, CurveMetric::Added, "added", "curve dashed"),
        (variant, CurveMetric::Response, "response", "curve"),
    ];
    let lines: Vec<Line<'_>> = wanted
        .into_iter()
        .filter_map(|(of, metric, word, style)| {
            find(of, metric).map(|curve| Line { curve, word, style })
        })
        .collect();
    let title = format!("Percentiles of {variant}");
    let mut svg = Svg::new(id, (WIDTH, HEIGHT), &title, &describe(&lines));
    draw_axes(&mut svg, axes);
    draw_lines(&mut svg, &lines, axes, palette);
    Some(Panel {
        variant: variant.into(),
        svg: svg.finish(),
        samples: main.samples,
    })
}

fn draw_axes(svg: &mut Svg, axes: &Axes) {
    let bottom = HEIGHT - BOTTOM;
    for tick in axes.latency.ticks() {
        let y = axes.latency.at(tick);
        svg.line("grid", (LEFT, y), (WIDTH - RIGHT, y));
        let label = Scale::of(tick, Unit::Nanoseconds).tick(tick);
        svg.text("", (LEFT - 6.0, y + 4.0), Anchor::End, &label);
    }
    for (percentile, label) in MARKS {
        if percentile > axes.last_percentile + 1e-9 {
            break;
        }
        let x = axes.nines.at(position(percentile));
        svg.line("grid", (x, TOP), (x, bottom));
        svg.text("", (x, bottom + 17.0), Anchor::Middle, label);
    }
    svg.line("base", (LEFT, bottom), (WIDTH - RIGHT, bottom));
}

fn draw_lines(svg: &mut Svg, lines: &[Line<'_>], axes: &Axes, palette: &Palette) {
    let ends: Vec<(f64, f64)> = lines
        .iter()
        .map(|line| {
            let last = drawn_points(line.curve).last().unwrap_or((0.0, 1.0));
            axes.at(last)
        })
        .collect();
    let mut heights: Vec<f64> = ends.iter().map(|(_, y)| *y).collect();
    spread(&mut heights, LABEL_GAP, TOP + 4.0, HEIGHT - BOTTOM - 2.0);
    for (line, ((x, _), height)) in lines.iter().zip(ends.iter().zip(&heights)) {
        svg.begin_group(&palette.class(&line.curve.variant));
        let points: Vec<(f64, f64)> = drawn_points(line.curve).map(|p| axes.at(p)).collect();
        svg.polyline(line.style, &points);
        svg.text("label", (x + 6.0, height + 4.0), Anchor::Start, line.word);
        svg.end_group();
    }
}

fn describe(lines: &[Line<'_>]) -> String {
    let sentence = |line: &Line<'_>| {
        let marks: Vec<String> = MARKS
            .iter()
            .filter_map(|(percentile, name)| {
                let point = drawn_points(line.curve).find(|(at, _)| (at - percentile).abs() < 1e-6);
                point.map(|(_, latency)| {
                    let scale = Scale::of(latency, Unit::Nanoseconds);
                    format!("{name} {}", scale.full(latency))
                })
            })
            .collect();
        format!("{}: {}.", line.word, marks.join(", "))
    };
    lines.iter().map(sentence).collect::<Vec<_>>().join(" ")
}
