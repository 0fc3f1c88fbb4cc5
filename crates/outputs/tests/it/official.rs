//! Decodes OTLP with the official Python messages, and reads the dashboards with Grafana's own
//! types. `scripts/install-test-deps` installs both.

use gatebench_outputs::{Duration, Encoder, Format, What, dashboard};
use serde_json::Value;

use crate::facts::{BEGIN_NS, SECOND_NS, ending, fact, load, second};
use crate::python;

/// Reads a dashboard and writes it again, which drops everything that the schema does not define.
const DASHBOARD: &str = "
import json, sys
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
print(JSONEncoder().encode(Dashboard.from_json(json.load(sys.stdin))))
";

/// The places where `read` differs from `written` or lacks something.
fn lost(written: &Value, read: &Value, place: &str) -> Vec<String> {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => {
            let each = written.iter().flat_map(|(name, value)| {
                let place = format!("{place}/{name}");
                match read.get(name) {
                    Some(read) => lost(value, read, &place),
                    None => vec![place],
                }
            });
            each.collect()
        }
        (Value::Array(written), Value::Array(read)) if written.len() == read.len() => {
            let both = written.iter().zip(read);
            let each = both.enumerate().flat_map(|(index, (written, read))| {
                lost(written, read, &format!("{place}/{index}"))
            });
            each.collect()
        }
        _ if written == read => Vec::new(),
        _ => vec![format!("{place}: {written} became {read}")],
    }
}

#[test]
fn dashboards_have_the_schema_of_grafana() {
    for written in [dashboard::prometheus(), dashboard::influxdb()] {
        let read = python::json(DASHBOARD, written.to_string().as_bytes());
        assert_eq!(lost(&written, &read, ""), [""; 0]);
        let panels = written["panels"].as_array().unwrap();
        let mut ids: Vec<u64> = panels.iter().map(|it| it["id"].as_u64().unwrap()).collect();
        ids.dedup();
        assert_eq!(ids.len(), panels.len());
    }
}

#[test]
fn the_official_messages_decode_otlp() {
    let load = load();
    let format = Format::Otlp {
        service: "gatebench".into(),
        prefix: "k6_".into(),
    };
    let mut encoder = Encoder::new(&format, Duration::Response);
    let mut body = Vec::new();
    for each in [
        fact(&load, second(0, &[(200, 300)], &[])),
        fact(&load, second(1, &[(200, 500)], &[("timeout", 3)])),
        ending(&load, BEGIN_NS + 3 * SECOND_NS, What::Closed),
    ] {
        body.extend(encoder.encode(&each));
    }
    let message = python::otlp(&body);
    let resources = message["resourceMetrics"].as_array().unwrap();
    let of = |resource: &Value, name: &str| {
        let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
        metrics.iter().find(|it| it["name"] == name).cloned()
    };
    let service = &resources[0]["resource"]["attributes"][0];
    assert_eq!(service["value"]["stringValue"], "gatebench");
    let requests = of(&resources[1], "k6_http_reqs").unwrap();
    assert_eq!(
        requests["sum"]["aggregationTemporality"],
        "AGGREGATION_TEMPORALITY_CUMULATIVE"
    );
    assert_eq!(requests["sum"]["isMonotonic"], true);
    let points = requests["sum"]["dataPoints"].as_array().unwrap();
    let values: f64 = points
        .iter()
        .map(|it| it["asDouble"].as_f64().unwrap())
        .sum();
    assert_eq!(values, 803.0);
    let times = of(&resources[1], "k6_http_req_duration").unwrap();
    assert_eq!(times["unit"], "ms");
    let first = &times["exponentialHistogram"]["dataPoints"][0];
    assert_eq!(
        (&first["scale"], &first["count"]),
        (&3.into(), &"800".into())
    );
    assert_eq!(first["max"], 0.5);
    let failed = of(&resources[1], "k6_http_req_failed.total").unwrap();
    let conditions: Vec<_> = failed["sum"]["dataPoints"].as_array().unwrap().clone();
    assert_eq!(conditions.len(), 2);
    let stale = of(&resources[2], "k6_vus").unwrap();
    assert_eq!(stale["gauge"]["dataPoints"][0]["flags"], 1);
}
