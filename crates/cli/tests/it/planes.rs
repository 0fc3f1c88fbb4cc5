//! Gateways with a control plane, and gateways with a database.

use std::path::Path;

use crate::bench::Bench;
use crate::changes::record_of_run;
use crate::gateways::is_on_path;
use crate::turns::turn;

/// A control plane that listens and, on SIGHUP, makes the gateway reload its file.
const CONTROL_PLANE: &str = r#"
import os, signal, socket, sys

def push(signal_, frame):
    os.kill(int(open("gateway.pid").read()), signal.SIGHUP)

signal.signal(signal.SIGHUP, push)
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    listener.accept()[0].close()
"#;

/// Writes a variant of the reference gateway with these additional keys. `script` is the shell
/// script that starts it, with the command of the reference gateway as `"$@"`.
fn variant(bench: &Bench, name: &str, script: &str, more: &str) {
    std::fs::create_dir(bench.path(name)).unwrap();
    let spec = format!(
        "gateway: {name}\ncontract: 2\nextends: reference\ntitle: {name}\n{more}\
         start: [sh, -c, '{script}', sh, '{{{{ binary }}}}', gateway, \
         '{{{{ work }}}}/gateway.json']\n"
    );
    bench.write(&format!("{name}/gateway.yaml"), &spec);
}

/// Writes the gateway `planes`, whose control plane is this Python script.
fn with_control_plane(bench: &Bench, script: &str) {
    let more = "features: {control_plane: {native: a signal}}\n\
                files: [{template: gateway.json}, {template: control.py}]\n\
                control_plane:\n  \
                start: [python3, control.py, '{{ control_plane.port }}']\n  \
                actions: {configure: {signal: HUP}}\n";
    variant(bench, "planes", "echo $$ > gateway.pid; exec \"$@\"", more);
    bench.write("planes/control.py", script);
}

#[test]
fn a_control_plane_is_killed_and_then_pushes_a_configuration() {
    let _turn = turn();
    let bench = Bench::new();
    with_control_plane(&bench, CONTROL_PLANE);
    bench.load(
        "- {name: outage, open: {rate_per_second: 200, connections_max: 8}, measure: 5s, \
         failure: {part: control_plane, how: refusing, from: 1s, until: 2s}, \
         change: {action: configure, at: 3s}}\n",
    );
    let (record, _) = record_of_run(&bench, "control-plane-outage", "./planes");
    let phase = &record["phases"][0];
    assert_eq!(phase["failure"]["part"], "control_plane", "{phase:#}");
    assert!(phase["change"]["effective_ns"].is_u64(), "{phase:#}");
    assert_eq!(phase["counts"]["errors"], serde_json::json!({}));
    let report = bench.read("run/report.md");
    let words = "the control plane down from 1s until 2s, configure at 3s";
    assert!(report.contains(words), "{report}");
    let affected = "the outage of the control plane affected";
    assert!(report.contains(affected), "{report}");
}

#[test]
fn a_control_plane_that_ends_is_reported() {
    let bench = Bench::new();
    with_control_plane(&bench, "raise SystemExit('no license')\n");
    bench
        .gatebench("check gateway ./planes --scenario control-plane-push")
        .assert_code(1)
        .assert_prints(&["the control plane of planes cannot be used", "no license"]);
}

#[test]
fn a_load_that_kills_a_missing_control_plane_is_refused() {
    let bench = Bench::new();
    bench.load(
        "- {name: outage, open: {rate_per_second: 200, connections_max: 8}, measure: 4s, \
         failure: {part: control_plane, how: refusing, from: 1s, until: 2s}}\n",
    );
    bench
        .gatebench("run --scenario proxy-json --load load.yaml --gateway reference --dir run")
        .assert_code(2)
        .assert_says(&["kills the control plane", "control_plane: true"]);
}

#[test]
fn postgres_is_started_for_a_feature_that_needs_it() {
    if !Path::new("/usr/lib/postgresql").is_dir() {
        eprintln!("skipped: PostgreSQL is not installed (apt-get install postgresql)");
        return;
    }
    let bench = Bench::new();
    let select = "test -n \"$1\" && psql -h 127.0.0.1 -p \"$1\" -U gatebench gatebench -c \"select 1\" && shift && exec \"$@\"";
    std::fs::create_dir(bench.path("kept")).unwrap();
    let spec = format!(
        "gateway: kept\ncontract: 2\nextends: reference\ntitle: Kept\n\
         database: {{postgres: [weights]}}\n\
         start: [sh, -c, '{select}', sh, '{{{{ database.port }}}}', '{{{{ binary }}}}', gateway, \
         '{{{{ work }}}}/gateway.json']\n"
    );
    bench.write("kept/gateway.yaml", &spec);
    bench
        .gatebench("check gateway ./kept --scenario balancer-weights")
        .assert_code(0)
        .assert_prints(&["kept passes"]);
}

const WITH_DATABASE: &str =
    "--scenario admin-1 --scenario balancer-weights --scenario control-plane-push";

#[test]
fn kong_passes_with_a_database() {
    if !is_on_path("kong") {
        return;
    }
    let _turn = turn();
    let bench = Bench::new();
    bench
        .gatebench(&format!("check gateway kong {WITH_DATABASE}"))
        .assert_code(0)
        .assert_prints(&["kong passes"]);
}

#[test]
fn envoy_passes_with_a_control_plane() {
    let _turn = turn();
    let bench = Bench::new();
    let checked = bench.gatebench("check gateway envoy --scenario control-plane-push");
    if checked.stdout.contains("make xds") {
        eprintln!("skipped: the control plane for Envoy is not built (make xds)");
        return;
    }
    checked.assert_code(0).assert_prints(&["envoy passes"]);
}
