//! Tests InfluxDB's line protocol.

use gatebench_outputs::{Class, Fact};
use gatebench_outputs::{Distribution, Duration, Encoder, Format, Second, Trend};

use crate::facts::{BEGIN_NS, SECOND_NS, fact, load, second};

/// `series` is the measurement with its tags, as written.
struct Line {
    series: String,
    value: f64,
    time_ns: u64,
}

fn lines(facts: &[Fact], sampling: Option<u64>) -> Vec<Line> {
    let mut encoder = Encoder::new(&Format::Influx { sampling }, Duration::Response);
    let text: Vec<u8> = facts.iter().flat_map(|it| encoder.encode(it)).collect();
    let text = String::from_utf8(text).unwrap();
    let line = |line: &str| {
        let (rest, time_ns) = line.rsplit_once(' ').unwrap();
        let (series, value) = rest.rsplit_once(" value=").unwrap();
        Line {
            series: series.into(),
            value: value.parse().unwrap(),
            time_ns: time_ns.parse().unwrap(),
        }
    };
    text.lines().map(line).collect()
}

fn of<'a>(all: &'a [Line], measurement: &str) -> Vec<&'a Line> {
    let is_it = |it: &&Line| it.series.split(',').next() == Some(measurement);
    all.iter().filter(is_it).collect()
}

#[test]
fn counts_are_sums_and_each_request_has_a_point() {
    let load = load();
    let all = lines(
        &[
            fact(&load, second(0, &[(200, 300), (404, 2)], &[])),
            fact(&load, second(1, &[(200, 400)], &[("reset", 1)])),
        ],
        None,
    );
    let sum: f64 = of(&all, "http_reqs").iter().map(|it| it.value).sum();
    assert_eq!(sum, 703.0);
    let times = of(&all, "http_req_duration");
    assert_eq!(times.len(), 703);
    assert!(all[0].series == "gatebench_sampling" && all[0].value == 1.0);
    let mut keys: Vec<_> = times.iter().map(|it| (&it.series, it.time_ns)).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(
        keys.len(),
        703,
        "points of a series that have the same time would replace each other"
    );
    let second = BEGIN_NS + 1..=BEGIN_NS + 2 * SECOND_NS;
    assert!(times.iter().all(|it| second.contains(&it.time_ns)));
}

fn second_of_many(number: u32, count: u64) -> Second {
    let times = Distribution::new((1..=count).map(|it| (it * 1_000, 1)));
    Second {
        number,
        statuses: [(200, count)].into(),
        times: [((Trend::Response, Class::Success), times)].into(),
        ..Second::default()
    }
}

#[test]
fn percentiles_of_points_are_those_of_the_requests() {
    let load = load();
    let facts = [fact(&load, second_of_many(0, 50_000))];
    let all = lines(&facts, None);
    assert_eq!(of(&all, "gatebench_sampling")[0].value, 100.0);
    let mut times: Vec<f64> = of(&all, "http_req_duration")
        .iter()
        .map(|it| it.value)
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    assert_eq!(times.len(), 500);
    let p95 = times[474];
    assert!((p95 / 47.5 - 1.0).abs() < 0.002, "{p95}");
    assert_eq!(times[499], 50.0, "the maximum is included");
}

#[test]
fn the_sampling_is_raised_only_for_far_larger_seconds() {
    let load = load();
    let seconds = [1_000, 3_000, 25_000, 1_000];
    let facts: Vec<Fact> = (0..)
        .zip(seconds)
        .map(|(number, count)| fact(&load, second_of_many(number, count)))
        .collect();
    let all = lines(&facts, None);
    let sampling: Vec<f64> = of(&all, "gatebench_sampling")
        .iter()
        .map(|it| it.value)
        .collect();
    assert_eq!(sampling, [2.0, 2.0, 50.0, 50.0]);
    let fixed = lines(&facts, Some(10));
    let sampling = of(&fixed, "gatebench_sampling");
    assert_eq!(sampling[0].value, 10.0);
}
