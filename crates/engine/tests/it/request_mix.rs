//! Tests the order in which a load chooses its requests.

use gatebench_engine::Mix;
use gatebench_model::Order;
use proptest::prelude::*;

#[test]
fn equal_weights_rotate_from_the_worker_on() {
    let mut mix = Mix::new(&[2.0; 3], Order::InTurn, 1, 4);
    let chosen: Vec<_> = (0..7).map(|_| mix.choose()).collect();
    assert_eq!(chosen, [1, 2, 0, 1, 2, 0, 1]);
}

#[test]
fn random_choices_depend_only_on_the_seed_and_follow_the_weights() {
    let drawn = |seed, worker| -> Vec<usize> {
        let mut mix = Mix::new(&[1.0, 2.0, 5.0], Order::Random, seed, worker);
        (0..8_000).map(|_| mix.choose()).collect()
    };
    let first = drawn(7, 0);
    assert_eq!(first, drawn(7, 0));
    assert_ne!(first, drawn(8, 0));
    assert_ne!(first, drawn(7, 1), "each worker makes its own choices");
    for (request, expected) in [1_000_i32, 2_000, 5_000].into_iter().enumerate() {
        let count = first.iter().filter(|it| **it == request).count() as i32;
        // The tolerance is more than five standard deviations of a binomial count.
        assert!((count - expected).abs() < 230, "{count} of {expected}");
    }
    let follows_itself = first.windows(2).filter(|it| it[0] == it[1]).count();
    assert!(
        follows_itself > 3_000,
        "the same request may be chosen twice in a row"
    );
}

proptest! {
    /// For n requests with interleaved strides, the number of times that a request is chosen
    /// differs from its share by at most 1 + n·w ÷ Σw, where w is the request's weight. The
    /// request's own stride contributes less than 1. The rest is its part of the differences of all
    /// n requests, each of which is less than 1.
    #[test]
    fn each_request_keeps_its_share(
        weights in prop::collection::vec(0.01..100.0_f64, 2..8), seed in any::<u64>()
    ) {
        let mut mix = Mix::new(&weights, Order::InTurn, seed, 0);
        let sum: f64 = weights.iter().sum();
        let mut counts = vec![0.0_f64; weights.len()];
        for chosen in 1..=2_000 {
            counts[mix.choose()] += 1.0;
            for (count, weight) in counts.iter().zip(&weights) {
                let part = f64::from(chosen) * weight / sum;
                let bound = 1.0 + weights.len() as f64 * weight / sum;
                prop_assert!((count - part).abs() <= bound, "{count} of {part}");
            }
        }
    }
}
