//! Parses the summary that k6 writes (`--summary-export`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::figures::{Figures, ParseError, Passes};

#[derive(Deserialize)]
struct Summary {
    root_group: Group,
    metrics: BTreeMap<String, Metric>,
}

#[derive(Deserialize)]
struct Group {
    groups: BTreeMap<String, Group>,
    checks: BTreeMap<String, Check>,
}

#[derive(Deserialize)]
struct Check {
    passes: u64,
    fails: u64,
}

/// Statistics by name; the value of `thresholds` is a map.
type Metric = BTreeMap<String, Value>;

/// The metrics that [`further`] omits by their full names; it omits others by prefix.
const BUILT_IN: [&str; 10] = [
    "http_reqs",
    "http_req_duration",
    EXPECTED,
    "http_req_failed",
    "iterations",
    "iteration_duration",
    "dropped_iterations",
    "checks",
    "vus",
    "vus_max",
];

const EXPECTED: &str = "http_req_duration{expected_response:true}";

/// The prefix of the counters in generated scripts, which count responses by class and errors by
/// kind.
const COUNTED: &str = "gatebench_";

pub(crate) fn parse(json: &str) -> Result<Figures, ParseError> {
    let summary: Summary = serde_json::from_str(json)
        .map_err(|error| ParseError(format!("the summary cannot be read: {error}")))?;
    let metrics = &summary.metrics;
    let sent =
        count(metrics, "http_reqs").ok_or_else(|| ParseError::missing("the number of requests"))?;
    let (by_class, errors) = outcomes(metrics);
    let without_response: u64 = errors.values().sum();
    // A request that was cut off at the end counts as sent, but has no outcome.
    let completed = match by_class.values().sum() {
        0 => sent.saturating_sub(without_response),
        completed => completed.min(sent),
    };
    let times = times(metrics, completed > 0)?;
    let mut figures = Figures {
        duration_ns: duration_ns(metrics)?,
        sent,
        completed,
        by_class,
        errors,
        dropped: count(metrics, "dropped_iterations").unwrap_or(0),
        bytes_sent: count(metrics, "data_sent"),
        bytes_received: count(metrics, "data_received"),
        percentiles_ns: percentiles(&times),
        min_ns: ns(&times, "min"),
        mean_ns: ns(&times, "avg"),
        max_ns: ns(&times, "max"),
        thresholds: thresholds(metrics),
        metrics: further(metrics),
        ..Figures::default()
    };
    walk(&summary.root_group, "", &mut figures);
    Ok(figures)
}

fn number(metrics: &BTreeMap<String, Metric>, metric: &str, statistic: &str) -> Option<f64> {
    metrics.get(metric)?.get(statistic)?.as_f64()
}

fn count(metrics: &BTreeMap<String, Metric>, metric: &str) -> Option<u64> {
    number(metrics, metric, "count").map(|count| count as u64)
}

/// Returns the duration of the run: the number of requests divided by their rate.
fn duration_ns(metrics: &BTreeMap<String, Metric>) -> Result<u64, ParseError> {
    let requests = number(metrics, "http_reqs", "count");
    let rate = number(metrics, "http_reqs", "rate").filter(|rate| *rate > 0.0);
    let duration_ns = requests
        .zip(rate)
        .map(|(requests, rate)| requests / rate * 1e9);
    let duration_ns = duration_ns.ok_or_else(|| ParseError::missing("the rate of requests"))?;
    Ok(duration_ns.round() as u64)
}

type Counts = BTreeMap<String, u64>;

/// Returns responses by class, and requests without a response by kind, from the counters of a
/// generated script. For a user's script, k6 counts only failed requests, which include unexpected
/// responses.
fn outcomes(metrics: &BTreeMap<String, Metric>) -> (Counts, Counts) {
    let kind = |name: &str| Some(name.strip_prefix(COUNTED)?.to_owned());
    let counted = metrics.keys();
    let counted = counted.filter_map(|name| Some((kind(name)?, count(metrics, name)?)));
    let counted: Counts = counted.filter(|(_, count)| *count > 0).collect();
    if counted.is_empty() {
        let failed = number(metrics, "http_req_failed", "passes").unwrap_or(0.0) as u64;
        let failed = (failed > 0).then(|| ("http_req_failed".to_owned(), failed));
        return (Counts::new(), failed.into_iter().collect());
    }
    let is_class = |(kind, _): &(String, u64)| kind.ends_with("xx");
    counted.into_iter().partition(is_class)
}

/// Returns the statistics of the response time; empty if no request was completed. In k6, a request
/// without a response has a time of 0. A generated script declares every status as expected, so
/// k6's metric for expected responses contains only the times of responses.
fn times(metrics: &BTreeMap<String, Metric>, completed: bool) -> Result<Metric, ParseError> {
    let ours = metrics.keys().any(|name| name.starts_with(COUNTED));
    let name = if ours { EXPECTED } else { "http_req_duration" };
    match metrics.get(name) {
        _ if !completed => Ok(Metric::new()),
        Some(times) => Ok(times.clone()),
        None => Err(ParseError::missing("the response time")),
    }
}

/// Returns a statistic in nanoseconds; k6 writes milliseconds.
fn ns(metric: &Metric, statistic: &str) -> Option<u64> {
    let ms = metric.get(statistic)?.as_f64()?;
    Some((ms * 1e6).round() as u64)
}

fn percentiles(times: &Metric) -> BTreeMap<String, u64> {
    let median = ns(times, "med").map(|median| ("50".to_owned(), median));
    let others = times.keys().filter_map(|name| {
        let percentile = name.strip_prefix("p(")?.strip_suffix(')')?;
        Some((percentile.to_owned(), ns(times, name)?))
    });
    median.into_iter().chain(others).collect()
}

/// Returns the thresholds; true for each that was met. In k6's summary, `true` means that a
/// threshold was crossed.
fn thresholds(metrics: &BTreeMap<String, Metric>) -> BTreeMap<String, bool> {
    let mut held = BTreeMap::new();
    for (name, metric) in metrics {
        let thresholds = metric.get("thresholds").and_then(Value::as_object);
        for (condition, crossed) in thresholds.into_iter().flatten() {
            held.insert(
                format!("{name}: {condition}"),
                crossed.as_bool() == Some(false),
            );
        }
    }
    held
}

/// Returns further metrics, such as custom metrics, metrics of other protocols, and the metrics of
/// single groups or tags.
fn further(metrics: &BTreeMap<String, Metric>) -> BTreeMap<String, BTreeMap<String, f64>> {
    let is_further = |name: &str| {
        !BUILT_IN.contains(&name)
            && !name.starts_with(COUNTED)
            && !name.starts_with("data_")
            && (!name.starts_with("http_req_") || name.contains('{'))
    };
    let further = metrics.iter().filter(|(name, _)| is_further(name));
    let further = further.map(|(name, metric)| {
        let numbers = metric.iter();
        let numbers = numbers.filter_map(|(name, it)| Some((name.clone(), it.as_f64()?)));
        (name.clone(), numbers.collect())
    });
    further.collect()
}

/// Adds the checks of a group, and the groups in it, under their full paths.
fn walk(group: &Group, path: &str, figures: &mut Figures) {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path} › {name}"),
    };
    for (name, check) in &group.checks {
        let passes = Passes {
            passed: Some(check.passes),
            failed: check.fails,
        };
        figures.checks.insert(below(name), passes);
    }
    for (name, inner) in &group.groups {
        figures.groups.push(below(name));
        walk(inner, &below(name), figures);
    }
}
