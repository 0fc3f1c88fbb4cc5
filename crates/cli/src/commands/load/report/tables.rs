//! The latency tables: one with the percentiles that have enough samples, and, if there are several
//! requests, one with a line for each.

use gatebench_model::bound::samples_needed;
use gatebench_report::Unit;
use gatebench_report::chapter::{Block, Chapter, Entry, Forms, Head, Line, Lines, PAGE, Text};
use gatebench_report::format::{grouped, quantity};
use hdrhistogram::Counter;

use super::{charts, headed};
use crate::commands::load::figures::{PERCENTILES, Times};
use crate::commands::load::results::Results;

/// The maximum number of requests that are shown; JSON contains all.
const ROUTES_SHOWN: usize = 20;
const OF_ROUTES: [f64; 2] = [50.0, 99.0];

pub fn latency(results: &Results<'_>, form: Forms) -> Chapter {
    let figures = &results.figures;
    if figures.response.count() == 0 {
        return Chapter::default();
    }
    let all = PERCENTILES.iter().map(|(percentile, _)| *percentile);
    let (shown, missing): (Vec<f64>, Vec<f64>) =
        all.partition(|it| figures.response.percentile_ns(*it).is_some());
    let heads: Vec<String> = shown.iter().map(|it| format!("p{it}")).collect();
    let heads = heads.iter().map(|it| &**it).chain(["max", "mean"]);
    let line = |name: &str, times: &Times| Line::new(name, cells(times, &shown));
    let mut lines = vec![line("response", &figures.response)];
    if results.open {
        lines.push(line("service", &figures.service));
        lines.push(line("lateness", &figures.lateness));
    }
    let mut blocks = vec![Lines::new("Latency", Head::numbers("", heads), lines).into()];
    blocks.extend(left_out(&missing, results).map(Block::sentence));
    if form == PAGE {
        blocks.push(charts::block(results));
    }
    headed("Latency", "latency", blocks)
}

fn left_out(missing: &[f64], results: &Results<'_>) -> Option<String> {
    let beyond = match missing.len() {
        1 => " is",
        _ => " and higher percentiles are",
    };
    let first = missing.first()?;
    let needed = grouped(samples_needed(*first));
    let unit = results.unit();
    Some(format!(
        "p{first}{beyond} left out: p{first} needs {needed} {unit}s, so that ten of them are slower"
    ))
}

pub fn requests(results: &Results<'_>) -> Chapter {
    let figures = &results.figures;
    let routes: Vec<_> = figures.routes().collect();
    if routes.is_empty() {
        return Chapter::default();
    }
    let lines = routes.iter().take(ROUTES_SHOWN).map(|(name, route)| {
        let failed = figures.failed_of(route);
        let class = if failed > 0 { "failed" } else { "" };
        let counts = [
            Entry::from(grouped(route.sent as f64)),
            Text::styled(class, &grouped(failed as f64)).into(),
        ];
        let times = cells(&Times::of_recording(&route.response), &OF_ROUTES);
        Line::new(*name, counts.into_iter().chain(times).collect())
    });
    let heads = Head::row("request |> sent |> failed |> p50 |> p99 |> max |> mean");
    let mut blocks = vec![Lines::new("Requests", heads, lines).into()];
    let more = routes.len().saturating_sub(ROUTES_SHOWN);
    if more > 0 {
        blocks.push(Block::sentence(format!("and {more} more (see --json)")));
    }
    headed("Requests", "requests", blocks)
}

fn cells<C: Counter>(times: &Times<C>, shown: &[f64]) -> Vec<Entry> {
    let ns = |it: Option<u64>| it.map(|ns| ns as f64);
    let percentiles = shown.iter().map(|it| ns(times.percentile_ns(*it)));
    let all = percentiles.chain([ns(times.max_ns()), times.mean_ns()]);
    all.map(|ns| {
        ns.map_or_else(|| "–".into(), |ns| quantity(ns, Unit::Nanoseconds))
            .into()
    })
    .collect()
}
