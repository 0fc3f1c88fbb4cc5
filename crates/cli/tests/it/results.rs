//! Successful runs and their results.

use std::fs;
use std::path::Path;

use gatebench_report::{TerminalOptions, terminal};
use gatebench_store::Run;

use crate::bench::{Bench, WARMED_UP, exists};
use crate::serving::Serving;

#[test]
fn the_tour_is_reported_on_the_terminal_and_in_files() {
    let bench = Bench::new();
    let finished = bench.gatebench("run --load ./load.yaml --blocks 2 --dir run");
    finished.assert_measured().assert_says(&[
        "18 trials, about",
        "[1/18, ",
        "[18/18, 0s left] ",
        " · block 2/2: throughput",
    ]);
    assert!(finished.stdout.contains("run/report.html"));
    assert!(
        finished
            .stdout
            .contains("Trust: 2 blocks, too few for a verdict")
    );
    assert!(
        finished
            .stdout
            .lines()
            .all(|line| line.chars().count() <= 100),
        "{}",
        finished.stdout
    );
    assert!(
        !finished.stdout.contains('\x1b') && !finished.stderr.contains('\x1b'),
        "no colors without a terminal"
    );
    bench.assert_reportable("run", 18);
    assert_first_screen_fits(&bench.path("run"));
}

/// Asserts that the first screen of a tour fits into 25 lines of 80 columns, including the blank
/// lines around it and the path below it. The chapter `Problems`, which may appear on a busy
/// machine, does not count.
#[track_caller]
fn assert_first_screen_fits(run: &Path) {
    let findings = gatebench_studies::analyse(&Run::open(run).unwrap()).unwrap();
    let of = |brief| {
        let columns = 80;
        terminal::render(
            &findings,
            TerminalOptions {
                columns,
                brief,
                ..TerminalOptions::default()
            },
        )
    };
    let brief = of(true);
    let screen = brief.split("\nProblems\n").next().unwrap();
    assert!(screen.lines().count() <= 22, "{screen}");
    assert!(of(false).lines().count() > 25, "--verbose shows the rest");
    let widest = screen.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80) && !screen.contains('…'), "{screen}");
    for scenario in &findings.scenarios {
        let summary = scenario.summary.as_ref().unwrap();
        let names = ["throughput", "CPU/request", "added p", "memory"];
        assert_eq!(summary.columns.len(), names.len(), "{summary:?}");
        for name in names {
            assert!(screen.contains(name), "{name}: {screen}");
        }
    }
}

#[test]
fn a_run_is_reported_in_the_columns_of_a_document() {
    let bench = Bench::new();
    bench
        .gatebench("run suite.yaml --dir run")
        .assert_measured();
    let shown = bench.gatebench("report run --as kong-vs-nginx");
    shown.assert_code(0);
    for part in ["Kong against nginx", "via reference", "A timer of 10 ms"] {
        assert!(shown.stdout.contains(part), "{part} in {}", shown.stdout);
    }
    let json = bench.gatebench("report run --as seed-002 --json");
    assert!(json.stdout.contains("\"document\": \"kong-vs-nginx\""));
    bench
        .gatebench("report run --as soap")
        .assert_code(2)
        .assert_says(&["none of the document's scenarios", "gatebench run soap"]);
    bench
        .gatebench("report run --as seed-9")
        .assert_code(2)
        .assert_says(&["there is no published document 'seed-9'", "kong-vs-nginx"]);
    bench
        .gatebench("report run --as kong-vs-nginx --format junit")
        .assert_code(2)
        .assert_says(&["the columns of a document have no verdicts", "omit --as"]);
    bench.gatebench("run suite.yaml --smoke --dir smoke");
    bench
        .gatebench("report smoke --as kong-vs-nginx")
        .assert_code(2)
        .assert_says(&["a smoke run only verifies", "gatebench run kong-vs-nginx"]);
}

#[test]
fn a_run_is_reported_in_the_columns_of_a_file() {
    const MINE: &str = "published: mine\ntitle: A table of mine\nsetting: Published for a laptop.\n\
                        suite: tour\ntables:\n  - title: proxies\n    row: scenario\n    rows:\n\
                        \x20     - {row: my proxy, scenario: ping, published: {rate: 1000}}\n\
                        \x20   groups:\n      - group: document\n        columns: [{head: [requests], figure: rate}]\n";
    let bench = Bench::new();
    bench
        .gatebench("run suite.yaml --dir run")
        .assert_measured();
    bench.write("mine.yaml", MINE);
    let parts = ["A table of mine", "reference: proxies", "my proxy"];
    let shown = bench.gatebench("report run --as ./mine.yaml");
    shown.assert_code(0).assert_prints(&parts);
    fs::create_dir_all(bench.path("house/scenarios/published")).unwrap();
    bench.write("house/scenarios/published/mine.yaml", MINE);
    let named = bench.gatebench("report run --as mine --overlay house");
    assert_eq!(named.assert_code(0).stdout, shown.stdout);
    bench.write("mine.yaml", &MINE.replace("figure: rate", "figure: rat"));
    bench
        .gatebench("report run --as ./mine.yaml")
        .assert_code(2)
        .assert_says(&["mine.yaml:12:", "did you mean `rate`?"]);
}

