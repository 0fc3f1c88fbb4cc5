use gatebench_stats::bootstrap::mean_interval;
use gatebench_stats::random::Random;
use gatebench_stats::simulate::Noise;
use gatebench_stats::student;

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// The degrees of freedom at which Student's t equals the normal distribution to six decimal
/// places.
const NORMAL: f64 = 1e6;

fn student_interval(values: &[f64], confidence: f64) -> (f64, f64) {
    let (mean, error) = mean_and_error(values);
    let freedom = (values.len() - 1) as f64;
    let half = student::quantile(0.5 + confidence / 2.0, freedom) * error;
    (mean - half, mean + half)
}

/// Returns the number of families in which at least one interval excludes zero at Bonferroni's
/// level, where Holm's procedure starts. Each comparison in a family has 20 blocks without an
/// effect.
fn families_in_error(comparisons: usize, families: u64) -> usize {
    let confidence = 1.0 - 0.05 / comparisons as f64;
    let is_wrong = |family: &u64| {
        let mut noise = Noise::seeded(*family);
        (0..comparisons).any(|at| {
            let values: Vec<f64> = (0..20).map(|_| noise.normal()).collect();
            let (mean, error) = mean_and_error(&values);
            // At this confidence, the half-width of every interval exceeds 3.6 standard errors.
            // Skip the intervals that therefore contain zero, because each takes milliseconds to
            // compute.
            mean.abs() > 3.6 * error && {
                let (low, high) = mean_interval(&values, confidence, at as u64);
                low > 0.0 || high < 0.0
            }
        })
    };
    (0..families).filter(is_wrong).count()
}

#[test]
fn many_comparisons_together_are_wrong_in_one_family_of_twenty() {
    // At an error rate of 5 %, 10 of 200 and 7.5 of 150 families are wrong on average, and one test
    // run in a hundred finds more than 18 of 200 or more than 15 of 150. The bootstrap alone has
    // error rates of 13 % and 30 %, which are 26 and 45 families.
    let (many, more) = (families_in_error(200, 200), families_in_error(552, 150));
    assert!(many <= 18, "{many} of 200 families of 200");
    assert!(more <= 15, "{more} of 150 families of 552");
}

#[test]
fn an_end_beyond_all_resamples_is_students_or_farther() {
    let values: Vec<f64> = (0..20).map(|i| f64::from(i * i % 17)).collect();
    let (low, high) = mean_interval(&values, 1.0 - 0.05 / 552.0, 7);
    let (t_low, t_high) = student_interval(&values, 1.0 - 0.05 / 552.0);
    assert!(low <= t_low && high >= t_high, "{low} {high}");
}

#[test]
fn symmetric_values_have_students_interval() {
    // The values are the normal scores of a sample of 24, at Blom's plotting positions.
    let score = |i: i32| {
        let share = (f64::from(i) - 0.375) / 24.25;
        let size = student::quantile(share.max(1.0 - share), NORMAL);
        if share < 0.5 { -size } else { size }
    };
    let values: Vec<f64> = (1..=24).map(score).collect();
    for confidence in [0.95, 0.99] {
        let (low, high) = mean_interval(&values, confidence, 7);
        let (t_low, t_high) = student_interval(&values, confidence);
        assert!((low - t_low).abs() < 0.03, "{low} instead of {t_low}");
        assert!((high - t_high).abs() < 0.03, "{high} instead of {t_high}");
    }
}

#[test]
fn a_long_tail_pulls_the_interval_to_its_side() {
    let mut values = vec![0.0; 20];
    (0..20).for_each(|i| values[i] = (i as f64 / 4.0).exp());
    let mean = values.iter().sum::<f64>() / 20.0;
    let (low, high) = mean_interval(&values, 0.95, 7);
    assert!(high - mean > 1.1 * (mean - low), "{low} {mean} {high}");
}

#[test]
fn the_same_seed_yields_the_same_interval() {
    let values: Vec<f64> = (0..20).map(|i| f64::from(i).sqrt()).collect();
    assert_eq!(
        mean_interval(&values, 0.95, 3),
        mean_interval(&values, 0.95, 3)
    );
    assert_ne!(
        mean_interval(&values, 0.95, 3),
        mean_interval(&values, 0.95, 4)
    );
    assert_eq!(mean_interval(&[2.0; 20], 0.95, 3), (2.0, 2.0));
}

#[test]
fn the_interval_has_its_stated_coverage() {
    // Twenty exponential values are so skewed that the plain percentile interval is too short.
    let mut random = Random::seeded(11);
    let mut uniform = || (random.index(1 << 40) as f64 + 0.5) / (1_u64 << 40) as f64;
    let covered = (0..60)
        .filter(|run| {
            let values: Vec<f64> = (0..20).map(|_| -uniform().ln()).collect();
            let (low, high) = mean_interval(&values, 0.95, *run);
            (low..=high).contains(&1.0)
        })
        .count();
    // If the true coverage is 0.93, fewer than 50 of 60 intervals contain the mean in one test run
    // of 360.
    assert!(covered >= 50, "{covered} of 60");
}
