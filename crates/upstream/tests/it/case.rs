//! Tests the cases of the pathology origin.

use gatebench_upstream::fault_server::Case;

const MS: u64 = 1_000_000;

fn ends_ns(target: &str, arrivals: &[(u64, u64)]) -> Vec<u64> {
    let (path, query) = target.split_once('?').unwrap();
    let case = Case::parse(path, query).unwrap();
    let each = arrivals
        .iter()
        .map(|(index, at)| case.service(*index, *at).ends_ns());
    each.collect()
}

#[test]
fn responses_due_during_a_stall_are_sent_at_its_end() {
    let target = "/stall?every=10s&for=1s&at=2s&service=5ms";
    let at = [
        0, 1_994, 1_995, 1_996, 2_000, 2_500, 2_994, 2_995, 3_000, 12_000, 13_000,
    ];
    let arrivals = at.map(|ms| (0, ms * MS));
    let expected = [5, 5, 1_005, 1_004, 1_000, 500, 6, 5, 5, 1_000, 5];
    assert_eq!(ends_ns(target, &arrivals), expected.map(|ms| ms * MS));
}

#[test]
fn every_fourth_request_is_slow() {
    let arrivals = [0, 1, 2, 3, 4, 5, 6, 7].map(|index| (index, 0));
    let found = ends_ns("/bimodal?fast=1ms&slow=20ms&slow_every=4", &arrivals);
    assert_eq!(found, [1, 1, 1, 20, 1, 1, 1, 20].map(|ms| ms * MS));
}

#[test]
fn a_slow_start_becomes_faster_in_a_straight_line() {
    let arrivals = [0, 1, 5, 9, 10, 99].map(|s| (0, s * 1_000 * MS));
    let found = ends_ns("/slow-start?for=10s&from=50ms&to=10ms", &arrivals);
    assert_eq!(found, [50, 46, 30, 14, 10, 10].map(|ms| ms * MS));
}

#[test]
fn every_third_response_is_reset() {
    let case = Case::parse("/reset", "every=3&bytes=10").unwrap();
    let resets = [0, 1, 2, 3, 4, 5].map(|index| case.service(index, 0).is_reset);
    assert_eq!(resets, [false, false, true, false, false, true]);
}

#[test]
fn a_trickled_response_has_a_shorter_last_piece() {
    let case = Case::parse("/trickle", "bytes=10&piece=4&every=3ms&service=1ms").unwrap();
    let service = case.service(0, 0);
    assert_eq!((service.pieces(), service.ends_ns()), (3, 7 * MS));
}

#[test]
fn errors_name_the_mistake() {
    for (path, query, culprit) in [
        ("/ping", "", "no such path"),
        ("/stall", "every=1s&for=1s", "'for'"),
        ("/stall", "service=5", "'service'"),
        ("/stall", "wait=5ms", "'wait'"),
        ("/bimodal", "slow_every=0", "'slow_every'"),
        ("/jitter", "distribution=zipf", "'zipf'"),
        ("/trickle", "piece=0", "'piece'"),
        ("/constant", "service", "'service'"),
        ("/constant", "a=&b=&c=&d=&e=&f=&g=&h=&i=", "too many"),
    ] {
        let error = Case::parse(path, query).unwrap_err().to_string();
        assert!(error.contains(culprit), "{path}?{query}: {error}");
    }
}

proptest::proptest! {
    #[test]
    fn no_target_panics(path in "/(stall|jitter|trickle|reset|bimodal)", query in ".{0,60}", index: u64) {
        if let Ok(case) = Case::parse(&path, &query) {
            let _ = case.service(index, index >> 8).ends_ns();
        }
    }
}
