//! The charts of a specification: throughput as bars with its range, p90 and p99 as boxes over the runs, and a line
//! where something is counted up.

use gatebench_analysis::findings::{
    CombinedFindings, Estimate, RunFigures, TrendPoint, Unit, Validity, VersionFindings,
    VersionTrend,
};
use gatebench_analysis::words::{capitalised, grouped};

use super::{grid, spread};
use crate::axis::Axis;
use crate::number::Scale;
use crate::palette::Palette;
use crate::study::combined::name;
use crate::svg::{Anchor, Svg};
use crate::text;

const WIDTH: f64 = 560.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 74.0;
const ROW: f64 = 30.0;
const AXIS: f64 = 24.0;
const NAME_COLUMNS: usize = 34;
const BAR: f64 = 13.0;

/// Bars of the mean rates with their ranges; none where no run is valid.
pub fn rates(found: &CombinedFindings, palette: &Palette) -> Option<String> {
    let rates = || found.versions.iter().filter_map(|it| it.combined);
    let largest = rates().map(|it| it.rate_max_per_second).reduce(f64::max)?;
    let axis = Axis::from_zero(largest, (LEFT, WIDTH - RIGHT));
    let scale = Scale::of_all(rates().map(|it| it.rate_mean_per_second), UNIT);
    let bottom = ROW * found.versions.len() as f64;
    let describe = |version: &VersionFindings| {
        let name = name(found, version);
        version.combined.map_or_else(
            || format!("{name}: no valid run."),
            |it| {
                format!(
                    "{name}: mean {}, from {} to {}.",
                    scale.full(it.rate_mean_per_second),
                    scale.full(it.rate_min_per_second),
                    scale.full(it.rate_max_per_second)
                )
            },
        )
    };
    let sentences: Vec<String> = found.versions.iter().map(describe).collect();
    let size = (WIDTH, bottom + AXIS);
    let mut svg = Svg::new("combined-rates", size, "Throughput", &sentences.join(" "));
    grid(&mut svg, axis, Scale::of(axis.domain().1, UNIT), bottom);
    for (index, (version, tip)) in found.versions.iter().zip(&sentences).enumerate() {
        let middle = ROW * (index as f64 + 0.5);
        begin_row(&mut svg, found, version, middle, palette);
        if let Some(it) = version.combined {
            let width = axis.at(it.rate_mean_per_second) - LEFT;
            svg.bar("bar whole", (LEFT, middle - BAR / 2.0), (width, BAR), tip);
            let (low, high) = (
                axis.at(it.rate_min_per_second),
                axis.at(it.rate_max_per_second),
            );
            whisker(&mut svg, (low, high), middle);
            let value = scale.full(it.rate_mean_per_second);
            svg.text("value", (WIDTH, middle + 4.0), Anchor::End, &value);
        }
        svg.end_group();
    }
    Some(svg.finish())
}

const UNIT: Unit = Unit::RequestsPerSecond;

fn begin_row(
    svg: &mut Svg,
    found: &CombinedFindings,
    version: &VersionFindings,
    middle: f64,
    palette: &Palette,
) {
    svg.begin_group(&palette.class(&version.variant));
    let words = text::truncate(&text::clean(&name(found, version)), NAME_COLUMNS);
    svg.text("strong", (0.0, middle + 4.0), Anchor::Start, &words);
}

fn whisker(svg: &mut Svg, (low, high): (f64, f64), middle: f64) {
    svg.line("tick", (low, middle), (high, middle));
    for end in [low, high] {
        svg.line("tick", (end, middle - 5.0), (end, middle + 5.0));
    }
}

/// A percentile of each run, and of all runs of a version.
struct Percentile {
    name: &'static str,
    of_run: fn(&RunFigures) -> Option<f64>,
    of_all: fn(&VersionFindings) -> Option<&Estimate>,
}

const PERCENTILES: [Percentile; 2] = [
    Percentile {
        name: "p90",
        of_run: |run| run.p90_ns,
        of_all: |version| version.p90_ns.as_ref(),
    },
    Percentile {
        name: "p99",
        of_run: |run| run.p99_ns,
        of_all: |version| version.p99_ns.as_ref(),
    },
];

