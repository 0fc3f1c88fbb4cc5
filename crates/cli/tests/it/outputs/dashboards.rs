//! Tests that the queries in published Prometheus dashboards and in gatebench's own dashboard for
//! Prometheus return data.

use std::collections::BTreeSet;

use serde_json::Value;

use super::server::{Server, is_there, queries};
use crate::bench::Bench;
use crate::turns::turn;

/// A scenario in which every fourth request fails. The upstream sends the second half of these
/// responses 20 ms after the first half.
pub const PARTLY_FAILING: &str = "\
scenario: ping
title: Every fourth request fails
upstream: ping
routes: [{name: ping, path: /ping}]
metrics: {scrape_every: 1s}
requests:
  - {path: /ping, weight: 3, checks: [{status: 200}, {body_contains: ok}]}
  - {path: /ping/missing, headers: {gatebench-pause: \"20\"}, checks: [{status: 404}]}
";

/// A load that is long enough to be queried while it runs, and a load that drops most requests on
/// every machine, so there is a reason for `gatebench_limited`.
const LOADS: &str = "\
- {name: latency, open: {rate_per_second: 1000, connections_max: 64}, measure: 10s, timeout: 2s}
- {name: flood, open: {rate_per_second: 1000, connections_max: 1, queue_max: 1}, measure: 1s}
";

const TESTID: &str = "run/reference/ping";
const LIST: &str = include_str!("queries/19665.txt");
const NATIVE_LIST: &str = include_str!("queries/18030.txt");

/// Returns the queries in a list for each of these values of `$quantile_stat`.
fn filled(list: &str, stats: &[impl AsRef<str>]) -> BTreeSet<String> {
    let with = |stat: &str| {
        let variables = [
            ("$testid", TESTID),
            ("$quantile_stat", stat),
            ("$__rate_interval", "4s"),
            ("$__range", "15m"),
        ];
        queries(list, &variables)
    };
    stats.iter().flat_map(|stat| with(stat.as_ref())).collect()
}

/// Returns the values of the variable `quantile_stat` of dashboard 19665.
fn statistics(server: &Server) -> Vec<String> {
    let names = server.label_values("__name__", None);
    let stats = names
        .iter()
        .filter_map(|name| name.strip_prefix("k6_http_req_duration_"));
    stats.map(str::to_owned).collect()
}

/// Returns the queries of the panels and annotations of gatebench's own dashboard. Both sides of an
/// `or` are separate queries, so each of them must return data.
fn own_queries(dashboard: &Value) -> String {
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|it| it["targets"].as_array().unwrap());
    let annotations = dashboard["annotations"]["list"].as_array().unwrap();
    let all = targets.chain(annotations);
    let queries: Vec<&str> = all
        .flat_map(|it| it["expr"].as_str().unwrap().split(" or "))
        .collect();
    assert!(queries.len() > 16, "{queries:#?}");
    queries.join("\n")
}

#[test]
fn all_queries_return_data_during_the_run_and_after_it() {
    if !is_there("prometheus") {
        return;
    }
    // The data must arrive while the run goes on.
    let _turn = turn();
    let bench = Bench::new();
    bench.write("ping.yaml", PARTLY_FAILING);
    bench.load(LOADS);
    // Both outputs send the same counters, and a single server would accept each counter from only
    // one of them.
    let (server, native) = (Server::receiver(), Server::receiver());
    let words = format!(
        "run suite.yaml --dir run --out prometheus={} --out prometheus={}?native=true",
        server.url("/api/v1/write"),
        native.url("/api/v1/write")
    );
    let session = bench.start(&words);
    assert_data_during_the_run(&bench, &server, &native);
    session.wait().assert_measured();

    let shown = bench.gatebench("export grafana");
    let dashboard: Value = serde_json::from_str(&shown.stdout).unwrap();
    let stats = statistics(&server);
    assert!(stats.len() > 8, "{stats:?}");
    let lists = [
        (&server, "19665", filled(LIST, &stats)),
        (&native, "18030", filled(NATIVE_LIST, &stats)),
        (&server, "ours", filled(&own_queries(&dashboard), &stats)),
    ];
    for (server, dashboard, queries) in lists {
        for query in queries {
            assert!(server.has_data(&query), "{dashboard}: {query}");
        }
    }
    let variable = dashboard["templating"]["list"][1]["query"].as_str();
    let arguments = variable.and_then(|it| it.strip_prefix("label_values(")?.strip_suffix(')'));
    let (selector, label) = arguments.unwrap().split_once(", ").unwrap();
    assert_eq!(server.label_values(label, Some(selector)), [TESTID]);
    assert_quantiles_agree(&server, &native);
}

/// Waits until each query in the published dashboards and their variables have returned data.
#[track_caller]
fn assert_data_during_the_run(bench: &Bench, server: &Server, native: &Server) {
    let of = |server, queries: BTreeSet<String>| queries.into_iter().map(move |it| (server, it));
    let mut left: Vec<(&Server, String)> = of(server, filled(LIST, &["p95", "max"]))
        .chain(of(native, filled(NATIVE_LIST, &["p95"])))
        .collect();
    bench.wait_for("data during the run", || {
        left.retain(|(server, query)| !server.has_data(query));
        let of_variable = |it: &Server| it.label_values("testid", None) == [TESTID];
        let are_offered = of_variable(server)
            && of_variable(native)
            && statistics(server).iter().any(|it| it == "p95");
        // The run's only trial is stored when both of its loads have ended.
        let is_running = bench.kept_trials("run").is_empty();
        let missing: Vec<&String> = left.iter().map(|(_, query)| query).collect();
        assert!(
            is_running,
            "variables: {are_offered}; no data for {missing:#?}"
        );
        (missing.is_empty() && are_offered).then_some(())
    });
}

/// Asserts that the quantile of the native histogram differs from the percentile by at most the
/// width of a bucket. Values at different times are not comparable, because both grow with the
/// load, and one of the series may end a second earlier.
#[track_caller]
fn assert_quantiles_agree(server: &Server, native: &Server) {
    let by_time = |server: &Server, query: &str| -> Vec<(f64, f64)> {
        let series = server.series(query);
        let values = series[0]["values"].as_array().unwrap();
        let point = |it: &Value| {
            let value = it[1].as_str().unwrap().parse().unwrap();
            (it[0].as_f64().unwrap(), value)
        };
        values.iter().map(point).collect()
    };
    let selector = "{phase=\"latency\", status=\"200\"}";
    let quantile = format!("histogram_quantile(0.95, sum(k6_http_req_duration_seconds{selector}))");
    let percentiles = by_time(server, &format!("k6_http_req_duration_p95{selector}"));
    let mut ratios = by_time(native, &quantile)
        .into_iter()
        .filter_map(|(time, quantile)| {
            let (_, percentile) = percentiles.iter().find(|(at, _)| *at == time)?;
            Some(quantile / percentile)
        });
    let ratio = ratios.next_back().unwrap();
    let bucket = (1.0_f64 / 8.0).exp2();
    assert!((1.0 / bucket..bucket).contains(&ratio), "{ratio}");
}
