//! Tests the results that an open load must yield at the pathology origin.

use gatebench_upstream::fault_server::{Arrivals, Case, Truth, truth, truth_through};

const MS: u64 = 1_000_000;

fn of(target: &str, rate_per_second: f64, seconds: f64) -> Truth {
    let (path, query) = target.split_once('?').unwrap();
    let case = Case::parse(path, query).unwrap();
    truth(&case, &Arrivals::of(rate_per_second, seconds))
}

fn quantiles_ms(truth: &Truth) -> [f64; 5] {
    [0.5, 0.9, 0.99, 0.999, 1.0].map(|q| truth.quantile_ns(q) as f64 / MS as f64)
}

#[test]
fn a_stall_of_a_second_in_fourteen() {
    let truth = of("/stall?every=14s&for=1s&service=5ms", 1_000.0, 14.0);
    assert_eq!((truth.answered, truth.reset), (14_000, 0));
    // The 1,000 requests that are due from 6.495 s to 7.494 s take 1,005, 1,004, ... 6 ms, and all
    // others take 5 ms. Of the 14,000 times in ascending order, 140 follow the 13,860th (p99).
    // Since the longest is 1,005 ms, the 13,860th is 865 ms.
    assert_eq!(quantiles_ms(&truth), [5.0, 5.0, 865.0, 991.0, 1_005.0]);
}

#[test]
fn one_of_eight_is_slow() {
    let truth = of("/bimodal?fast=1ms&slow=20ms&slow_every=8", 1_000.0, 14.0);
    assert_eq!(quantiles_ms(&truth), [1.0, 20.0, 20.0, 20.0, 20.0]);
    let slow = truth
        .response_ns
        .iter()
        .filter(|ns| **ns == 20 * MS)
        .count();
    assert_eq!(slow, 1_750);
}

#[test]
fn a_slow_start_is_a_straight_line() {
    // The ten requests at 0, 100, ... 900 ms take 11, 10, ... 2 ms, and the next ten take 1 ms.
    let truth = of("/slow-start?for=1s&from=11ms&to=1ms", 10.0, 2.0);
    let mut expected: Vec<u64> = (2..=11).map(|ms| ms * MS).collect();
    expected.splice(0..0, [MS; 10]);
    assert_eq!(truth.response_ns, expected);
    assert_eq!(quantiles_ms(&truth), [1.0, 9.0, 11.0, 11.0, 11.0]);
}

#[test]
fn resets_and_bytes_are_counted() {
    let truth = of("/reset?every=100&service=1ms&bytes=10", 1_000.0, 1.0);
    assert_eq!((truth.answered, truth.reset), (990, 10));
    assert_eq!(truth.body_bytes, 9_900);
    let truth = of(
        "/trickle?bytes=1000&piece=100&every=2ms&service=1ms",
        200.0,
        1.0,
    );
    assert_eq!((truth.answered, truth.body_bytes), (200, 200_000));
    assert_eq!(quantiles_ms(&truth), [19.0; 5]);
}

#[test]
fn two_connections_carry_two_requests_every_five_milliseconds() {
    let case = Case::parse("/constant", "service=5ms").unwrap();
    let arrivals = Arrivals::of(1_000.0, 0.01);
    // The requests are due at 0, 1, ... 9 ms and end at 5, 6, 10, 11, ... 25, 26 ms, so the wait
    // grows by 1.5 ms per arrival on average.
    let found = truth_through(2, &case, &arrivals).response_ns;
    let expected = [5, 5, 8, 8, 11, 11, 14, 14, 17, 17];
    assert_eq!(found, expected.map(|ms| ms * MS));
    // With five connections, no request has to wait.
    assert_eq!(truth_through(5, &case, &arrivals), truth(&case, &arrivals));
}

#[test]
fn exponential_service_has_its_known_quantiles() {
    let truth = of(
        "/jitter?distribution=exponential&mean=5ms&seed=3",
        1_000.0,
        100.0,
    );
    for q in [0.5, 0.9, 0.99] {
        let expected = -5e6 * f64::ln(1.0 - q);
        let found = truth.quantile_ns(q) as f64;
        assert!(
            (found / expected - 1.0).abs() < 0.03,
            "p{q}: {found} instead of {expected}"
        );
    }
}
