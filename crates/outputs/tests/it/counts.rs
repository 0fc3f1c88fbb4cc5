//! Tests that the Prometheus, OpenMetrics and JSON formats contain every request.

use gatebench_outputs::{Duration, Encoder, Fact, Format, OpenMetrics, Stat, What};

use crate::facts::{BEGIN_NS, SECOND_NS, ending, fact, load, second};
use crate::prometheus::received;

fn facts() -> Vec<Fact> {
    let load = load();
    let last = BEGIN_NS + 4 * SECOND_NS;
    vec![
        fact(&load, second(0, &[(200, 30)], &[("timeout", 1)])),
        fact(&load, second(1, &[(200, 50), (503, 4)], &[])),
        fact(&load, second(2, &[], &[("closed_early", 2)])),
        ending(&load, last, What::Ended),
        ending(&load, last, What::Closed),
    ]
}

const REQUESTS: f64 = 87.0;

#[test]
fn prometheus_contains_every_request() {
    let all = received(&facts(), None);
    let requests = all
        .iter()
        .filter(|(labels, _)| labels[0].1 == "k6_http_reqs_total");
    let last = requests.map(|(_, it)| it.samples.last().unwrap().value);
    assert_eq!(last.sum::<f64>(), REQUESTS);
}

#[test]
fn open_metrics_contain_every_request() {
    let mut text = OpenMetrics::new(Stat::DEFAULT.to_vec(), Duration::Response);
    facts().iter().for_each(|fact| text.take(fact));
    let text = text.finish();
    assert!(text.ends_with("\n# EOF\n"));
    let families: Vec<&str> = text.lines().filter(|it| it.starts_with("# TYPE")).collect();
    assert!(
        families.contains(&"# TYPE k6_http_reqs counter"),
        "{families:?}"
    );
    let mut last = std::collections::BTreeMap::new();
    for line in text
        .lines()
        .filter(|it| it.starts_with("k6_http_reqs_total{"))
    {
        let (series, rest) = line.rsplit_once("} ").unwrap();
        let (value, seconds) = rest.split_once(' ').unwrap();
        let at: f64 = seconds.parse().unwrap();
        let value: f64 = value.parse().unwrap();
        if let Some((before, _)) = last.insert(series, (at, value)) {
            assert!(before < at, "{line}");
        }
    }
    assert_eq!(last.values().map(|(_, value)| value).sum::<f64>(), REQUESTS);
}

#[test]
fn json_lines_contain_every_request() {
    let mut encoder = Encoder::new(&Format::JsonLines, Duration::Response);
    let text: Vec<u8> = facts().iter().flat_map(|it| encoder.encode(it)).collect();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4, "the end of a trial has no line");
    let requests = lines
        .iter()
        .filter_map(|it| it["second"]["requests"].as_f64());
    assert_eq!(requests.sum::<f64>(), REQUESTS);
    assert_eq!(lines[1]["second"]["status"]["503"], 4);
    assert_eq!(
        lines[1]["second"]["times_ms"]["response"]["2xx"]["count"],
        50.0
    );
}
