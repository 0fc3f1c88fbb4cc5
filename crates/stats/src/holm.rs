//! Holm's step-down correction for many comparisons at once.
//!
//! Source: S. Holm, *A Simple Sequentially Rejective Multiple Test Procedure*, Scandinavian Journal of
//! Statistics 6(2), 1979, pages 65 to 70.

/// The level at which each hypothesis is tested so that one or more true ones of all are rejected
/// with a probability of at most `alpha`, in the order of `p_values`.
///
/// The smallest p is held against `alpha` ÷ m, the next against `alpha` ÷ (m − 1) and so on, up to
/// the first that is not below its level; this one and all larger ones share its level. A hypothesis
/// is therefore rejected exactly where its p is at most its level, so that an interval at the
/// confidence 1 − level excludes zero exactly where Holm's procedure rejects.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rejected(p_values: &[f64]) -> Vec<bool> {
        let levels = levels(p_values, 0.05);
        let pairs = p_values.iter().zip(levels);
        pairs.map(|(p, level)| *p <= level).collect()
    }

    #[test]
    fn the_published_example_rejects_three_of_fifteen() {
        // Y. Benjamini, Y. Hochberg, Controlling the False Discovery Rate, J. R. Statist. Soc. B
        // 57(1), 1995: of the fifteen p values of a trial of thrombolysis, the procedures
        // that control the familywise error reject three.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0000,
        ];
        let found = rejected(&p_values);
        assert_eq!(found.iter().filter(|rejected| **rejected).count(), 3);
        assert!(found[..3].iter().all(|rejected| *rejected));
    }

    #[test]
    fn the_procedure_stops_at_the_first_that_stands() {
        // Levels 0.0125 and 0.0167 for the two smallest; 0.03 stands against 0.025, and with it 0.04,
        // although that is below 0.05.
        let p_values = [0.01, 0.04, 0.03, 0.005];
        assert_eq!(rejected(&p_values), [true, false, false, true]);
        let levels = levels(&p_values, 0.05);
        assert_eq!(levels, [0.05 / 3.0, 0.025, 0.025, 0.0125]);
    }

    #[test]
    fn one_comparison_needs_no_correction() {
        assert_eq!(levels(&[0.3], 0.05), [0.05]);
        assert_eq!(levels(&[], 0.05), Vec::<f64>::new());
    }

    proptest! {
        #[test]
        fn levels_lie_between_bonferronis_and_alpha(
            p_values in prop::collection::vec(0.0_f64..1.0, 1..40),
        ) {
            let bonferroni = 0.05 / p_values.len() as f64;
            for (p, level) in p_values.iter().zip(levels(&p_values, 0.05)) {
                prop_assert!((bonferroni..=0.05).contains(&level));
                prop_assert!(*p > bonferroni || *p <= level, "rejected by Bonferroni, not by Holm");
            }
        }
    }
}
