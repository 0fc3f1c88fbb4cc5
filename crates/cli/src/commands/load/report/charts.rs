//! The charts of a load, which only the HTML page shows: latency by percentile, and rate and
//! latency second by second.

use gatebench_report::Unit;
use gatebench_report::axis::{Axis, nines};
use gatebench_report::chapter::{Block, Chart};
use gatebench_report::chart::lines::{Lines, Panel, Series};
use gatebench_report::chart::{Names, Ticked};
use gatebench_stats::highest_trustworthy_percentile;

use crate::commands::load::figures::{PERCENTILES, SecondFigures, Times};
use crate::commands::load::results::Results;

/// The number of points on a curve for each factor of ten in the share of slower requests.
const POINTS_PER_DECADE: f64 = 20.0;
/// The maximum number of points over time. In a longer load, a point covers several seconds.
const POINTS_MAX: usize = 300;
const HEIGHT: f64 = 160.0;
/// The CSS class that sets the color of the curves.
const COLOR: &str = "v1";

pub fn block(results: &Results<'_>) -> Block {
    let charts = [percentiles(results), seconds(results)];
    Block::charts("panels wide", charts.into_iter().flatten())
}

/// Draws the percentile curves; `None` if there are too few requests for a curve.
fn percentiles(results: &Results<'_>) -> Option<Chart> {
    let figures = &results.figures;
    let clocks = [
        ("response", "curve", &figures.response),
        ("service", "curve thin", &figures.service),
        ("lateness", "curve thin dashed", &figures.lateness),
    ];
    // In a closed load, each request is due when it is sent or moments before, so one curve
    // suffices.
    let shown = if results.open { clocks.len() } else { 1 };
    let series = clocks[..shown].iter().map(|(label, style, times)| Series {
        class: COLOR.to_owned(),
        label: if results.open { *label } else { "" }.to_owned(),
        style,
        line: curve(times),
        ..Series::default()
    });
    let series: Vec<Series> = series.filter(|it| it.line.len() > 1).collect();
    let points = || series.iter().flat_map(|it| &it.line).copied();
    let last = points().map(|(at, _)| at).reduce(f64::max)?;
    let marks = PERCENTILES.iter().map(|(percentile, _)| *percentile);
    let marks = marks.map(|it| (nines(it / 100.0), format!("p{it}")));
    // There is no room for the labels of p75 and p95.
    let has_room = |label: &str| label != "p75" && label != "p95";
    let marks = marks.filter(|(at, label)| *at <= last + 1e-9 && has_room(label));
    let across = Ticked::with(Axis::linear((0.0, last)), marks.collect());
    let up = Ticked::times(points().map(|(_, ns)| ns));
    let names = Names::new("percentiles", "Latency by percentile", "");
    let chart = Lines::new(names, COLOR, across, Panel::new(HEIGHT, up, series));
    Some(Chart::new("Latency by percentile", chart.draw()))
}

fn curve(times: &Times) -> Vec<(f64, f64)> {
    let Some(last) = highest_trustworthy_percentile(times.count()) else {
        return Vec::new();
    };
    let step = |step: u32| 100.0 * (1.0 - 10_f64.powf(-f64::from(step) / POINTS_PER_DECADE));
    let percentiles = (0..).map(step).take_while(|it| *it < last);
    let point = |it: f64| Some((nines(it / 100.0), times.percentile_ns(it)? as f64));
    percentiles.filter_map(point).collect()
}

/// Draws the responses per second at the top and the 99th percentile below; `None` if there are
/// fewer than two points.
fn seconds(results: &Results<'_>) -> Option<Chart> {
    // The last seconds may be incomplete, or may contain only the last responses.
    let is_whole = |it: &&SecondFigures| f64::from(it.second + 1) <= results.figures.window_s;
    let whole: Vec<SecondFigures> = results.seconds.iter().filter(is_whole).copied().collect();
    let seconds = merged(&whole);
    if seconds.len() < 2 {
        return None;
    }
    let at = |it: &SecondFigures| f64::from(it.second);
    let rates = seconds.iter().map(|it| (at(it), it.completed as f64));
    let rates: Vec<(f64, f64)> = rates.collect();
    let p99s = seconds.iter();
    let p99s = p99s.filter_map(|it| Some((at(it), it.p99_ns? as f64)));
    let p99s: Vec<(f64, f64)> = p99s.collect();
    let series = |line| Series {
        class: COLOR.to_owned(),
        style: "curve",
        line,
        ..Series::default()
    };
    let most = rates.iter().map(|(_, rate)| *rate).fold(1.0, f64::max);
    let up = Ticked::scaled(Axis::from_zero(most), Unit::RequestsPerSecond);
    let last = seconds.last().map_or(1.0, at);
    let across = Ticked::new(Axis::linear((0.0, last)), |tick| format!("{tick} s"));
    let mut rate = Panel::new(HEIGHT / 2.0, up, vec![series(rates)]);
    rate.title = "responses per second";
    let names = Names::new("seconds", "The load second by second", "");
    let mut chart = Lines::new(names, COLOR, across, rate);
    if !p99s.is_empty() {
        let up = Ticked::times(p99s.iter().map(|(_, ns)| *ns));
        let mut p99 = Panel::new(HEIGHT / 2.0, up, vec![series(p99s)]);
        p99.title = "p99 of the response time";
        chart.panels.push(p99);
    }
    let chart = Chart::new("Second by second", chart.draw());
    Some(match whole.len().div_ceil(seconds.len()) {
        1 => chart,
        several => chart.aside(format!(
            "each point shows the mean rate and the maximum p99 of {several} seconds"
        )),
    })
}

fn merged(seconds: &[SecondFigures]) -> Vec<SecondFigures> {
    let each = seconds.len().div_ceil(POINTS_MAX).max(1);
    let merge = |group: &[SecondFigures]| SecondFigures {
        second: group[0].second,
        completed: group.iter().map(|it| it.completed).sum::<u64>() / group.len() as u64,
        p99_ns: group.iter().filter_map(SecondFigures::trusted_p99_ns).max(),
        ..group[0]
    };
    seconds.chunks(each).map(merge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_loads_keep_their_worst_second() {
        let second = |second: u32| SecondFigures {
            second,
            completed: 1_000,
            ended: 1_000,
            p50_ns: None,
            p99_ns: Some(u64::from(second)),
        };
        let all: Vec<_> = (0..600).map(second).collect();
        let found = merged(&all);
        assert_eq!(found.len(), 300);
        assert_eq!((found[1].second, found[1].completed), (2, 1_000));
        assert_eq!(found[1].p99_ns, Some(3));
        assert_eq!(merged(&all[..300]), all[..300]);
    }
}
