//! The report of a specification: the combined results of its versions.

use gatebench_report::axis::Axis;
use gatebench_report::chapter::{
    Block, Chapter, Chart, Fact, Head, Line, Lines, MARKDOWN, PAGE, PANELS, TERMINAL, Text,
};
use gatebench_report::chart::bars::{Bar, Bars};
use gatebench_report::chart::dots::{Dots, Row};
use gatebench_report::chart::lines::{Dot, Panel, Series};
use gatebench_report::chart::{Names, Ticked, lines};
use gatebench_report::format::{UnitScale, capitalized, counted, grouped, short};
use gatebench_report::palette::Palette;
use gatebench_report::{Unit, Validity};
use gatebench_stats::Estimate;

use super::facts::{CombinedFindings, RunFigures, VersionFindings, VersionTrend};
use crate::common::{by_key, joined};
use crate::kind::StudyFacts;

/// The section of docs/METHOD.md on combined results.
const METHOD: &str = "Combined results";

const EXPLANATION: &str = "The table shows the mean of the runs' rates with their range, the mean \
     latency over all requests, the longest latency, and the percentiles of each run. The \
     latencies are measured at saturation, so their mean only restates connections ÷ rate.";

const HEADS: &str = "version |> rate |> slowest to fastest run |> mean latency |> longest \
     |> p90 of each run |> p99 of each run";

impl StudyFacts for CombinedFindings {
    fn key(&self) -> &'static str {
        "specification"
    }

    fn chapter(&self, palette: &Palette) -> Option<Chapter> {
        let found = self;
        let title = format!(
            "Combined results · {} · {}",
            found.specification, found.load
        );
        let lines = found.versions.iter().map(|it| line(found, it, palette));
        let lines = Lines::new(&*title, Head::row(HEADS), lines);
        let facts = facts(found);
        let mut card = vec![lines.into()];
        card.extend(facts.iter().map(|it| Block::foot(&**it, "").on(PAGE)));
        let facts = facts.iter().map(|it| Fact::remark(&**it));
        card.push(Block::facts("", facts).on(TERMINAL | MARKDOWN));
        card.push(Block::charts(PANELS, charts(found, palette)));
        let blocks = vec![
            Block::heading(&*title).on(TERMINAL),
            Block::lead(EXPLANATION, METHOD).on(MARKDOWN | PAGE),
            Block::card("", card),
        ];
        let chapter = Chapter::new("combined", "Combined", blocks)
            .headed(title)
            .methods(&[METHOD]);
        Some(chapter)
    }
}

fn charts(found: &CombinedFindings, palette: &Palette) -> impl Iterator<Item = Chart> {
    let chart = |title: &str, svg: String| Chart::new(capitalized(title), svg);
    let rates = "throughput, with the slowest and the fastest run";
    let rates = self::rates(found, palette).map(|svg| chart(rates, svg));
    let spreads = percentiles(found, palette).map(|svg| chart(PERCENTILES_OF_RUNS, svg));
    let trends = trends(found, palette).into_iter();
    let trends = trends.map(move |(title, svg)| chart(&title, svg));
    rates.into_iter().chain(spreads).chain(trends)
}

const PERCENTILES_OF_RUNS: &str = "p90 and p99 of the runs";

/// Draws the mean rates with their ranges; `None` if no run is valid.
fn rates(found: &CombinedFindings, palette: &Palette) -> Option<String> {
    let unit = Unit::RequestsPerSecond;
    let all = || found.versions.iter().filter_map(|it| it.combined);
    let largest = all().map(|it| it.rate_max_per_second).reduce(f64::max)?;
    let scale = UnitScale::of_all(all().map(|it| it.rate_mean_per_second), unit);
    let bar = |version: &VersionFindings| {
        let name = name(found, version);
        let it = version.combined;
        let tip = match it {
            None => format!("{name}: {NO_RUN}."),
            Some(it) => format!(
                "{name}: mean {}, from {} to {}.",
                scale.full(it.rate_mean_per_second),
                scale.full(it.rate_min_per_second),
                scale.full(it.rate_max_per_second)
            ),
        };
        let mean = it.map(|it| it.rate_mean_per_second);
        let ends = it.map(|it| (it.rate_min_per_second, it.rate_max_per_second));
        Bar {
            class: palette.class(&version.variant),
            name,
            is_part: false,
            is_apart: false,
            span: mean.map(|mean| (0.0, mean)),
            ends: ends.unwrap_or_default(),
            value: mean.map_or_else(|| NO_RUN.to_owned(), |mean| scale.full(mean)),
            tip,
        }
    };
    let rows: Vec<Bar> = found.versions.iter().map(bar).collect();
    let words = joined(rows.iter().map(|it| &it.tip), " ");
    let bars = Bars {
        names: Names::new("combined-rates", "Throughput", words),
        across: Ticked::scaled(Axis::from_zero(largest), unit),
        rows,
    };
    Some(bars.draw())
}

const NO_RUN: &str = "no valid run";

/// A percentile: its name, its value for a run, and its estimate over all runs of a version.
type Percentile = (
    &'static str,
    fn(&RunFigures) -> Option<f64>,
    fn(&VersionFindings) -> Option<&Estimate>,
);

