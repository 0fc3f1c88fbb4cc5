//! Faulty gateways and upstreams. If a trial fails, the error names the culprit and a remedy, and
//! is stored with the trial. The run continues with the other gateways, and no process is left.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::bench::{Bench, LONG_MEASURE, QUICK};
use crate::processes::{self, Process};
use crate::turns::turn;

/// A load in which the Python gateway forwards more than 60 requests, even on a busy machine.
const SECOND: &str = "- {name: throughput, closed: {connections: 8}, measure: 1s, timeout: 2s}\n";

/// Runs the misbehaving gateway and the reference gateway, whose trial must still complete.
#[track_caller]
fn next_to_a_good_one(behavior: &str, words: &[&str]) {
    next_to_a_good_one_under(QUICK, behavior, words);
}

#[track_caller]
fn next_to_a_good_one_under(load: &str, behavior: &str, words: &[&str]) {
    let bench = Bench::new();
    bench.load(load);
    bench.faulty(behavior);
    let finished =
        bench.gatebench("run suite.yaml --gateway ./faulty --gateway reference --dir run");
    finished.assert_code(1).assert_says(&[
        "gateway faulty",
        "  → ",
        "reference · ping · block 1/1: throughput",
    ]);
    finished.assert_says(words);
    assert!(finished.stdout.contains("faulty"), "{}", finished.stdout);
    bench.assert_reportable("run", 2);
}

#[test]
fn a_gateway_that_is_not_installed() {
    let bench = Bench::new();
    bench.faulty("honest");
    let spec = bench
        .read("faulty/gateway.yaml")
        .replace("[/usr/bin/python3, python3]", "[no-such-program]");
    bench.write(
        "faulty/gateway.yaml",
        &format!("{spec}install: {{apt: [no-such-package]}}\n"),
    );
    let named = bench.gatebench("run suite.yaml --gateway ./faulty --dir run");
    named
        .assert_code(3)
        .assert_says(&["faulty", "no-such-program", "no-such-package", "  → "]);
    assert!(!bench.path("run").exists(), "nothing was started");

    bench.suite("reference, ./faulty", 1);
    let listed = bench.gatebench("run suite.yaml --dir run");
    listed
        .assert_measured()
        .assert_says(&["warning", "faulty", "no-such-package"]);
    bench.assert_reportable("run", 1);
}

#[test]
fn a_gateway_of_a_version_that_its_folder_does_not_support() {
    let bench = Bench::new();
    bench.faulty("honest");
    let spec = bench.read("faulty/gateway.yaml");
    let later = spec.replace("binary:", "binary:\n  version_min: \"99\"");
    bench.write("faulty/gateway.yaml", &later);
    let finished = bench.gatebench("run suite.yaml --gateway ./faulty --dir run");
    finished.assert_code(3).assert_says(&[
        "the gateway folder faulty requires at least 99",
        "put it on PATH before programs of other versions",
    ]);
    assert!(!bench.path("run").exists(), "nothing was started");
}

#[test]
fn a_program_that_is_not_that_gateway() {
    let bench = Bench::new();
    bench.faulty("honest");
    let spec = bench.read("faulty/gateway.yaml");
    let other = spec.replace("[/usr/bin/python3, python3]", "[/bin/true]");
    bench.write("faulty/gateway.yaml", &other);
    let finished = bench.gatebench("run suite.yaml --gateway ./faulty --dir run");
    finished.assert_code(1).assert_says(&[
        "/true did not print its version",
        "true by hand; if it works, correct",
    ]);
    assert!(!bench.path("run").exists(), "nothing was started");
}

#[test]
fn a_gateway_that_refuses_its_configuration() {
    next_to_a_good_one(
        "refuse:line-7-says-nonsense",
        &["refused its configuration", "line 7 says nonsense"],
    );
}

#[test]
fn a_gateway_whose_port_is_taken() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port();
    next_to_a_good_one(&format!("port:{port}"), &["Address already in use"]);
}

#[test]
fn a_gateway_that_ends_when_it_is_started() {
    next_to_a_good_one(
        "exit:no-license",
        &["ended while starting (exit code 1)", "faulty: no license"],
    );
}

#[test]
fn a_gateway_that_crashes_under_load_after_a_while() {
    let bench = Bench::new();
    bench.faulty("crash:1.5");
    bench.load(LONG_MEASURE);
    bench.suite("./faulty", 1);
    let begun = Instant::now();
    let finished = bench.gatebench("run suite.yaml --dir run");
    finished
        .assert_code(1)
        .assert_says(&["gateway faulty", "signal ABORT", "  → "]);
    let waited = begun.elapsed();
    assert!(
        waited < Duration::from_secs(50),
        "reported only after {waited:?}"
    );
    bench.assert_reportable("run", 1);
}

#[test]
fn a_gateway_that_does_not_stop() {
    let bench = Bench::new();
    bench.faulty("deaf");
    bench.suite("./faulty, reference", 1);
    let finished = bench.gatebench("run suite.yaml --dir run");
    // The gateway's measurements still count, and it does not run while the next gateway is
    // measured.
    finished.assert_measured().assert_says(&[
        "did not end on SIGTERM within 1s and was killed",
        "raise stop.timeout in its gateway.yaml",
    ]);
    bench.assert_reportable("run", 2);
}

