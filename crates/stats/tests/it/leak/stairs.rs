//! Tests leaks in memory that is allocated in steps. A step may be larger than the memory leaked
//! during the run.
use super::*;
use gatebench_stats::leak::Growth;

/// The size in MiB of an arena, which an allocator obtains in a single step.
pub(super) const ARENA: f64 = 64.0;

const BOUND_PER_HOUR: f64 = 4.0;

/// The number of readings in a run, whatever its length.
const READINGS: usize = 240;

/// A staircase: the leak fills an arena before the next one is allocated. `filled` is the share of
/// the first arena that is full at the beginning. Memory outside the arenas adds a random amount of
/// at most `noise` MiB.
fn staircase(hours: f64, leak: f64, filled: f64, noise: f64, seed: u64) -> Vec<Sample> {
    let mut random = Noise::seeded(seed ^ 0x57a1);
    let step_seconds = hours * 3_600.0 / (READINGS - 1) as f64;
    let value = |at: usize| {
        let hour = at as f64 * step_seconds / 3_600.0;
        let arenas = (filled + leak * hour / ARENA).floor();
        200.0 + ARENA * arenas + noise * random.uniform()
    };
    let values: Vec<f64> = (0..READINGS).map(value).collect();
    samples(&values, step_seconds)
}

fn judged(found: &[Sample], step: f64, seed: u64) -> Growth {
    let rule = Rule {
        bound_per_hour: BOUND_PER_HOUR,
        step,
        seed,
    };
    growth(found, rule).unwrap()
}

/// Draws a leak that is above the bound but does not fill the arena in `hours` hours, and the share
/// of the arena that is full at the beginning.
fn unseen(hours: f64, noise: &mut Noise) -> (f64, f64) {
    let most = ARENA / hours;
    let leak = 1.02 * BOUND_PER_HOUR + (0.98 * most - 1.02 * BOUND_PER_HOUR) * noise.uniform();
    let filled = noise.uniform() * (1.0 - leak / most);
    (leak, filled)
}

#[test]
fn a_leak_whose_step_has_not_occurred_yet_is_never_no_leak() {
    let mut random = Noise::seeded(31);
    for hours in [0.5, 2.0, 8.0, 15.0] {
        for seed in 0..10 {
            let (leak, filled) = unseen(hours, &mut random);
            for noise in [0.0, 0.05] {
                let readings = staircase(hours, leak, filled, noise, seed);
                let found = judged(&readings, ARENA, seed);
                let case = format!("{leak} MiB/h for {hours} h: {:?}", found.verdict);
                let LeakVerdict::Undetermined {
                    because,
                    seconds_needed: Some(needed),
                } = found.verdict
                else {
                    panic!("{case}")
                };
                // Noise may make a series appear more correlated than it is.
                let is_named = because == Because::Steps;
                assert!(is_named || noise > 0.0, "{case}");
                // At 4 MiB/h, the leak fills an arena in 16 hours. A verdict takes about a sixtieth
                // longer, because of the windows.
                let needed = needed / 3_600.0;
                assert!(needed > 15.9 && (needed < 18.0 || !is_named), "{case}");
                let of_step = 0.999 * ARENA / hours;
                assert!(found.resolution_per_hour >= of_step, "{case}");
                let smallest = found.smallest_seen_per_hour;
                assert!(smallest.is_none_or(|it| it >= BOUND_PER_HOUR + of_step));
            }
        }
    }
}

#[test]
fn no_staircase_that_leaks_more_than_the_bound_is_no_leak() {
    let mut random = Noise::seeded(32);
    for seed in 0..150 {
        let hours = 48.0 * random.uniform() + 0.5;
        let leak = BOUND_PER_HOUR * (1.02 + 8.0 * random.uniform().powi(2));
        let readings = staircase(hours, leak, random.uniform(), 0.05, seed);
        let found = judged(&readings, ARENA, seed);
        let case = format!("{leak} MiB/h for {hours} h: {found:?}");
        assert_ne!(found.verdict, LeakVerdict::NoLeak, "{case}");
    }
}

#[test]
fn a_step_that_is_seen_counts_even_if_the_rule_has_none() {
    // The process allocates two more arenas, and the last of them is 95 % full at the end. The leak
    // is 6 MiB/h, but the steps show 5.3 MiB/h.
    let rule = Rule {
        bound_per_hour: 5.6,
        ..RULE
    };
    let readings = staircase(24.0, 6.0, 0.7, 0.05, 1);
    let found = growth(&readings, rule).unwrap();
    assert_ne!(found.verdict, LeakVerdict::NoLeak, "{found:?}");
    assert!(
        found.resolution_per_hour > 0.99 * ARENA / 24.0,
        "{}",
        found.resolution_per_hour
    );
}

#[test]
fn a_day_without_a_step_is_no_leak() {
    for seed in 0..10 {
        let found = judged(&staircase(24.0, 0.0, 0.5, 0.05, seed), ARENA, seed);
        assert_eq!(found.verdict, LeakVerdict::NoLeak);
        let resolution = found.resolution_per_hour;
        assert!((0.999 * ARENA / 24.0..BOUND_PER_HOUR).contains(&resolution));
    }
}

#[test]
fn a_run_of_seconds_states_how_long_a_step_takes() {
    let found = judged(&samples(&[200.0; 30], 1.0), ARENA, 1);
    let LeakVerdict::Undetermined {
        because: Because::Steps,
        seconds_needed: Some(needed),
    } = found.verdict
    else {
        panic!("{found:?}")
    };
    assert!((16.0..18.0).contains(&(needed / 3_600.0)), "{needed}");
}
