//! Tests that the queries in published Prometheus dashboards and in gatebench's own dashboard for
//! Prometheus return data.

use serde_json::Value;

use super::server::{Server, is_there, queries};
use crate::bench::Bench;

const SCRAPED: &str = "\
scenario: ping
title: The smallest response
upstream: ping
routes: [{name: ping, path: /ping}]
metrics: {scrape_every: 1s}
requests:
  - {path: /ping, checks: [{status: 200}, {body_contains: ok}]}
";

const LOAD: &str = "- {name: latency, open: {rate_per_second: 1000, connections_max: 16}, measure: 3s, timeout: 2s}\n";

#[test]
fn all_queries_return_data() {
    if !is_there("prometheus") {
        return;
    }
    let bench = Bench::new();
    bench.write("ping.yaml", SCRAPED);
    bench.load(LOAD);
    // Both outputs send the same counters, and a single server would accept each counter from only
    // one of them.
    let (server, native) = (Server::receiver(), Server::receiver());
    let words = format!(
        "run suite.yaml --dir run --out prometheus={} --out prometheus={}?native=true",
        server.url("/api/v1/write"),
        native.url("/api/v1/write")
    );
    bench.gatebench(&words).assert_measured();

    let shown = bench.gatebench("export grafana");
    let dashboard: Value = serde_json::from_str(&shown.stdout).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|it| it["targets"].as_array().unwrap());
    let own: Vec<&str> = targets.map(|it| it["expr"].as_str().unwrap()).collect();
    assert!(own.len() > 12, "{own:?}");
    let variables = [
        ("$testid", "run/reference/ping"),
        ("$quantile_stat", "p95"),
        ("$__rate_interval", "4s"),
        ("$__range", "15m"),
    ];
    let lists = [
        (
            &server,
            "19665",
            include_str!("queries/19665.txt").to_owned(),
        ),
        (
            &native,
            "18030",
            include_str!("queries/18030.txt").to_owned(),
        ),
        (&server, "ours", own.join("\n")),
    ];
    for (server, dashboard, list) in lists {
        for query in queries(&list, &variables) {
            assert!(!server.series(&query).is_empty(), "{dashboard}: {query}");
        }
    }
    // At each point in time, the quantile of the native histogram differs from the percentile by at
    // most the width of a bucket. Values at different times are not comparable, because both grow
    // with the load, and one of the series may end a second earlier.
    let by_time = |server: &Server, query: &str| -> Vec<(f64, f64)> {
        let series = server.series(query);
        let values = series[0]["values"].as_array().unwrap();
        let point = |it: &Value| {
            let value = it[1].as_str().unwrap().parse().unwrap();
            (it[0].as_f64().unwrap(), value)
        };
        values.iter().map(point).collect()
    };
    let quantile = "histogram_quantile(0.95, sum(k6_http_req_duration_seconds))";
    let p95 = "k6_http_req_duration_p95{status=\"200\"}";
    let percentiles = by_time(&server, p95);
    let mut ratios = by_time(&native, quantile)
        .into_iter()
        .filter_map(|(time, quantile)| {
            let (_, percentile) = percentiles.iter().find(|(at, _)| *at == time)?;
            Some(quantile / percentile)
        });
    let ratio = ratios.next_back().unwrap();
    let bucket = (1.0_f64 / 8.0).exp2();
    assert!((1.0 / bucket..bucket).contains(&ratio), "{ratio}");
}
