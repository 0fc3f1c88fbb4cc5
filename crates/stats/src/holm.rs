//! Holm's step-down correction for many comparisons at once.
//!
//! Source: S. Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, Scandinavian Journal
//! of Statistics 6(2), 1979, pages 65 to 70.

/// Returns the level at which each hypothesis is tested, in the order of `p_values`. With these
/// levels, the probability of rejecting one or more true hypotheses is at most `alpha`.
///
/// The smallest of m p-values is compared with `alpha` ÷ m, the next with `alpha` ÷ (m − 1) and so
/// on, up to the first that exceeds its level. All larger p-values get the same level as that one.
/// A hypothesis is therefore rejected if and only if its p-value is at most its level. The interval
/// of the same test, at the confidence 1 − level, excludes zero if and only if Holm's procedure
/// rejects the hypothesis.
pub fn levels(p_values: &[f64], alpha: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut levels = vec![alpha; p_values.len()];
    let mut stopped_at = None;
    for (rank, index) in order.into_iter().enumerate() {
        let level = stopped_at.unwrap_or(alpha / (p_values.len() - rank) as f64);
        levels[index] = level;
        if p_values[index] > level {
            stopped_at = Some(level);
        }
    }
    levels
}
