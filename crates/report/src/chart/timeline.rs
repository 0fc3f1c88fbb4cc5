//! Draws the loads of a trial in sequence, second by second, with responses per second above and
//! the 99th percentile of the response time below. Loads differ by orders of magnitude, so each
//! load has separate axes. All charts use the same axes for the same load.

use std::ops::Range;

use super::Names;
use crate::axis::Axis;
use crate::format::{Unit, UnitScale, distinct};
use crate::svg::{Anchor, Svg};

const PHASE_WIDTH: f64 = 165.0;
/// The minimum width of a chart, so that the text of a chart with one load is not enlarged.
const WIDTH_MIN: f64 = 3.0 * PHASE_WIDTH;
const LABELS: f64 = 46.0;
const TOP: f64 = 16.0;
const STRIP: f64 = 46.0;
const LOWER: f64 = TOP + STRIP + 14.0;
const HEIGHT: f64 = LOWER + STRIP + 18.0;

/// A load, second by second.
pub struct Phase<'a> {
    pub name: &'a str,
    pub seconds: Vec<Second>,
}

/// A second of a load.
pub struct Second {
    /// The number of seconds since the load began.
    pub second: u32,
    pub completed: u64,
    /// The 99th percentile of the response time; `None` if the second has no responses.
    pub p99_ns: Option<u64>,
}

/// The axes of each load, in the order of the loads.
pub struct Axes {
    phases: Vec<PhaseAxes>,
    width: f64,
}

struct PhaseAxes {
    phase: String,
    rate: Axis,
    latency: Axis,
    time: Axis,
}

impl Axes {
    /// Returns axes that cover all of these charts, or `None` if the charts have no data.
    pub fn over(charts: &[Vec<Phase<'_>>]) -> Option<Self> {
        let names = distinct(charts.iter().flatten().map(|it| it.name));
        let width = WIDTH_MIN.max(PHASE_WIDTH * names.len() as f64);
        let each = width / names.len() as f64;
        let phases = names.into_iter().enumerate();
        let phases = phases.filter_map(|(index, name)| {
            let left = each * index as f64;
            PhaseAxes::over(left + LABELS..left + each, name, charts)
        });
        let phases: Vec<PhaseAxes> = phases.collect();
        (!phases.is_empty()).then_some(Self { phases, width })
    }
}

impl PhaseAxes {
    /// Creates the axes of a load at the horizontal extent `span`.
    fn over(span: Range<f64>, name: &str, charts: &[Vec<Phase<'_>>]) -> Option<Self> {
        let phases = || charts.iter().flatten().filter(|phase| phase.name == name);
        let seconds = || phases().flat_map(|phase| &phase.seconds);
        let most = seconds().map(|second| second.completed).max()?;
        let last = seconds().map(|second| second.second).max()?;
        let latencies = seconds().filter_map(|second| second.p99_ns);
        Some(Self {
            phase: name.into(),
            rate: Axis::from_zero(most as f64).on((TOP + STRIP, TOP)),
            latency: Axis::covering_log(latencies.map(|it| it as f64)).on((LOWER + STRIP, LOWER)),
            time: Axis::linear((0.0, f64::from(last).max(1.0))).on((span.start, span.end - 1.0)),
        })
    }
}

/// Draws a chart. The CSS class `class` sets its color.
pub fn draw(names: &Names, phases: &[Phase<'_>], axes: &Axes, class: &str) -> String {
    let mut svg = names.svg((axes.width, HEIGHT));
    svg.begin_group(class);
    for axes in &axes.phases {
        draw_frame(&mut svg, axes);
        if let Some(phase) = phases.iter().find(|it| it.name == axes.phase) {
            draw_rate(&mut svg, &phase.seconds, axes);
            draw_latency(&mut svg, &phase.seconds, axes);
        }
    }
    svg.end_group();
    svg.finish()
}

fn draw_frame(svg: &mut Svg, axes: &PhaseAxes) {
    let (first, last) = axes.time.domain();
    let (left, right) = (axes.time.at(first), axes.time.at(last));
    svg.text("", (left, TOP - 6.0), Anchor::Start, &axes.phase);
    for top in [TOP, LOWER] {
        svg.rect("shade", (left, top), (right - left, STRIP), 2.0);
    }
    let seconds = format!("{last} s");
    svg.text("", (right, LOWER + STRIP + 14.0), Anchor::End, &seconds);
    for (axis, unit) in [
        (axes.rate, Unit::RequestsPerSecond),
        (axes.latency, Unit::Nanoseconds),
    ] {
        let (low, high) = axis.domain();
        // The rate axis starts at zero and has a single unit. The ends of the latency axis may need
        // different units.
        let low_scale = UnitScale::of(if low == 0.0 { high } else { low }, unit);
        let ends = [
            (low, low_scale, 0.0),
            (high, UnitScale::of(high, unit), 8.0),
        ];
        for (value, scale, drop) in ends {
            let at = (left - 6.0, axis.at(value) + drop);
            svg.text("", at, Anchor::End, &scale.tick(value));
        }
    }
}

fn draw_rate(svg: &mut Svg, seconds: &[Second], axes: &PhaseAxes) {
    let point = |second: &Second| {
        let x = axes.time.at(f64::from(second.second));
        (x, axes.rate.at(second.completed as f64))
    };
    let points: Vec<(f64, f64)> = seconds.iter().map(point).collect();
    svg.area("fill", &points, TOP + STRIP);
    svg.polyline("curve thin", &points);
}

/// Draws the latency as a line that is interrupted at seconds without responses, which have no
/// percentile.
fn draw_latency(svg: &mut Svg, seconds: &[Second], axes: &PhaseAxes) {
    let mut unbroken: Vec<(f64, f64)> = Vec::new();
    for second in seconds {
        match second.p99_ns {
            Some(latency) => {
                let x = axes.time.at(f64::from(second.second));
                unbroken.push((x, axes.latency.at(latency as f64)));
            }
            None => svg.polyline("curve thin", &std::mem::take(&mut unbroken)),
        }
    }
    svg.polyline("curve thin", &unbroken);
}
