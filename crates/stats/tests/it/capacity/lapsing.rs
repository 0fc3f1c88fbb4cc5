//! Tests gateways whose steps occasionally miss, regardless of the rate.

use super::*;
use gatebench_stats::simulate::Noise;

const MIDDLE: f64 = 20_000.0;

/// The rates, as shares of saturation, that the first repeat of a run also measures.
const CURVE_SHARES: [f64; 5] = [0.1, 0.2, 0.35, 0.5, 0.6];

#[derive(Clone, Copy)]
struct Law {
    /// The width of the steps' curve, as a share of the rate.
    width: f64,
    lapses: f64,
}

/// The conclusion of a search for a rate that holds with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Said {
    Refused,
    /// A rate is sustained, unless the true share of lapses is too large.
    Doubted,
    Sustained,
}

fn searched(law: Law, seed: u64) -> (Plan, Vec<Vec<Tried>>) {
    let mut noise = Noise::seeded(seed ^ 0x1a_b5e5);
    let mut does_hold = |rate: f64| {
        let above = (rate.ln() - MIDDLE.ln()) / law.width;
        let is_lapse = noise.uniform() < law.lapses;
        noise.uniform() < 1.0 / (1.0 + above.exp()) && !is_lapse
    };
    let saturation = 1.1 * MIDDLE;
    let curve: Vec<Tried> = CURVE_SHARES
        .map(|share| Tried {
            rate_per_second: share * saturation,
            held: does_hold(share * saturation),
            length: 1.0,
        })
        .into();
    let plan = Plan::around(saturation, None, REPEATS, seed);
    let mut repeats = search(plan, |rate, _| does_hold(rate));
    repeats[0].splice(0..0, curve);
    (plan, repeats)
}

/// Counts the searches by their conclusion, in the order of [`Said`].
fn said(law: Law, runs: u64) -> [u64; 3] {
    let mut counts = [0; 3];
    for seed in 0..runs {
        let (plan, repeats) = searched(law, seed);
        let said = match outcome(&plan, &repeats).unwrap() {
            Outcome::Lapsing { lapses, half } => {
                assert!(lapses.share > 0.05 && half.interval.is_some());
                Said::Refused
            }
            Outcome::Found(found) if found.may_lapse() => Said::Doubted,
            Outcome::Found(_) => Said::Sustained,
            other => panic!("{other:?}"),
        };
        counts[said as usize] += 1;
    }
    println!(
        "width {}, share of lapses {}: refused, doubted and sustained {counts:?}",
        law.width, law.lapses
    );
    counts
}

#[test]
fn a_gateway_that_misses_a_tenth_at_any_rate_sustains_none_with_95_percent() {
    let runs = 30;
    for width in [0.003, 0.02] {
        let law = Law { width, lapses: 0.1 };
        let [refused, doubted, stated] = said(law, runs);
        let case = format!("{width}: {refused} {doubted} {stated}");
        assert!(stated <= 3 && refused + doubted >= 27, "{case}");
        // Below the knee of a steep curve, nearly every miss is a lapse.
        assert!(width > 0.01 || refused >= 15, "{case}");
    }
}

#[test]
fn a_gateway_without_lapses_is_rarely_refused() {
    let runs = 30;
    for width in [0.003, 0.02] {
        let [refused, ..] = said(Law { width, lapses: 0.0 }, runs);
        assert!(refused <= 5, "{width}: {refused}");
    }
    let [_, _, stated] = said(
        Law {
            width: 0.003,
            lapses: 0.0,
        },
        runs,
    );
    assert!(stated >= 25, "{stated}");
}

#[test]
fn the_share_of_lapses_is_in_its_interval() {
    let (mut held, runs) = (0, 30);
    for seed in 0..runs {
        let law = Law {
            width: 0.003,
            lapses: 0.1,
        };
        let (plan, repeats) = searched(law, seed);
        let lapses = match outcome(&plan, &repeats).unwrap() {
            Outcome::Lapsing { lapses, .. } => lapses,
            Outcome::Found(found) => found.lapses,
            other => panic!("{other:?}"),
        };
        held += usize::from((lapses.interval.low..=lapses.interval.high).contains(&law.lapses));
    }
    // If the true share is 95 %, fewer than 25 of 30 intervals contain the share of lapses in one
    // test run of 300.
    assert!(held >= 25, "{held}");
}

#[test]
fn a_process_unlike_the_others_is_reported() {
    let with = |third: f64| {
        search(PLAN, |rate, repeat| {
            rate <= if repeat == 2 { third } else { 20_000.0 }
        })
    };
    let alike = found(PLAN, &with(20_000.0));
    assert_eq!(alike.deviating, [0; 0]);
    let one = found(PLAN, &with(14_000.0));
    assert_eq!(one.deviating, [2]);
    let knees = &one.knees_per_second;
    assert!((knees[2] / 14_000.0 - 1.0).abs() < 0.03, "{knees:?}");
}

#[test]
#[ignore = "takes a minute or two; `make test-full` runs it"]
fn lapses_are_found_as_documented() {
    let runs = 300;
    for width in [0.003, 0.02, 0.08] {
        for lapses in [0.0, 0.01, 0.03, 0.1, 0.2] {
            let [refused, _, stated] = said(Law { width, lapses }, runs);
            if lapses >= 0.1 {
                assert!(stated <= runs / 20, "{width} {lapses}: {stated}");
            }
            if lapses == 0.0 {
                assert!(refused <= runs / 7, "{width}: {refused}");
            }
        }
    }
}
