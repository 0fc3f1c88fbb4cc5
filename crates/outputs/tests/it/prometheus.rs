//! Tests remote write, which is decoded as Prometheus decodes it.

use std::collections::BTreeMap;

use gatebench_outputs::wire::remote_write::{Histogram, Sample, WriteRequest};
use gatebench_outputs::{Component, Duration, Encoder, Fact, Format, Stat, Usage, What};
use prost::Message as _;

use crate::facts::{BEGIN_NS, SECOND_NS, ending, fact, load, second};

/// The samples and histograms of a series, in the order of arrival.
#[derive(Debug, Default)]
pub struct Received {
    pub samples: Vec<Sample>,
    pub histograms: Vec<Histogram>,
}

/// Returns the series that result from these facts, by their labels as they were sent.
pub fn received(facts: &[Fact], native: Option<i32>) -> BTreeMap<Vec<(String, String)>, Received> {
    let format = Format::RemoteWrite {
        stats: Stat::DEFAULT.to_vec(),
        native,
        stale_markers: true,
    };
    let mut encoder = Encoder::new(&format, Duration::Response);
    let body: Vec<u8> = facts.iter().flat_map(|it| encoder.encode(it)).collect();
    let sent = format.finished(body);
    let body = snap::raw::Decoder::new().decompress_vec(&sent).unwrap();
    let mut all: BTreeMap<_, Received> = BTreeMap::new();
    for series in WriteRequest::decode(&body[..]).unwrap().timeseries {
        let labels = series.labels.into_iter().map(|it| (it.name, it.value));
        let received = all.entry(labels.collect()).or_default();
        received.samples.extend(series.samples);
        received.histograms.extend(series.histograms);
    }
    all
}

fn facts() -> Vec<Fact> {
    let load = load();
    vec![
        fact(&load, second(0, &[(200, 300), (404, 2)], &[])),
        fact(
            &load,
            second(1, &[(200, 500), (201, 20)], &[("timeout", 3)]),
        ),
        ending(&load, BEGIN_NS + 2 * SECOND_NS, What::Ended),
        ending(&load, BEGIN_NS + 3 * SECOND_NS, What::Closed),
    ]
}

/// The samples of the series `name` whose labels include `wanted`.
fn samples(facts: &[Fact], name: &str, wanted: &[(&str, &str)]) -> Vec<(i64, f64)> {
    let all = received(facts, None);
    let has = |labels: &[(String, String)], name: &str, value: &str| {
        labels
            .iter()
            .any(|(n, v)| (n.as_str(), v.as_str()) == (name, value))
    };
    let matches = |labels: &[(String, String)]| {
        let mut wanted = wanted.iter();
        has(labels, "__name__", name) && wanted.all(|(name, value)| has(labels, name, value))
    };
    let mut found = all.into_iter().filter(|(labels, _)| matches(labels));
    let (_, series) = found
        .next()
        .unwrap_or_else(|| panic!("no series {name} {wanted:?}"));
    assert!(
        found.next().is_none(),
        "more than one series {name} {wanted:?}"
    );
    let begin_ms = (BEGIN_NS / 1_000_000) as i64;
    let since = |it: Sample| (it.timestamp - begin_ms, it.value);
    series.samples.into_iter().map(since).collect()
}

#[test]
fn counters_begin_at_zero_and_include_every_request() {
    let facts = facts();
    let requests = |status| samples(&facts, "k6_http_reqs_total", &[("status", status)]);
    assert_eq!(requests("200"), [(0, 0.0), (1_000, 300.0), (2_000, 800.0)]);
    assert_eq!(requests("404"), [(0, 0.0), (1_000, 2.0)]);
    assert_eq!(requests("201"), [(1_000, 0.0), (2_000, 20.0)]);
    let failed = [
        ("error_code", "1050"),
        ("error", "timeout"),
        ("expected_response", "false"),
    ];
    assert_eq!(
        samples(&facts, "k6_http_reqs_total", &failed)[1],
        (2_000, 3.0)
    );
    assert_eq!(
        samples(&facts, "k6_iterations_total", &[])[2],
        (2_000, 825.0)
    );
}

