//! The tables of latencies: percentiles, of which only those are shown that enough samples carry,
//! and each request of several.

use gatebench_model::bound::samples_needed;
use gatebench_report::Unit;
use gatebench_report::format::{grouped, quantity};
use gatebench_report::load::WordTable;
use hdrhistogram::Counter;

use crate::commands::load::figures::{Figures, PERCENTILES, Times};
use crate::commands::load::results::Results;

/// Columns of a time.
const TIME: usize = 8;
/// Columns of a count.
const COUNT: usize = 10;
/// Columns of a time, or of a row's name, with the gap before it.
const COLUMN: usize = TIME + 2;
/// Columns of a row of a request without its name: two counts, four times, and gaps.
const OF_ROUTE: usize = 2 * (COUNT + 2) + 4 * COLUMN + 2;
/// Requests that are printed; --json has all.
const ROUTES_SHOWN: usize = 20;
/// Percentiles of a request of several.
const OF_ROUTES: [f64; 2] = [50.0, 99.0];

/// Response times; of an open load also service times and lateness.
pub fn percentiles(results: &Results<'_>, width: usize) -> WordTable {
    let figures = &results.figures;
    if figures.response.count() == 0 {
        return WordTable::default();
    }
    let mut shown: Vec<f64> = PERCENTILES
        .iter()
        .map(|(percentile, _)| *percentile)
        .filter(|percentile| figures.response.percentile_ns(*percentile).is_some())
        .collect();
    let missing = PERCENTILES
        .iter()
        .find(|(percentile, _)| !shown.contains(percentile));
    let foot = missing.map(|(percentile, _)| {
        let beyond = match *percentile < PERCENTILES[PERCENTILES.len() - 1].0 {
            true => " and beyond",
            false => "",
        };
        format!(
            "p{percentile}{beyond} left out: needs {} {}s, ten of them slower",
            grouped(samples_needed(*percentile)),
            results.unit()
        )
    });
    fit(&mut shown, width);
    let heads = shown.iter().map(|percentile| format!("p{percentile}"));
    let heads = heads.chain(["max".into(), "mean".into()]);
    let times = |name: &str, times: &Times| row(name, [], cells(times, &shown));
    let mut rows = vec![row("", [], heads), times("response", &figures.response)];
    if results.open {
        rows.push(times("service", &figures.service));
        rows.push(times("lateness", &figures.lateness));
    }
    WordTable {
        title: "Latency",
        rows,
        foot: foot.unwrap_or_default(),
        ..WordTable::default()
    }
}

/// Leaves out the least important percentiles if there are too few columns.
fn fit(shown: &mut Vec<f64>, width: usize) {
    // The name, the greatest and the mean take columns too.
    let room = (width.saturating_sub(COLUMN) / COLUMN).saturating_sub(2);
    for least in [75.0, 95.0, 90.0, 99.99, 99.9] {
        if shown.len() > room {
            shown.retain(|percentile| *percentile != least);
        }
    }
}

/// A row for each request, if there are several.
pub fn routes(figures: &Figures<'_>, width: usize) -> WordTable {
    let routes: Vec<_> = figures.routes().collect();
    if routes.is_empty() {
        return WordTable::default();
    }
    let room = width.saturating_sub(OF_ROUTE);
    let times = ["p50", "p99", "max", "mean"].map(ToOwned::to_owned);
    let mut rows = vec![row("", ["sent", "failed"].map(ToOwned::to_owned), times)];
    let mut failing = Vec::new();
    for (name, route) in routes.iter().take(ROUTES_SHOWN) {
        let [_, _, client, server, other] = route.by_class;
        let bad = match figures.checked {
            true => route.responses_failing_checks,
            false => client + server + other,
        };
        let failed = bad + route.errors.iter().sum::<u64>();
        let counts = [route.sent, failed].map(|count| grouped(count as f64));
        let times = cells(&Times::of_recording(&route.response), &OF_ROUTES);
        failing.extend((failed > 0).then_some([rows.len(), 2]));
        rows.push(row(&shortened(name, room), counts, times));
    }
    let more = routes.len().saturating_sub(ROUTES_SHOWN);
    WordTable {
        title: "Requests",
        rows,
        failed: failing,
        foot: match more {
            0 => String::new(),
            more => format!("and {more} more: see --json"),
        },
    }
}

/// A name, counts and times, the figures on the right of their columns.
fn row(
    name: &str,
    counts: impl IntoIterator<Item = String>,
    times: impl IntoIterator<Item = String>,
) -> Vec<String> {
    let counts = counts.into_iter().map(|cell| format!("{cell:>COUNT$}"));
    let times = times.into_iter().map(|cell| format!("{cell:>TIME$}"));
    let cells = counts.chain(times);
    std::iter::once(name.to_owned()).chain(cells).collect()
}

/// Percentiles, the greatest and the mean.
fn cells<C: Counter>(times: &Times<C>, shown: &[f64]) -> Vec<String> {
    let percentiles = shown
        .iter()
        .map(|percentile| times.percentile_ns(*percentile).map(|ns| ns as f64));
    let all = percentiles.chain([times.max_ns().map(|ns| ns as f64), times.mean_ns()]);
    all.map(|ns| ns.map_or_else(|| "–".into(), |ns| quantity(ns, Unit::Nanoseconds)))
        .collect()
}

/// Keeps the end of a path, which is more specific than its beginning.
fn shortened(name: &str, columns: usize) -> String {
    let length = name.chars().count();
    if length <= columns {
        return name.into();
    }
    let kept: String = name.chars().skip(length + 1 - columns).collect();
    format!("…{kept}")
}
