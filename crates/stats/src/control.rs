//! The noise of a machine, seen in work that is the same under both variants, and taken out of what differs.
//!
//! Where a machine is shared, the processor time of the same work changes by a tenth and more from minute to
//! minute, and that of everything that runs in the same seconds changes with it. What a block's log ratio of a
//! control is (for a gateway: the upstream's processor time for the same requests) therefore tells how much of
//! the log ratio in question is the machine's. The effect is what a straight line through the blocks says at a
//! control that did not differ. It is right only where the variants do not make the control differ by
//! themselves.
//!
//! Sources: W. G. Cochran, *Analysis of Covariance: Its Nature and Uses*, Biometrics 13(3), 1957; A. Deng, Y. Xu, R. Kohavi,
//! T. Walker, *Improving the Sensitivity of Online Controlled Experiments by Utilizing Pre-Experiment Data*, WSDM
//! 2013; the standard error of the line at a point: N. R. Draper, H. Smith, *Applied Regression Analysis*, 1998,
//! section 1.4.

use crate::comparison::Spread;
use crate::student;

/// Fewest blocks that carry a line and its error.
const BLOCKS_MIN: usize = 5;

/// Logarithms that differ by less are the same.
const SAME: f64 = 1e-12;

impl Spread {
    /// Mean and deviation of `values` at a control of zero. Scaled so that what is made of them by blocks less one
    /// degrees of freedom is what belongs to blocks less two, the line having cost one, at the usual confidence.
    /// None where there are too few blocks, or the control is the same in all.
    pub(crate) fn beside(values: &[f64], control: &[f64]) -> Option<Self> {
        let count = values.len();
        if count != control.len() || count < BLOCKS_MIN {
            return None;
        }
        let n = count as f64;
        let (mean, centre) = (mean_of(values), mean_of(control));
        let squares = control.iter().map(|x| (x - centre).powi(2)).sum::<f64>();
        let products = values.iter().zip(control);
        let products: f64 = products.map(|(y, x)| (y - mean) * (x - centre)).sum();
        // What rounding alone makes of equal logarithms is no line.
        if squares <= n * (SAME * centre.abs().max(1.0)).powi(2) {
            return None;
        }
        let slope = products / squares;
        let at_zero = mean - slope * centre;
        let left = values.iter().zip(control);
        let left: f64 = left.map(|(y, x)| (y - at_zero - slope * x).powi(2)).sum();
        let variance = left / (n - 2.0);
        let error = (variance * (1.0 / n + centre * centre / squares)).sqrt();
        let freedom = student::quantile(0.975, n - 2.0) / student::quantile(0.975, n - 1.0);
        Some(Self::with(at_zero, error * freedom * n.sqrt()))
    }
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::simulate::Noise;
    use crate::verdict::Verdict;
    use crate::{Direction, Pair, Sequential};

    #[test]
    fn the_line_and_its_error_are_those_of_another_program() {
        // scipy 1.17.1: r = linregress(x, y); r.intercept, r.intercept_stderr
        let control = [0.10, -0.05, 0.20, 0.00, -0.10, 0.15];
        let values = [0.13, 0.00, 0.18, 0.03, -0.06, 0.16];
        let found = Spread::beside(&values, &control).unwrap();
        assert!(
            (found.mean - 0.032_619_047_619_047_61).abs() < 1e-12,
            "{}",
            found.mean
        );
        let freedom = student::quantile(0.975, 4.0) / student::quantile(0.975, 5.0);
        let error = found.deviation() / 6.0_f64.sqrt() / freedom;
        assert!((error - 0.006_031_615_495_663_475).abs() < 1e-9, "{error}");
    }

    #[test]
    fn a_control_that_says_nothing_is_none() {
        assert!(Spread::beside(&[0.1; 10], &[0.0; 10]).is_none());
        // The mean of ten times 0.1 is not 0.1 in binary.
        let values = [0.1, 0.2, 0.1, 0.3, 0.1, 0.2, 0.1, 0.4, 0.1, 0.2];
        assert!(Spread::beside(&values, &[0.1; 10]).is_none());
        assert!(Spread::beside(&[0.1; 4], &[0.0, 0.1, 0.2, 0.3]).is_none());
        assert!(Spread::beside(&[0.1; 10], &[0.1; 9]).is_none());
    }

    /// Shares of runs of forty blocks that found a difference, by the control and without.
    fn found(effect: f64, shared: f64, runs: usize) -> (f64, f64) {
        let plan = Sequential::plan(40, 0.05).unwrap();
        let mut noise = Noise::seeded(5);
        let (mut beside, mut alone) = (0, 0);
        for _ in 0..runs {
            let (mut values, mut control) = (Vec::new(), Vec::new());
            for _ in 0..40 {
                let machine = shared * noise.heavy();
                values.push((effect + machine + 0.05 * noise.normal()).exp());
                control.push((0.9 * machine + 0.05 * noise.normal()).exp());
            }
            let pair = |candidate: &[f64]| Pair {
                baseline: vec![1.0; candidate.len()],
                candidate: candidate.to_vec(),
                direction: Direction::LowerIsBetter,
            };
            let differs = |verdict| matches!(verdict, Verdict::Better | Verdict::Worse);
            let mut seen = [false; 2];
            for blocks in 10..=40 {
                let (pair, control) = (pair(&values[..blocks]), pair(&control[..blocks]));
                let looks = [
                    plan.look_beside(&pair, &control, 0.02).unwrap(),
                    plan.look(&pair, 0.02).unwrap(),
                ];
                for (seen, look) in seen.iter_mut().zip(looks) {
                    *seen |= differs(look.comparison.verdict);
                }
            }
            beside += usize::from(seen[0]);
            alone += usize::from(seen[1]);
        }
        (beside as f64 / runs as f64, alone as f64 / runs as f64)
    }

    #[test]
    fn equal_variants_stay_equal_and_small_effects_are_found_sooner() {
        let (wrong, _) = found(0.0, 0.15, 400);
        // One standard error of 400 runs is 1.1 per cent.
        assert!(wrong <= 0.075, "{wrong}");
        let (beside, alone) = found(0.05, 0.15, 100);
        assert!(beside > 0.8 && alone < 0.75, "{beside} {alone}");
    }
}