#[test]
fn rates_and_figures_count_from_the_start() {
    let facts = facts();
    let failed = samples(&facts, "k6_http_req_failed_rate", &[("method", "GET")]);
    assert_eq!(failed[0], (1_000, 2.0 / 302.0));
    assert_eq!(failed[1], (2_000, 5.0 / 825.0));
    let checks = samples(&facts, "k6_checks_rate", &[("check", "status=200")]);
    assert_eq!(checks[1], (2_000, 820.0 / 822.0));
    let p90 = samples(&facts, "k6_http_req_duration_p90", &[("status", "200")]);
    assert_eq!(p90[0], (1_000, 270e-6));
    // The class had two statuses in this second, and times are known only per class.
    let mixed = samples(&facts, "k6_http_req_duration_count", &[("status", "2xx")]);
    assert_eq!(mixed[0], (2_000, 520.0));
    let all = samples(&facts, "k6_iteration_duration_count", &[]);
    assert_eq!(all[..2], [(1_000, 302.0), (2_000, 825.0)]);
    let handshakes = samples(
        &facts,
        "k6_http_req_tls_handshaking_max",
        &[("status", "200")],
    );
    assert_eq!(handshakes[0], (1_000, 0.0));
}

#[test]
fn requests_in_flight_end_at_zero_and_gauges_are_stale() {
    let facts = facts();
    let users = samples(&facts, "k6_vus", &[]);
    assert_eq!(users[..2], [(1_000, 7.0), (2_000, 7.0)]);
    assert_eq!((users[2].0 > 2_000, users[2].1), (true, 0.0));
    assert_eq!(users[3].1.to_bits(), 0x7ff0_0000_0000_0002);
    let requests = samples(&facts, "k6_http_reqs_total", &[("status", "200")]);
    assert!(requests.iter().all(|(_, value)| !value.is_nan()));
    // A percentile that was never sent has no series that could end.
    let stale = received(&facts, None).into_iter().filter(|(labels, _)| {
        let is = |name: &str, value: &str| labels.contains(&(name.into(), value.into()));
        is("__name__", "k6_http_req_duration_p99") && is("status", "404")
    });
    assert_eq!(stale.count(), 0);
}

#[test]
fn labels_are_sorted_and_named() {
    for labels in received(&facts(), Some(3)).into_keys() {
        assert!(labels.is_sorted_by(|(a, _), (b, _)| a < b), "{labels:?}");
        assert_eq!(labels[0].0, "__name__");
        assert!(labels.contains(&("testid".into(), "run/nginx/proxy".into())));
        assert!(labels.iter().all(|(_, value)| !value.is_empty()));
    }
}

#[test]
fn native_histograms_replace_the_figures() {
    let all = received(&facts(), Some(3));
    let name = |labels: &[(String, String)]| labels[0].1.clone();
    assert!(all.keys().all(|labels| !name(labels).ends_with("_p99")));
    let of_200 = all.iter().find(|(labels, _)| {
        let is_200 = labels.contains(&("status".into(), "200".into()));
        name(labels) == "k6_http_req_duration_seconds" && is_200
    });
    let histograms = &of_200.unwrap().1.histograms;
    let counts: Vec<_> = histograms.iter().map(|it| it.count_int.unwrap()).collect();
    assert_eq!(counts, [0, 300]);
}

#[test]
fn cpu_per_request_does_not_depend_on_the_order_of_facts() {
    let load = load();
    let usage = |second: u32, cpu_ns: u64| {
        let gateway = Component {
            cpu_ns: Some(cpu_ns),
            ..Component::default()
        };
        let what = What::Usage(Usage {
            second,
            components: [("gateway", gateway)].into(),
        });
        ending(&load, BEGIN_NS + u64::from(second + 1) * SECOND_NS, what)
    };
    let requests = |number| fact(&load, second(number, &[(200, 10)], &[]));
    let late = [requests(0), requests(1), usage(0, 1_000), usage(1, 3_000)];
    let early = [usage(0, 1_000), usage(1, 3_000), requests(0), requests(1)];
    for facts in [late, early] {
        let samples = samples(&facts, "gatebench_cpu_seconds_per_request", &[]);
        let values: Vec<f64> = samples.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [100e-9, 200e-9]);
    }
}
