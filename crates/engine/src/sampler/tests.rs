use std::collections::{BTreeMap, HashSet};

use serde_json::json;

use super::*;

fn data(sources: serde_json::Value) -> Arc<DataSet> {
    let sources: BTreeMap<_, _> = serde_json::from_value(sources).unwrap();
    Arc::new(DataSet::new(&sources).unwrap())
}

fn take(sampler: &mut Sampler, count: usize) -> Vec<String> {
    let next = |_| {
        sampler.advance(&[0]);
        let mut out = Vec::new();
        let (source, column) = (0, 0);
        sampler.write(Slot { source, column }, &mut out);
        String::from_utf8(out).unwrap()
    };
    (0..count).map(next).collect()
}

fn numbers(sources: serde_json::Value, count: usize) -> Vec<i64> {
    let mut sampler = Sampler::new(data(sources), 7, 0, 1);
    let parse = |text: &String| text.parse().unwrap();
    take(&mut sampler, count).iter().map(parse).collect()
}

#[test]
fn rows_in_turn_are_distributed_to_workers() {
    let data = data(json!({"a": {"list": {"values": ["0", "1", "2", "3", "4"]}}}));
    let of = |worker, workers| take(&mut Sampler::new(data.clone(), 1, worker, workers), 6);
    assert_eq!(of(0, 1), ["0", "1", "2", "3", "4", "0"]);
    assert_eq!(of(0, 2), ["0", "2", "4", "0", "2", "4"]);
    assert_eq!(of(1, 2), ["1", "3", "1", "3", "1", "3"]);
    assert_eq!(of(6, 7)[..2], ["1", "1"]);
    for workers in 1..=5 {
        let mut seen = HashSet::new();
        for worker in 0..workers {
            let own: HashSet<_> = of(worker, workers).into_iter().collect();
            assert!(own.is_disjoint(&seen));
            seen.extend(own);
        }
        assert_eq!(seen.len(), 5);
    }
}

#[test]
fn the_numbers_of_a_sequence_are_used_once() {
    let data = data(json!({"id": {"sequence": {"from": 10, "step": -2}}}));
    let of = |worker| take(&mut Sampler::new(data.clone(), 1, worker, 2), 3);
    assert_eq!(of(0), ["10", "6", "2"]);
    assert_eq!(of(1), ["8", "4", "0"]);
}

#[test]
fn uniform_numbers_are_equally_frequent() {
    let drawn = numbers(json!({"n": {"uniform": {"min": -2, "max": 2}}}), 50_000);
    for number in -2..=2 {
        let count = drawn.iter().filter(|it| **it == number).count() as f64;
        // The tolerance is six standard deviations of a count with p = 1/5.
        assert!(
            (count - 10_000.0).abs() < 6.0 * 8_000.0_f64.sqrt(),
            "{number}: {count}"
        );
    }
    assert!(drawn.iter().all(|it| (-2..=2).contains(it)));
}

#[test]
fn normal_numbers_have_their_mean_and_deviation() {
    let drawn = numbers(
        json!({"n": {"normal": {"mean": 1000, "standard_deviation": 50}}}),
        50_000,
    );
    let count = drawn.len() as f64;
    let mean = drawn.iter().sum::<i64>() as f64 / count;
    let variance = drawn
        .iter()
        .map(|it| (*it as f64 - mean).powi(2))
        .sum::<f64>()
        / count;
    assert!((mean - 1000.0).abs() < 6.0 * 50.0 / count.sqrt(), "{mean}");
    assert!(
        (variance.sqrt() - 50.0).abs() < 6.0 * 50.0 / (2.0 * count).sqrt(),
        "{variance}"
    );
}

/// Checks that every frequency is within about six standard deviations of k^-s ÷ Σ j^-s.
fn follows_zipf(ranks: &[i64], items: i64, exponent: f64) {
    let weight = |rank: i64| (rank as f64).powf(-exponent);
    let sum: f64 = (1..=items).map(weight).sum();
    let total = ranks.len() as f64;
    for rank in 1..=items {
        let expected = total * weight(rank) / sum;
        let count = ranks.iter().filter(|it| **it == rank).count() as f64;
        assert!(
            (count - expected).abs() < 6.0 * expected.sqrt() + 1.0,
            "{rank}: {count} of {expected}"
        );
    }
    assert!(ranks.iter().all(|it| (1..=items).contains(it)));
}

#[test]
fn zipf_follows_its_law() {
    for exponent in [0.0, 0.99, 1.0, 2.5] {
        let source = json!({"n": {"zipf": {"items": 40, "exponent": exponent}}});
        follows_zipf(&numbers(source, 50_000), 40, exponent);
    }
}

#[test]
fn rows_follow_the_same_distributions() {
    let values: Vec<i64> = (1..=30).collect();
    let list = |pick: &str| json!({"n": {"list": {"values": values, "pick": pick}}});
    follows_zipf(&numbers(list("zipf"), 50_000), 30, 1.0);
    follows_zipf(&numbers(list("uniform"), 50_000), 30, 0.0);
    let drawn = numbers(list("normal"), 20_000);
    let mean = drawn.iter().sum::<i64>() as f64 / 20_000.0;
    assert!(
        (mean - 15.5).abs() < 6.0 * 5.0 / 20_000.0_f64.sqrt(),
        "{mean}"
    );
    assert!(drawn.iter().all(|row| (1..=30).contains(row)));
}

#[test]
fn draws_depend_only_on_the_seed() {
    let source = json!({"n": {"uniform": {"min": 0, "max": 1_000_000}}});
    let data = data(source);
    let of = |seed, worker| take(&mut Sampler::new(data.clone(), seed, worker, 2), 5);
    assert_eq!(of(1, 0), of(1, 0));
    assert_ne!(of(1, 0), of(1, 1));
    assert_ne!(of(1, 0), of(2, 0));
}
