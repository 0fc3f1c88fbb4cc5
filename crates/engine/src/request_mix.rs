//! Which request is next.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use gatebench_model::Order;
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Distribution, StandardUniform};

use crate::random::{Random, Use, generator};

/// Chooses requests by their weights. In turn, each is as evenly spread as can be: equal weights are a plain
/// rotation; others are a stride schedule (Waldspurger and Weihl, "Stride Scheduling", 1995) whose
/// first strides begin anywhere, by the seed. At random, each choice is drawn from a table (Walker's alias method),
/// in the same time however many requests there are.
#[derive(Clone, Debug)]
pub struct Mix {
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Rotation {
        next: usize,
        count: usize,
    },
    Strides(BinaryHeap<Reverse<Stride>>),
    Drawn {
        table: WeightedAliasIndex<f64>,
        random: Random,
    },
}

/// A request, and when it is its turn on an axis on which one unit is one request.
#[derive(Clone, Copy, Debug)]
struct Stride {
    pass: f64,
    length: f64,
    request: usize,
}

impl Mix {
    /// The mix of one worker. There is at least one weight, and all are above zero.
    pub fn new(weights: &[f64], order: Order, seed: u64, worker: usize) -> Self {
        let count = weights.len().max(1);
        if order == Order::Random
            && let Ok(table) = WeightedAliasIndex::new(weights.to_vec())
        {
            let random = generator(seed, Use::Mix, worker);
            return Self {
                kind: Kind::Drawn { table, random },
            };
        }
        if weights.iter().all(|weight| *weight == weights[0]) {
            let next = worker % count;
            return Self {
                kind: Kind::Rotation { next, count },
            };
        }
        let mut random = generator(seed, Use::Mix, worker);
        let sum: f64 = weights.iter().sum();
        let strides = weights.iter().enumerate().map(|(request, weight)| {
            let begin: f64 = StandardUniform.sample(&mut random);
            let length = sum / weight;
            Reverse(Stride {
                pass: begin * length,
                length,
                request,
            })
        });
        Self {
            kind: Kind::Strides(strides.collect()),
        }
    }

    /// The number of the next request.
    pub fn choose(&mut self) -> usize {
        match &mut self.kind {
            Kind::Rotation { next, count } => {
                let chosen = *next;
                *next = if chosen + 1 == *count { 0 } else { chosen + 1 };
                chosen
            }
            Kind::Strides(strides) => match strides.peek_mut() {
                Some(mut first) => {
                    let chosen = first.0.request;
                    first.0.pass += first.0.length;
                    chosen
                }
                None => 0,
            },
            Kind::Drawn { table, random } => table.sample(random),
        }
    }
}

impl Ord for Stride {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_pass = self.pass.total_cmp(&other.pass);
        by_pass.then_with(|| self.request.cmp(&other.request))
    }
}

impl PartialOrd for Stride {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Stride {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Stride {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_weights_rotate_from_the_worker_on() {
        let mut mix = Mix::new(&[2.0; 3], Order::InTurn, 1, 4);
        let chosen: Vec<_> = (0..7).map(|_| mix.choose()).collect();
        assert_eq!(chosen, [1, 2, 0, 1, 2, 0, 1]);
    }

    #[test]
    fn random_choices_are_the_seeds_alone_and_follow_the_weights() {
        let drawn = |seed, worker| -> Vec<usize> {
            let mut mix = Mix::new(&[1.0, 2.0, 5.0], Order::Random, seed, worker);
            (0..8_000).map(|_| mix.choose()).collect()
        };
        let first = drawn(7, 0);
        assert_eq!(first, drawn(7, 0));
        assert_ne!(first, drawn(8, 0));
        assert_ne!(first, drawn(7, 1), "workers choose by themselves");
        for (request, expected) in [1_000_i32, 2_000, 5_000].into_iter().enumerate() {
            let count = first.iter().filter(|it| **it == request).count() as i32;
            // More than five standard deviations of a binomial count.
            assert!((count - expected).abs() < 230, "{count} of {expected}");
        }
        let follows_itself = first.windows(2).filter(|it| it[0] == it[1]).count();
        assert!(follows_itself > 3_000, "a choice may follow itself");
    }

    proptest! {
        /// In n interleaved strides a request is off by less than one of its own, and by its part of
        /// what the others are off, which is less than one each.
        #[test]
        fn each_request_keeps_to_its_part(
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
}
