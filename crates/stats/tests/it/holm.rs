use gatebench_stats::holm::levels;
use proptest::prelude::*;

fn rejected(p_values: &[f64]) -> Vec<bool> {
    let levels = levels(p_values, 0.05);
    let pairs = p_values.iter().zip(levels);
    pairs.map(|(p, level)| *p <= level).collect()
}

#[test]
fn the_published_example_rejects_three_of_fifteen() {
    // Y. Benjamini, Y. Hochberg, Controlling the False Discovery Rate, J. R. Statist. Soc. B 57(1),
    // 1995: of the fifteen p-values of a trial of thrombolysis, the procedures that control the
    // familywise error rate reject three hypotheses.
    let p_values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0000,
    ];
    let found = rejected(&p_values);
    assert_eq!(found.iter().filter(|rejected| **rejected).count(), 3);
    assert!(found[..3].iter().all(|rejected| *rejected));
}

#[test]
fn the_procedure_stops_at_the_first_that_is_kept() {
    // The two smallest p-values have levels of 0.0125 and 0.0167. The third, 0.03, exceeds its
    // level of 0.025, so 0.04 is not rejected either, although it is below 0.05.
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
    fn levels_are_between_bonferronis_and_alpha(
        p_values in prop::collection::vec(0.0_f64..1.0, 1..40),
    ) {
        let bonferroni = 0.05 / p_values.len() as f64;
        for (p, level) in p_values.iter().zip(levels(&p_values, 0.05)) {
            prop_assert!((bonferroni..=0.05).contains(&level));
            prop_assert!(*p > bonferroni || *p <= level, "rejected by Bonferroni, but not by Holm");
        }
    }
}
