//! The loads of a trial in sequence, second by second: responses per second above, and the 99th
//! percentile below. Loads differ by orders of magnitude, so each has its own axes, which all
//! charts in a row share.

use super::Names;
use crate::axis::Axis;
use crate::format::{Unit, UnitScale, distinct};
use crate::svg::{Anchor, Svg};

const PHASE_WIDTH: f64 = 165.0;
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
    /// Seconds of the load before this one.
    pub second: u32,
    /// Responses in the second.
    pub completed: u64,
    /// 99th percentile of the response time.
    pub p99_ns: Option<u64>,
}

/// The axes of each load, in the order of the loads.
pub struct Axes {
    phases: Vec<PhaseAxes>,
}

struct PhaseAxes {
    phase: String,
    rate: Axis,
    latency: Axis,
    time: Axis,
}

impl Axes {
    /// Axes that cover all these charts; none if they have no data.
    pub fn over(charts: &[Vec<Phase<'_>>]) -> Option<Self> {
        let names = distinct(charts.iter().flatten().map(|it| it.name));
        let phases = names.into_iter().enumerate();
        let phases = phases.filter_map(|(index, name)| PhaseAxes::over(index, name, charts));
        let phases: Vec<PhaseAxes> = phases.collect();
        (!phases.is_empty()).then_some(Self { phases })
    }
}

impl PhaseAxes {
    fn over(index: usize, name: &str, charts: &[Vec<Phase<'_>>]) -> Option<Self> {
        let phases = || charts.iter().flatten().filter(|phase| phase.name == name);
        let seconds = || phases().flat_map(|phase| &phase.seconds);
        let most = seconds().map(|second| second.completed).max()?;
        let last = seconds().map(|second| second.second).max()?;
        let latencies = seconds().filter_map(|second| second.p99_ns);
        let left = PHASE_WIDTH * index as f64 + LABELS;
        let right = PHASE_WIDTH * (index + 1) as f64;
        Some(Self {
            phase: name.into(),
            rate: Axis::from_zero(most as f64).on((TOP + STRIP, TOP)),
            latency: Axis::covering_log(latencies.map(|it| it as f64)).on((LOWER + STRIP, LOWER)),
            time: Axis::linear((0.0, f64::from(last).max(1.0))).on((left, right - 1.0)),
        })
    }
}

/// Draws a chart; `class` sets the colour.
pub fn draw(names: &Names, phases: &[Phase<'_>], axes: &Axes, class: &str) -> String {
    let mut svg = names.svg((PHASE_WIDTH * axes.phases.len() as f64, HEIGHT));
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
        // A rate axis starts at zero and has a single unit; a latency axis may need several.
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

/// A second without responses has no percentile, so the line is broken there.
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
