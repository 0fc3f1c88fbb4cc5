//! Arguments, exit codes and printed text.

use std::process::{Command, Output, Stdio};

use crate::bench::Bench;
use crate::serving::Serving;

#[test]
fn every_command_has_help_within_100_columns() {
    let bench = Bench::new();
    let help = bench.gatebench("--help").assert_code(0).stdout.clone();
    assert!(help.contains("130 interrupted"), "{help}");
    for command in [
        "run",
        "report",
        "list",
        "doctor",
        "schema",
        "upstream",
        "gateway",
        "ab",
        "capacity",
        "soak",
        "isolation",
        "flame",
        "spec",
        "load",
        "compare",
    ] {
        assert!(help.contains(command), "{command}");
        let help = bench
            .gatebench(&format!("{command} --help"))
            .assert_code(0)
            .stdout
            .clone();
        assert!(
            help.contains("gatebench ") && help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
    }
    assert!(
        bench
            .gatebench("--version")
            .assert_code(0)
            .stdout
            .starts_with("gatebench ")
    );
}

#[test]
fn the_help_states_the_cores_of_agents() {
    let bench = Bench::new();
    let help = |command: &str| {
        let help = bench.gatebench(command).assert_code(0).stdout.clone();
        help.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let run = help("run --help");
    for words in [
        "a comma-separated list of `here` and ssh destinations",
        "Each host uses all of its cores; this machine uses the cores of the load generator",
    ] {
        assert!(run.contains(words), "{run}");
    }
    let load = help("load --help");
    let words = "Without --cores, each machine uses all of its cores";
    assert!(load.contains(words), "{load}");
}

#[test]
fn invalid_arguments_are_reported_with_a_remedy() {
    let bench = Bench::new();
    bench
        .gatebench("runn")
        .assert_code(2)
        .assert_says(&["runn", "run"]);
    bench.gatebench("run no-such").assert_code(2).assert_says(&[
        "error: ",
        "no-such",
        "`gatebench list`",
        "  → ",
    ]);
    bench
        .gatebench("run tuor")
        .assert_code(2)
        .assert_says(&["tuor", "did you mean tour?", "  → "]);
    bench
        .gatebench("run --gateway no-such")
        .assert_code(2)
        .assert_says(&["no-such", "nginx", "  → "]);
    bench
        .gatebench("run --gateway ./nowhere")
        .assert_code(2)
        .assert_says(&["./nowhere", "  → "]);
    for command in ["soak", "flame"] {
        bench
            .gatebench(&format!("{command} reference --duration 0s"))
            .assert_code(2)
            .assert_says(&["--duration", "at least 1s"]);
    }
    bench
        .gatebench("run suite.yaml --blocks 0")
        .assert_code(2)
        .assert_says(&["at least one block", "  → "]);
    bench
        .gatebench("run --resume run --upstream-address 10.0.0.7")
        .assert_code(2)
        .assert_says(&["--upstream-address", "cannot be used with"]);
    bench
        .gatebench("report .")
        .assert_code(2)
        .assert_says(&["not a run directory", "  → "]);
    bench
        .gatebench("schema no-such")
        .assert_code(2)
        .assert_says(&["scenario"]);
    bench
        .gatebench("gateway no-such.json")
        .assert_code(2)
        .assert_says(&["no-such.json", "  → "]);
}

#[test]
fn five_mistakes_are_five_errors_with_line_caret_and_remedy() {
    let bench = Bench::new();
    let text = "scenario: Bad Name\ntitle: t\nupstream: pong\nroutes:\n  - {name: r, path: ping}\nrequests:\n  \
                - {path: /ping, method: FETCH IT, checks: [{status: twohundred}]}\n";
    bench.write("bad.yaml", text);
    let finished = bench.gatebench("run bad.yaml");
    let carets = finished
        .assert_code(2)
        .stderr
        .lines()
        .filter(|line| line.contains('^'))
        .count();
    assert_eq!(carets, 5, "{}", finished.stderr);
    finished.assert_says(&[
        "bad.yaml:1:",
        "bad.yaml:3:",
        "bad.yaml:5:",
        "bad.yaml:7:",
        "5 mistakes",
        "help",
    ]);
}

#[test]
fn a_dry_run_lists_every_trial_and_starts_nothing() {
    let bench = Bench::new();
    bench.suite("reference", 2);
    let plan = bench
        .gatebench("run suite.yaml --dry-run --dir made")
        .assert_code(0)
        .stdout
        .clone();
    let trials: Vec<Vec<&str>> = plan
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|cells| {
            cells
                .first()
                .is_some_and(|cell| cell.parse::<u32>().is_ok())
                && cells.len() == 8
        })
        .map(|cells| cells[..4].to_vec())
        .collect();
    assert_eq!(
        trials,
        [
            ["1", "1", "ping", "reference"],
            ["2", "2", "ping", "reference"]
        ],
        "{plan}"
    );
    assert!(
        plan.contains("2 trials, about") && plan.contains("seed 1"),
        "{plan}"
    );
    assert!(!bench.path("made").exists() && !bench.path("gatebench-runs").exists());
    let json = bench
        .gatebench("run suite.yaml --dry-run --json")
        .assert_code(0)
        .stdout
        .clone();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["trials"].as_array().unwrap().len(), 2);
}

