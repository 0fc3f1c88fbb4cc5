//! External load generators in place of the built-in one, tested with the real programs if they are
//! installed.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::{Bench, Finished, LONG_MEASURE};

/// wrk measures for whole seconds.
const CLOSED: &str =
    "- {name: throughput, closed: {connections: 8}, warm_up: 100ms, measure: 1s, timeout: 2s}\n";

const OPEN: &str = "- {name: latency, open: {rate_per_second: 100, connections_max: 8}, measure: 1s, timeout: 2s}\n";

const MANY: &str = r#"
scenario: many
title: Requests that differ
upstream: go-bench
routes: [{name: all, path: /}]
data:
  ids: {list: {values: [1, 2, 3]}}
requests:
  - {path: "/resource/{{ ids }}", weight: 3, checks: [{status: 200}]}
  - method: POST
    path: /echo
    headers: {Content-Type: application/json}
    body: '{"a": [1, "it''s"]}'
    checks: [{status: 200}, {json: {path: /a/1, equals: "it's"}}, {header: {name: content-type, equals: application/json}}]
"#;

const REFUSED: &str = "
scenario: refused
title: Every second request has a wrong key
upstream: go-bench
routes: [{name: json, path: /json, policies: [{api_key: {header: X-Api-Key}}]}]
consumers: [{name: alice, keys: [alice-3f9b1c7d5e2a4860]}]
requests:
  - {path: /json/valid, headers: {X-Api-Key: alice-3f9b1c7d5e2a4860}, checks: [{status: 200}]}
  - {path: /json/valid, headers: {X-Api-Key: mallory-0000000000000000}, checks: [{status: 401}]}
";

/// Reports whether a program is installed; if it is not, prints that the test is skipped.
pub fn installed(program: &str) -> bool {
    let found = Command::new("sh")
        .args([
            "-c",
            &format!("command -v {program} || test -x target/external/bin/{program}"),
        ])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        eprintln!(
            "skipped: {program} is not installed (`make test` installs wrk and h2load, `make k6` builds k6)"
        );
    }
    found
}

/// Creates a bench where gatebench finds the k6 that `make k6` built.
fn bench(load: &str) -> Bench {
    let bench = Bench::new();
    bench.load(load);
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/external/bin");
    if built.is_dir() {
        std::fs::create_dir_all(bench.path("target/external")).unwrap();
        std::os::unix::fs::symlink(built, bench.path("target/external/bin")).unwrap();
    }
    bench
}

fn record(bench: &Bench) -> Value {
    let trials = bench.kept_trials("run");
    let text = bench.read(&format!("run/trials/{}/trial.json", trials[0]));
    serde_json::from_str(&text).unwrap()
}

fn run(bench: &Bench, words: &str) -> Finished {
    bench.gatebench(&format!("run suite.yaml --dir run {words}"))
}

#[track_caller]
fn assert_measured_by(engine: &str, load: &str) -> Value {
    let bench = bench(load);
    let finished = run(&bench, &format!("--engine {engine}"));
    finished.assert_measured();
    finished.assert_says(&[&format!("warning: {engine} "), "does not report"]);
    bench.assert_reportable("run", 1);
    let report = bench.read("run/report.md");
    assert!(report.contains("does not report"), "{report}");
    let phase = record(&bench)["phases"][0].clone();
    let counts = &phase["counts"];
    assert!(counts["completed"].as_u64().unwrap() > 0, "{phase:#}");
    assert_eq!(counts["checks_failed"], serde_json::json!({}), "{phase:#}");
    assert_eq!(phase["external"]["engine"], engine);
    assert!(phase["usage"]["gateway"]["cpu_ns"].as_u64().unwrap() > 0);
    assert_eq!(phase["trace"]["never_reached_upstream"], 0, "{phase:#}");
    phase
}

#[test]
fn wrk_drives_a_scenario() {
    if installed("wrk") {
        let phase = assert_measured_by("wrk", CLOSED);
        assert_eq!(
            phase["counts"]["by_class"]["2xx"],
            phase["counts"]["completed"]
        );
        assert!(phase["external"]["percentiles_ns"]["99.9"].is_u64());
    }
}

#[test]
fn required_refusals_do_not_make_the_figures_of_an_external_generator_invalid() {
    for engine in ["wrk", "k6"] {
        if !installed(engine) {
            continue;
        }
        let bench = bench(CLOSED);
        bench.write("refused.yaml", REFUSED);
        let words = format!("--engine {engine} --scenario ./refused.yaml");
        run(&bench, &words).assert_measured();
        let phase = record(&bench)["phases"][0].clone();
        let trace = &phase["trace"];
        assert!(trace["meant_for_gateway"].as_u64() > Some(0), "{phase:#}");
        assert_eq!(
            trace["meant_for_gateway"], trace["never_reached_upstream"],
            "{phase:#}"
        );
    }
}

#[test]
fn loads_with_changes_are_refused_for_generators_without_seconds() {
    if installed("wrk") {
        let bench = Bench::new();
        bench.load("- {name: noted, open: {rate_per_second: 9}, measure: 3s, change: {action: reload, at: 1s}}\n");
        bench
            .gatebench("run suite.yaml --engine wrk --dir run")
            .assert_code(2)
            .assert_says(&[
                "'noted' is judged by figures per second",
                "use the built-in load generator",
            ]);
    }
}

