//! Tests the detection of drift in simulated steady series and warm-ups.

use gatebench_stats::drift::{BINS_MIN, drift};
use gatebench_stats::simulate::{Drift, Noise};
use gatebench_stats::trend::Trend;

/// The steady-state check reports a drift of throughput or CPU time with a p-value below this limit
/// and a size above `DRIFT_MIN`.
const P_MAX: f64 = 0.005;
const DRIFT_MIN: f64 = 0.05;

/// The kinds of noise, with a standard deviation of 5 %. Each has a correlation of adjacent bins,
/// and a flag. If the flag is true, half of the variance comes from uncorrelated outliers instead
/// (Student's t with 3 degrees of freedom).
const KINDS: [(f64, bool); 5] = [
    (0.0, false),
    (0.3, false),
    (0.5, false),
    (0.7, false),
    (0.7, true),
];

/// Returns the share of `runs` series in which a drift is found. `level` is a function of time in
/// seconds.
fn found(runs: usize, bins: usize, kind: (f64, bool), level: fn(f64) -> f64) -> f64 {
    let mut noise = Noise::seeded(7 + bins as u64);
    let drifts = |_: &usize| {
        let mut remembered = Drift::new(kind.0, &mut noise);
        let mut bin = |at: usize| {
            let mut shock = remembered.next(&mut noise);
            if kind.1 {
                shock = (shock + noise.heavy()) / 2.0_f64.sqrt();
            }
            (level(at as f64 / 10.0) * (1.0 + 0.05 * shock)).max(0.01)
        };
        let series: Vec<f64> = (0..bins).map(&mut bin).collect();
        let found = drift(&series).unwrap();
        found.p < P_MAX && found.drift.abs() > DRIFT_MIN
    };
    (0..runs).filter(drifts).count() as f64 / runs as f64
}

fn steady(_: f64) -> f64 {
    1.0
}

/// The cost during just-in-time compilation: it is 40 % too high at first, and the excess halves
/// every 0.7 s.
fn warming_up(seconds: f64) -> f64 {
    1.0 + 0.4 * (-seconds).exp()
}

/// A cost that is 30 % too high at first and falls with a time constant of three seconds.
fn warming_up_slowly(seconds: f64) -> f64 {
    1.0 + 0.3 * (-seconds / 3.0).exp()
}

#[test]
fn steady_bins_raise_few_alarms_and_a_warm_up_is_found() {
    for bins in [20, 30, 40] {
        let alarms = KINDS.map(|kind| found(400, bins, kind, steady));
        let mean = alarms.iter().sum::<f64>() / alarms.len() as f64;
        assert!(mean <= 0.02, "{bins} bins: {alarms:?}");
        assert!(alarms.iter().all(|share| *share <= 0.035), "{alarms:?}");
    }
    let power = found(200, 30, (0.3, false), warming_up);
    assert!(power > 0.6, "{power}");
    let power = found(200, 30, (0.0, false), warming_up_slowly);
    assert!(power > 0.6, "{power}");
}

/// Prints the figures of the table in docs/METHOD.md, and those of longer series.
#[test]
#[ignore = "takes ten seconds and prints a table"]
fn alarms_and_detection_of_drifts() {
    for bins in [20, 30, 40, 60, 300] {
        for kind in KINDS {
            let shares = [steady, warming_up, warming_up_slowly]
                .map(|level| 100.0 * found(4_000, bins, kind, level));
            println!("{bins} bins, {kind:?}: {shares:.1?}");
        }
    }
}

#[test]
fn too_few_or_empty_bins_have_no_result() {
    assert_eq!(drift(&[1.0; BINS_MIN - 1]), None);
    assert_eq!(drift(&[0.0; 30]), None);
    assert_eq!(drift(&[7.0; 30]).unwrap(), Trend { p: 1.0, drift: 0.0 });
}

#[test]
fn a_rise_has_its_size() {
    let rising: Vec<f64> = (0..30).map(|at| 100.0 + f64::from(at)).collect();
    let found = drift(&rising).unwrap();
    assert!((found.drift - 29.0 / 114.5).abs() < 1e-9, "{found:?}");
    assert!(found.p < P_MAX);
}