#[test]
fn the_tour_is_planned_for_less_than_four_minutes() {
    let bench = Bench::new();
    let json = bench
        .gatebench("run --dry-run --json --gateway reference")
        .assert_code(0)
        .stdout
        .clone();
    let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&plan["suite"], &plan["blocks"]),
        (&"tour".into(), &3.into())
    );
    assert_eq!(
        plan["trials"].as_array().unwrap().len(),
        15,
        "the gateway and the direct variant in 2 scenarios, the null gateway in one, 3 blocks"
    );
}

#[test]
fn lists_show_all_entries_and_their_sources() {
    let bench = Bench::new();
    let all = bench
        .gatebench("list --paths")
        .assert_code(0)
        .stdout
        .clone();
    for word in [
        "gateways",
        "nginx",
        "haproxy",
        "reference",
        "proxy-json",
        "api-key",
        "tour",
        "embedded",
        "single-route",
    ] {
        assert!(all.contains(word), "{word} is not in\n{all}");
    }
    let specifications = bench.gatebench("list specifications --json");
    let json: serde_json::Value =
        serde_json::from_str(&specifications.assert_code(0).stdout).unwrap();
    let first = &json["specifications"][0];
    assert!(
        ["name", "title", "path"]
            .iter()
            .all(|it| first[it].is_string()),
        "{json}"
    );
    std::fs::create_dir_all(bench.path("over/gateways/mine")).unwrap();
    let spec = include_str!("faulty/gateway.yaml")
        .replace("READY_TIMEOUT", "2s")
        .replace("gateway: faulty", "gateway: mine")
        .replace("BEHAVIOR", "honest");
    bench.write("over/gateways/mine/gateway.yaml", &spec);
    bench.write("over/gateways/mine/faulty.py", "");
    let gateways = bench
        .gatebench("list gateways --json --overlay over")
        .assert_code(0)
        .stdout
        .clone();
    let gateways: serde_json::Value = serde_json::from_str(&gateways).unwrap();
    let mine = gateways["gateways"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["name"] == "mine")
        .unwrap();
    assert_eq!(mine["path"], "over/gateways/mine");
}

#[test]
fn the_doctor_reports_whether_the_tour_can_run() {
    let bench = Bench::new();
    let finished = bench.gatebench("doctor --json");
    let report: serde_json::Value = serde_json::from_str(&finished.assert_code(0).stdout).unwrap();
    assert_eq!(report["able"], true);
    let names: Vec<&str> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|check| check["name"].as_str())
        .collect();
    assert!(
        [
            "event loop",
            "cores",
            "descriptors",
            "control groups",
            "nginx"
        ]
        .iter()
        .all(|name| names.contains(name)),
        "{names:?}"
    );
    let mut checks = report["checks"].as_array().unwrap().iter();
    let xml = checks.find(|check| check["name"] == "XML").unwrap();
    let says = xml["says"].as_str().unwrap();
    assert!(
        says.starts_with("libxml2 2.") && says.contains(", libxslt 1."),
        "{says}"
    );

    let mut starved = Command::new("sh");
    let gatebench = env!("CARGO_BIN_EXE_gatebench");
    starved.args(["-c", &format!("ulimit -n 256 && exec {gatebench} doctor")]);
    bench.spawn(starved).wait().assert_code(3);
}

#[test]
fn the_doctor_tests_whether_outputs_accept_data() {
    let bench = Bench::new();
    let server = Serving::start(&bench, &["upstream", "any"]);
    let there = format!("prometheus=http://{}/api/v1/write", server.address());
    let accepts = format!("✓ output           {there} accepts data\n");
    let one = bench.gatebench(&format!("doctor --out {there}"));
    assert_eq!(one.assert_code(0).stdout, accepts);

    bench.write("seconds.jsonl", "a line");
    // Nothing listens on port 1, which only root could use.
    let nobody = "otlp=http://127.0.0.1:1/v1/metrics";
    let all = format!("doctor --out {there} --out {nobody} --out jsonl=seconds.jsonl");
    bench.gatebench(&all).assert_code(3).assert_prints(&[
        &accepts,
        &format!("✗ output           {nobody}: cannot reach the server: "),
        "\n    → start the server, or correct the host or port\n",
        "✓ output           jsonl=seconds.jsonl accepts data\n",
    ]);
    assert_eq!(bench.read("seconds.jsonl"), "a line");
    let json = bench.gatebench(&format!("doctor --json --out {nobody}"));
    let json: serde_json::Value = serde_json::from_str(&json.assert_code(3).stdout).unwrap();
    assert_eq!(json["able"], false);
    assert_eq!(json["checks"][0]["state"], "missing");
}

