//! Charts of a load, second by second.

use gatebench_report::Unit;
use gatebench_report::axis::Axis;
use gatebench_report::chart::lines::{Dot, Lines, Panel, Series};
use gatebench_report::chart::{Names, Ticked, WIDE};
use gatebench_report::format::{counted, grouped, quantity};
use gatebench_store::LiveSecond;
use serde::Serialize;

/// The maximum number of seconds that a chart shows individually. If there are more, its lines show
/// only the minimum and the maximum of each stretch of several seconds.
const POINTS_MAX: usize = 2_000;
const HEIGHT: f64 = 110.0;

const RATE: &str = "v1";
const MEDIAN: &str = "v4";
const HIGH: &str = "v2";
const FAILED: &str = "v6";

#[derive(Debug, Serialize)]
pub(crate) struct PhaseChart {
    pub(crate) phase: String,
    /// The totals, such as `5,000 responses in 10 seconds, 0 failed`.
    pub(crate) words: String,
    pub(crate) svg: String,
}

type Points = Vec<(f64, f64)>;

impl PhaseChart {
    /// Returns `None` if there are no seconds. `number` makes the id of the chart unique on the
    /// page.
    pub(crate) fn of(number: usize, phase: &str, seconds: &[LiveSecond]) -> Option<Self> {
        let last = seconds.iter().map(|it| it.second).max()?;
        let completed: u64 = seconds.iter().map(|it| it.completed).sum();
        let failed: u64 = seconds.iter().map(|it| it.failed).sum();
        let words = format!(
            "{} in {}, {} failed",
            counted(completed, "response"),
            counted(seconds.len() as u64, "second"),
            grouped(failed as f64)
        );
        let names = Names::new(
            format!("load{number}"),
            format!("Load {phase}, second by second"),
            words.clone(),
        );
        let axis = Axis::linear((0.0, f64::from(last).max(1.0)));
        let ticks = axis.ticks().into_iter().filter(|it| it.fract() == 0.0);
        let across = Ticked::with(axis, ticks.map(|it| (it, format!("{it} s"))).collect());
        let chart = Lines {
            names,
            width: WIDE,
            class: RATE,
            across,
            bands: Vec::new(),
            rules: Vec::new(),
            panels: panels(seconds, failed),
        };
        Some(Self {
            phase: phase.to_owned(),
            words,
            svg: chart.draw(),
        })
    }
}

fn panels(seconds: &[LiveSecond], failed: u64) -> Vec<Panel> {
    let rates = |pick: fn(&LiveSecond) -> u64| {
        let points = seconds.iter().map(|it| Some((place(it), pick(it) as f64)));
        unbroken(points)
    };
    let times = |pick: fn(&LiveSecond) -> Option<u64>| {
        let point = |it: &LiveSecond| Some((place(it), pick(it)? as f64));
        unbroken(seconds.iter().map(point))
    };
    let (p50, p99) = (
        times(|it| it.response_p50_ns),
        times(|it| it.response_p99_ns),
    );
    let mut panels = vec![counts(
        "Responses per second",
        rates(|it| it.completed),
        RATE,
    )];
    let all = p50.iter().chain(&p99).flatten().map(|point| point.1);
    if all.clone().next().is_some() {
        let up = Ticked::times(all);
        let series = [series(p50, MEDIAN, "p50"), series(p99, HIGH, "p99")];
        panels.push(Panel {
            title: "Response time, median and 99th percentile",
            ..Panel::new(HEIGHT, up, series.into_iter().flatten().collect())
        });
    }
    if failed > 0 {
        panels.push(counts("Failures per second", rates(|it| it.failed), FAILED));
    }
    panels
}

fn counts(title: &'static str, lines: Vec<Points>, class: &'static str) -> Panel {
    let most = lines.iter().flatten().map(|point| point.1);
    let most = most.fold(1.0, f64::max);
    let up = Ticked::scaled(Axis::from_zero(most), Unit::RequestsPerSecond);
    Panel {
        title,
        ..Panel::new(HEIGHT, up, series(lines, class, ""))
    }
}

/// Returns a series for each unbroken line. Only the last series has the label.
fn series(lines: Vec<Points>, class: &str, label: &str) -> Vec<Series> {
    let last = lines.len().saturating_sub(1);
    let one = |(index, line): (usize, Points)| Series {
        class: class.to_owned(),
        label: if index == last { label } else { "" }.to_owned(),
        style: "curve thin",
        // A line through a single point is invisible.
        dots: match line[..] {
            [only] => vec![Dot::new(only, "dot", String::new())],
            _ => Vec::new(),
        },
        line,
        ..Series::default()
    };
    lines.into_iter().enumerate().map(one).collect()
}

