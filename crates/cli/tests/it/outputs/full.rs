//! Tests that only `make test-full` runs. It installs InfluxDB and VictoriaMetrics.

use gatebench_store::{Histogram, Run};
use serde_json::Value;

use super::dashboards::PARTLY_FAILING;
use super::exact::recorded;
use super::server::{Server, is_there, queries};
use crate::bench::Bench;

const LOAD: &str = "- {name: latency, open: {rate_per_second: 3000, connections_max: 64}, measure: 5s, timeout: 2s}\n";

/// The measurements in dashboard 2587 that are not always 0.
const MEASUREMENTS: [&str; 4] = [
    "http_req_duration",
    "http_req_blocked",
    "http_req_receiving",
    "http_req_waiting",
];

fn json(bench: &Bench, file: &str) -> Value {
    serde_json::from_str(&bench.read(file)).unwrap()
}

/// Returns the number of requests that ended, according to the report.
fn reported(bench: &Bench) -> f64 {
    let report = json(bench, "run/report.json");
    let loads = report["scenarios"][0]["routes"].as_array().unwrap().iter();
    let requests = loads.flat_map(|it| it["routes"].as_array().unwrap());
    let ended = |it: &Value| {
        let figures = &it["figures"];
        figures["requests"].as_f64().unwrap() + figures["errors"].as_f64().unwrap()
    };
    requests.map(ended).sum()
}

#[test]
#[ignore = "needs InfluxDB: make test-full"]
fn influxdb_has_every_request_and_its_dashboards_return_data() {
    if !is_there("influxd") {
        return;
    }
    let bench = Bench::new();
    bench.write("ping.yaml", PARTLY_FAILING);
    bench.load(LOAD);
    let server = Server::influxdb();
    let url = server.url("/k6");
    bench
        .gatebench(&format!("run suite.yaml --dir run --out influxdb={url}"))
        .assert_measured();
    let sum = server.rows("SELECT sum(\"value\") FROM \"http_reqs\"");
    let recorded: f64 = recorded(&bench, "run").values().sum();
    assert_eq!(sum[0][1].as_f64(), Some(recorded));
    assert_eq!(reported(&bench), recorded);
    let past = server.url("/past");
    let export = bench.gatebench(&format!("export influxdb run --to {past}"));
    export.assert_code(0);
    let sum = server.rows("SELECT sum(\"value\") FROM \"past\"..\"http_reqs\"");
    assert_eq!(sum[0][1].as_f64(), Some(recorded));
    let sampling = server.rows("SELECT max(\"value\") FROM \"gatebench_sampling\"");
    assert_eq!(sampling[0][1].as_f64(), Some(6.0));

    let trial = &bench.kept_trials("run")[0];
    let record = json(&bench, &format!("run/trials/{trial}/trial.json"));
    let max_ns = record["phases"][0]["sums"]["response.2xx"]["max_ns"]
        .as_f64()
        .unwrap();
    let max =
        server.rows("SELECT max(\"value\") FROM \"http_req_duration\" WHERE \"status\" = '200'");
    assert_eq!(max[0][1].as_f64(), Some(max_ns / 1e6));
    assert_percentiles_agree(&bench, &server);
    assert_dashboards_return_data(&bench, &server);
}

/// Asserts that the percentiles of InfluxDB's points are those of all requests. The points are a
/// sample, so the 95th percentile of the successful requests may be off by half a percent of the
/// requests. The 95th percentile of all requests is among the failing ones, which take about the
/// same time.
#[track_caller]
fn assert_percentiles_agree(bench: &Bench, server: &Server) {
    let run = Run::open(&bench.path("run")).unwrap();
    let histograms = run.trials()[0].histograms().unwrap();
    let successful = &histograms["latency.response.2xx"];
    let mut all = successful.clone();
    all.auto(true);
    all.add(&histograms["latency.response.4xx"]).unwrap();
    let in_ms = |of: &Histogram<u64>, share: f64| of.value_at_quantile(share) as f64 / 1e6;
    let p95 = |condition: &str| {
        let query =
            format!("SELECT percentile(\"value\", 95) FROM \"http_req_duration\" {condition}");
        server.rows(&query)[0][1].as_f64().unwrap()
    };
    let (of_points, of_requests) = (p95(""), in_ms(&all, 0.95));
    let ratio = of_points / of_requests;
    assert!(
        (0.98..=1.02).contains(&ratio),
        "{of_points} ms, {of_requests} ms"
    );
    let of_points = p95("WHERE \"status\" = '200'");
    let near = in_ms(successful, 0.945) * 0.98..=in_ms(successful, 0.955) * 1.02;
    assert!(near.contains(&of_points), "{of_points} ms, {near:?} ms");
}

#[track_caller]
fn assert_dashboards_return_data(bench: &Bench, server: &Server) {
    let variables = [
        ("$timeFilter", "time > now() - 1h"),
        ("$__interval", "1s"),
        ("$testid", ".*"),
    ];
    let ours = bench.gatebench("export grafana influxdb").stdout;
    let ours: Value = serde_json::from_str(&ours).unwrap();
    let panels = ours["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|it| it["targets"].as_array().unwrap());
    let testid = &ours["templating"]["list"][1];
    let ours: Vec<&str> = targets
        .chain([testid])
        .map(|it| it["query"].as_str().unwrap())
        .collect();
    let of_2587 = include_str!("queries/2587.txt");
    let lists = [
        MEASUREMENTS
            .map(|name| of_2587.replace("$Measurement", name))
            .join("\n"),
        include_str!("queries/14801.txt").to_owned(),
        ours.join("\n"),
    ];
    for query in lists.iter().flat_map(|list| queries(list, &variables)) {
        let rows = server.rows(&query);
        assert!(rows.iter().any(|row| !row[1].is_null()), "{query}");
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
