//! A control that the candidate cannot influence: the baseline's second process in the same block.
//!
//! A covariate removes the machine's noise from an effect only if the variants do not influence the
//! covariate. The upstream's CPU time is not suitable, because the variants influence it. On
//! loopback, some of the gateway's receive processing is charged to the upstream, and the number of
//! requests that the upstream handles per wake-up depends on the gateway's pace. If the values of
//! two equal gateways were adjusted for a control that differs by 2 % between them, 94 to 99 % of
//! simulated runs would find a difference.
//!
//! The baseline's second process, in contrast, runs the same program at the same time as the first.
//! Its weight need not be fitted, because the two processes are exchangeable. Equal weights
//! minimize the variance, and the candidate's distance from the mean of the two processes is
//! uncorrelated with the distance between the two, which shows whether the machine was stable.
//!
//! Source: W. G. Cochran, *Analysis of Covariance: Its Nature and Uses*, Biometrics 13(3), 1957,
//! section 1.3 (a covariate that the treatment affects).

use crate::comparison::Pair;

impl Pair {
    /// Returns this pair with the baseline replaced, block by block, by the geometric mean of the
    /// baseline and its second process; `None` if the numbers of blocks differ.
    pub fn with_again(&self, again: &[f64]) -> Option<Self> {
        if again.len() != self.baseline.len() {
            return None;
        }
        let both = self.baseline.iter().zip(again);
        Some(Self {
            // Each root is taken separately, because the product of two values may be out of range
            // even if both values are in range.
            baseline: both.map(|(one, two)| one.sqrt() * two.sqrt()).collect(),
            ..self.clone()
        })
    }
}