const PERCENTILES: [Percentile; 2] = [
    ("p90", |it| it.p90_ns, |it| it.p90_ns.as_ref()),
    ("p99", |it| it.p99_ns, |it| it.p99_ns.as_ref()),
];

/// Draws p90 and p99 of the combined runs, with their range and median; `None` if no run has
/// either.
fn percentiles(found: &CombinedFindings, palette: &Palette) -> Option<String> {
    let all = PERCENTILES.iter();
    let all = all.flat_map(|(.., of_all)| found.versions.iter().filter_map(*of_all));
    let axis = Axis::from_zero(all.map(|it| it.max).reduce(f64::max)?);
    let unit = Unit::Nanoseconds;
    let scale = UnitScale::of(axis.domain().1, unit);
    let row = |version: &VersionFindings, (which, of_run, of_all): &Percentile| {
        let runs = version.runs.iter();
        let runs = runs.filter(|run| run.validity != Validity::Invalid);
        let dots = runs
            .filter_map(*of_run)
            .map(|it| (it, "dot", scale.full(it)));
        let all = of_all(version);
        let absence = match version.combined {
            Some(_) => "too few responses",
            None => NO_RUN,
        };
        Row {
            class: palette.class(&version.variant),
            name: name(found, version),
            which,
            span: all.map(|it| (it.min, it.max)),
            dots: dots.collect(),
            median: all.map(|it| it.median),
            value: all.map_or_else(|| absence.to_owned(), |it| scale.full(it.median)),
        }
    };
    let versions = found.versions.iter();
    let rows = versions.flat_map(|version| PERCENTILES.iter().map(move |it| row(version, it)));
    let rows: Vec<Row> = rows.collect();
    let describe = |row: &Row| {
        let values = match joined(row.dots.iter().map(|(.., tip)| tip), ", ") {
            none if none.is_empty() => row.value.clone(),
            values => values,
        };
        format!("{}, {}: {values}.", row.name, row.which)
    };
    let words = joined(rows.iter().map(describe), " ");
    let dots = Dots {
        names: Names::new("combined-boxes", PERCENTILES_OF_RUNS, words),
        across: Ticked::scaled(axis, unit),
        rows,
    };
    Some(dots.draw())
}

/// Draws throughput against the varied number, with a title. The axis of the number is logarithmic,
/// and each version has a fitted line. Each family of scenarios has a separate chart, because
/// numbers of routes and of upstreams are not comparable.
fn trends(found: &CombinedFindings, palette: &Palette) -> Vec<(String, String)> {
    let families = by_key(found.trends.iter().map(|it| ((&it.family, it.what), it)));
    let drawn = families.iter().enumerate();
    drawn
        .filter_map(|(index, (_, family))| trend(index, family, palette))
        .collect()
}

fn trend(index: usize, family: &[&VersionTrend], palette: &Palette) -> Option<(String, String)> {
    let first = family.first()?;
    let noun = format!("{}s", first.what.noun());
    let title = format!("throughput by number of {noun}, in '{}'", first.family);
    let points = || family.iter().flat_map(|trend| &trend.points);
    let largest = points().map(|it| it.rate_per_second).reduce(f64::max)?;
    let unit = Unit::RequestsPerSecond;
    let up = Axis::from_zero(largest);
    let scale = UnitScale::of(up.domain().1, unit);
    let describe = |trend: &&VersionTrend| {
        let points = trend.points.iter().map(|it| {
            let count = grouped(f64::from(it.count));
            format!("{} at {count}", scale.full(it.rate_per_second))
        });
        format!("{}: {}.", trend.variant, joined(points, ", "))
    };
    let series = family.iter().map(|trend| {
        let counts = || trend.points.iter().map(|it| (f64::from(it.count), it));
        let dots = counts().map(|(count, it)| {
            let tip = format!("{}: {}", grouped(count), scale.full(it.rate_per_second));
            Dot::new((count, it.rate_per_second), "dot", tip)
        });
        Series {
            class: palette.class(&trend.variant),
            label: trend.variant.clone(),
            style: "curve dashed thin",
            line: counts()
                .map(|(count, _)| (count, trend.line.at(count)))
                .collect(),
            dots: dots.collect(),
            ..Series::default()
        }
    });
    let counts = points().map(|it| f64::from(it.count));
    let names = Names::new(
        format!("combined-trend-{index}"),
        capitalized(&title),
        joined(family.iter().map(describe), " "),
    );
    let across = Ticked::new(Axis::covering_log(counts), grouped).named(noun);
    let panel = Panel::new(200.0, Ticked::scaled(up, unit), series.collect());
    let svg = lines::Lines::new(names, "", across, panel).draw();
    Some((title, svg))
}

/// The name of a version, `nginx 1.22.1`, with the scenario if there are several.
fn name(found: &CombinedFindings, version: &VersionFindings) -> String {
    let mut name = version.variant.clone();
    if let Some(number) = version.version.as_ref().filter(|it| !name.contains(*it)) {
        name.push_str(&format!(" {number}"));
    }
    let mut versions = found.versions.iter();
    match versions.all(|it| it.scenario == version.scenario) {
        true => name,
        false => format!("{name} · {}", version.scenario),
    }
}

