//! Computes the distance from zero beyond which a mean counts as an effect at each look, so that
//! all looks together have the error rate of a single test.
//!
//! Sources: K. K. G. Lan, D. L. DeMets, *Discrete Sequential Boundaries for Clinical Trials*,
//! Biometrika 70(3), 1983 (spending); K. Kim, D. L. DeMets, *Design and Analysis of Group
//! Sequential Tests Based on the Type I Error Spending Rate Function*, Biometrika 74(1), 1987 (the
//! power family); P. Armitage, C. K. McPherson, B. C. Rowe, *Repeated Significance Tests on
//! Accumulating Data*, Journal of the Royal Statistical Society A 132(2), 1969 (the integral over
//! the paths that have not crossed yet).

use crate::bisection::bisect;
use crate::normal;

/// A function that distributes the error rate over the blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spending {
    /// α tᵖ, where t is the share of the planned blocks that are done. With p = 1, the rate is
    /// spent evenly; with p = 3, it is spent late.
    Power(f64),
    /// 4 − 4 Φ(z ÷ √t), where α ÷ 4 is the probability beyond z. As with the boundary of O'Brien
    /// and Fleming, almost nothing is spent early.
    OBrienFleming,
}

impl Spending {
    /// Returns the part of the error rate `alpha` that is spent when the share `t` (0 to 1) of the
    /// planned blocks is done.
    pub fn spent(self, alpha: f64, t: f64) -> f64 {
        match self {
            Self::Power(power) => alpha * t.powf(power),
            Self::OBrienFleming => {
                4.0 * normal::beyond(normal::beyond_inverse(alpha / 4.0) / t.sqrt())
            }
        }
    }
}

/// The maximum distance between the points of a density, in standard deviations of one block.
const STEP: f64 = 0.25;

/// The number of standard deviations beyond which the density of a block is negligible.
const REACH: f64 = 9.0;

/// The farthest boundary, in standard errors. The probability beyond it, on one side, is below
/// 1e-14.
const FARTHEST: f64 = 7.7;

/// Returns the boundary at each look, in standard errors of the mean of normal values with known
/// variance. `looks` contains the number of blocks at each look in ascending order; the last is the
/// planned number.
pub(super) fn boundaries(looks: &[usize], alpha: f64, spending: Spending) -> Vec<f64> {
    let Some(planned) = looks.last().map(|last| *last as f64) else {
        return Vec::new();
    };
    let mut sums = Density::at_zero();
    let (mut spent_before, mut blocks_before) = (0.0, 0);
    let mut found = Vec::with_capacity(looks.len());
    for blocks in looks {
        let spent = spending.spent(alpha, *blocks as f64 / planned);
        let error = (*blocks as f64).sqrt();
        let deviation = ((blocks - blocks_before) as f64).sqrt();
        let farthest = FARTHEST * error;
        let boundary = sums.boundary(spent - spent_before, deviation, farthest);
        sums = sums.moved_on(boundary, deviation);
        (spent_before, blocks_before) = (spent, *blocks);
        found.push(boundary / error);
    }
    found
}

/// The density, symmetric around zero, of the sum of the blocks so far, over the paths that have
/// not crossed a boundary.
struct Density {
    /// The points, each with its density times its weight in Simpson's rule.
    points: Vec<(f64, f64)>,
}

impl Density {
    fn at_zero() -> Self {
        Self {
            points: vec![(0.0, 1.0)],
        }
    }

    /// Returns the boundary that is crossed with probability `crossing` after more blocks whose sum
    /// has this standard deviation.
    fn boundary(&self, crossing: f64, deviation: f64, farthest: f64) -> f64 {
        let is_far_enough = |distance| self.crosses(distance, deviation) <= crossing;
        bisect(0.0, farthest, 50, is_far_enough)
    }

