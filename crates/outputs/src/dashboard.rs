//! Dashboards for Grafana. They show added latency, CPU time per request, validity, and the
//! gateway's own metrics next to those of gatebench.

use serde_json::{Value, json};

/// The version of Grafana's dashboard schema, as of Grafana 10.
const SCHEMA_VERSION: u32 = 39;
/// The number of columns in Grafana's grid. The sizes of panels are in units of this grid.
const GRID: usize = 24;
const WIDTH: usize = 12;
const HEIGHT: usize = 8;

/// A panel with one or two queries, each with its legend.
struct Panel {
    title: &'static str,
    description: &'static str,
    unit: &'static str,
    queries: [Option<(&'static str, &'static str)>; 2],
    is_table: bool,
}

impl Panel {
    const fn series(
        title: &'static str,
        unit: &'static str,
        description: &'static str,
        query: &'static str,
        legend: &'static str,
    ) -> Self {
        Self {
            title,
            description,
            unit,
            queries: [Some((query, legend)), None],
            is_table: false,
        }
    }

    const fn and(mut self, query: &'static str, legend: &'static str) -> Self {
        self.queries[1] = Some((query, legend));
        self
    }
}

const LOAD: &str = "{{gateway}} {{scenario}} {{phase}} b{{block}}";
const GATEWAY: &str = "{{gateway}} {{scenario}}";

const PROMETHEUS: [Panel; 12] = [
    Panel::series(
        "Added latency, p99",
        "s",
        "Service time minus the time that the upstream had the request, for the 2xx responses \
         since the beginning of each load. Percentiles are not averaged.",
        r#"gatebench_added_p99{testid=~"$testid", class="2xx"}"#,
        LOAD,
    ),
    Panel::series(
        "Added latency, median",
        "s",
        "Service time minus the time that the upstream had the request, for the 2xx responses \
         since the beginning of each load.",
        r#"gatebench_added_med{testid=~"$testid", class="2xx"}"#,
        LOAD,
    ),
    Panel::series(
        "Gateway CPU time per request",
        "s",
        "CPU time that the gateway's processes have used per response since the beginning of each \
         load.",
        r#"gatebench_cpu_seconds_per_request{testid=~"$testid"}"#,
        LOAD,
    ),
    Panel::series(
        "Requests per second",
        "reqps",
        "The rate at which requests ended.",
        r#"sum by (gateway, scenario) (rate(k6_http_reqs_total{testid=~"$testid"}[$__rate_interval]))"#,
        GATEWAY,
    ),
    Panel {
        is_table: true,
        ..Panel::series(
            "Validity",
            "none",
            "1 for each valid load and 0 for each invalid one, and 1 for each reason why a load is \
             limited or invalid.",
            r#"min_over_time(gatebench_valid{testid=~"$testid"}[$__range]) or max_over_time(gatebench_limited{testid=~"$testid"}[$__range])"#,
            "",
        )
    },
    Panel::series(
        "The gateway's request count and gatebench's",
        "reqps",
        "Requests that the gateway counted in its own metrics, and responses that gatebench \
         received.",
        r#"sum by (gateway, scenario) (rate(gatebench_own_requests_total{testid=~"$testid"}[$__rate_interval]))"#,
        "{{gateway}} {{scenario}} (the gateway's)",
    )
    .and(
        r#"sum by (gateway, scenario) (rate(gatebench_requests_total{testid=~"$testid"}[$__rate_interval]))"#,
        "{{gateway}} {{scenario}} (gatebench's)",
    ),
    Panel::series(
        "Response time",
        "s",
        "Time from when the request was due until the last byte of its response arrived.",
        r#"gatebench_response_med{testid=~"$testid", class="2xx"}"#,
        "median of {{gateway}} {{scenario}} {{phase}} b{{block}}",
    )
    .and(
        r#"gatebench_response_p99{testid=~"$testid", class="2xx"}"#,
        "p99 of {{gateway}} {{scenario}} {{phase}} b{{block}}",
    ),
    Panel::series(
        "Failed requests and checks",
        "percentunit",
        "The share of requests without a complete response or with a status of 400 or above, and \
         the share of responses that failed a check.",
        r#"max by (gateway, scenario) (k6_http_req_failed_rate{testid=~"$testid"})"#,
        "failed: {{gateway}} {{scenario}}",
    )
    .and(
        r#"1 - min by (gateway, scenario, check) (k6_checks_rate{testid=~"$testid"})"#,
        "{{check}}: {{gateway}} {{scenario}}",
    ),
    Panel::series(
        "CPU of each component",
        "none",
        "Cores used by the gateway, the upstream and the load generator.",
        r#"sum by (gateway, component) (rate(gatebench_component_cpu_seconds_total{testid=~"$testid"}[$__rate_interval]))"#,
        "{{component}} ({{gateway}})",
    ),
    Panel::series(
        "Memory of each component",
        "bytes",
        "Anonymous resident memory.",
        r#"max by (gateway, component) (gatebench_component_memory_bytes{testid=~"$testid"})"#,
        "{{component}} ({{gateway}})",
    ),
    Panel::series(
        "Lateness, p99",
        "s",
        "Time from when the request was due until it was sent. A request is late if the load \
         generator is late or the request has to wait for a connection.",
        r#"gatebench_lateness_p99{testid=~"$testid", class="2xx"}"#,
        LOAD,
    ),
    Panel::series(
        "Requests in flight",
        "none",
        "Requests in flight at the end of each second.",
        r#"sum by (gateway, scenario) (k6_vus{testid=~"$testid"})"#,
        GATEWAY,
    ),
];

