//! Percentiles, of which only those are shown that enough samples carry.

use gatebench_analysis::findings::Unit;
use gatebench_analysis::words::{grouped, quantity};
use hdrhistogram::Counter;

use super::super::figures::{PERCENTILES, Times};
use super::super::judged::samples_needed;
use super::super::results::Results;
use super::paint::Paint;
use crate::terminal::wrapped;

/// Columns of a figure, with the gap before it.
pub const COLUMN: usize = 10;
/// Columns of a row's name.
const NAME: usize = 10;

/// The table: response times; of an open load also service times and lateness.
pub fn lines(results: &Results<'_>, paint: Paint, width: usize) -> Vec<String> {
    let figures = &results.figures;
    if figures.response.count() == 0 {
        return Vec::new();
    }
    let mut shown: Vec<f64> = PERCENTILES
        .iter()
        .map(|(percentile, _)| *percentile)
        .filter(|percentile| figures.response.percentile_ns(*percentile).is_some())
        .collect();
    let missing = PERCENTILES
        .iter()
        .find(|(percentile, _)| !shown.contains(percentile));
    fit(&mut shown, width);
    let heads = shown.iter().map(|percentile| format!("p{percentile}"));
    let heads: String = heads
        .chain(["max".into(), "mean".into()])
        .map(|head| format!("{head:>COLUMN$}"))
        .collect();
    let mut lines = vec![format!(
        "{}{}",
        paint.title(&format!("{:NAME$}", "Latency")),
        paint.soft(&heads)
    )];
    lines.push(row("response", &figures.response, &shown));
    if results.open {
        lines.push(row("service", &figures.service, &shown));
        lines.push(row("lateness", &figures.lateness, &shown));
    }
    if let Some((percentile, _)) = missing {
        let beyond = if *percentile < PERCENTILES[PERCENTILES.len() - 1].0 {
            " and beyond"
        } else {
            ""
        };
        let words = format!(
            "p{percentile}{beyond} left out: it needs {} {}s, ten of them slower",
            grouped(samples_needed(*percentile)),
            results.unit()
        );
        lines.push(paint.soft(&wrapped(&words, width, 2)));
    }
    lines
}

/// Leaves out what matters least where there are not columns enough.
fn fit(shown: &mut Vec<f64>, width: usize) {
    // Besides the name there are the greatest and the mean.
    let room = (width.saturating_sub(NAME) / COLUMN).saturating_sub(2);
    for least in [75.0, 95.0, 90.0, 99.99, 99.9] {
        if shown.len() > room {
            shown.retain(|percentile| *percentile != least);
        }
    }
}

fn row(name: &str, times: &Times, shown: &[f64]) -> String {
    format!("{name:NAME$}{}", cells(times, shown))
}

/// Percentiles, the greatest and the mean.
pub fn cells<C: Counter>(times: &Times<C>, shown: &[f64]) -> String {
    let percentiles = shown
        .iter()
        .map(|percentile| times.percentile_ns(*percentile).map(|ns| ns as f64));
    let all = percentiles.chain([times.max_ns().map(|ns| ns as f64), times.mean_ns()]);
    all.map(|ns| {
        let text = ns.map_or_else(|| "–".into(), |ns| quantity(ns, Unit::Nanoseconds));
        format!("{text:>COLUMN$}")
    })
    .collect()
}
