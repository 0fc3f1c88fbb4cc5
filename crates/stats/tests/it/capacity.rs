use gatebench_stats::Interval;
use gatebench_stats::capacity::{
    Outcome, Plan, REPEATS, RESOLUTION, Rate, Sustained, Tried, holds, outcome,
};
use proptest::prelude::*;

mod coverage;
mod lapsing;
mod queue;

const PLAN: Plan = Plan {
    start_per_second: 1_000.0,
    min_per_second: 1.0,
    max_per_second: 1_000_000.0,
    resolution: RESOLUTION,
    repeats: REPEATS,
    seed: 1,
};

/// Runs a search to completion. `does_hold` takes a rate and the index of the repeat, and decides
/// the outcome of the step.
fn search(plan: Plan, mut does_hold: impl FnMut(f64, usize) -> bool) -> Vec<Vec<Tried>> {
    let mut repeats: Vec<Vec<Tried>> = Vec::new();
    for repeat in 0..plan.repeats {
        let mut current = Vec::new();
        while let Some(next) = plan.next(&repeats, &current) {
            assert!(current.len() < 200, "the repeat does not end: {current:?}");
            let rate_per_second = next.rate_per_second;
            current.push(Tried {
                rate_per_second,
                held: does_hold(rate_per_second, repeat),
                length: 1.0,
            });
        }
        if !current.is_empty() {
            repeats.push(current);
        }
    }
    repeats
}

fn exactly(knee: f64) -> impl FnMut(f64, usize) -> bool {
    move |rate, _| rate <= knee
}

fn found(plan: Plan, repeats: &[Vec<Tried>]) -> Sustained {
    match outcome(&plan, repeats).unwrap() {
        Outcome::Found(found) => found,
        other => panic!("{other:?}"),
    }
}

/// Returns two rates: the sustained rate, which is `None` if there are too many lapses, and the
/// rate that holds half of the time.
fn rates(plan: Plan, repeats: &[Vec<Tried>]) -> (Option<Rate>, Rate) {
    match outcome(&plan, repeats).unwrap() {
        Outcome::Found(found) => (Some(found.rate), found.half),
        Outcome::Lapsing { half, .. } => (None, half),
        other => panic!("{other:?}"),
    }
}

fn is_in(interval: Option<Interval>, value: f64) -> bool {
    interval.is_some_and(|it| (it.low..=it.high).contains(&value))
}

#[test]
fn a_search_without_noise_ends_near_the_edge() {
    let repeats = search(PLAN, exactly(54_321.0));
    let steps = repeats.iter().flatten().count();
    let found = found(PLAN, &repeats);
    assert!(
        (found.half.rate_per_second / 54_321.0 - 1.0).abs() < 0.01,
        "{found:?}"
    );
    assert!(is_in(found.half.interval, 54_321.0), "{found:?}");
    assert!(
        found.rate.rate_per_second < found.half.rate_per_second,
        "{found:?}"
    );
    assert!(
        found.rate.rate_per_second > 0.98 * 54_321.0,
        "the sustained rate is far below the edge: {found:?}"
    );
    assert_eq!(found.knees_per_second.len(), 5);
    assert!(steps < 90, "{steps}");
}

#[test]
fn the_limits_are_stated_and_not_exceeded() {
    let limited = Plan {
        max_per_second: 20_000.0,
        min_per_second: 100.0,
        ..PLAN
    };
    let repeats = search(limited, |rate, _| {
        assert!((99.999..20_000.001).contains(&rate), "{rate}");
        true
    });
    let Some(Outcome::AtLeast {
        rate_per_second,
        held,
        tried,
    }) = outcome(&limited, &repeats)
    else {
        panic!("{repeats:?}")
    };
    assert_eq!(rate_per_second, 20_000.0);
    assert_eq!(held, tried);
    assert!(
        tried >= 59,
        "0.95 to the power of this number must be below 5 %: {tried}"
    );
    let repeats = search(limited, exactly(50.0));
    assert_eq!(
        repeats.len(),
        1,
        "the other repeats would end in the same way"
    );
    let Some(Outcome::Below { rate_per_second }) = outcome(&limited, &repeats) else {
        panic!("{repeats:?}")
    };
    assert_eq!(rate_per_second, 100.0);
}