    /// Returns the probability of being beyond `boundary`, on either side, after more blocks whose
    /// sum has this standard deviation.
    fn crosses(&self, boundary: f64, deviation: f64) -> f64 {
        let near = self.near(boundary, deviation);
        let upper = near.map(|(u, mass)| mass * normal::beyond((boundary - u) / deviation));
        2.0 * upper.sum::<f64>()
    }

    /// Returns the density within the boundary after more blocks whose sum has this standard
    /// deviation.
    fn moved_on(&self, boundary: f64, deviation: f64) -> Self {
        let halves = (boundary / STEP / 2.0).ceil().max(1.0) as usize * 2;
        let step = boundary / halves as f64;
        let point = |i: usize| {
            let x = (i as f64 - halves as f64) * step;
            let arrived = self.near(x, deviation);
            let density: f64 = arrived
                .map(|(u, mass)| mass * normal::density((x - u) / deviation) / deviation)
                .sum();
            let weight = match i {
                0 => 1.0,
                _ if i == 2 * halves => 1.0,
                _ if i % 2 == 1 => 4.0,
                _ => 2.0,
            };
            (x, weight * step / 3.0 * density)
        };
        Self {
            points: (0..=2 * halves).map(point).collect(),
        }
    }

    /// Returns the points from which more blocks, whose sum has this standard deviation, can reach
    /// `x`.
    fn near(&self, x: f64, deviation: f64) -> impl Iterator<Item = (f64, f64)> {
        let reach = REACH * deviation;
        let from = self.points.partition_point(|(u, _)| *u < x - reach);
        let points = self.points[from..].iter().copied();
        points.take_while(move |(u, _)| *u <= x + reach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_looks_have_the_published_boundaries() {
        // D. M. Reboussin, D. L. DeMets, K. Kim, K. K. G. Lan, Computations for Group Sequential
        // Boundaries Using the Lan-DeMets Spending Function Method, Controlled Clinical Trials
        // 21(3), 2000.
        let found = boundaries(&[20, 40, 60, 80, 100], 0.05, Spending::OBrienFleming);
        let published = [4.877, 3.357, 2.680, 2.290, 2.031];
        for (found, expected) in found.iter().zip(published) {
            assert!((found - expected).abs() < 6e-4, "{found} for {expected}");
        }
    }

    #[test]
    fn a_look_after_every_block_has_the_boundaries_of_a_finer_integral() {
        // With numpy 2 and scipy 1.17.1, where f(b) is the probability of crossing b, p is the
        // density at x, and d is √(blocks since the previous look):
        //   f = lambda b: 2 * np.sum(w * p * norm.sf((b - x) / d))
        //   b = brentq(lambda b: f(b) - (.05 * (n / 20)**2 - spent), 0, 8 * np.sqrt(n), xtol=1e-12)
        //   x = np.linspace(-b, b, 2 * int(b / .005) + 1)   # w: trapezoidal weights
        //   p = np.array([np.sum(w * p * norm.pdf((v - x) / d)) / d for v in x])
        let found = boundaries(&(10..=20).collect::<Vec<_>>(), 0.05, Spending::Power(2.0));
        let expected = [
            2.497_705, 2.580_094, 2.556_032, 2.516_375, 2.472_439, 2.427_533, 2.382_890, 2.339_010,
            2.296_092, 2.254_198, 2.213_327,
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{found} for {expected}");
        }
    }

    #[test]
    fn one_look_is_an_ordinary_test() {
        let found = boundaries(&[10], 0.05, Spending::Power(2.0));
        assert!((found[0] - 1.959_964).abs() < 1e-5, "{found:?}");
        assert!(boundaries(&[], 0.05, Spending::OBrienFleming).is_empty());
    }

    #[test]
    fn the_planned_error_rate_is_spent() {
        for spending in [Spending::Power(2.0), Spending::OBrienFleming] {
            assert!((spending.spent(0.05, 1.0) - 0.05).abs() < 1e-12);
            assert!(spending.spent(0.05, 0.5) < 0.025);
        }
    }
}
