//! The audit of gateways' own metrics: faults are detected, and an honest gateway is not accused.

use serde_json::Value;

use crate::bench::Bench;
use crate::flawed::flawed;
use crate::turns::turn;

/// Two loads: in the first, a target responds only after clients have given up; in the second, it
/// resets connections, so the gateway sends requests again.
const ABANDONED: &str = "\
- name: abandoned
  open: {rate_per_second: 300, connections_max: 64}
  warm_up: 200ms
  measure: 3s
  timeout: 100ms
  failure: {how: slow, by: 400ms, from: 1s, until: 2s}
- name: retried
  open: {rate_per_second: 300, connections_max: 64}
  warm_up: 200ms
  measure: 3s
  timeout: 2s
  failure: {how: resetting, from: 1s, until: 2s}
";

const THREE_TARGETS: &str = include_str!("../../../../scenarios/fault/three-targets.yaml");

/// Writes `mine.yaml`: the scenario `three-targets`, with the gateway's metrics fetched once a
/// second.
fn scenario(bench: &Bench) {
    let with = THREE_TARGETS
        .replace("scenario: three-targets", "scenario: mine")
        .replace("targets: 3", "targets: 3\nmetrics: {scrape_every: 1s}");
    bench.write("mine.yaml", &with);
}

/// Returns the name and the judgment of each row in the report's table.
fn judgments(report: &Value) -> Vec<(String, String)> {
    let sections = report["sections"].as_array().unwrap();
    let own = sections.iter().find(|it| it["id"] == "own-metrics");
    let own = own.unwrap_or_else(|| panic!("{sections:#?}"));
    let rows = own["table"]["rows"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let judged = rows.map(|row| {
        let cells = row["cells"].as_array().unwrap();
        (text(&row["name"]), text(&cells[cells.len() - 1]["words"]))
    });
    judged.collect()
}

#[test]
fn each_kind_of_miscounting_is_detected_and_an_honest_gateway_is_not_accused() {
    let _turn = turn();
    let bench = Bench::new();
    scenario(&bench);
    bench.load(ABANDONED);
    let folder = bench.path("");
    for (name, flags) in [
        ("uncounted", "--uncounted, 1%"),
        ("retries", "--count-retries"),
        ("forgetful", "--forget-abandoned"),
    ] {
        flawed(&folder, name, flags);
    }
    // Each gateway has a run of its own; the judgments depend on counts, not on timing.
    let runs = [
        ("reference", "reference", ["agrees", "agrees"], &[][..]),
        (
            "./uncounted",
            "uncounted",
            ["miscounts", "miscounts"],
            &["uncounted miscounts its requests in retried: it does not count"],
        ),
        (
            "./retries",
            "retries",
            ["agrees", "miscounts"],
            &[
                "retries miscounts its requests in retried: it counts",
                "so the gateway may count retries",
            ],
        ),
        (
            "./forgetful",
            "forgetful",
            ["miscounts", "agrees"],
            &["forgetful miscounts its requests in abandoned: it does not count"],
        ),
    ];
    let sessions = runs.map(|(gateway, name, ..)| {
        bench.start(&format!(
            "run --scenario ./mine.yaml --load load.yaml --blocks 1 --no-direct --dir {name}-run \
             --gateway {gateway}"
        ))
    });
    for (session, (_, name, expected, sentences)) in sessions.into_iter().zip(runs) {
        session.wait_for_end().assert_measured();
        let report: Value =
            serde_json::from_str(&bench.read(&format!("{name}-run/report.json"))).unwrap();
        let judged = judgments(&report);
        for (phase, words) in ["abandoned", "retried"].into_iter().zip(expected) {
            let row = format!("{name} · requests, {phase}");
            let found = judged.iter().find(|it| it.0 == row);
            let found = found.unwrap_or_else(|| panic!("{row} in {judged:#?}"));
            assert_eq!(found.1, words, "{judged:#?}");
        }
        let page = bench.read(&format!("{name}-run/report.md"));
        for sentence in sentences {
            assert!(page.contains(sentence), "'{sentence}' is not in\n{page}");
        }
        assert!(!page.contains("reference miscounts"), "{page}");
    }
    assert!(bench.processes().is_empty(), "processes are still running");
}

/// Judges two honest gateways in twenty runs, each with fresh processes, under a steady load and
/// the loads in [`ABANDONED`].
#[test]
#[ignore = "takes minutes: make test-full"]
fn an_honest_gateway_is_never_accused() {
    let _turn = turn();
    let bench = Bench::new();
    scenario(&bench);
    let steady = "- {name: steady, open: {rate_per_second: 2000, connections_max: 64}, \
                  warm_up: 500ms, measure: 3s}\n";
    bench.load(&format!("{steady}{ABANDONED}"));
    for run in 0..20 {
        bench.gatebench(&format!(
            "run --scenario ./mine.yaml --load load.yaml --blocks 1 --no-direct --seed {run} \
             --gateway reference --gateway haproxy --dir run-{run}"
        ));
        let report: Value =
            serde_json::from_str(&bench.read(&format!("run-{run}/report.json"))).unwrap();
        let judged = judgments(&report);
        assert!(judged.len() >= 6, "{judged:#?}");
        for (name, words) in judged {
            assert!(!words.contains("miscounts"), "run {run}: {name}: {words}");
        }
    }
}
