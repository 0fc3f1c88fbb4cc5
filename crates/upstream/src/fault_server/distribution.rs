//! Service times that look random but are a function of the seed and the request's number, so the
//! correct result of a measurement is known in advance.

use crate::random::Random;

/// The shape of the Pareto distribution: the tail is heavy, but the mean and the variance exist.
const PARETO_SHAPE: f64 = 2.5;

/// A distribution of service times with a given mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform from 0 to twice the mean.
    Uniform { mean_ns: u64 },
    /// Exponential: −mean · ln(1 − u).
    Exponential { mean_ns: u64 },
    /// Pareto: scale · (1 − u)^(−1/2.5), where the scale is 0.6 of the mean.
    Pareto { mean_ns: u64 },
}

impl Distribution {
    pub(super) fn read(name: &str, mean_ns: u64) -> Option<Self> {
        Some(match name {
            "uniform" => Self::Uniform { mean_ns },
            "exponential" => Self::Exponential { mean_ns },
            "pareto" => Self::Pareto { mean_ns },
            _ => return None,
        })
    }

    /// Returns the draw with this index, in nanoseconds, by the inverse distribution function.
    pub(super) fn draw_ns(self, seed: u64, index: u64) -> u64 {
        self.inverse_ns(uniform(seed, index)).round() as u64
    }

    fn inverse_ns(self, u: f64) -> f64 {
        match self {
            Self::Uniform { mean_ns } => 2.0 * mean_ns as f64 * u,
            Self::Exponential { mean_ns } => -(mean_ns as f64) * (-u).ln_1p(),
            Self::Pareto { mean_ns } => {
                let scale_ns = mean_ns as f64 * (PARETO_SHAPE - 1.0) / PARETO_SHAPE;
                scale_ns * (1.0 - u).powf(-1.0 / PARETO_SHAPE)
            }
        }
    }
}

/// Returns the number in [0, 1) with this index, from the upper 53 bits of SplitMix64 at that
/// position in its sequence.
fn uniform(seed: u64, index: u64) -> f64 {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut random = Random::new(seed.wrapping_add(index.wrapping_mul(GAMMA)));
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN_NS: u64 = 1_000_000;

    #[test]
    fn the_inverse_is_right_at_known_values() {
        let uniform = Distribution::Uniform { mean_ns: MEAN_NS };
        let exponential = Distribution::Exponential { mean_ns: MEAN_NS };
        let pareto = Distribution::Pareto { mean_ns: MEAN_NS };
        assert_eq!(uniform.inverse_ns(0.25), 500_000.0);
        // The median of an exponential distribution is ln 2 times its mean.
        assert_eq!(exponential.inverse_ns(0.5).round(), 693_147.0);
        assert_eq!(exponential.inverse_ns(0.0), 0.0);
        // The scale is the minimum. At 1 − 2^−2.5, the value is twice the scale.
        assert_eq!(pareto.inverse_ns(0.0), 600_000.0);
        let doubled = pareto.inverse_ns(1.0 - 2_f64.powf(-2.5));
        assert_eq!(doubled.round(), 1_200_000.0);
    }

    #[test]
    fn draws_follow_the_generator_and_keep_the_mean() {
        let mut random = Random::new(7);
        for index in 0..100 {
            let next = (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
            assert_eq!(uniform(7, index), next);
        }
        let distribution = Distribution::Exponential { mean_ns: MEAN_NS };
        let sum: u64 = (0..100_000)
            .map(|index| distribution.draw_ns(1, index))
            .sum();
        assert!((980_000..1_020_000).contains(&(sum / 100_000)), "{sum}");
    }
}
