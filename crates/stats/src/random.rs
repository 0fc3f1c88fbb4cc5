//! Random numbers from a seed, which are the same on every machine.
//!
//! Source: G. L. Steele, D. Lea, C. H. Flood, *Fast Splittable Pseudorandom Number Generators*,
//! OOPSLA 2014 (SplitMix64); D. Lemire, *Fast Random Integer Generation in an Interval*, ACM
//! Transactions on Modeling and Computer Simulation 29(1), 2019 (multiplication instead of
//! division).

/// The SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    pub fn seeded(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random index below `count`. The bias of `count` ÷ 2⁶⁴ is far too small to matter
    /// for resampling.
    pub fn index(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }

    /// Returns a random number above 0 and at most 1. Rounding yields exactly 1 with probability
    /// 2⁻⁵³.
    pub fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Shuffles the values so that every order is equally likely.
    ///
    /// Source: R. A. Fisher, F. Yates, *Statistical Tables*, 1938; R. Durstenfeld, Communications
    /// of the ACM 7(7), 1964.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.index(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference_implementation() {
        let mut random = Random::seeded(1_234_567);
        let found = [random.next(), random.next(), random.next()];
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(found, expected);
    }
}
