//! Run directories that earlier versions wrote.

use std::process::Command;

use serde_json::Value;

use crate::bench::Bench;

/// An archive of the run directory that version 0.1.0 wrote for `run proxy-json --quick --blocks 2
/// --gateway reference --gateway haproxy`, with its `report.json`. The machine was busy, so some
/// figures are limited or invalid.
const RUN: &str = "tests/it/earlier_runs/0.1.0.tar.gz";

#[test]
fn a_run_of_version_0_1_0_keeps_its_figures_and_verdicts() {
    let bench = Bench::new();
    let unpacked = Command::new("tar")
        .args(["--extract", "--file", RUN, "--directory"])
        .arg(bench.path("."))
        .status();
    assert!(unpacked.unwrap().success());
    let finished = bench.gatebench("report run-of-0.1.0 --format json");
    finished.assert_code(0);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    let text = std::fs::read_to_string(bench.path("run-of-0.1.0/report.json")).unwrap();
    let mut earlier: Value = serde_json::from_str(&text).unwrap();
    let schema = earlier.as_object_mut().unwrap().remove("schema").unwrap();
    assert_eq!((schema, &report["schema"]), (1.into(), &2.into()));
    let mut compared = 0;
    compare(&earlier, &report, "", &mut compared);
    assert!(compared > 1000, "{compared} values were compared");
}

/// The keys and values of the archived report that have been renamed since version 0.1.0.
const RENAMED: [(&str, &str); 11] = [
    ("combined", "specification"),
    ("duel", "ab_test"),
    ("floor", "direct"),
    ("is_floor", "is_direct"),
    ("passes_answers", "passes_responses"),
    ("response_p50_over_floor", "response_p50_over_direct"),
    ("response_p99_over_floor", "response_p99_over_direct"),
    ("scale", "marginal_costs"),
    ("throughput_of_floor", "throughput_of_direct"),
    ("told", "external_results"),
    ("upstream_near_floor", "upstream_near_direct"),
];

fn current(earlier: &str) -> &str {
    let renamed = RENAMED.iter().find(|(old, _)| *old == earlier);
    renamed.map_or(earlier, |(_, new)| new)
}

/// Asserts that `report` has the values of `earlier`, and counts the compared values. Keys and
/// values may be [`RENAMED`], and strings of several words may have been rewritten.
fn compare(earlier: &Value, report: &Value, place: &str, compared: &mut usize) {
    match earlier {
        Value::Object(members) => {
            for (name, value) in members {
                let place = format!("{place}/{name}");
                compare(value, &report[current(name)], &place, compared);
            }
        }
        Value::Array(values) => {
            let length = report.as_array().map(Vec::len);
            assert_eq!(length, Some(values.len()), "{place}");
            for (index, value) in values.iter().enumerate() {
                compare(value, &report[index], &format!("{place}/{index}"), compared);
            }
        }
        Value::String(text) if text.contains(' ') => assert!(report.is_string(), "{place}"),
        Value::String(text) => {
            assert_eq!(report.as_str(), Some(current(text)), "{place}");
            *compared += 1;
        }
        _ => {
            assert_eq!(report, earlier, "{place}");
            *compared += 1;
        }
    }
}
