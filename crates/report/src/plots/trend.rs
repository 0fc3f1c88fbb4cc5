//! A metric run by run: medians with the range of their blocks, the level between changes, and where it changes.

use gatebench_analysis::findings::{HistoryRun, SeriesFindings, SeriesPoint};

use crate::axis::Axis;
use crate::number::Scale;
use crate::svg::{Anchor, Svg};

const WIDTH: f64 = 520.0;
const LEFT: f64 = 62.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 132.0;
const HEIGHT: f64 = 154.0;

/// Part of the values' range that stays free above and below them.
const MARGIN: f64 = 0.08;

/// Draws a series; none where it has no point.
pub fn plot(id: &str, series: &SeriesFindings, runs: &[HistoryRun], class: &str) -> Option<String> {
    let (first, last) = (series.points.first()?, series.points.last()?);
    let lowest = series
        .points
        .iter()
        .map(|it| it.min)
        .fold(f64::INFINITY, f64::min);
    let highest = series.points.iter().map(|it| it.max).fold(0.0, f64::max);
    let free = (MARGIN * (highest - lowest))
        .max(0.01 * highest)
        .max(f64::MIN_POSITIVE);
    let value = Axis::linear(((lowest - free).max(0.0), highest + free), (BOTTOM, TOP));
    let scale = Scale::of(highest, series.unit);
    let gap = (WIDTH - LEFT) / series.points.len() as f64;
    let at = |index: usize| LEFT + gap * (index as f64 + 0.5);
    let title = format!("{} in {}", series.gateway, series.scenario);
    let description = format!(
        "{} runs from {} to {}; the first {}, the last {}; {} changes.",
        series.points.len(),
        runs[first.run].dir,
        runs[last.run].dir,
        scale.full(first.value),
        scale.full(last.value),
        series.changes.len()
    );
    let mut svg = Svg::new(id, (WIDTH, HEIGHT), &title, &description);
    for tick in value.ticks() {
        let y = value.at(tick);
        svg.line("grid", (LEFT, y), (WIDTH, y));
        svg.text("", (LEFT - 6.0, y + 4.0), Anchor::End, &scale.tick(tick));
    }
    svg.begin_group(class);
    levels(&mut svg, series, value, |index| LEFT + gap * index as f64);
    for (index, point) in series.points.iter().enumerate() {
        let x = at(index);
        svg.line("range", (x, value.at(point.min)), (x, value.at(point.max)));
        let is_searched = !point.limited && point.spoiled == 0;
        let class = if is_searched { "dot" } else { "dot hollow" };
        svg.dot(
            class,
            (x, value.at(point.value)),
            3.5,
            &tip(point, &runs[point.run], scale),
        );
    }
    svg.end_group();
    dates(
        &mut svg,
        [(at(0), first), (at(series.points.len() - 1), last)],
        runs,
    );
    Some(svg.finish())
}

/// The level between two changes, and a line where one is; `edge` is the left edge of a point's column.
fn levels(svg: &mut Svg, series: &SeriesFindings, value: Axis, edge: impl Fn(usize) -> f64) {
    let mut begin = 0;
    for change in &series.changes {
        let (from, to) = (edge(begin), edge(change.at));
        let (before, after) = (value.at(change.before), value.at(change.after));
        svg.line("tick", (from, before), (to, before));
        let class = if change.worse {
            "change worse"
        } else {
            "change"
        };
        svg.line(class, (to, TOP), (to, BOTTOM));
        begin = change.at;
        let is_last = series.changes.last().is_some_and(|it| it.at == change.at);
        if is_last {
            svg.line("tick", (to, after), (edge(series.points.len()), after));
        }
    }
}

fn tip(point: &SeriesPoint, run: &HistoryRun, scale: Scale) -> String {
    let limited = if point.limited { ", limited" } else { "" };
    let spoiled = match point.spoiled {
        0 => String::new(),
        blocks => format!(", {blocks} more spoiled by the gateway"),
    };
    format!(
        "{} ({}): {}, blocks from {} to {}{limited}{spoiled}",
        run.dir,
        point.version,
        scale.full(point.value),
        scale.full(point.min),
        scale.full(point.max)
    )
}

fn dates(svg: &mut Svg, ends: [(f64, &SeriesPoint); 2], runs: &[HistoryRun]) {
    let day = |point: &SeriesPoint| {
        runs[point.run]
            .created
            .to_string()
            .chars()
            .take(10)
            .collect::<String>()
    };
    let y = HEIGHT - 6.0;
    svg.text("", (LEFT, y), Anchor::Start, &day(ends[0].1));
    if ends[0].1.run != ends[1].1.run {
        svg.text("", (WIDTH, y), Anchor::End, &day(ends[1].1));
    }
}