#[test]
fn side_by_side_loads_are_refused_for_external_generators() {
    if installed("wrk") {
        let bench = Bench::new();
        bench.load("- {name: both, side_by_side: true, closed: {connections: 4}, measure: 1s}\n");
        bench
            .gatebench("run suite.yaml --engine wrk --dir run")
            .assert_code(2)
            .assert_says(&[
                "the load 'both' runs against all gateways",
                "without `side_by_side`",
            ]);
    }
}

#[test]
fn cold_loads_are_refused_for_external_generators() {
    if installed("wrk") {
        let bench = Bench::new();
        bench.write(
            "load.yaml",
            "profile: opening\ntitle: Opening\ncold: true\nphases:\n\
             - {name: first, closed: {connections: 4}, measure: 1s}\n",
        );
        bench
            .gatebench("run suite.yaml --engine wrk --dir run")
            .assert_code(2)
            .assert_says(&[
                "the load 'opening' begins at the gateway's first correct response",
                "without `cold`",
            ]);
    }
}

#[test]
fn h2load_drives_a_scenario() {
    if installed("h2load") {
        let phase = assert_measured_by("h2load", CLOSED);
        assert_eq!(
            phase["counts"]["by_class"]["2xx"],
            phase["counts"]["completed"]
        );
        assert!(phase["external"]["mean_ns"].is_u64());
    }
}

#[test]
fn k6_drives_a_scenario_at_a_rate() {
    if installed("k6") {
        let phase = assert_measured_by("k6", OPEN);
        assert_eq!(
            phase["counts"]["by_class"]["2xx"],
            phase["counts"]["completed"]
        );
        assert!(phase["external"]["percentiles_ns"]["99.9"].is_u64());
    }
}

#[test]
fn k6_fills_and_checks_requests() {
    if !installed("k6") {
        return;
    }
    let bench = bench(CLOSED);
    bench.write("many.yaml", MANY);
    run(&bench, "--engine k6 --scenario ./many.yaml").assert_measured();
    let phase = record(&bench)["phases"][0].clone();
    assert_eq!(
        phase["counts"]["checks_failed"],
        serde_json::json!({}),
        "{phase:#}"
    );
    assert_eq!(phase["external"]["checks"].as_object().unwrap().len(), 3);
}

#[test]
fn wrk_runs_a_users_script() {
    if !installed("wrk") {
        return;
    }
    let bench = bench(CLOSED);
    bench.write(
        "own.lua",
        "wrk.path = '/ping'\nfunction done(summary) print('to ' .. os.getenv('GATEBENCH_URL')) end\n",
    );
    run(&bench, "--engine wrk --script own.lua").assert_measured();
    let trial = bench.kept_trials("run").remove(0);
    let printed = bench.read(&format!(
        "run/trials/{trial}/engine/throughput/measure/wrk.stdout.log"
    ));
    assert!(printed.contains("to http://127.0.0.1:"), "{printed}");
}

#[test]
fn k6_runs_a_users_script_with_thresholds_groups_and_metrics() {
    if !installed("k6") {
        return;
    }
    let bench = bench(CLOSED);
    bench.write("own.js", include_str!("own.js"));
    let finished = run(&bench, "--engine k6 --script own.js");
    finished.assert_code(1).assert_says(&[
        "the script: the threshold 'http_req_duration: max<0.000001' failed",
        "the load: the script has its own",
    ]);
    let record = record(&bench);
    let external = &record["phases"][0]["external"];
    assert_eq!(external["groups"], serde_json::json!(["ping"]));
    assert_eq!(external["checks"]["ping › is fine"]["failed"], 0);
    assert_eq!(external["thresholds"]["checks: rate==1"], true);
    assert!(
        external["metrics"]["mine"]["p(99.9)"].is_f64(),
        "{external:#}"
    );
}

#[test]
fn unsupported_plans_are_refused_before_anything_starts() {
    let refused = |load: &str, words: &str, code: i32, says: &[&str]| {
        let bench = bench(load);
        run(&bench, words).assert_code(code).assert_says(says);
        assert!(!bench.path("run").exists());
    };
    if installed("wrk") {
        let says = ["wrk cannot send at a fixed rate, but phase 'latency' requires 100 requests/s"];
        refused(OPEN, "--engine wrk", 2, &says);
        refused(
            CLOSED,
            "--engine wrk --script none.lua",
            2,
            &["none.lua: cannot read the script"],
        );
    }
    let own = [
        "--script: the built-in load generator runs no scripts",
        "--engine k6",
    ];
    refused(CLOSED, "--script own.js", 2, &own);
}

#[test]
fn ctrl_c_also_ends_an_external_generator() {
    if !installed("wrk") {
        return;
    }
    let bench = bench(LONG_MEASURE);
    let session = bench.start("run suite.yaml --engine wrk --dir run");
    session.until_load();
    session.signal("INT");
    session.wait().assert_code(130);
    assert!(bench.processes().is_empty(), "{:?}", bench.processes());
}

#[test]
fn a_scenario_is_exported_as_a_k6_script() {
    let bench = bench(OPEN);
    let words = "export k6 ./ping.yaml --load ./load.yaml --url http://there:1";
    let exported = bench.gatebench(words);
    exported
        .assert_code(0)
        .assert_says(&["k6 drops an arrival"]);
    for part in [
        "// ping: The smallest response",
        "executor: 'constant-arrival-rate'",
        "__ENV.GATEBENCH_URL || 'http://there:1'",
        "'status is 200': (response) => response.status === 200,",
    ] {
        assert!(
            exported.stdout.contains(part),
            "{part} is not in\n{}",
            exported.stdout
        );
    }
}
