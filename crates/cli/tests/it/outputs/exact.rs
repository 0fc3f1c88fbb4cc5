//! Prometheus receives the exact counts of a run, during the run or from a later export.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use serde_json::Value;

use super::server::{Server, is_there};
use crate::bench::Bench;

/// Returns the number of requests that ended per gateway, block and phase, according to the trials'
/// records.
pub fn recorded(bench: &Bench, run: &str) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    for trial in bench.kept_trials(run) {
        let text = bench.read(&format!("{run}/trials/{trial}/trial.json"));
        let record: Value = serde_json::from_str(&text).unwrap();
        for phase in record["phases"].as_array().unwrap() {
            let completed = phase["counts"]["completed"].as_f64().unwrap();
            let failed = phase["sums"]["response.failed"]["count"].as_f64();
            let key = format!(
                "{} {} {}",
                record["trial"]["variant"].as_str().unwrap(),
                record["trial"]["block"],
                phase["name"].as_str().unwrap()
            );
            all.insert(key, completed + failed.unwrap_or(0.0));
        }
    }
    all
}

/// Returns the same counts as [`recorded`], according to a server.
fn received(server: &Server) -> BTreeMap<String, f64> {
    let query = "sum by (gateway, block, phase) (max_over_time(k6_http_reqs_total[15m]))";
    let key = |labels: &Value| {
        let label = |name: &str| labels[name].as_str().unwrap().to_owned();
        format!("{} {} {}", label("gateway"), label("block"), label("phase"))
    };
    let all = server.now(query).into_iter();
    all.map(|(labels, value)| (key(&labels), value)).collect()
}

fn series(server: &Server) -> BTreeSet<String> {
    let parameters = [
        ("match[]", "{__name__=~\".+\"}"),
        ("start", "0"),
        ("end", "9999999999"),
    ];
    let data = server.json("/api/v1/series", &parameters);
    let all = data["data"].as_array().unwrap();
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn every_request_arrives_and_a_past_run_becomes_the_same_series() {
    if !is_there("prometheus") {
        return;
    }
    let bench = Bench::new();
    bench.suite("reference, nginx, haproxy", 3);
    let server = Server::receiver();
    let url = server.url("/api/v1/write");
    let words = format!("run suite.yaml --dir run --out prometheus={url} --tag team=a");
    let session = bench.start(&words);
    bench.wait_for("series during the run", || {
        (!server.now("k6_http_reqs_total{team=\"a\"}").is_empty()).then_some(())
    });
    let finished = session.wait();
    finished.assert_measured();
    assert!(
        !finished.stderr.contains("warning: output"),
        "{}",
        finished.stderr
    );
    finished.assert_says(&["parts delivered, with"]);

    let recorded = recorded(&bench, "run");
    assert_eq!(recorded.len(), 18);
    assert_eq!(received(&server), recorded);
    let users = server.now("last_over_time(k6_vus[15m])");
    assert_eq!(users.len(), 18);
    assert!(users.iter().all(|(_, value)| *value == 0.0), "{users:?}");
    assert!(
        server.now("k6_vus").is_empty(),
        "the series of gauges have ended"
    );

    let empty = Server::receiver();
    let to = empty.url("/api/v1/write");
    let export = bench.gatebench(&format!("export prometheus run --tag team=a --to {to}"));
    export.assert_code(0);
    let (past, live) = (series(&empty), series(&server));
    let differing: Vec<_> = past.symmetric_difference(&live).collect();
    assert!(differing.is_empty(), "{differing:#?}");
    assert_eq!(received(&empty), recorded);

    let text = bench.gatebench("export prometheus run").stdout;
    fs::write(bench.path("run.om"), text).unwrap();
    let blocks = Command::new("promtool")
        .args([
            "tsdb",
            "create-blocks-from",
            "openmetrics",
            "run.om",
            "blocks",
        ])
        .current_dir(bench.path("."))
        .output()
        .unwrap();
    assert!(
        blocks.status.success(),
        "{}",
        String::from_utf8_lossy(&blocks.stderr)
    );
}

#[test]
fn a_killed_server_does_not_affect_the_run() {
    if !is_there("prometheus") {
        return;
    }
    let bench = Bench::new();
    bench.suite("reference", 3);
    let mut server = Server::receiver();
    let url = server.url("/api/v1/write");
    let session = bench.start(&format!("run suite.yaml --dir run --out prometheus={url}"));
    // A series that has ended counts as well: on a busy machine, a trial may already be over.
    bench.wait_for("series during the run", || {
        (!server.now("count_over_time(k6_vus[10m])").is_empty()).then_some(())
    });
    server.kill();
    let finished = session.wait();
    finished.assert_measured();
    let lines = finished.stderr.lines();
    let warnings: Vec<&str> = lines
        .filter(|it| it.starts_with("warning: output"))
        .collect();
    assert_eq!(warnings.len(), 1, "{}", finished.stderr);
    assert!(warnings[0].contains("start the server, or correct the host or port"));
    assert_eq!(bench.kept_trials("run").len(), 3);
}