impl Percentile {
    /// Of the runs that are combined: the box and the axis are theirs.
    fn values(&self, version: &VersionFindings) -> Vec<f64> {
        let combined = version
            .runs
            .iter()
            .filter(|run| run.validity != Validity::Invalid);
        combined.filter_map(self.of_run).collect()
    }
}

/// Boxes from the least to the largest p90 and p99 of the runs, with a line at their median; none where no run has
/// any.
pub fn boxes(found: &CombinedFindings, palette: &Palette) -> Option<String> {
    let rows: Vec<(&VersionFindings, &Percentile)> = found
        .versions
        .iter()
        .flat_map(|version| PERCENTILES.iter().map(move |it| (version, it)))
        .collect();
    let largest = rows
        .iter()
        .filter_map(|(version, percentile)| Some((percentile.of_all)(version)?.max))
        .reduce(f64::max)?;
    let axis = Axis::from_zero(largest, (LEFT, WIDTH - RIGHT));
    let scale = Scale::of(axis.domain().1, Unit::Nanoseconds);
    let bottom = ROW * rows.len() as f64;
    let describe = |(version, percentile): &(&VersionFindings, &Percentile)| {
        let values = percentile.values(version).into_iter();
        let told: Vec<String> = values.map(|it| scale.full(it)).collect();
        let name = name(found, version);
        let told = match &told[..] {
            [] => absence(version).to_owned(),
            told => told.join(", "),
        };
        format!("{name}, {}: {told}.", percentile.name)
    };
    let words: Vec<String> = rows.iter().map(describe).collect();
    let mut svg = Svg::new(
        "combined-boxes",
        (WIDTH, bottom + AXIS),
        "p90 and p99 of the runs",
        &words.join(" "),
    );
    grid(&mut svg, axis, scale, bottom);
    for (row, (version, percentile)) in rows.into_iter().enumerate() {
        let middle = ROW * (row as f64 + 0.5);
        begin_row(&mut svg, found, version, middle, palette);
        let at = (LEFT - 8.0, middle + 4.0);
        svg.text("", at, Anchor::End, percentile.name);
        match (percentile.of_all)(version) {
            Some(all) => draw_box(&mut svg, axis, scale, all, middle),
            None => {
                let at = (LEFT + 8.0, middle + 4.0);
                svg.text("", at, Anchor::Start, absence(version));
            }
        }
        for value in percentile.values(version) {
            svg.dot("dot", (axis.at(value), middle), 3.0, &scale.full(value));
        }
        svg.end_group();
    }
    Some(svg.finish())
}

/// Why there is no box.
fn absence(version: &VersionFindings) -> &'static str {
    match version.combined {
        Some(_) => "too few answers",
        None => "no valid run",
    }
}

fn draw_box(svg: &mut Svg, axis: Axis, scale: Scale, all: &Estimate, middle: f64) {
    let (from, to, at) = (axis.at(all.min), axis.at(all.max), axis.at(all.median));
    let tip = format!("{} to {}", scale.full(all.min), scale.full(all.max));
    let top = middle - BAR / 2.0;
    svg.bar("bar whole", (from, top), ((to - from).max(1.0), BAR), &tip);
    svg.line("tick", (at, top), (at, middle + BAR / 2.0));
    let at = (WIDTH, middle + 4.0);
    svg.text("value", at, Anchor::End, &scale.full(all.median));
}

const TOP: f64 = 10.0;
const BOTTOM: f64 = 210.0;
const TREND_LEFT: f64 = 62.0;
const LABEL_GAP: f64 = 14.0;
const LABEL_COLUMNS: usize = 12;

/// A plot of what is counted up in one family of scenarios.
pub struct Trend {
    /// What is over what.
    pub title: String,
    /// The drawing.
    pub svg: String,
}

/// Throughput over what is counted up, the counts in factors, with the line through the points of each version. Each
/// family of scenarios has a plot of its own: how many routes there are is no measure of how many upstreams.
pub fn trends(found: &CombinedFindings, palette: &Palette) -> Vec<Trend> {
    let mut families: Vec<Vec<&VersionTrend>> = Vec::new();
    for trend in &found.trends {
        let is_of = |family: &&mut Vec<&VersionTrend>| {
            (&family[0].family, family[0].what) == (&trend.family, trend.what)
        };
        match families.iter_mut().find(is_of) {
            Some(family) => family.push(trend),
            None => families.push(vec![trend]),
        }
    }
    let drawn = families.iter().enumerate();
    drawn
        .filter_map(|(index, family)| trend(index, family, palette))
        .collect()
}

