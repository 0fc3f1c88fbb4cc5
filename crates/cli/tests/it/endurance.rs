//! `gatebench soak` and `gatebench isolation`, on the unmodified reference gateway and on one with
//! known faults.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::bench::replace_load;
use crate::turns::turn;

/// The load of `gatebench isolation` without its warm-up, because the tests examine only checks.
const STEADY: &str = "- {name: steady, open: {rate_per_second: 2000}, measure: 8s}\n";

fn command(folder: &Path, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatebench"));
    command
        .args(words.split_whitespace())
        .current_dir(folder)
        .env("XDG_DATA_HOME", folder.join("data"));
    command
}

fn gatebench(folder: &Path, words: &str) -> Output {
    command(folder, words).output().unwrap()
}

fn flawed(flags: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    crate::flawed::flawed(folder.path(), "flawed", flags);
    folder
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn report(folder: &TempDir) -> Value {
    json(&folder.path().join("run/report.json"))
}

#[test]
fn an_error_in_the_response_to_another_request_is_detected() {
    let _turn = turn();
    let folder = flawed("--leak-errors, 5%");
    replace_load(folder.path(), "isolation", STEADY);
    let words = "isolation ./flawed --quick --blocks 1 --rate 400 --overlay over --dir run";
    let output = gatebench(folder.path(), words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("does not isolate errors in soap-1-errors"),
        "{said}"
    );
    let found = &report(&folder)["isolation"][0];
    assert_eq!(found["decision"], "worse");
    assert!(found["next_to_failing"]["checks_failed"].as_u64().unwrap() > 0);
    assert_eq!(found["next_to_healthy"]["checks_failed"], 0);
}

#[test]
fn the_reference_gateway_isolates_the_good_group() {
    let _turn = turn();
    let folder = TempDir::new().unwrap();
    replace_load(folder.path(), "isolation", STEADY);
    let scenarios = "--scenario soap-1-errors --scenario soap-3-errors";
    let words =
        format!("isolation {scenarios} --quick --blocks 1 --rate 400 --overlay over --dir run");
    let output = gatebench(folder.path(), &words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        output.status.code(),
        Some(4),
        "a verdict needs more than one block: {said}"
    );
    let report = report(&folder);
    let found = report["isolation"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    for test in found {
        assert_eq!(test["next_to_failing"]["checks_failed"], 0, "{test}");
        assert!(test["next_to_failing"]["responses"].as_u64().unwrap() > 0);
    }
}

#[test]
fn a_plan_lists_the_scenarios_that_a_gateway_skips() {
    let folder = TempDir::new().unwrap();
    let output = gatebench(folder.path(), "isolation nginx --dry-run");
    let shown = String::from_utf8_lossy(&output.stdout);
    let words = "skipped  nginx does not support soap-1-errors (soap)";
    assert!(shown.contains(words), "{shown}");
}

#[test]
fn a_scenario_without_failing_groups_is_refused() {
    let folder = TempDir::new().unwrap();
    let output = gatebench(folder.path(), "isolation --scenario proxy-json --dry-run");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no second group"), "{said}");
}

/// Returns the verdict on memory after five minutes under a closed load of 64 connections.
fn five_minutes(folder: &TempDir, gateway: &str) -> Value {
    let words = format!("soak {gateway} --connections 64 --duration 5m --dir run");
    let output = gatebench(folder.path(), &words);
    println!("{}", String::from_utf8_lossy(&output.stdout));
    let report = report(folder);
    let memory = &report["soak"]["segments"][0]["quantities"][0];
    assert_eq!(memory["what"], "memory");
    memory["growth"]["verdict"]["kind"].clone()
}

#[test]
#[ignore = "takes 6 minutes; make test-full"]
fn a_leak_of_a_kibibyte_per_thousand_requests_is_found_in_five_minutes() {
    let folder = flawed("--leak, 1KiB/1000");
    assert_eq!(five_minutes(&folder, "./flawed"), "leak");
}

#[test]
#[ignore = "takes 6 minutes; make test-full"]
fn a_gateway_that_does_not_leak_is_not_found_to_leak_in_five_minutes() {
    let folder = TempDir::new().unwrap();
    assert_ne!(five_minutes(&folder, "reference"), "leak");
}