const INFLUXDB: [Panel; 8] = [
    Panel::series(
        "Added latency, p99",
        "ms",
        "Computed from the points in each interval. The measurement gatebench_sampling contains \
             the number of requests per point.",
        r#"SELECT percentile("value", 99) FROM "gatebench_added" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY time($__interval), "gateway", "scenario" fill(none)"#,
        "$tag_gateway $tag_scenario",
    ),
    Panel::series(
        "Added latency, median",
        "ms",
        "Computed from the points in each interval.",
        r#"SELECT percentile("value", 50) FROM "gatebench_added" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY time($__interval), "gateway", "scenario" fill(none)"#,
        "$tag_gateway $tag_scenario",
    ),
    Panel::series(
        "Gateway CPU time per request",
        "s",
        "CPU time that the gateway's processes have used per response since the beginning of each \
         load.",
        r#"SELECT last("value") FROM "gatebench_cpu_seconds_per_request" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY time($__interval), "gateway", "scenario" fill(none)"#,
        "$tag_gateway $tag_scenario",
    ),
    Panel::series(
        "Requests in each interval",
        "short",
        "The exact number of requests that ended.",
        r#"SELECT sum("value") FROM "http_reqs" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY time($__interval), "gateway", "scenario" fill(none)"#,
        "$tag_gateway $tag_scenario",
    ),
    Panel::series(
        "Validity",
        "none",
        "1 if the load is valid, otherwise 0.",
        r#"SELECT min("value") FROM "gatebench_valid" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY "gateway", "scenario", "phase", "block""#,
        "$tag_gateway $tag_scenario $tag_phase b$tag_block",
    ),
    Panel::series(
        "The gateway's request count and gatebench's",
        "short",
        "Requests that the gateway counted in its own metrics, and responses that gatebench \
         received.",
        r#"SELECT sum("value") FROM "gatebench_own_requests" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY time($__interval), "gateway" fill(none)"#,
        "$tag_gateway (the gateway's)",
    )
    .and(
        r#"SELECT sum("value") FROM "gatebench_requests" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY time($__interval), "gateway" fill(none)"#,
        "$tag_gateway (gatebench's)",
    ),
    Panel::series(
        "CPU time of each component",
        "s",
        "CPU time used in each interval.",
        r#"SELECT sum("value") FROM "gatebench_component_cpu_seconds" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY time($__interval), "gateway", "component" fill(none)"#,
        "$tag_component ($tag_gateway)",
    ),
    Panel::series(
        "Memory of each component",
        "bytes",
        "Anonymous resident memory.",
        r#"SELECT max("value") FROM "gatebench_component_memory_bytes" WHERE $timeFilter AND "testid" =~ /^$testid$/ GROUP BY time($__interval), "gateway", "component" fill(none)"#,
        "$tag_component ($tag_gateway)",
    ),
];