/// A family; none where it has no point.
fn trend(index: usize, family: &[&VersionTrend], palette: &Palette) -> Option<Trend> {
    let first = family.first()?;
    let title = format!(
        "throughput over {}s, in '{}'",
        first.what.noun(),
        first.family
    );
    let axes = Axes::over(family)?;
    let words: Vec<String> = family.iter().map(|it| describe(it, axes.scale)).collect();
    let size = (WIDTH, BOTTOM + 40.0);
    let id = format!("combined-trend-{index}");
    let mut svg = Svg::new(&id, size, &capitalised(&title), &words.join(" "));
    axes.draw(&mut svg, &format!("{}s", first.what.noun()));
    let ends = family.iter().map(|it| axes.end(it));
    let mut heights: Vec<f64> = ends.collect();
    spread(&mut heights, LABEL_GAP, TOP, BOTTOM);
    for (trend, height) in family.iter().zip(heights) {
        svg.begin_group(&palette.class(&trend.variant));
        axes.draw_trend(&mut svg, trend);
        let label = text::truncate(&text::clean(&trend.variant), LABEL_COLUMNS);
        let at = (WIDTH - RIGHT + 8.0, height + 4.0);
        svg.text("label", at, Anchor::Start, &label);
        svg.end_group();
    }
    let svg = svg.finish();
    Some(Trend { title, svg })
}

fn describe(trend: &VersionTrend, scale: Scale) -> String {
    let points: Vec<String> = trend
        .points
        .iter()
        .map(|it| {
            let count = grouped(f64::from(it.count));
            format!("{} at {count}", scale.full(it.rate_per_second))
        })
        .collect();
    format!("{}: {}.", trend.variant, points.join(", "))
}

/// Counts across, throughput up.
struct Axes {
    across: Axis,
    up: Axis,
    scale: Scale,
}

impl Axes {
    fn over(family: &[&VersionTrend]) -> Option<Self> {
        let points = || family.iter().flat_map(|trend| &trend.points);
        let largest = points().map(|it| it.rate_per_second).reduce(f64::max)?;
        let counts = points().map(|it| f64::from(it.count));
        let up = Axis::from_zero(largest, (BOTTOM, TOP));
        Some(Self {
            across: Axis::covering_log(counts, (TREND_LEFT, WIDTH - RIGHT)),
            scale: Scale::of(up.domain().1, UNIT),
            up,
        })
    }

    fn draw(&self, svg: &mut Svg, noun: &str) {
        for tick in self.up.ticks() {
            let y = self.up.at(tick);
            svg.line("grid", (TREND_LEFT, y), (WIDTH - RIGHT, y));
            let at = (TREND_LEFT - 6.0, y + 4.0);
            svg.text("", at, Anchor::End, &self.scale.tick(tick));
        }
        for tick in self.across.ticks() {
            let at = (self.across.at(tick), BOTTOM + 16.0);
            svg.text("", at, Anchor::Middle, &grouped(tick));
        }
        let middle = (TREND_LEFT + WIDTH - RIGHT) / 2.0;
        svg.text("", (middle, BOTTOM + 34.0), Anchor::Middle, noun);
    }

    fn place(&self, count: u32, rate: f64) -> (f64, f64) {
        (self.across.at(f64::from(count)), self.up.at(rate))
    }

    /// The height at which a version's line ends.
    fn end(&self, trend: &VersionTrend) -> f64 {
        let last = trend.points.last().map_or(1, |it| it.count);
        self.up.at(trend.line.at(f64::from(last)))
    }

    fn draw_trend(&self, svg: &mut Svg, trend: &VersionTrend) {
        let on_line = |it: &TrendPoint| self.place(it.count, trend.line.at(f64::from(it.count)));
        let line: Vec<(f64, f64)> = trend.points.iter().map(on_line).collect();
        svg.polyline("curve dashed thin", &line);
        for point in &trend.points {
            let rate = self.scale.full(point.rate_per_second);
            let tip = format!("{}: {rate}", grouped(f64::from(point.count)));
            let at = self.place(point.count, point.rate_per_second);
            svg.dot("dot", at, 4.5, &tip);
        }
    }
}