fn line(found: &CombinedFindings, version: &VersionFindings, palette: &Palette) -> Line {
    let time = |value: f64| short(value, Unit::Nanoseconds);
    let mut cells = vec![String::new(); 4];
    if let Some(it) = &version.combined {
        let ends = [it.rate_min_per_second, it.rate_max_per_second];
        let rates = ends.into_iter().chain([it.rate_mean_per_second]);
        let scale = UnitScale::of_all(rates, Unit::RequestsPerSecond);
        cells[0] = scale.full(it.rate_mean_per_second);
        cells[1] = ends.map(|it| scale.full(it)).join(" to ");
        cells[2] = it.mean_ns.map(time).unwrap_or_default();
        cells[3] = it.max_ns.map(|it| time(it as f64)).unwrap_or_default();
    }
    cells.push(of_each(version, |run| run.p90_ns));
    cells.push(of_each(version, |run| run.p99_ns));
    let rate = match &version.combined {
        Some(_) => format!("{} ({})", cells[0], cells[1]),
        None => NO_RUN.to_owned(),
    };
    let with_name = |(what, cell): (&str, &String)| match cell.is_empty() {
        true => None,
        false => Some(format!("{what} {cell}")),
    };
    let latencies = ["mean", "longest"].into_iter().zip(&cells[2..]);
    let percentiles = ["p90", "p99"].into_iter().zip(&cells[4..]);
    let brief = std::iter::once(rate).chain(latencies.filter_map(with_name));
    let entries = cells.iter().map(|it| it.as_str().into()).collect();
    Line {
        class: palette.class(&version.variant),
        brief: brief.map(Text::from).collect(),
        more: percentiles.filter_map(with_name).collect(),
        ..Line::new(Text::strong(&name(found, version)), entries)
    }
}

/// The value of each run, `4.10 / 4.12 / 4.20 ms`; a dash for a run with too few responses.
fn of_each(version: &VersionFindings, pick: impl Fn(&RunFigures) -> Option<f64>) -> String {
    let values: Vec<Option<f64>> = version.runs.iter().map(pick).collect();
    if values.iter().all(Option::is_none) {
        return String::new();
    }
    let scale = UnitScale::of_all(values.iter().flatten().copied(), Unit::Nanoseconds);
    let words = values.into_iter();
    let words = words.map(|value| value.map_or_else(|| "–".into(), |it| scale.number(it)));
    format!("{} {}", joined(words, " / "), scale.unit)
}

/// Facts about the runs that limit the results: repeated trials, invalid and limited runs, a
/// machine that was not quiet, and failed requests, followed by the location of error logs. A
/// fact that applies to several versions is stated once.
fn facts(found: &CombinedFindings) -> Vec<String> {
    let shared = found.versions.iter().flat_map(|version| {
        let facts = of_runs(version).into_iter();
        facts.map(move |words| (words, name(found, version)))
    });
    let shared = by_key(shared);
    let whose = |names: &[String]| match names {
        [name] => name.clone(),
        names if names.len() == found.versions.len() => "All".to_owned(),
        names => names.join(", "),
    };
    let mut facts = found.tried_again.clone();
    let shared = shared.iter();
    facts.extend(shared.map(|(words, names)| format!("{}: {words}.", whose(names))));
    for version in &found.versions {
        facts.extend(version.error_logs.iter().map(|log| {
            let (name, lines) = (name(found, version), counted(log.lines, "line"));
            format!("{name}: {lines} in its error log {}.", log.file)
        }));
    }
    facts
}

fn of_runs(version: &VersionFindings) -> Vec<String> {
    let runs = || version.runs.iter();
    let first = version.runs.first().map(|run| run.trial);
    let is_one_trial = runs().all(|run| Some(run.trial) == first);
    let run_name = |run: &RunFigures| match is_one_trial {
        true => run.run.clone(),
        false => format!("{} of trial {}", run.run, run.trial),
    };
    let listed = |is: fn(&RunFigures) -> bool| {
        let names: Vec<String> = runs().filter(|it| is(it)).map(run_name).collect();
        match names.len() {
            0 => None,
            count if count > 1 && count == version.runs.len() => Some("every run".to_owned()),
            _ => Some(names.join(", ")),
        }
    };
    let invalid = listed(|run| run.validity == Validity::Invalid);
    let invalid = invalid.map(|it| format!("invalid and not combined ({it}); see Validity"));
    let limited = listed(|run| run.validity == Validity::Limited);
    let limited = limited.map(|it| format!("limited ({it}); see Validity"));
    let loud = listed(|run| run.settled.is_some_and(|it| !it.settled));
    let loud = loud.map(|it| format!("the machine was not quiet before {it}"));
    let failed: u64 = runs().map(|run| run.failed).sum();
    let failed = (failed > 0).then(|| {
        let requests = counted(failed, "request");
        format!("{requests} had no response or a wrong one")
    });
    let all = [invalid, limited, loud, failed];
    all.into_iter().flatten().collect()
}