#[test]
fn a_plan_is_around_saturation_and_below_the_allowed_rate() {
    let plan = Plan::around(1_000.0, None, 5, 1);
    assert_eq!(
        (
            plan.min_per_second,
            plan.start_per_second,
            plan.max_per_second
        ),
        (10.0, 700.0, 4_000.0)
    );
    let plan = Plan::around(1_000.0, Some(500.0), 5, 1);
    assert_eq!(
        (
            plan.min_per_second,
            plan.start_per_second,
            plan.max_per_second
        ),
        (10.0, 500.0, 500.0)
    );
    let plan = Plan::around(1_000.0, Some(2.0), 5, 1);
    assert!(plan.next(&[], &[]).is_some(), "{plan:?}");
    assert!(Plan::around(0.0, None, 5, 1).next(&[], &[]).is_none());
}

#[test]
fn two_repeats_have_no_interval_and_none_no_result() {
    let repeats = search(PLAN, exactly(5_000.0));
    let two = found(PLAN, &repeats[..2]);
    assert_eq!((two.rate.interval, two.half.interval), (None, None));
    assert_eq!(two.knees_per_second.len(), 2);
    assert_eq!(outcome(&PLAN, &[]), None);
}

#[test]
fn an_outcome_far_from_the_others_does_not_blur_the_grid() {
    let mut repeats = search(PLAN, exactly(5_000.0));
    let clean = found(PLAN, &repeats);
    repeats[0].insert(
        0,
        Tried {
            rate_per_second: 10.0,
            held: true,
            length: 1.0,
        },
    );
    let same = found(PLAN, &repeats);
    let ratio = same.half.rate_per_second / clean.half.rate_per_second;
    assert!((ratio - 1.0).abs() < 0.002, "{same:?}");
    repeats[0][0].held = false;
    let missed = found(PLAN, &repeats);
    let ratio = missed.half.rate_per_second / clean.half.rate_per_second;
    assert!((ratio - 1.0).abs() < 0.002, "{missed:?}");
    let ratio = missed.rate.rate_per_second / clean.rate.rate_per_second;
    assert!((ratio - 1.0).abs() < 0.005, "{missed:?}");
}

#[test]
fn a_probability_is_the_mean_of_the_logistic_function() {
    // Expects the results of the trapezoid rule for 1/(1 + exp(-(b + t*z)/s)) times the normal
    // density, on 40,001 points from -9 to 9.
    for (below, steps, processes, wanted) in [
        (0.0, 0.02, 0.03, 0.5),
        (0.06, 0.02, 0.0001, 0.952_574),
        (0.06, 0.02, 0.03, 0.903_389),
    ] {
        let found = holds(below, steps, processes);
        assert!((found - wanted).abs() < 1e-5, "{found} instead of {wanted}");
    }
}

#[test]
fn impossible_plans_are_refused() {
    for plan in [
        Plan {
            start_per_second: 0.5,
            ..PLAN
        },
        Plan {
            max_per_second: 10.0,
            ..PLAN
        },
        Plan {
            max_per_second: f64::INFINITY,
            ..PLAN
        },
        Plan {
            min_per_second: 0.0,
            ..PLAN
        },
        Plan {
            resolution: 0.0,
            ..PLAN
        },
        Plan { repeats: 0, ..PLAN },
    ] {
        assert!(plan.next(&[], &[]).is_none(), "{plan:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_search_ends(outcomes in prop::collection::vec(any::<bool>(), 1..200), seed: u64) {
        let mut outcomes = outcomes.into_iter().cycle();
        let plan = Plan { seed, ..PLAN };
        let repeats = search(plan, |_, _| outcomes.next().unwrap_or_default());
        if let Some(Outcome::Found(found)) = outcome(&plan, &repeats) {
            for rate in [found.rate, found.half] {
                let interval = rate.interval.unwrap();
                prop_assert!(interval.low <= rate.rate_per_second);
                prop_assert!(rate.rate_per_second <= interval.high);
            }
            prop_assert!(found.rate.rate_per_second <= found.half.rate_per_second);
        }
    }

    #[test]
    fn any_knee_is_found_in_any_unit(knee in 10.0_f64..1e5, unit in 1e-3_f64..1e3, seed: u64) {
        let plan = Plan { seed, ..PLAN };
        let other = Plan {
            start_per_second: PLAN.start_per_second * unit,
            min_per_second: PLAN.min_per_second * unit,
            max_per_second: PLAN.max_per_second * unit,
            ..plan
        };
        let here = found(plan, &search(plan, exactly(knee))).half.rate_per_second;
        let there = found(other, &search(other, exactly(knee * unit))).half.rate_per_second;
        prop_assert!((here / knee - 1.0).abs() < 0.015);
        // Rounding may flip a borderline outcome.
        prop_assert!((there / unit / here - 1.0).abs() < 0.02);
    }
}
