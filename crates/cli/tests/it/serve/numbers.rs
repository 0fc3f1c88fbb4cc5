//! The figures on the page of a run.

use std::fs;

use serde_json::Value;

use super::pages::{gatebench, two_runs};
use super::site::{Site, links};

/// The minimum number of figures in the run's tables: each of the two gateways has at least four
/// medians on the first screen and nine in the results, and each median has the ends of its range.
const FIGURES_MIN: usize = 2 * (4 + 9) * 3;

/// Collects all numbers in a part of a report.
fn numbers(part: &Value, found: &mut Vec<f64>) {
    match part {
        Value::Number(number) => found.extend(number.as_f64()),
        Value::Array(parts) => parts.iter().for_each(|it| numbers(it, found)),
        Value::Object(parts) => parts.values().for_each(|it| numbers(it, found)),
        _ => {}
    }
}

/// The number of base units, such as nanoseconds, in the unit of a column.
fn base_units(unit: &str) -> f64 {
    match unit {
        "" | "/s" | "ns" | "B" => 1.0,
        "µs" | "k/s" => 1e3,
        "ms" | "M/s" => 1e6,
        "s" => 1e9,
        "KiB" => 1_024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => panic!("the unit {unit} is unknown"),
    }
}

/// Splits the text of a cell, such as `1,200`, `39.8–41.6k` or `41.2k*`, into its numbers without
/// separators of digits, and returns the factor of the letter at its end.
fn split(text: &str) -> (Vec<String>, f64) {
    let text = text.trim_end_matches(['*', '✓']).replace('−', "-");
    let ends_number = |it: &str| it.ends_with(|last: char| last.is_ascii_digit());
    let letter = |letter: char| text.strip_suffix(letter).is_some_and(ends_number);
    let factor = match (letter('k'), letter('M')) {
        (true, _) => 1e3,
        (_, true) => 1e6,
        _ => 1.0,
    };
    let is_part = |it: char| it.is_ascii_digit() || "-,.".contains(it);
    let pieces = text.split(|it: char| !is_part(it));
    let pieces = pieces.filter(|it| it.contains(|it: char| it.is_ascii_digit()));
    (pieces.map(|it| it.replace(',', "")).collect(), factor)
}

/// Reports whether one of the values, divided by `scale`, is rounded to the shown number.
fn is_one_of(values: &[f64], shown: &str, scale: f64) -> bool {
    let decimals = shown.split_once('.').map_or(0, |(_, it)| it.len());
    let number: f64 = shown.parse().unwrap();
    // The factor allows for the inexact division.
    let error_max = 0.5 * 10_f64.powi(-(decimals as i32)) * 1.000_001;
    let mut errors = values.iter().map(|value| (value / scale - number).abs());
    errors.any(|error| error <= error_max)
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    let rests = text.split(begin).skip(1);
    rests.filter_map(|it| it.split(end).next()).collect()
}

#[test]
fn a_figure_is_compared_in_its_unit_and_to_its_last_digit() {
    for (text, numbers, factor) in [
        ("39.8–41.6k", "39.8 41.6", 1e3),
        ("−1,130 to 352", "-1130 352", 1.0),
        ("1 block", "1", 1.0),
        ("no gateway", "", 1.0),
    ] {
        let (found, scale) = split(text);
        assert_eq!((found.join(" ").as_str(), scale), (numbers, factor));
    }
    let values = [41_249.0, -1_130.4];
    assert!(is_one_of(&values, "41.2", 1e3) && is_one_of(&values, "-1130", 1.0));
    assert!(!is_one_of(&values, "41.3", 1e3) && !is_one_of(&values, "41.2", 1.0));
}

#[test]
fn every_figure_in_the_tables_of_a_run_is_in_its_report_json() {
    let folder = two_runs();
    gatebench(folder.path(), "report gatebench-runs/day-03");
    let report = fs::read(folder.path().join("gatebench-runs/day-03/report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let site = Site::start(folder.path(), &[]);
    let page = site.page(&links(&site.page("/"), "/run/day-03/")[0]);
    assert!(page.contains("<table class=\"results summary\">"), "{page}");

    let mut checked = 0;
    for table in between(&page, "<table class=\"results", "</table>") {
        let (head, body) = table.split_once("<tbody>").unwrap();
        let units = between(head, "<span class=\"unit\">", "</span>");
        for row in body.split("<tr").skip(1) {
            // A figure must come from the variant of its row.
            let variant = between(row, "<span class=\"name\">", "</span>")[0];
            let rows = report["scenarios"][0]["rows"].as_array().unwrap();
            let own = rows.iter().find(|it| it["variant"] == variant).unwrap();
            let mut values = Vec::new();
            numbers(own, &mut values);
            let cells: Vec<&str> = row.split("<td").skip(1).collect();
            assert_eq!(cells.len(), units.len(), "{row}");
            for (cell, unit) in cells.iter().zip(&units) {
                for span in between(cell, "<span class=\"", "</span>") {
                    let (_, text) = span.split_once("\">").unwrap();
                    let (shown, factor) = split(text);
                    for number in &shown {
                        let is_known = is_one_of(&values, number, base_units(unit) * factor);
                        assert!(is_known, "{variant}: {text} {unit} is not in report.json");
                    }
                    checked += shown.len();
                }
            }
        }
    }
    assert!(checked >= FIGURES_MIN, "only {checked} figures");
}
