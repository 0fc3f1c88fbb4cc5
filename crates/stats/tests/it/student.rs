use gatebench_stats::student::{cdf, quantile};
use proptest::prelude::*;

/// Upper critical values from the NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2.
const TABLE: [(f64, f64, f64); 12] = [
    (0.975, 1.0, 12.706),
    (0.975, 2.0, 4.303),
    (0.975, 4.0, 2.776),
    (0.975, 9.0, 2.262),
    (0.975, 10.0, 2.228),
    (0.975, 19.0, 2.093),
    (0.975, 30.0, 2.042),
    (0.975, 100.0, 1.984),
    (0.95, 9.0, 1.833),
    (0.99, 9.0, 2.821),
    (0.995, 9.0, 3.250),
    (0.999, 9.0, 4.297),
];

#[test]
fn quantiles_match_the_published_table() {
    for (probability, freedom, expected) in TABLE {
        let found = quantile(probability, freedom);
        assert!(
            (found - expected).abs() < 6e-4,
            "t({probability}, {freedom}) = {found}"
        );
    }
}

#[test]
fn one_degree_of_freedom_is_cauchy() {
    for t in [-3.0_f64, -0.5, 0.0, 0.1, 2.0, 50.0] {
        let cauchy = 0.5 + t.atan() / std::f64::consts::PI;
        assert!((cdf(t, 1.0) - cauchy).abs() < 1e-12, "at {t}");
    }
}

proptest! {
    #[test]
    fn quantile_inverts_cdf(probability in 0.5001_f64..0.9999, freedom in 1.0_f64..200.0) {
        prop_assert!((cdf(quantile(probability, freedom), freedom) - probability).abs() < 1e-9);
    }

    #[test]
    fn cdf_is_symmetric(t in 0.0_f64..50.0, freedom in 1.0_f64..200.0) {
        prop_assert!((cdf(t, freedom) + cdf(-t, freedom) - 1.0).abs() < 1e-12);
    }
}
