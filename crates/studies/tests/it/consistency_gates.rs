//! Gates for figures that must agree with each other: for each, a change that trips it and a
//! slightly smaller one that does not.

use gatebench_report::Validity;
use gatebench_studies::common::facts::{Aspect, Gate};

use crate::common::gates::{ALL, check};
use crate::common::{Made, three_blocks};

#[test]
fn clamped() {
    let clamped = |count| {
        move |made: &mut Made| {
            made.open().sums.get_mut("response.2xx").unwrap().clamped = count;
        }
    };
    check(
        Gate::Clamped,
        Validity::Limited,
        &[Aspect::Latency],
        clamped(1),
        clamped(0),
    );
}

#[test]
fn histograms_and_sums_must_agree() {
    let sum = |change: fn(&mut gatebench_store::ExactSum)| {
        move |made: &mut Made| {
            change(made.open().sums.get_mut("added.2xx").unwrap());
        }
    };
    let spoils = [Aspect::Latency];
    let (gate, invalid) = (Gate::Inconsistent, Validity::Invalid);
    check(
        gate,
        invalid,
        &spoils,
        sum(|sum| sum.count += 1),
        sum(|_| ()),
    );
    check(
        gate,
        invalid,
        &spoils,
        sum(|sum| sum.sum_ns += sum.sum_ns / 50),
        sum(|sum| sum.sum_ns += 1),
    );
    check(
        gate,
        invalid,
        &spoils,
        sum(|sum| sum.max_ns = 100_000),
        sum(|_| ()),
    );
    check(
        gate,
        invalid,
        &spoils,
        sum(|sum| sum.min_ns = 60_000),
        sum(|_| ()),
    );
    let missing = |made: &mut Made| made.intervals.retain(|i| i.tag != "steady.added.2xx");
    check(gate, invalid, &spoils, missing, |_| ());
}

#[test]
fn littles_law() {
    let mean = |made: &mut Made, ns: u64| {
        let requests = made.closed().counts.completed;
        made.record_values("saturate", "response", &[(ns, requests)]);
    };
    // With 64 connections and 40,000 requests/s, the mean response time must be 1.6 ms.
    let spoils = [Aspect::Throughput, Aspect::Latency];
    check(
        Gate::Inconsistent,
        Validity::Limited,
        &spoils,
        |made| mean(made, 1_200_000),
        |made| mean(made, 1_500_000),
    );
}

#[test]
fn status_classes_must_add_up() {
    let class = |count| {
        move |made: &mut Made| {
            made.open().counts.by_class.insert("5xx".into(), count);
        }
    };
    check(
        Gate::Inconsistent,
        Validity::Invalid,
        &ALL,
        class(1),
        class(0),
    );
}

#[test]
fn responses_have_the_same_length_in_all_blocks() {
    let longer = |bytes: u64| {
        move |made: &mut Made| {
            if made.record.trial.block == 1 {
                made.open().counts.bytes_received = 50_000 * bytes;
            }
        }
    };
    check(
        Gate::Inconsistent,
        Validity::Limited,
        &ALL,
        longer(220),
        longer(205),
    );
}

/// Of 15,000 requests sent in time, 982 got their responses after the window, so their bytes are
/// not counted.
#[test]
fn late_responses_do_not_make_responses_look_shorter() {
    let findings = three_blocks(|made| {
        let counts = &mut made.open().counts;
        (counts.intended, counts.sent, counts.completed) = (15_000, 15_000, 15_000);
        let is_late = made.record.trial.block == 1;
        let counts = &mut made.open().counts;
        counts.completed_in_window = if is_late { 14_018 } else { 15_000 };
        counts.bytes_received = counts.completed_in_window * 229;
    });
    let said = findings
        .trials
        .iter()
        .flat_map(|trial| &trial.reasons)
        .filter(|reason| reason.message.contains("bytes on average"));
    assert_eq!(said.count(), 0);
}
