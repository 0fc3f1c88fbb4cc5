//! Scenarios with several groups. Each group is planned, measured and reported separately.

use serde_json::Value;

use crate::bench::Bench;

#[test]
fn a_plan_states_the_share_of_each_group() {
    let bench = Bench::new();
    let plan = bench.gatebench(
        "run good-and-failing --gateway reference --load ./load.yaml --blocks 1 --dry-run",
    );
    plan.assert_code(0);
    for line in [
        "groups   2 of good-and-failing",
        "         good     throughput 6 connections, latency 150 requests/s",
        "         failing  throughput 2 connections, latency 50 requests/s",
    ] {
        assert!(
            plan.stdout.lines().any(|said| said == line),
            "{line}\n{}",
            plan.stdout
        );
    }
    bench.load("- {name: wide, closed: {connections: 100}, measure: 1s}\n");
    let plan = bench.gatebench(
        "run hundred-routes --gateway reference --load ./load.yaml --blocks 1 --dry-run",
    );
    for line in ["groups   100 of hundred-routes", "         and 92 more"] {
        assert!(
            plan.stdout.lines().any(|said| said == line),
            "{line}\n{}",
            plan.stdout
        );
    }
}

#[test]
fn every_report_distinguishes_groups() {
    let bench = Bench::new();
    let finished = bench.gatebench(
        "run good-and-failing --gateway reference --load ./load.yaml --blocks 1 --dir run --verbose",
    );
    finished.assert_measured();
    let said = &finished.stdout;
    assert!(said.contains("good-and-failing · groups"), "{said}");
    for file in ["run/report.html", "run/report.md"] {
        let report = bench.read(file);
        assert!(
            report.contains("checks failed") && report.contains("failing"),
            "{file}"
        );
    }
    let findings: Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    let groups = findings["scenarios"][0]["groups"].as_array().unwrap();
    let shown: Vec<_> = groups
        .iter()
        .map(|found| {
            (
                found["phase"].as_str().unwrap(),
                found["group"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("throughput", "good"),
        ("throughput", "failing"),
        ("latency", "good"),
        ("latency", "failing"),
    ];
    assert_eq!(shown, expected);
    for found in groups {
        assert_eq!(found["figures"]["checks_failed"], 0, "{found}");
    }
}
