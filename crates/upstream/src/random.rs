//! Numbers that look random but are the same in every run, from SplitMix64 (Steele, Lea, Flood
//! 2014).

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::seed_from_u64(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns true with a probability of `percent` percent.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_published_reference() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn the_percentage_is_kept() {
        let mut random = Random::new(1);
        let hits = (0..10_000).filter(|_| random.percent(30)).count();
        assert!((2800..3200).contains(&hits), "{hits}");
        assert!((0..100).all(|_| random.percent(100) && !random.percent(0)));
    }
}
