//! Chooses the next request.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use gatebench_model::Order;
use rand_distr::weighted::WeightedAliasIndex;
use rand_distr::{Distribution, StandardUniform};

use crate::random::{Random, Use, generator};

/// Chooses requests by their weights. Requests sent in turn are spread evenly. Equal weights result
/// in a plain rotation, others in a stride schedule (Waldspurger and Weihl, 1995, "Stride
/// Scheduling"), whose first strides begin at offsets drawn from the seed. Requests sent at random
/// are drawn from a table (Walker's alias method) in constant time.
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

/// A request with the stride that its weight determines. `pass` is its next position on an axis
/// whose unit is one request; the request with the lowest position is next.
#[derive(Clone, Copy, Debug)]
struct Stride {
    pass: f64,
    length: f64,
    request: usize,
}

impl Mix {
    /// There must be at least one weight, and all must be above zero.
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
