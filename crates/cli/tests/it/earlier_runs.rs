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
    let earlier: Value = serde_json::from_str(&text).unwrap();
    let mut compared = 0;
    compare(&earlier, &report, "", &mut compared);
    assert!(compared > 1000, "{compared} values were compared");
}

/// Asserts that `report` has the values of `earlier`, and counts the compared values. There are two
/// exceptions: strings of several words may have been rewritten, and the variant `floor` is now
/// called `direct`.
fn compare(earlier: &Value, report: &Value, place: &str, compared: &mut usize) {
    match earlier {
        Value::Object(members) => {
            for (name, value) in members {
                compare(value, &report[name], &format!("{place}/{name}"), compared);
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
        _ => {
            let is_floor = earlier == "floor" && report == "direct";
            assert!(
                is_floor || earlier == report,
                "{place}: {earlier}, now {report}"
            );
            *compared += 1;
        }
    }
}
