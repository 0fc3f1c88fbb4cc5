//! Tests that only `make test-full` runs. It installs InfluxDB and VictoriaMetrics.

use super::exact::recorded;
use super::server::{Server, is_there, queries};
use crate::bench::Bench;

const LOAD: &str = "- {name: latency, open: {rate_per_second: 3000, connections_max: 64}, measure: 5s, timeout: 2s}\n";

#[test]
#[ignore = "needs InfluxDB: make test-full"]
fn influxdb_has_every_request_and_its_dashboards_return_data() {
    if !is_there("influxd") {
        return;
    }
    let bench = Bench::new();
    bench.load(LOAD);
    let server = Server::influxdb();
    let url = server.url("/k6");
    bench
        .gatebench(&format!("run suite.yaml --dir run --out influxdb={url}"))
        .assert_measured();
    let sum = server.rows("SELECT sum(\"value\") FROM \"http_reqs\"");
    let recorded: f64 = recorded(&bench, "run").values().sum();
    assert_eq!(sum[0][1].as_f64(), Some(recorded));
    let past = server.url("/past");
    let export = bench.gatebench(&format!("export influxdb run --to {past}"));
    export.assert_code(0);
    let sum = server.rows("SELECT sum(\"value\") FROM \"past\"..\"http_reqs\"");
    assert_eq!(sum[0][1].as_f64(), Some(recorded));
    let sampling = server.rows("SELECT max(\"value\") FROM \"gatebench_sampling\"");
    assert_eq!(sampling[0][1].as_f64(), Some(6.0));

    let trial = &bench.kept_trials("run")[0];
    let text = bench.read(&format!("run/trials/{trial}/trial.json"));
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let max_ns = record["phases"][0]["sums"]["response.2xx"]["max_ns"]
        .as_f64()
        .unwrap();
    let max =
        server.rows("SELECT max(\"value\") FROM \"http_req_duration\" WHERE \"status\" = '200'");
    assert_eq!(max[0][1].as_f64(), Some(max_ns / 1e6));

    let variables = [
        ("$timeFilter", "time > now() - 1h"),
        ("$__interval", "1s"),
        ("$testid", ".*"),
    ];
    let ours = bench.gatebench("export grafana influxdb").stdout;
    let ours: serde_json::Value = serde_json::from_str(&ours).unwrap();
    let panels = ours["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|it| it["targets"].as_array().unwrap());
    let ours: Vec<&str> = targets
        .map(|it| it["query"].as_str().unwrap())
        .filter(|it| !it.contains("gatebench_own_"))
        .collect();
    let lists = [
        include_str!("queries/2587.txt").to_owned(),
        include_str!("queries/14801.txt").to_owned(),
        ours.join("\n"),
    ];
    for query in lists.iter().flat_map(|list| queries(list, &variables)) {
        assert!(!server.rows(&query).is_empty(), "{query}");
    }
}

#[test]
#[ignore = "needs VictoriaMetrics: make test-full"]
fn victoria_metrics_accepts_all_its_formats() {
    if !is_there("victoria-metrics") {
        return;
    }
    let bench = Bench::new();
    let server = Server::victoria_metrics();
    let outs = [
        format!("prometheus={}", server.url("/api/v1/write")),
        format!("influxdb={}", server.url("/k6")),
        format!("influxdb={}", server.url("/?bucket=v2&org=o")),
    ];
    let outs = outs.map(|out| format!("--out {out}")).join(" ");
    let run = bench.gatebench(&format!("run suite.yaml --dir run --out-required {outs}"));
    run.assert_measured();
    let recorded: f64 = recorded(&bench, "run").values().sum();
    // New samples become visible after a few seconds.
    bench.wait_for("the last samples", || {
        let total = "sum(max_over_time(k6_http_reqs_total[15m]))";
        let lines = "sum(sum_over_time(http_reqs_value{db=\"k6\"}[15m]))";
        let value = |query| server.now(query).first().map_or(0.0, |(_, value)| *value);
        (value(total) == recorded && value(lines) == recorded).then_some(())
    });
}

#[test]
#[ignore = "needs Prometheus without native histograms: make test-full"]
fn a_server_without_native_histograms_is_reported_once() {
    if !is_there("prometheus") {
        return;
    }
    let bench = Bench::new();
    let server = Server::prometheus(&["--web.enable-remote-write-receiver"]);
    let url = server.url("/api/v1/write?native=true");
    let run = bench.gatebench(&format!("run suite.yaml --dir run --out prometheus={url}"));
    run.assert_measured();
    let remedy = "start Prometheus with --enable-feature=native-histograms";
    assert_eq!(run.stderr.matches(remedy).count(), 1, "{}", run.stderr);
}
