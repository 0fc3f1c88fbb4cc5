//! One trial second by second: answers per second above, the 99th percentile below, the phases
//! side by side.

use gatebench_analysis::findings::{TimelineSecond, TrialFindings, Unit};

use crate::axis::Axis;
use crate::number::Scale;
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 250.0;
const LEFT: f64 = 44.0;
const TOP: f64 = 15.0;
const STRIP: f64 = 44.0;
const BETWEEN: f64 = 12.0;
const PHASE_GAP: f64 = 6.0;
const HEIGHT: f64 = TOP + 2.0 * STRIP + BETWEEN + 4.0;

/// The axes that all trials of a scenario share.
pub struct Axes {
    rate: Axis,
    latency: Axis,
    seconds: usize,
    phases: usize,
}

impl Axes {
    /// Axes that hold all these trials; none where no second was recorded.
    pub fn over(trials: &[&TrialFindings]) -> Option<Self> {
        let seconds = || trials.iter().flat_map(|trial| all_seconds(trial));
        let largest = seconds().map(|second| second.completed).max()?;
        let latencies = seconds()
            .filter_map(|second| second.response_p99_ns)
            .map(|latency| latency as f64);
        let lower = TOP + STRIP + BETWEEN;
        let longest = |of: fn(&TrialFindings) -> usize| trials.iter().map(|t| of(t)).max();
        Some(Self {
            rate: Axis::from_zero(largest as f64, (TOP + STRIP, TOP)),
            latency: Axis::covering_log(latencies, (lower + STRIP, lower)),
            seconds: longest(|trial| all_seconds(trial).count()).unwrap_or(1),
            phases: longest(|trial| trial.timeline.len()).unwrap_or(1),
        })
    }

    fn second_width(&self) -> f64 {
        let gaps = PHASE_GAP * self.phases.saturating_sub(1) as f64;
        (WIDTH - LEFT - gaps) / self.seconds.max(1) as f64
    }
}

fn all_seconds(trial: &TrialFindings) -> impl Iterator<Item = &TimelineSecond> {
    trial.timeline.iter().flat_map(|phase| &phase.seconds)
}

/// Draws a trial; `class` sets its colour.
pub fn plot(id: &str, trial: &TrialFindings, axes: &Axes, class: &str) -> String {
    let title = format!(
        "Trial {}, {}, block {}",
        trial.number, trial.variant, trial.block
    );
    let description = "Answers per second and, below, the 99th percentile of the response time, \
                       second by second.";
    let mut svg = Svg::new(id, (WIDTH, HEIGHT), &title, description);
    draw_scale(&mut svg, axes);
    svg.begin_group(class);
    let mut left = LEFT;
    for phase in &trial.timeline {
        let width = axes.second_width() * phase.seconds.len() as f64;
        draw_phase(&mut svg, &phase.phase, &phase.seconds, axes, (left, width));
        left += width + PHASE_GAP;
    }
    svg.end_group();
    svg.finish()
}

fn draw_scale(svg: &mut Svg, axes: &Axes) {
    let (none, most) = axes.rate.domain();
    let scale = Scale::of(most, Unit::RequestsPerSecond);
    for value in [none, most] {
        let at = (LEFT - 5.0, axes.rate.at(value) + 4.0);
        svg.text("", at, Anchor::End, &scale.tick(value));
    }
    let (low, high) = axes.latency.domain();
    for value in [low, high] {
        let label = Scale::of(value, Unit::Nanoseconds).tick(value);
        let at = (LEFT - 5.0, axes.latency.at(value) + 4.0);
        svg.text("", at, Anchor::End, &label);
    }
}

fn draw_phase(
    svg: &mut Svg,
    name: &str,
    seconds: &[TimelineSecond],
    axes: &Axes,
    (left, width): (f64, f64),
) {
    let lower = TOP + STRIP + BETWEEN;
    for top in [TOP, lower] {
        svg.rect("shade", (left, top), (width, STRIP), 0.0);
    }
    svg.text("", (left, TOP - 5.0), Anchor::Start, name);
    let centre = |index: usize| left + axes.second_width() * (index as f64 + 0.5);
    let rates: Vec<(f64, f64)> = seconds
        .iter()
        .enumerate()
        .map(|(index, second)| (centre(index), axes.rate.at(second.completed as f64)))
        .collect();
    svg.area("fill", &rates, TOP + STRIP);
    svg.polyline("curve thin", &rates);
    // A second without answers has no percentile: the line is broken there, not drawn across.
    let mut run: Vec<(f64, f64)> = Vec::new();
    for (index, second) in seconds.iter().enumerate() {
        match second.response_p99_ns {
            Some(latency) => run.push((centre(index), axes.latency.at(latency as f64))),
            None => svg.polyline("curve thin", &std::mem::take(&mut run)),
        }
    }
    svg.polyline("curve thin", &run);
}
