//! Figures of a gateway's own metrics over time, which a soak shows without a verdict.

use std::collections::BTreeMap;

use gatebench_report::Unit;
use gatebench_report::axis::Axis;
use gatebench_report::chart::lines::{Lines, Panel, Series};
use gatebench_report::chart::{Names, Ticked};
use gatebench_report::format::counted;
use gatebench_store::SeriesRow;

use super::facts::OwnFigure;

/// The maximum number of lines in a chart; the JSON and `series.csv` have all lines.
const LINES_MAX: usize = 7;

/// The number of seconds that a recorded rate refers to.
const PER_SECONDS: f64 = 1_000.0;

/// Times and rates have names with these suffixes.
const TIME: &str = "_ns";
const RATE: &str = "_per_1000_s";

/// The points of each label, as (second, value).
type Points<'a> = BTreeMap<&'a str, Vec<(f64, f64)>>;

pub(super) fn figures(rows: &[&SeriesRow]) -> Vec<OwnFigure> {
    let mut found: BTreeMap<&str, (Unit, Points<'_>)> = BTreeMap::new();
    let all = rows
        .iter()
        .flat_map(|row| row.own_series.iter().map(|it| (row.second, it)));
    for (second, (key, value)) in all {
        let (name, unit, divisor) = match (key.strip_suffix(TIME), key.strip_suffix(RATE)) {
            (Some(name), _) => (name, Unit::Nanoseconds, 1.0),
            (None, Some(name)) => (name, Unit::RequestsPerSecond, PER_SECONDS),
            (None, None) => continue,
        };
        let (name, label) = name.split_once('.').unwrap_or((name, ""));
        let (_, lines) = found.entry(name).or_insert((unit, BTreeMap::new()));
        let point = (f64::from(second), *value as f64 / divisor);
        lines.entry(label).or_default().push(point);
    }
    let figure = |(name, (unit, lines)): (&str, (Unit, Points<'_>))| {
        let lines = lines
            .into_iter()
            .map(|(label, points)| (label.to_owned(), points));
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = lines.collect();
        lines.sort_by(|a, b| highest(&b.1).total_cmp(&highest(&a.1)));
        OwnFigure {
            name: name.to_owned(),
            unit,
            lines,
        }
    };
    found.into_iter().map(figure).collect()
}

fn highest(points: &[(f64, f64)]) -> f64 {
    points.iter().map(|it| it.1).fold(0.0, f64::max)
}

/// Draws a figure. Returns the SVG and a note, which is empty if all lines are shown.
pub(super) fn chart(id: &str, figure: &OwnFigure) -> (String, String) {
    let shown = &figure.lines[..figure.lines.len().min(LINES_MAX)];
    let top = shown
        .iter()
        .map(|(_, points)| highest(points))
        .fold(0.0, f64::max);
    let last = |points: &Vec<(f64, f64)>| points.last().map_or(0.0, |it| it.0);
    let end = shown
        .iter()
        .map(|(_, points)| last(points))
        .fold(1.0, f64::max);
    let series = shown
        .iter()
        .enumerate()
        .map(|(index, (label, points))| Series {
            class: format!("v{}", index + 1),
            label: label.clone(),
            style: "curve",
            line: points.clone(),
            ..Series::default()
        });
    let note = match figure.lines.len() - shown.len() {
        0 => String::new(),
        more => format!(
            "Not shown: {} with lower values.",
            counted(more as u64, "line")
        ),
    };
    let names = Names::new(id, &*figure.name, &*note);
    let across = Ticked::new(Axis::linear((0.0, end)), |tick| format!("{tick} s"));
    let up = Ticked::scaled(Axis::from_zero(top), figure.unit);
    let panel = Panel::new(148.0, up, series.collect());
    (Lines::new(names, "", across, panel).draw(), note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_grouped_by_figure_and_sorted_by_height() {
        let row = |second, pairs: &[(&str, u64)]| SeriesRow {
            second,
            own_series: pairs
                .iter()
                .map(|(name, value)| ((*name).into(), *value))
                .collect(),
            ..SeriesRow::default()
        };
        let rows = [
            row(
                10,
                &[
                    ("latency.s_ns", 2_000_000),
                    ("requests.a.200_per_1000_s", 1_000),
                    ("requests.b.200_per_1000_s", 9_000),
                ],
            ),
            row(20, &[("requests.a.200_per_1000_s", 2_000)]),
        ];
        let found = figures(&Vec::from_iter(&rows));
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0].lines,
            [("s".to_owned(), vec![(10.0, 2_000_000.0)])]
        );
        let expected = [
            ("b.200".to_owned(), vec![(10.0, 9.0)]),
            ("a.200".to_owned(), vec![(10.0, 1.0), (20.0, 2.0)]),
        ];
        assert_eq!(found[1].lines, expected);
        let (svg, note) = chart("c", &found[1]);
        assert!(svg.contains("b.200") && note.is_empty(), "{svg}");
    }
}