#[test]
fn a_gateway_that_responds_with_wrong_bytes() {
    next_to_a_good_one_under(SECOND, "wrong-bytes:60", &["check"]);
}

#[test]
fn a_gateway_that_responds_wrongly_from_the_start_fails_parity() {
    next_to_a_good_one("wrong-bytes:1", &["parity"]);
}

#[test]
fn a_gateway_that_never_responds() {
    next_to_a_good_one("hang:1", &["not ready"]);
}

#[test]
fn a_gateway_that_wrote_why_it_hangs_is_not_waited_for() {
    let _turn = turn();
    let bench = Bench::new();
    bench.faulty("broken:worker-initialization-error:-this-node-must-be-restarted");
    let wrote = "worker initialization error: this node must be restarted";
    // This timeout is longer than the test may take, so waiting for it would fail the test.
    let spec = bench.read("faulty/gateway.yaml");
    assert!(spec.contains("timeout: 20s"));
    bench.write(
        "faulty/gateway.yaml",
        &spec.replace("timeout: 20s", "timeout: 1h"),
    );
    bench
        .gatebench("run suite.yaml --gateway ./faulty --dir run")
        .assert_code(1)
        .assert_says(&["gateway faulty", "a request gets a response", wrote]);
    bench
        .gatebench("check gateway ./faulty --scenario ./ping.yaml")
        .assert_code(1)
        .assert_prints(&["a request gets a response", wrote]);
}

/// The path of a Unix socket can have at most 107 bytes.
#[test]
fn a_gateway_with_a_unix_socket_below_a_long_run_directory() {
    let bench = Bench::new();
    bench.faulty("socket:{{ cwd }}/control.sock");
    let long = format!("{}/{}", "d".repeat(200), "e".repeat(50));
    let run = format!("run suite.yaml --gateway ./faulty --dir {long}");
    bench.gatebench(&run).assert_measured();
    bench.assert_reportable(&long, 1);
}

const LIMITED: &str = "\
scenario: limited
title: Two requests are let through
upstream: ping
routes: [{name: limited, path: /limited}]
requests: [{path: /limited}]
parity:
  - {name: the first, when: before, request: {path: /limited, checks: [{status: 200}]}, reaches_upstream: true}
  - {name: the second, when: before, request: {path: /limited, checks: [{status: 200}]}, reaches_upstream: true}
  - {name: the third, when: before, request: {path: /limited, checks: [{status: 429}]}, reaches_upstream: false}
";

#[test]
fn a_gateway_whose_policies_act_late_gets_time_to_settle() {
    let bench = Bench::new();
    bench.faulty("late-limit:2000");
    bench.write("limited.yaml", LIMITED);
    let check = || bench.gatebench("check gateway ./faulty --scenario ./limited.yaml");
    check().assert_prints(&["✗ the third"]);
    let spec = bench.read("faulty/gateway.yaml");
    let settled = spec.replace("ready:\n", "ready:\n  settle: 2500ms\n");
    bench.write("faulty/gateway.yaml", &settled);
    check().assert_prints(&["✓ limited"]);
}

#[test]
fn a_check_begins_with_empty_folders() {
    let bench = Bench::new();
    bench.faulty("honest");
    let spec = bench.read("faulty/gateway.yaml");
    let once = spec.replace(
        "start: [ ",
        "start: [ sh, -c, 'mkdir once && exec \"$@\"', sh, ",
    );
    bench.write("faulty/gateway.yaml", &once);
    for _ in 0..2 {
        bench
            .gatebench("check gateway ./faulty --scenario ./ping.yaml --dir checked")
            .assert_prints(&["✓ 1 case"]);
    }
    assert!(bench.path("checked/ping/gateway/once").is_dir());
}

#[test]
fn a_gateway_that_hangs_under_load() {
    // The first complaint is about requests without a response or about the parity cases, depending
    // on how many requests the machine managed to send.
    next_to_a_good_one_under(SECOND, "hang:60", &["faulty · ping", " failed"]);
}

/// Kills a process during the only trial of a run, which must still store the trial and report it.
#[track_caller]
fn killed_in_mid_trial(who: fn(&Process) -> bool, words: &[&str]) {
    let bench = Bench::new();
    bench.load(LONG_MEASURE);
    let session = bench.start("run suite.yaml --dir run");
    session.until_load();
    let victims: Vec<Process> = bench.processes().into_iter().filter(who).collect();
    assert_eq!(victims.len(), 1, "{victims:?}");
    processes::signal(victims[0].pid, "KILL");
    let finished = session.wait();
    finished
        .assert_code(1)
        .assert_says(words)
        .assert_says(&["  → "]);
    bench.assert_reportable("run", 1);
}

#[test]
fn a_gateway_that_is_killed_in_mid_trial() {
    killed_in_mid_trial(Process::is_gateway, &["gateway reference", "KILL"]);
}

#[test]
fn an_upstream_that_is_killed_in_mid_trial() {
    killed_in_mid_trial(Process::is_upstream, &["upstream", "KILL"]);
}

#[test]
fn a_gateway_without_the_policy_is_not_supported_and_not_failed() {
    let bench = Bench::new();
    bench.faulty("honest");
    let finished =
        bench.gatebench("run --smoke --scenario api-key --gateway ./faulty --no-direct --dir run");
    finished
        .assert_measured()
        .assert_says(&["not supported: api_key"]);
    bench.assert_reportable("run", 1);
}
