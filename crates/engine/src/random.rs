//! Random numbers for workers. From one seed, every worker gets a separate sequence for every use.

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// The generator, xoshiro256++ (Blackman and Vigna 2021, <https://doi.org/10.1145/3460772>).
pub(crate) type Random = Xoshiro256PlusPlus;

/// A use of random numbers. Uses are independent: for example, changing the data does not change
/// the arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Gaps between arrivals.
    Arrivals,
    Think,
    /// Values in templates.
    Data,
    /// The choice of the next request.
    Mix,
}

pub(crate) fn generator(seed: u64, purpose: Use, worker: usize) -> Random {
    Random::seed_from_u64(derive(derive(seed, purpose as u64), worker as u64))
}

/// Derives a seed for part number `part`, such as one group of a load, from `seed`.
pub(crate) fn derive(seed: u64, part: u64) -> u64 {
    let mixed = SplitMix64::seed_from_u64(part).next_u64();
    SplitMix64::seed_from_u64(seed ^ mixed).next_u64()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_worker_and_use_has_its_own_reproducible_sequence() {
        let uses = [Use::Arrivals, Use::Think, Use::Data, Use::Mix];
        let first = |seed, purpose, worker| generator(seed, purpose, worker).next_u64();
        let mut seen = HashSet::new();
        for seed in 0..10 {
            for purpose in uses {
                for worker in 0..10 {
                    assert!(seen.insert(first(seed, purpose, worker)));
                }
            }
        }
        assert_eq!(first(3, Use::Data, 2), first(3, Use::Data, 2));
    }
}
