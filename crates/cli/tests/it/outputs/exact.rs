//! Prometheus receives the exact counts of a run, during the run or from a later export.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::faults::warnings;
use super::server::{Server, is_there};
use crate::bench::{Bench, UNHURRIED};
use crate::load::{json, number};
use crate::serving::Serving;
use crate::turns::turn;

/// The maximum extra duration of a run whose server was killed: the five seconds for sending the
/// remaining data, and a margin for other work on the machine.
const LONGER_MAX: Duration = Duration::from_secs(6);
/// The maximum growth of the measuring process after its first trial, while the server is down.
const GROWTH_KIB_MAX: u64 = 32 * 1024;

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

/// Returns the number of requests that ended, according to a server, by the values of these labels,
/// which are separated by commas.
fn received(server: &Server, by: &str) -> BTreeMap<String, f64> {
    let query = format!("sum by ({by}) (max_over_time(k6_http_reqs_total[15m]))");
    let key = |labels: &Value| {
        let values = by.split(", ").map(|name| labels[name].as_str().unwrap());
        values.collect::<Vec<_>>().join(" ")
    };
    let all = server.now(&query).into_iter();
    all.map(|(labels, value)| (key(&labels), value)).collect()
}

fn report(bench: &Bench, run: &str) -> Value {
    serde_json::from_str(&bench.read(&format!("{run}/report.json"))).unwrap()
}

