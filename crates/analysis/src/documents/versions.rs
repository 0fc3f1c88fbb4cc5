//! Kong's framework: the runs of each version put together, and each run by itself.

use gatebench_stats::Estimate;

use super::measured::{Load, Measured, cell, loads_in_words};
use super::policies::worst;
use super::sweep::connections;
use crate::findings::{
    Aspect, DocumentCell, DocumentColumn, DocumentGroup, DocumentRow, DocumentTable, RunFigures,
    Unit, Validity,
};
use crate::runs::{combine, over, stands};
use crate::words::{counted, listed};

/// The runs of a version: its closed loads, those of each trial after each other.
pub(super) fn runs<'a>(measured: &Measured<'a>, scenario: &str, variant: &str) -> Vec<Load<'a>> {
    let loads = measured.loads(scenario, variant);
    let closed = loads.into_iter().filter(|it| connections(it).is_some());
    closed.collect()
}

/// A version, and its runs.
type Version<'a> = (&'a str, Vec<Load<'a>>);

/// The versions of which a scenario has runs.
fn versions<'a>(measured: &Measured<'a>, scenario: &str) -> Vec<Version<'a>> {
    measured
        .variants()
        .into_iter()
        .map(|variant| (variant, runs(measured, scenario, variant)))
        .filter(|(_, runs)| !runs.is_empty())
        .collect()
}

/// Two tables for each scenario: versions side by side, and all of their runs.
pub(super) fn tables(measured: &Measured<'_>) -> Vec<DocumentTable> {
    let scenarios = &measured.run.manifest().plan.scenarios;
    let of_scenario = |name: &str| {
        let versions = versions(measured, name);
        if versions.is_empty() {
            return Vec::new();
        }
        vec![combined(name, &versions), each_run(name, &versions)]
    };
    let all = scenarios.iter().flat_map(|it| of_scenario(&it.scenario));
    all.collect()
}

/// Which runs are not among the combined results of their version, in a sentence for each.
pub(super) fn left_out(measured: &Measured<'_>) -> Vec<String> {
    let scenarios = measured.run.manifest().plan.scenarios.iter();
    let all = scenarios.flat_map(|it| {
        let versions = versions(measured, &it.scenario).into_iter();
        versions.map(move |version| (it.scenario.clone(), version))
    });
    all.filter_map(|(scenario, (variant, runs))| {
        let numbered = (1..).zip(figures(&runs));
        let left_out = numbered.filter(|(_, run)| !stands(run));
        let numbers: Vec<String> = left_out
            .map(|(number, _): (u32, _)| number.to_string())
            .collect();
        let verb = if numbers.len() == 1 { "is" } else { "are" };
        (!numbers.is_empty()).then(|| {
            format!(
                "{scenario}: {} of {variant} ({}) {verb} invalid, and not in its combined results.",
                counted(numbers.len() as u64, "run"),
                listed(&numbers)
            )
        })
    })
    .collect()
}

/// Why a version that was measured has no runs.
const AT_A_RATE: &str = "its loads hold a rate and no number of connections; gatebench run kong-framework --as-published has such";

/// Which versions of which scenarios are not in the tables and why, in a sentence for each scenario and reason.
pub(super) fn absent(measured: &Measured<'_>) -> Vec<String> {
    let mut found: Vec<([String; 2], Vec<String>)> = Vec::new();
    for scenario in &measured.run.manifest().plan.scenarios {
        for variant in measured.variants() {
            let is_asked = variant != "floor" || scenario.has_floor();
            if !is_asked || !runs(measured, &scenario.scenario, variant).is_empty() {
                continue;
            }
            let why = measured.absence(&scenario.scenario, variant);
            let key = [
                scenario.scenario.clone(),
                why.unwrap_or_else(|| AT_A_RATE.into()),
            ];
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, variants)) => variants.push(variant.into()),
                None => found.push((key, vec![variant.into()])),
            }
        }
    }
    let sentence = |([scenario, why], variants): ([String; 2], Vec<String>)| {
        format!("{scenario}, {}: {why}.", listed(&variants))
    };
    found.into_iter().map(sentence).collect()
}

fn figures(runs: &[Load<'_>]) -> Vec<RunFigures> {
    runs.iter().map(Load::figures).collect()
}

fn combined(scenario: &str, versions: &[Version<'_>]) -> DocumentTable {
    let row =
        |(variant, runs): &Version<'_>| row_of((*variant).into(), variant, combined_cells(runs));
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

/// The cells of the runs that stand. What the framework puts together has the range of the runs beside it.
fn combined_cells(runs: &[Load<'_>]) -> Vec<DocumentCell> {
    let all = figures(runs);
    let standing = runs.iter().zip(&all).filter(|(_, run)| stands(run));
    let standing: Vec<Load<'_>> = standing.map(|(load, _)| load.clone()).collect();
    let Some(together) = combine(&all) else {
        let invalid = DocumentCell {
            validity: Some(Validity::Invalid),
            ..DocumentCell::default()
        };
        let mut cells = vec![invalid; COMBINED_COLUMNS - 1];
        cells.push(failures(&all));
        return cells;
    };
    let latency = Some(Aspect::Latency);
    let with_range = |aspect, value: Option<f64>, pick: fn(&RunFigures) -> Option<f64>| {
        let range = over(&all, pick).zip(value);
        DocumentCell {
            estimate: range.map(|(range, median)| Estimate { median, ..range }),
            ..cell(&standing, aspect, |it| pick(&it.figures()))
        }
    };
    let rate = Some(together.rate_mean_per_second);
    let max_ns = together.max_ns.map(|it| it as f64);
    vec![
        with_range(Some(Aspect::Throughput), rate, |it| {
            Some(it.rate_per_second)
        }),
        with_range(latency, together.mean_ns, |it| it.mean_ns),
        with_range(latency, max_ns, |it| it.max_ns.map(|it| it as f64)),
        cell(&standing, latency, |it| it.response_ns(90.0)),
        cell(&standing, latency, |it| it.response_ns(99.0)),
        cell(&standing, Some(Aspect::CpuPerRequest), Load::cpu_ns),
        cell(&standing, latency, Load::in_flight),
        failures(&all),
    ]
}

/// Of the table of combined results.
const COMBINED_COLUMNS: usize = 8;

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

fn each_run(scenario: &str, versions: &[Version<'_>]) -> DocumentTable {
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
                failures(&figures(run)),
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

/// Requests of all runs without an answer, or with a wrong one: the framework prints them, and nobody reads them.
fn failures(runs: &[RunFigures]) -> DocumentCell {
    let failed: u64 = runs.iter().map(|it| it.failed).sum();
    DocumentCell::of_one(Some(failed as f64))
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