#[test]
fn schemas_are_json_schemas() {
    let bench = Bench::new();
    for kind in [
        "scenario",
        "load",
        "suite",
        "gateway",
        "gateway-input",
        "plan",
        "reference-gateway",
    ] {
        let schema = bench
            .gatebench(&format!("schema {kind}"))
            .assert_code(0)
            .stdout
            .clone();
        let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
        assert!(schema["$schema"].is_string(), "{kind}");
    }
}

/// Runs `gatebench` with a standard output whose reader closes it immediately.
fn unread(bench: &Bench, words: &[&str]) -> Output {
    let mut child = bench
        .command()
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child.wait_with_output().unwrap()
}

#[test]
fn a_closed_standard_output_is_not_an_error() {
    let bench = Bench::new();
    let output = unread(&bench, &["schema", "gateway-input"]);
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn a_closed_standard_output_does_not_hide_a_missed_threshold() {
    let bench = Bench::new();
    let upstream = Serving::start(&bench, &["upstream", "ping"]);
    let url = format!("http://{}/ping", upstream.address());
    let words = ["load", "-d", "200ms", "--threshold", "max<1us", &url];
    assert_eq!(unread(&bench, &words).status.code(), Some(1));
}

#[test]
fn a_closed_standard_output_does_not_hide_a_failed_check() {
    let bench = Bench::new();
    let wrong = bench
        .read("ping.yaml")
        .replace("status: 200", "status: 404");
    bench.write("ping.yaml", &wrong);
    let words = ["check", "gateway", "reference", "--scenario", "./ping.yaml"];
    let output = unread(&bench, &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn a_closed_standard_output_loses_neither_files_nor_the_exit_code() {
    let bench = Bench::new();
    let words = "ab reference reference --load smoke --budget 1s --dir run --junit ab.xml \
                 --comment ab.md";
    let words: Vec<&str> = words.split(' ').collect();
    let output = unread(&bench, &words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    for file in ["run/report.html", "ab.xml", "ab.md"] {
        assert!(bench.path(file).is_file(), "{file} is missing");
    }
}

#[test]
fn an_upstream_serves_until_a_signal_and_mistakes_are_reported() {
    let bench = Bench::new();
    let mut upstream = Serving::start(&bench, &["upstream", "ping"]);
    let address = upstream.address();
    assert!(get(&address, "/ping").ends_with("ok"));

    let taken = bench.gatebench(&format!("upstream ping --listen {address}"));
    taken
        .assert_code(3)
        .assert_says(&["environment", &address, "port 0", "  → "]);
    bench.write(
        "mistaken.yaml",
        "listen: []\nroutes: []\ntimeouts:\n  connect_m: 0\n",
    );
    bench
        .gatebench("gateway mistaken.yaml --check")
        .assert_code(2)
        .assert_says(&[
            "mistaken.yaml:1:9",
            "there is nothing to listen on",
            "mistaken.yaml:4:3",
            "did you mean `connect_ms`?",
            "a timeout of 0 would always expire",
            "mistaken.yaml: 3 mistakes",
        ]);

    crate::processes::signal(upstream.child.id(), "TERM");
    assert_eq!(upstream.child.wait().unwrap().code(), Some(0));
}

fn get(address: &str, path: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}

#[test]
fn a_sweep_with_too_few_descriptors_is_shortened_with_a_warning() {
    let bench = Bench::new();
    let run = "ulimit -n 2000; exec \"$0\" run idle --gateway reference --dry-run --json";
    let mut shell = Command::new("sh");
    shell.args(["-c", run]).arg(env!("CARGO_BIN_EXE_gatebench"));
    let said = bench.spawn(shell).wait();
    let plan: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let phases = plan["load"]["phases"].as_array().unwrap();
    let most = phases.last().unwrap()["closed"]["connections"].as_u64();
    if said.stderr.is_empty() {
        // A user who may raise the hard limit gets all connections.
        assert_eq!(most, Some(10_000));
        return;
    }
    assert_eq!(most, Some(800));
    let shown: Vec<&str> = said.stderr.split_whitespace().collect();
    let shown = shown.join(" ");
    for words in [
        "800 connections instead of 10000",
        "20256 file descriptors, but the limit is 2000",
        "ulimit -Hn 20256",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
}
