//! Tests of `gatebench capacity`: searches, plans, and invalid values.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::folder::gatebench;
use crate::turns::turn;

fn search(folder: &Path, objective: &str, flags: &str) -> Output {
    let words = [
        "capacity",
        "reference",
        "--step",
        "200ms",
        "--dir",
        "run",
        "--slo",
        objective,
    ];
    let flags: Vec<&str> = flags.split_whitespace().collect();
    gatebench(folder, &[&words[..], &flags].concat())
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn steps(trial: &Value) -> Vec<&Value> {
    let phases = trial["phases"].as_array().unwrap();
    phases
        .iter()
        .filter(|phase| phase["step"].is_object())
        .collect()
}

#[test]
fn a_search_ends_with_a_result_that_its_directory_reproduces() {
    let _turn = turn();
    let folder = TempDir::new().unwrap();
    // Even a slow machine sustains the highest rate of this search, so the result is known.
    let flags = "--max-rate 50 --arrivals uniform --repeat 1 --connections 4 --for 250";
    let output = search(folder.path(), "p50<9s, errors<99%", flags);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}{complained}");
    let holds =
        "reference meets p50<9s, errors<99% at 50 requests/s, the highest rate that was tried";
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(holds), "{said}");
    assert!(said.contains("in 13 of 13 steps"), "{said}");
    assert!(
        said.contains("reference needs at most 5 cores")
            && said.contains("extrapolated from 1 core"),
        "{said}"
    );

    let run = folder.path().join("run");
    let report = json(&run.join("report.json"));
    let found = &report["capacity"]["gateways"][0];
    assert_eq!(found["outcome"]["kind"], "at_least");
    assert_eq!(found["outcome"]["rate_per_second"], 50.0);
    assert!(!found["curve"].as_array().unwrap().is_empty());
    let page = fs::read(run.join("report.html")).unwrap();
    assert!(String::from_utf8_lossy(&page).contains("id=\"capacity-h\""));

    let trials = fs::read_dir(run.join("trials")).unwrap();
    let records: Vec<Value> = trials
        .map(|entry| json(&entry.unwrap().path().join("trial.json")))
        .collect();
    let searched: Vec<&Value> = records
        .iter()
        .filter(|it| it["trial"]["variant"] == "reference")
        .collect();
    assert_eq!(searched.len(), 1);
    let near = steps(searched[0])
        .into_iter()
        .filter(|step| step["step"]["role"] == "near");
    let near: Vec<&Value> = near.collect();
    assert!(near.len() >= 12, "{}", near.len());
    let direct = records
        .iter()
        .filter(|it| it["trial"]["variant"] == "direct");
    assert!(direct.clone().all(|it| steps(it).is_empty()) && direct.count() == 1);

    let again = gatebench(folder.path(), &["report", "run"]);
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(
        fs::read(run.join("report.html")).unwrap(),
        page,
        "the page is rebuilt byte for byte"
    );
}

#[test]
fn an_impossible_objective_has_no_capacity() {
    let _turn = turn();
    let folder = TempDir::new().unwrap();
    let output = search(
        folder.path(),
        "p50<1us",
        "--repeat 1 --connections 2 --json",
    );
    assert_eq!(
        output.status.code(),
        Some(4),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = &report["capacity"]["gateways"][0];
    assert_eq!(found["outcome"]["kind"], "below", "{found}");
    let outcomes: Vec<&Value> = report["capacity"]["gateways"][0]["curve"]
        .as_array()
        .unwrap()
        .iter()
        .collect();
    assert!(outcomes.iter().all(|point| point["held"] == 0), "{found}");
}

#[test]
fn the_plan_is_printed_before_anything_starts() {
    let folder = TempDir::new().unwrap();
    let words = ["capacity", "reference", "--slo", "p99.9<1s", "--dry-run"];
    let output = gatebench(folder.path(), &words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("the rate sustained with p99.9<1s, errors<0.1%")
            && said.contains("Poisson arrivals"),
        "{said}"
    );
    let plan = gatebench(folder.path(), &[&words[..], &["--json"]].concat());
    let plan: Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!(plan["capacity"]["objective"], "p99.9<1s, errors<0.1%");
    assert_eq!(plan["capacity"]["arrivals"], "poisson");
    assert_eq!(plan["blocks"], 5);
    let uniform = [&words[..], &["--json", "--arrivals", "uniform"]].concat();
    let plan: Value = serde_json::from_slice(&gatebench(folder.path(), &uniform).stdout).unwrap();
    assert_eq!(plan["capacity"]["arrivals"], "uniform");
}

#[test]
fn invalid_values_are_reported_with_their_option() {
    let folder = TempDir::new().unwrap();
    for (words, expected) in [
        (["--slo", "p99<10"], "column 5: '10' is not a duration"),
        (
            ["--threshold", "p99>1s"],
            "column 1: the bound 'p99>1s' has no '<'",
        ),
        (
            ["--slo", "p99<10ms, mean<1ms"],
            "column 11: the quantity 'mean' is neither",
        ),
        (["--for", "fast"], "for example 20000 or 20k"),
        (["--cores", "0"], "whole numbers of cores"),
        (["--step", "1ms"], "at least 200ms"),
    ] {
        let output = gatebench(
            folder.path(),
            &[&["capacity", "reference"][..], &words].concat(),
        );
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_resumed_search_refuses_options_of_its_plan() {
    let folder = TempDir::new().unwrap();
    for words in [
        ["--slo", "p99<2ms"],
        ["--max-rate", "20k"],
        ["--arrivals", "uniform"],
        ["--step", "10s"],
        ["--repeat", "7"],
        ["--connections", "8"],
        ["--for", "20k"],
        ["--seed", "7"],
    ] {
        let resume = ["capacity", "--resume", "run"];
        let output = gatebench(folder.path(), &[&resume[..], &words].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("cannot be used with"), "{said}");
    }
}
