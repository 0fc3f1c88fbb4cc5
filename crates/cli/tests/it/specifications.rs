//! Specifications: steps that make up a run, failed trials that are repeated, and several versions
//! in one run.

use std::collections::BTreeSet;
use std::process::Command;

use gatebench_runner::Library;

use crate::bench::Bench;
use crate::engines::installed;

const SPECIFICATION: &str = "\
specification: mine
title: My ping
tags: [ping]
retries: 2
settle: {at_most: 0s}
steps:
  - setup: {scenarios: [./ping.yaml]}
  - start_upstream
  - start_gateway
  - start_load: {path: /ping, connections: 4, duration: 500ms, warm_up: 0s, runs: 2}
  - wait_result
  - combine_results
  - save_error_log
  - teardown
";

/// A `start:` key that makes the gateway's first start fail. The gateway's command must follow it.
const FAILS_ONCE: &str = r#"start:
  - sh
  - -c
  - 'test -e MARKER || { touch MARKER; echo not today >&2; exit 7; }; echo served >&2; exec "$@"'
  - sh
"#;

fn write_gateway_that_fails_once(bench: &Bench) {
    bench.own_gateway();
    let marker = bench.path("has-failed").display().to_string();
    let words = r#"[ "{{ binary }}", "{{ work }}/proxy.py", "{{ work }}/mine.json" ]"#;
    let wrapped: String = words
        .trim_matches(['[', ']', ' '])
        .split(", ")
        .map(|word| format!("  - {word}\n"))
        .collect();
    let spec = bench.read("mine/gateway.yaml").replace(
        &format!("start: {words}\n"),
        &(FAILS_ONCE.replace("MARKER", &marker) + &wrapped),
    );
    assert!(spec.contains("not today"), "{spec}");
    bench.write("mine/gateway.yaml", &spec);
}

#[test]
fn a_suite_also_repeats_failed_trials() {
    let bench = Bench::new();
    write_gateway_that_fails_once(&bench);
    bench.suite("./mine", 1);
    let suite = bench.read("suite.yaml") + "retries: 1\nsettle: {at_most: 0s}\n";
    bench.write("suite.yaml", &suite);
    let finished = bench.gatebench("run ./suite.yaml --dir run");
    finished.assert_measured().assert_says(&["not today"]);
    assert_eq!(bench.kept_trials("run").len(), 2, "both trials are kept");
    bench.assert_reportable("run", 2);
    let shown = "was repeated as trial 2 (completed)";
    assert!(bench.read("run/report.json").contains(shown));
}

#[test]
fn a_failed_trial_is_repeated_and_both_are_kept() {
    let bench = Bench::new();
    bench.write("mine-spec.yaml", SPECIFICATION);
    write_gateway_that_fails_once(&bench);
    let finished = bench.gatebench("spec run ./mine-spec.yaml --gateway ./mine --dir run");
    finished.assert_code(0).assert_says(&["not today"]);
    let words: Vec<&str> = finished.stdout.split_whitespace().collect();
    let shown = words.join(" ");
    for words in ["Combined results · mine", "was repeated as trial 2", "p90"] {
        assert!(shown.contains(words), "{}", finished.stdout);
    }
    assert_eq!(bench.kept_trials("run").len(), 2, "both trials are kept");
    bench.assert_reportable("run", 2);
    let findings: serde_json::Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    let version = &findings["specification"]["versions"][0];
    assert_eq!(version["runs"].as_array().unwrap().len(), 2);
    let log = version["error_logs"][0]["file"].as_str().unwrap();
    assert!(bench.read(&format!("run/{log}")).contains("served"));
    assert_eq!(findings["trials"][0]["outcome"], "failed");
}

#[test]
fn a_specification_without_a_gateway_loads_the_upstream() {
    let bench = Bench::new();
    let text = SPECIFICATION
        .replace("  - start_gateway\n", "")
        .replace("  - save_error_log\n", "");
    bench.write("mine-spec.yaml", &text);
    let finished = bench.gatebench("spec run ./mine-spec.yaml --gateway reference --dir run");
    finished
        .assert_code(0)
        .assert_says(&["starts no gateway, so --gateway has no effect"]);
    assert!(
        finished.stdout.contains("Combined results · mine"),
        "{}",
        finished.stdout
    );
    bench.assert_reportable("run", 1);
}

