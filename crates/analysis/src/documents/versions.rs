//! Kong's framework: the runs of each version put together, and each run by itself.

use gatebench_stats::Estimate;

use super::measured::{Load, Measured, cell, loads_in_words};
use super::policies::worst;
use super::sweep::connections;
use crate::findings::{
    Aspect, DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, Unit, Validity,
};

/// The runs of a version: its closed loads, those of each trial after each other.
pub(super) fn runs<'a>(measured: &Measured<'a>, scenario: &str, variant: &str) -> Vec<Load<'a>> {
    let loads = measured.loads(scenario, variant);
    let closed = loads.into_iter().filter(|it| connections(it).is_some());
    closed.collect()
}

/// Two tables for each scenario: versions side by side, and all of their runs.
pub(super) fn tables(measured: &Measured<'_>) -> Vec<DocumentTable> {
    let scenarios = &measured.run.manifest().plan.scenarios;
    let of_scenario = |name: &str| {
        let versions: Vec<(&str, Vec<Load<'_>>)> = measured
            .variants()
            .into_iter()
            .map(|variant| (variant, runs(measured, name, variant)))
            .filter(|(_, runs)| !runs.is_empty())
            .collect();
        if versions.is_empty() {
            return Vec::new();
        }
        vec![combined(name, &versions), each_run(name, &versions)]
    };
    let all = scenarios.iter().flat_map(|it| of_scenario(&it.scenario));
    all.collect()
}

fn combined(scenario: &str, versions: &[(&str, Vec<Load<'_>>)]) -> DocumentTable {
    let row = |(variant, runs): &(&str, Vec<Load<'_>>)| {
        let latency = Some(Aspect::Latency);
        let cells = vec![
            mean(runs),
            weighted(runs),
            longest(runs),
            cell(runs, latency, |it| it.response_ns(90.0)),
            cell(runs, latency, |it| it.response_ns(99.0)),
            cell(runs, Some(Aspect::CpuPerRequest), Load::cpu_ns),
            cell(runs, latency, Load::in_flight),
            failures(runs),
        ];
        row_of((*variant).into(), variant, cells)
    };
    let time = |head| DocumentColumn::new(head, Unit::Nanoseconds);
    DocumentTable {
        title: format!("{scenario}: combined results"),
        first: "version",
        rows: versions.iter().map(row).collect(),
        groups: vec![
            DocumentGroup {
                title: "document",
                label: loads_in_words(versions.iter().flat_map(|(_, runs)| runs)),
                columns: vec![
                    DocumentColumn::new(["requests", "mean"], Unit::RequestsPerSecond),
                    time(["latency", "mean"]),
                    time(["latency", "max"]),
                    time(["p90", "of runs"]),
                    time(["p99", "of runs"]),
                ],
            },
            ours(),
        ],
    }
}

fn ours() -> DocumentGroup {
    DocumentGroup {
        title: "ours",
        label: String::new(),
        columns: vec![
            DocumentColumn::new(["CPU/request", ""], Unit::CpuNanosecondsPerRequest),
            DocumentColumn::new(["in flight", ""], Unit::Count),
            DocumentColumn::new(["failed", "requests"], Unit::Count),
        ],
    }
}

fn each_run(scenario: &str, versions: &[(&str, Vec<Load<'_>>)]) -> DocumentTable {
    let mut rows = Vec::new();
    for (variant, runs) in versions {
        for (number, run) in (1..).zip(runs) {
            let run = std::slice::from_ref(run);
            let latency = Some(Aspect::Latency);
            let cells = vec![
                cell(run, Some(Aspect::Throughput), Load::rate),
                cell(run, latency, Load::mean_ns),
                cell(run, latency, Load::max_ns),
                cell(run, latency, |it| it.response_ns(90.0)),
                cell(run, latency, |it| it.response_ns(99.0)),
                cell(run, Some(Aspect::CpuPerRequest), Load::cpu_ns),
                cell(run, latency, Load::in_flight),
                failures(run),
            ];
            rows.push(row_of(format!("{variant} · run {number}"), variant, cells));
        }
    }
    let time = |head| DocumentColumn::new([head, ""], Unit::Nanoseconds);
    DocumentTable {
        title: format!("{scenario}: every run"),
        first: "run",
        rows,
        groups: vec![
            DocumentGroup {
                title: "document",
                label: String::new(),
                columns: vec![
                    DocumentColumn::new(["requests", ""], Unit::RequestsPerSecond),
                    time("mean"),
                    time("max"),
                    time("p90"),
                    time("p99"),
                ],
            },
            ours(),
        ],
    }
}

/// The runs of which such a figure may be used.
fn usable<'s, 'a: 's>(runs: &'s [Load<'a>], aspect: Aspect) -> impl Iterator<Item = &'s Load<'a>> {
    let is_usable = move |it: &&Load<'_>| it.validity(Some(aspect)) != Validity::Invalid;
    runs.iter().filter(is_usable)
}

/// The mean of the runs' rates, as the framework combines them, with their range.
fn mean(runs: &[Load<'_>]) -> DocumentCell {
    let cell = cell(runs, Some(Aspect::Throughput), Load::rate);
    let usable = usable(runs, Aspect::Throughput);
    let rates: Vec<f64> = usable.filter_map(Load::rate).collect();
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    DocumentCell {
        estimate: cell.estimate.map(|estimate| Estimate {
            median: mean,
            ..estimate
        }),
        ..cell
    }
}

/// The mean latency over all requests of all runs, with the range of the runs' means.
fn weighted(runs: &[Load<'_>]) -> DocumentCell {
    let cell = cell(runs, Some(Aspect::Latency), Load::mean_ns);
    let usable = usable(runs, Aspect::Latency);
    let known = usable.filter_map(|it| Some((it.mean_ns()?, it.phase.counts.completed as f64)));
    let (sum, weight) = known.fold((0.0, 0.0), |(sum, weight), (mean, requests)| {
        (sum + mean * requests, weight + requests)
    });
    DocumentCell {
        estimate: cell
            .estimate
            .filter(|_| weight > 0.0)
            .map(|estimate| Estimate {
                median: sum / weight,
                ..estimate
            }),
        ..cell
    }
}

/// The longest of all runs, with the range of the runs' longest.
fn longest(runs: &[Load<'_>]) -> DocumentCell {
    let cell = cell(runs, Some(Aspect::Latency), Load::max_ns);
    DocumentCell {
        estimate: cell.estimate.map(|estimate| Estimate {
            median: estimate.max,
            ..estimate
        }),
        ..cell
    }
}

/// Requests without an answer in all runs: the framework prints them, and nobody reads them.
fn failures(runs: &[Load<'_>]) -> DocumentCell {
    let failed = runs
        .iter()
        .map(|it| it.phase.counts.errors.values().sum::<u64>());
    DocumentCell::of_one(Some(failed.sum::<u64>() as f64))
}

fn row_of(name: String, variant: &str, cells: Vec<DocumentCell>) -> DocumentRow {
    DocumentRow {
        name,
        variant: variant.into(),
        absence: None,
        validity: worst(&cells),
        cells,
    }
}