/// The properties of a query in a panel, except its reference letter and data source.
type Target = Vec<(&'static str, Value)>;

pub fn prometheus() -> Value {
    let target = |panel: &Panel, query: &str, legend: &str| {
        let format = if panel.is_table {
            "table"
        } else {
            "time_series"
        };
        vec![
            ("expr", json!(query)),
            ("legendFormat", json!(legend)),
            ("instant", json!(panel.is_table)),
            ("range", json!(!panel.is_table)),
            ("format", json!(format)),
        ]
    };
    let phases = json!({
        "name": "phases",
        "datasource": source("prometheus"),
        "enable": true,
        "iconColor": "blue",
        "expr": "gatebench_phase_info{testid=~\"$testid\"}",
    });
    let testid = "label_values(gatebench_phase_info, testid)";
    dashboard("prometheus", &PROMETHEUS, target, testid, &[phases])
}

/// The dashboard for an InfluxDB data source with InfluxQL.
pub fn influxdb() -> Value {
    let target = |_: &Panel, query: &str, legend: &str| {
        vec![
            ("query", json!(query)),
            ("rawQuery", json!(true)),
            ("alias", json!(legend)),
            ("resultFormat", json!("time_series")),
        ]
    };
    let testid = "SHOW TAG VALUES FROM \"http_reqs\" WITH KEY = \"testid\"";
    dashboard("influxdb", &INFLUXDB, target, testid, &[])
}

fn source(kind: &str) -> Value {
    json!({"type": kind, "uid": "${datasource}"})
}

fn dashboard(
    kind: &str,
    panels: &[Panel],
    target: impl Fn(&Panel, &str, &str) -> Target,
    testid: &str,
    annotations: &[Value],
) -> Value {
    let source = source(kind);
    let targets = |panel: &Panel| {
        let queries = ('A'..).zip(panel.queries.into_iter().flatten());
        let numbered = queries.map(|(reference, (query, legend))| {
            let head = [
                ("refId", json!(reference.to_string())),
                ("datasource", source.clone()),
            ];
            let whole = head.into_iter().chain(target(panel, query, legend));
            whole.collect::<Value>()
        });
        numbered.collect::<Vec<_>>()
    };
    let placed = |(place, panel): (usize, &Panel)| {
        let per_row = GRID / WIDTH;
        json!({
            "id": place + 1,
            "type": if panel.is_table { "table" } else { "timeseries" },
            "title": panel.title,
            "description": panel.description,
            "datasource": source,
            "gridPos": {
                "x": place % per_row * WIDTH,
                "y": place / per_row * HEIGHT,
                "w": WIDTH,
                "h": HEIGHT,
            },
            "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
            "options": {},
            "targets": targets(panel),
        })
    };
    let panels: Vec<Value> = panels.iter().enumerate().map(placed).collect();
    json!({
        "uid": format!("gatebench-{kind}"),
        "title": format!("gatebench ({kind})"),
        "description": "The gateways of a gatebench run, the time that they add to each \
                        request, and the validity of the figures. Set the data source's interval to 1s.",
        "tags": ["gatebench"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": true,
        "graphTooltip": 1,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "annotations": {"list": annotations},
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "label": "Data source", "query": kind},
            {
                "name": "testid",
                "type": "query",
                "label": "Test",
                "datasource": source,
                "query": testid,
                "refresh": 2,
                "multi": true,
                "includeAll": true,
                "current": {"selected": true, "text": "All", "value": "$__all"},
            },
        ]},
        "panels": panels,
    })
}