#[test]
fn the_file_of_an_output_contains_every_run() {
    let bench = Bench::new();
    bench.write("mine-spec.yaml", SPECIFICATION);
    let other = SPECIFICATION.replace("specification: mine", "specification: other");
    bench.write("other-spec.yaml", &other);
    bench.write("all.jsonl", "lines of an earlier command\n");
    let words = "spec run ./mine-spec.yaml ./other-spec.yaml --gateway reference --smoke \
                 --dir runs --out jsonl=all.jsonl";
    bench.gatebench(words).assert_measured();
    let all = bench.read("all.jsonl");
    assert!(!all.contains("earlier"), "{all}");
    let runs: BTreeSet<String> = all
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect(line))
        .map(|fact| fact["labels"]["run"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(runs, BTreeSet::from(["mine".into(), "other".into()]));

    // A finished run has no more trials, so nothing is added.
    let resumed = bench.gatebench("run --resume runs/other --out jsonl=all.jsonl");
    resumed.assert_measured();
    assert_eq!(bench.read("all.jsonl"), all);
}

#[test]
fn threads_are_only_for_generators_that_support_them() {
    let bench = Bench::new();
    let text = SPECIFICATION.replace("connections: 4,", "connections: 4, threads: 2,");
    bench.write("mine-spec.yaml", &text);
    let shown = "the specification requests 2 threads";
    let of = |engine: &str| {
        let words = format!("spec run ./mine-spec.yaml --engine {engine} --dry-run");
        bench.gatebench(&words)
    };
    of("gatebench").assert_code(0).assert_says(&[shown]);
    if installed("h2load") {
        let taken = of("h2load");
        taken.assert_code(0);
        assert!(!taken.stderr.contains(shown), "{}", taken.stderr);
    }
}

#[test]
fn a_script_next_to_the_specification_is_run_by_wrk() {
    if !installed("wrk") {
        return;
    }
    let bench = Bench::new();
    bench.write(
        "mine.lua",
        "wrk.path = '/ping'\nwrk.headers['X-Mine'] = 'yes'\n",
    );
    let text = SPECIFICATION.replace(
        "{path: /ping, connections: 4, duration: 500ms, warm_up: 0s, runs: 2}",
        "{script: mine.lua, connections: 4, threads: 2, duration: 1s, warm_up: 0s, runs: 1}",
    );
    assert!(text.contains("mine.lua"));
    bench.write("mine-spec.yaml", &text);
    let finished = bench.gatebench("spec run ./mine-spec.yaml --gateway reference --dir run");
    finished.assert_code(0);
    let findings: serde_json::Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    let runs = &findings["specification"]["versions"];
    let runs = runs
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|it| it["runs"].as_array().unwrap());
    let runs: Vec<_> = runs.collect();
    assert_eq!(runs.len(), 1);
    for run in runs {
        assert!(run["responses"].as_u64() > Some(0), "{run:#}");
        assert_eq!(run["failed"], 0, "{run:#}");
    }
    let manifest: serde_json::Value =
        serde_json::from_str(&bench.read("run/manifest.json")).unwrap();
    assert_eq!(manifest["external_generator"]["name"], "wrk");
}

#[test]
fn an_impossible_specification_is_refused_before_anything_starts() {
    let bench = Bench::new();
    let wrong = SPECIFICATION.replace("path: /ping,", "path: /pong,");
    bench.write("mine-spec.yaml", &wrong);
    bench
        .gatebench("spec run ./mine-spec.yaml --dir run")
        .assert_code(2)
        .assert_says(&["/pong", "mine-spec.yaml", "/ping", "  → "]);
    let unordered = SPECIFICATION.replace("  - start_upstream\n", "");
    bench.write("mine-spec.yaml", &unordered);
    bench
        .gatebench("spec run ./mine-spec.yaml --dir run")
        .assert_code(2)
        .assert_says(&["the steps have no `start_upstream`", "after `setup`"]);
    bench
        .gatebench("spec run --tags no-such-tag --dir run")
        .assert_code(2)
        .assert_says(&["single_route", "  → "]);
    assert!(!bench.path("run").exists(), "nothing was started");
}