/// Returns the number of requests that ended per gateway, phase and status, according to the
/// report. The only route that returns 404 has `missing` in its path.
fn reported(bench: &Bench, run: &str) -> BTreeMap<String, f64> {
    let report = report(bench, run);
    let loads = report["scenarios"][0]["routes"].as_array().unwrap();
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    for load in loads {
        for route in load["routes"].as_array().unwrap() {
            let is_missing = route["route"].as_str().unwrap().contains("missing");
            let responses = if is_missing { "404" } else { "200" };
            for (status, count) in [(responses, "requests"), ("0", "errors")] {
                let key = format!(
                    "{} {} {status}",
                    load["variant"].as_str().unwrap(),
                    load["phase"].as_str().unwrap()
                );
                *all.entry(key).or_default() += route["figures"][count].as_f64().unwrap();
            }
        }
    }
    all.retain(|_, count| *count > 0.0);
    all
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
    let failing = "  - {path: /ping/missing, checks: [{status: 404}]}\nparity:";
    let scenario = bench.read("ping.yaml").replace("parity:", failing);
    bench.write("ping.yaml", &scenario);
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
    assert_eq!(received(&server, "gateway, block, phase"), recorded);
    let reported = reported(&bench, "run");
    assert!(reported.len() >= 12, "{reported:?}");
    assert_eq!(received(&server, "gateway, phase, status"), reported);
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
    assert_eq!(received(&empty, "gateway, block, phase"), recorded);

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
fn failing_requests_arrive_with_their_status_or_error() {
    if !is_there("prometheus") {
        return;
    }
    let bench = Bench::new();
    let upstream = Serving::start(&bench, &["upstream", "httpbin"]);
    let server = Server::receiver();
    let paths = ["/anything", "/status/404", "/status/503", "/delay/5"];
    let urls = paths.map(|path| format!("http://{}{path}", upstream.address()));
    let load = bench.gatebench(&format!(
        "load --json -n 48 -c 6 --timeout 300ms --out prometheus={} {}",
        server.url("/api/v1/write"),
        urls.join(" ")
    ));
    let found = json(&load, 0);

    let counts = ["status_codes", "errors"].map(|it| found[it].as_object().unwrap().iter());
    let counts = counts.into_iter().flatten();
    let counts = counts.map(|(word, count)| (word.clone(), count.as_f64().unwrap()));
    let expected: BTreeMap<String, f64> = counts.filter(|(_, count)| *count > 0.0).collect();
    for word in ["200", "404", "503", "timeout"] {
        assert!(expected.contains_key(word), "{word}: {expected:?}");
    }
    assert_eq!(expected.values().sum::<f64>(), 48.0);
    let word = |labels: &Value| {
        let word = labels["error"].as_str().or(labels["status"].as_str());
        word.unwrap().to_owned()
    };
    let totals = server.now("sum by (status, error) (max_over_time(k6_http_reqs_total[15m]))");
    let totals = totals.iter().map(|(labels, total)| (word(labels), *total));
    assert_eq!(BTreeMap::from_iter(totals), expected);

    let failed = number(&found, "/failed") as f64 / number(&found, "/requests") as f64;
    let rates = server.now("last_over_time(k6_http_req_failed_rate[15m])");
    let rates: Vec<f64> = rates.into_iter().map(|(_, rate)| rate).collect();
    assert_eq!(rates, [failed]);
}

/// Returns the resident memory of a process; `None` once it has ended.
fn resident_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Returns what the report of a run states, except measured values and what other work on the
/// machine can change. Asserts that no output limits a figure.
fn stated(bench: &Bench, run: &str) -> Vec<String> {
    let report = report(bench, run);
    let fields = |of: &Value, names: &[&str]| {
        let fields = names.iter().map(|name| of[*name].to_string());
        fields.collect::<Vec<_>>().join(" ")
    };
    let mut stated = vec![
        fields(
            &report["run"],
            &["status", "blocks_complete", "trials_finished"],
        ),
        fields(&report, &["failures", "missing"]),
    ];
    let array = |of: &Value| of.as_array().unwrap().clone();
    let (trials, rows) = (&report["trials"], &report["scenarios"][0]["rows"]);
    for of in array(trials).iter().chain(&array(rows)) {
        let reasons = of["reasons"].to_string();
        assert!(!reasons.contains("output"), "{run}: {reasons}");
    }
    for trial in array(trials) {
        stated.push(fields(&trial, &["number", "block", "variant", "outcome"]));
    }
    for row in array(rows) {
        stated.push(fields(&row, &["variant", "status"]));
        for metric in array(&row["metrics"]) {
            stated.push(fields(&metric, &["phase", "kind", "metric", "unit"]));
        }
    }
    for parity in array(&report["parity"]) {
        stated.push(fields(&parity, &["variant", "holds", "trials"]));
    }
    stated
}

/// Runs the suite without outputs, and with a server that is killed after the first trial. Returns
/// the differences that other work on the machine can also cause.
fn differences(bench: &Bench, attempt: u32) -> Vec<String> {
    let (without, with) = (format!("without-{attempt}"), format!("with-{attempt}"));
    let begun = Instant::now();
    let plain = bench.gatebench(&format!("run suite.yaml --seed 7 --dir {without}"));
    let plain_took = begun.elapsed();
    plain.assert_measured();

    let mut server = Server::receiver();
    let url = server.url("/api/v1/write");
    let words = format!("run suite.yaml --seed 7 --dir {with} --out prometheus={url}");
    let begun = Instant::now();
    let session = bench.start(&words);
    bench.wait_for("the first trial and its series", || {
        let has_series = !server.now("count_over_time(k6_vus[10m])").is_empty();
        (has_series && !bench.kept_trials(&with).is_empty()).then_some(())
    });
    let pid = session.pid();
    let at_kill_kib = resident_kib(pid).unwrap();
    server.kill();
    let mut last_kib = at_kill_kib;
    bench.wait_for("the end of the run", || {
        let Some(kib) = resident_kib(pid) else {
            return Some(());
        };
        last_kib = kib;
        None
    });
    let finished = session.wait();
    let took = begun.elapsed();
    finished.assert_measured();

    let warnings = warnings(&finished);
    assert_eq!(warnings.len(), 1, "{}", finished.stderr);
    assert!(warnings[0].contains("start the server, or correct the host or port"));
    assert_eq!(bench.kept_trials(&with).len(), 3);
    assert_eq!(stated(bench, &with), stated(bench, &without));
    assert!(
        last_kib <= at_kill_kib + GROWTH_KIB_MAX,
        "from {at_kill_kib} to {last_kib} KiB"
    );
    let mut differences = Vec::new();
    if finished.code != plain.code {
        differences.push(format!(
            "exit codes {:?} and {:?}",
            plain.code, finished.code
        ));
    }
    if took > plain_took + LONGER_MAX {
        differences.push(format!("{took:?} instead of {plain_took:?}"));
    }
    differences
}

#[test]
fn a_killed_server_does_not_affect_the_run() {
    if !is_there("prometheus") {
        return;
    }
    let _turn = turn();
    let bench = Bench::new();
    bench.load(UNHURRIED);
    bench.suite("reference", 3);
    if !differences(&bench, 1).is_empty() {
        assert_eq!(differences(&bench, 2), [""; 0]);
    }
}
