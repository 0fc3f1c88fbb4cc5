//! Sends the metrics of a load to a receiver of OTLP, and decodes them with the official Python
//! messages.

#[path = "../../../../outputs/tests/it/python.rs"]
mod python;

use std::collections::BTreeMap;

use serde_json::Value;

use super::faults::{Behavior, Scripted};
use crate::bench::Bench;
use crate::load::{json, number};
use crate::serving::Serving;

/// Returns the points of a metric in the order in which they arrived.
fn points<'m>(message: &'m Value, name: &str) -> Vec<&'m Value> {
    let mut points: Vec<&Value> = Vec::new();
    for resource in message["resourceMetrics"].as_array().unwrap() {
        let metrics = resource["scopeMetrics"][0]["metrics"].as_array().unwrap();
        for metric in metrics.iter().filter(|it| it["name"] == name) {
            let kinds = ["sum", "gauge", "exponentialHistogram"];
            let data = kinds
                .iter()
                .find_map(|it| metric[*it]["dataPoints"].as_array());
            points.extend(data.unwrap());
        }
    }
    points
}

/// Returns the last total of a metric by the value of a label, and asserts that no total has
/// decreased. `field` is the field of a point that contains the total.
fn totals(message: &Value, name: &str, label: &str, field: &str) -> BTreeMap<String, f64> {
    let mut series = BTreeMap::new();
    for point in points(message, name) {
        let attributes = point["attributes"].as_array().unwrap();
        let attribute = attributes.iter().find(|it| it["key"] == label).unwrap();
        let value = attribute["value"]["stringValue"].as_str().unwrap();
        // Protobuf's JSON has whole numbers of 64 bits as strings.
        let total = &point[field];
        let total = total.as_f64().or_else(|| total.as_str()?.parse().ok());
        let total: f64 = total.unwrap();
        let key = point["attributes"].to_string();
        let before = series.insert(key, (value.to_owned(), total));
        assert!(
            before.is_none_or(|(_, before)| before <= total),
            "{name}: {point}"
        );
    }
    let mut totals: BTreeMap<String, f64> = BTreeMap::new();
    for (value, total) in series.into_values() {
        *totals.entry(value).or_default() += total;
    }
    totals
}

#[test]
fn a_receiver_of_otlp_has_every_request_of_a_load() {
    let bench = Bench::new();
    let upstream = Serving::start(&bench, &["upstream", "go-bench"]);
    let server = Scripted::start(Behavior::Status(200));
    let (port, origin) = (server.port, format!("http://{}", upstream.address()));
    let load = bench.gatebench(&format!(
        "load --json -r 200 -d 2s --warm-up 0s --out otlp=http://127.0.0.1:{port} \
         {origin}/json/valid {origin}/no-such"
    ));
    let found = json(&load, 0);

    let requests = server.requests();
    // The first request is the probe, whose body is empty.
    assert!(requests.len() > 1, "{requests:?}");
    for request in &requests {
        let head = &request.head;
        assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
        let kind = "\r\ncontent-type: application/x-protobuf\r\n";
        assert!(head.contains(kind), "{head}");
    }
    let bodies = requests.iter().flat_map(|it| it.body.iter().copied());
    let message = python::otlp(&Vec::from_iter(bodies));

    let statuses = found["status_codes"].as_object().unwrap().iter();
    let statuses = statuses.map(|(status, count)| (status.clone(), count.as_f64().unwrap()));
    let statuses = BTreeMap::from_iter(statuses);
    assert!(statuses.contains_key("200") && statuses.contains_key("404"));
    let all = number(&found, "/requests") as f64;
    assert_eq!(statuses.values().sum::<f64>(), all);
    let failed = number(&found, "/failed") as f64;
    assert_eq!(
        totals(&message, "http_reqs", "status", "asDouble"),
        statuses
    );
    assert_eq!(
        totals(&message, "http_req_duration", "status", "count"),
        statuses
    );
    assert_eq!(
        totals(&message, "http_req_failed.total", "condition", "asDouble"),
        BTreeMap::from([
            ("nonzero".to_owned(), failed),
            ("zero".to_owned(), all - failed),
        ])
    );
    let users = points(&message, "vus");
    let last = users.last().unwrap();
    assert_eq!(last["flags"], 1, "the series of the gauge has ended");
}