#[test]
fn each_known_specification_becomes_a_plan() {
    let bench = Bench::new();
    let known = Library::default().specifications().unwrap();
    assert!(known.len() >= 10, "{}", known.len());
    for listed in known {
        let it = listed.document;
        let words = format!("spec run {} --dry-run --json", it.specification);
        let finished = bench.gatebench(&words);
        finished.assert_code(0);
        let plan: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
        assert_eq!(plan["suite"], it.specification.as_str());
        let scenarios = plan["scenarios"].as_array().unwrap().len();
        assert_eq!(scenarios, it.setup().unwrap().scenarios.len());
        let runs = it.load().unwrap().runs as usize;
        let phases = plan["load"]["phases"].as_array().unwrap();
        assert_eq!(phases.len(), runs, "{}", it.specification);
    }
}

const BUILT_GATEWAY: &str = "\
gateway: built
contract: 1
title: A gateway that is built
binary: {names: [../build/gw], version_args: [--version], version_pattern: 'gw (\\S+)'}
files: [{template: gateway.json, to: gateway.json}]
start: [ '{{ binary }}', '{{ work }}/gateway.json' ]
";

/// Creates a repository with two commits. Their builds create versions 1.0 and 2.0 of the program
/// `gw`.
fn repository(bench: &Bench) {
    let git = |words: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.test"];
        let mut command = Command::new("git");
        command.arg("-C").arg(bench.path("repo")).args(identity);
        let output = command.args(words).output().unwrap();
        assert!(output.status.success(), "git {words:?}: {output:?}");
    };
    std::fs::create_dir_all(bench.path("repo/deploy")).unwrap();
    git(&["init", "--quiet"]);
    bench.write("repo/deploy/gateway.yaml", BUILT_GATEWAY);
    let template = include_str!("../../../../gateways/reference/gateway.json");
    bench.write("repo/deploy/gateway.json", template);
    let own = env!("CARGO_BIN_EXE_gatebench");
    for version in ["1.0", "2.0"] {
        let source = format!(
            "#!/bin/sh\ntest \"$1\" = --version && exec echo gw {version}\nexec '{own}' gateway \"$@\"\n"
        );
        bench.write("repo/gw.sh", &source);
        git(&["add", "gw.sh", "deploy"]);
        git(&["commit", "--quiet", "-m", version]);
        git(&["tag", &format!("v{version}")]);
    }
}

#[test]
fn two_commits_are_built_and_compared() {
    let bench = Bench::new();
    repository(&bench);
    bench.write("mine-spec.yaml", SPECIFICATION);
    let mut command = bench.command();
    let words =
        "spec run ./mine-spec.yaml --git v1.0 --git v2.0 --gateway ./repo/deploy --dir run --build";
    let build = "mkdir build && cp gw.sh build/gw && chmod +x build/gw";
    command.args(words.split_whitespace()).arg(build);
    command.env("XDG_DATA_HOME", bench.path("data"));
    let finished = bench.spawn(command).wait();
    finished
        .assert_measured()
        .assert_says(&["building v1.0", "building v2.0"]);
    bench.assert_reportable("run", 2);
    let findings: serde_json::Value = serde_json::from_str(&bench.read("run/report.json")).unwrap();
    let versions = findings["specification"]["versions"].as_array().unwrap();
    let shown = |name: &str| {
        versions
            .iter()
            .map(|it| it[name].as_str().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(shown("version"), ["1.0", "2.0"]);
    let labels = shown("variant");
    assert!(
        labels[0].starts_with("v1-0-") && labels[1].starts_with("v2-0-"),
        "{labels:?}"
    );
    for label in labels {
        assert!(bench.read("run/report.md").contains(label), "{label}");
    }
}
