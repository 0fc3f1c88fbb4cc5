//! Tests the worker in simulated time against an upstream whose latency is known by construction.
//! Nothing disturbs the measurement, so the engine must report that latency to within the
//! resolution of its histograms.

use gatebench_upstream::fault_server::{Arrivals, Case, Truth, truth, truth_through};
use hdrhistogram::Histogram;

use super::*;

const START_NS: u64 = 10 * MS;
const RATE_PER_SECOND: f64 = 1_000.0;
const SECONDS: u64 = 14;

const TARGETS: [&str; 7] = [
    "/stall?every=14s&for=1s&service=5ms",
    "/bimodal?fast=1ms&slow=20ms&slow_every=8",
    "/slow-start?for=7s&from=50ms&to=2ms",
    "/jitter?distribution=exponential&mean=5ms&seed=1",
    "/jitter?distribution=pareto&mean=5ms&seed=1",
    "/reset?every=100&service=2ms",
    "/trickle?bytes=2000&piece=200&every=2ms&service=1ms",
];

const SERVERS: [Server; 7] = [
    serve::<0>, serve::<1>, serve::<2>, serve::<3>, serve::<4>, serve::<5>, serve::<6>,
];

fn case(target: &str) -> Case {
    let (path, query) = target.split_once('?').unwrap();
    Case::parse(path, query).unwrap()
}

fn serve<const N: usize>(index: u64, now_ns: u64, _: &[u8]) -> Reaction {
    let service = case(TARGETS[N]).service(index, now_ns - START_NS);
    if service.is_reset {
        Reaction::Close(service.ends_ns())
    } else {
        Reaction::Response(service.ends_ns(), OK)
    }
}

fn arrivals() -> Arrivals {
    Arrivals::of(RATE_PER_SECOND, SECONDS as f64)
}

fn driven(server: Server, connections: u32) -> Interval {
    let shape = open(RATE_PER_SECOND, connections, 100_000);
    let mut load = load(shape, 0, SECONDS * 1_000);
    load.groups[0].timeout = Duration::from_secs(10);
    simulate(&load, server).1
}

/// Returns the response times of all requests, including failed ones.
fn responses(sum: &Interval) -> Histogram<u64> {
    let mut all = Histogram::new(3).unwrap();
    let of_response = sum
        .recordings()
        .filter(|(metric, ..)| *metric == Metric::Response);
    of_response.for_each(|(_, _, it)| all.add(&it.histogram).unwrap());
    all
}

fn assert_measured(target: &str, sum: &Interval, truth: &Truth) {
    let counts = &sum.counts;
    assert_eq!(counts.intended, truth.response_ns.len() as u64, "{target}");
    assert_eq!(counts.sent, counts.intended, "{target}");
    assert_eq!(counts.dropped, 0, "{target}");
    assert_eq!(counts.completed, truth.answered, "{target}");
    assert_eq!(counts.errors.iter().sum::<u64>(), truth.reset, "{target}");
    let reported = responses(sum);
    for q in [0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0] {
        let (said, true_ns) = (reported.value_at_quantile(q), truth.quantile_ns(q));
        assert!(
            reported.equivalent(said, true_ns),
            "{target} at {q}: {said} for {true_ns} ns"
        );
    }
}

#[test]
fn every_quantile_matches_the_truth() {
    for (target, server) in TARGETS.into_iter().zip(SERVERS) {
        let sum = driven(server, 1_100);
        assert_measured(target, &sum, &truth(&case(target), &arrivals()));
        assert_eq!(sum.counts.queued_max, 0, "{target}");
    }
}

#[test]
fn waiting_for_a_connection_is_part_of_the_truth() {
    // To keep requests from waiting, the target that stalls would need about a thousand
    // connections, and each of the other two at most fifty.
    for (number, connections) in [(0, 64), (2, 16), (6, 19)] {
        let (target, server) = (TARGETS[number], SERVERS[number]);
        let sum = driven(server, connections);
        let truth = truth_through(connections as usize, &case(target), &arrivals());
        assert_measured(target, &sum, &truth);
    }
    assert_eq!(driven(SERVERS[0], 64).counts.queued_max, 1_005 - 64);
}