#[test]
fn a_report_is_rebuilt_byte_for_byte() {
    const FILES: [&str; 4] = ["report.html", "report.md", "report.json", "summary.csv"];
    let bench = Bench::new();
    bench.load(WARMED_UP);
    bench
        .gatebench("run suite.yaml --dir run")
        .assert_measured();
    let before = FILES.map(|name| bench.read(&format!("run/{name}")));
    assert!(before[1].contains("Warm-ups lasted"), "{}", before[1]);
    FILES
        .iter()
        .for_each(|name| fs::remove_file(bench.path("run").join(name)).unwrap());
    // The report stays the same after the directory is moved and renamed.
    fs::rename(bench.path("run"), bench.path("moved")).unwrap();
    bench.gatebench("report moved").assert_code(0);
    for (name, before) in FILES.iter().zip(before) {
        assert_eq!(bench.read(&format!("moved/{name}")), before, "{name}");
    }
    for (format, file) in [
        ("markdown", "report.md"),
        ("html", "report.html"),
        ("json", "report.json"),
        ("csv", "summary.csv"),
    ] {
        let printed = bench
            .gatebench(&format!("report moved --format {format}"))
            .assert_code(0)
            .stdout
            .clone();
        assert_eq!(
            printed.trim_end(),
            bench.read(&format!("moved/{file}")).trim_end(),
            "{format}"
        );
    }
}

#[test]
fn with_json_standard_output_contains_only_json() {
    let bench = Bench::new();
    let finished = bench.gatebench("run suite.yaml --dir run --json");
    let findings: serde_json::Value =
        serde_json::from_str(&finished.assert_measured().stdout).unwrap();
    assert_eq!(findings["run"]["suite"], "small");
    assert_eq!(findings["trials"].as_array().unwrap().len(), 1);
}

#[test]
fn a_run_without_a_directory_creates_one() {
    let bench = Bench::new();
    bench.gatebench("run suite.yaml").assert_measured();
    let runs: Vec<_> = fs::read_dir(bench.path("gatebench-runs"))
        .unwrap()
        .flatten()
        .collect();
    assert_eq!(runs.len(), 1);
    assert!(
        runs[0]
            .file_name()
            .to_string_lossy()
            .starts_with("small-20")
            && exists(&runs[0].path(), "report.html")
    );
}

#[test]
fn a_folder_outside_the_repository_is_a_gateway_like_any_other() {
    let bench = Bench::new();
    bench.faulty("honest");
    let finished = bench.gatebench("run suite.yaml --gateway ./faulty --gateway nginx --dir run");
    finished
        .assert_measured()
        .assert_says(&["faulty · ping", "nginx · ping"]);
    bench.assert_reportable("run", 2);
}

#[test]
fn a_running_gateway_is_measured_and_left_running() {
    let bench = Bench::new();
    let config = |upstream: u16| {
        format!(
            r#"{{"listen": ["127.0.0.1:0"], "workers": 1,
                "upstreams": [{{"name": "u", "keepalive": 16, "targets": [{{"address": "127.0.0.1", "port": {upstream}, "weight": 1}}]}}],
                "routes": [{{"name": "ping", "path": "/ping", "upstream": "u"}},
                           {{"name": "its own", "path": "/", "upstream": "u"}}]}}"#
        )
    };
    let upstream = Serving::start(&bench, &["upstream", "ping"]);
    // The scenario needs only its own routes; other routes of the gateway do not matter.
    let unneeded = "  - {name: no route, request: {path: /pingx, checks: [{status: 404}]}, reaches_upstream: false}\n";
    bench.write("ping.yaml", &(bench.read("ping.yaml") + unneeded));
    bench.write("gateway.json", &config(upstream.port));
    let mut gateway = Serving::start(
        &bench,
        &["gateway", bench.path("gateway.json").to_str().unwrap()],
    );
    let words = format!(
        "run suite.yaml --attach http://127.0.0.1:{} --pid {} --dir run",
        gateway.port,
        gateway.child.id()
    );
    let finished = bench.gatebench(&words);
    finished.assert_measured().assert_says(&["attached · ping"]);
    assert!(
        gateway.child.try_wait().unwrap().is_none(),
        "the gateway still runs"
    );
    bench.assert_reportable("run", 1);
    // The upstream still remembers the requests of the first run.
    let again = bench.gatebench(&words.replace("--dir run", "--dir again"));
    again.assert_measured();
    for run in ["run", "again"] {
        let trial = &bench.kept_trials(run)[0];
        let record = bench.read(&format!("{run}/trials/{trial}/trial.json"));
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(record["outcome"]["kind"], "completed", "{record:#}");
        let phase = &record["phases"][0];
        assert!(phase["usage"]["gateway"]["cpu_ns"].as_u64().unwrap() > 0);
        assert_eq!(phase["trace"]["traced"], phase["counts"]["completed"]);
    }
}