fn place(second: &LiveSecond) -> f64 {
    f64::from(second.second)
}

/// Joins the points into lines, which are thinned if there are too many points. A second without a
/// value ends a line.
fn unbroken(points: impl Iterator<Item = Option<(f64, f64)>>) -> Vec<Points> {
    let (mut lines, mut line) = (Vec::new(), Points::new());
    for point in points {
        match point {
            Some(point) => line.push(point),
            None => lines.push(std::mem::take(&mut line)),
        }
    }
    lines.push(line);
    lines.retain(|line: &Points| !line.is_empty());
    let all = lines.iter().map(Vec::len).sum();
    lines.iter().map(|line| thinned(line, all)).collect()
}

fn thinned(line: &[(f64, f64)], all: usize) -> Points {
    if all <= POINTS_MAX {
        return line.to_vec();
    }
    let stretches = line.chunks(all.div_ceil(POINTS_MAX / 2));
    let ends = stretches.flat_map(|stretch| {
        let order = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let low = stretch.iter().min_by(order);
        let high = stretch.iter().max_by(order);
        let mut ends: Points = low.into_iter().chain(high).copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        ends
    });
    ends.collect()
}

/// Returns the figures for the latest second of a load and the number of failures so far, as names
/// and values.
pub(crate) fn latest(seconds: &[LiveSecond]) -> Vec<[String; 2]> {
    let Some(last) = seconds.last() else {
        return Vec::new();
    };
    let time = |value: Option<u64>| {
        let value = value.map(|it| quantity(it as f64, Unit::Nanoseconds));
        value.unwrap_or_else(|| "–".to_owned())
    };
    let failed: u64 = seconds.iter().map(|it| it.failed).sum();
    vec![
        ["Second".to_owned(), (last.second + 1).to_string()],
        [
            "Throughput".to_owned(),
            quantity(last.completed as f64, Unit::RequestsPerSecond),
        ],
        ["Median".to_owned(), time(last.response_p50_ns)],
        ["99th percentile".to_owned(), time(last.response_p99_ns)],
        ["Failed so far".to_owned(), grouped(failed as f64)],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: u32, completed: u64, p99_ns: Option<u64>) -> LiveSecond {
        LiveSecond {
            second,
            completed,
            response_p99_ns: p99_ns,
            ..LiveSecond::default()
        }
    }

    #[test]
    fn a_second_without_a_percentile_breaks_the_line() {
        let points = [Some((0.0, 1.0)), None, None, Some((3.0, 2.0))];
        let lines = unbroken(points.into_iter());
        assert_eq!(lines, [vec![(0.0, 1.0)], vec![(3.0, 2.0)]]);
    }

    #[test]
    fn the_line_of_a_day_keeps_its_minimum_and_maximum() {
        let day = 0..86_400_u32;
        let seconds: Vec<LiveSecond> = day
            .map(|it| match it {
                40_000 => second(it, 9_999, None),
                70_000 => second(it, 1, None),
                _ => second(it, 500 + u64::from(it % 7), None),
            })
            .collect();
        let points = seconds
            .iter()
            .map(|it| Some((place(it), it.completed as f64)));
        let lines = unbroken(points);
        assert!(lines[0].len() <= POINTS_MAX, "{}", lines[0].len());
        assert!(lines[0].contains(&(40_000.0, 9_999.0)) && lines[0].contains(&(70_000.0, 1.0)));
        let chart = PhaseChart::of(0, "soak", &seconds).map(|it| it.svg.len());
        assert!(chart.is_some_and(|bytes| bytes < 100_000), "{chart:?}");
    }

    #[test]
    fn failures_have_a_panel_only_if_there_are_any() {
        let fine = [second(0, 100, Some(2_000_000)), second(1, 110, None)];
        let svg = |seconds| PhaseChart::of(0, "steady", seconds).map(|it| it.svg);
        let has_failures = |it: Option<String>| it.is_some_and(|it| it.contains("Failures"));
        assert!(svg(&fine).is_some() && !has_failures(svg(&fine)));
        let mut failing = fine.to_vec();
        failing[1].failed = 3;
        assert!(has_failures(svg(&failing)));
        assert!(svg(&[]).is_none());
    }
}
