//! Tests warm-ups with known costs, with and without noise.

use gatebench_stats::median;
use gatebench_stats::settled::{BINS_MIN, Total, has_settled};
use gatebench_stats::simulate::{Drift, Noise};

const BIN_SECONDS: f64 = 0.1;

const RESPONSES: u64 = 1_000;

const SETTLED_NS: f64 = 8_000.0;

/// Returns the totals at the edges of bins of a tenth of a second. `cost_ns` is the cost per
/// response as a function of the time in seconds.
fn totals(bins: usize, mut cost_ns: impl FnMut(f64) -> f64) -> Vec<Total> {
    let mut now = Total::default();
    let mut totals = vec![now];
    for bin in 0..bins {
        now.responses += RESPONSES;
        now.cpu_ns += (RESPONSES as f64 * cost_ns(bin as f64 / 10.0)) as u64;
        totals.push(now);
    }
    totals
}

/// Returns the number of bins after which the cost has settled, or `None` if it does not settle
/// within these bins.
fn settles_after(totals: &[Total]) -> Option<usize> {
    (1..totals.len()).find(|bins| has_settled(&totals[..=*bins], BIN_SECONDS))
}

#[test]
fn a_steady_gateway_settles_as_soon_as_allowed() {
    let steady = totals(100, |_| SETTLED_NS);
    assert_eq!(settles_after(&steady), Some(BINS_MIN));
}

#[test]
fn a_gateway_that_compiles_has_not_settled() {
    // A response costs three times as much at first; the excess falls with a time constant of two
    // seconds.
    let warming = |at: f64| SETTLED_NS * (1.0 + 2.0 * (-at / 2.0).exp());
    let ended = settles_after(&totals(1_000, warming)).unwrap();
    assert!((100..=160).contains(&ended), "{ended}");
    let left = warming(ended as f64 / 10.0) / warming(ended as f64 / 10.0 + 3.0);
    assert!(left < 1.01, "{left}");
}

#[test]
fn without_cpu_time_or_responses_nothing_settles() {
    let mut blind = totals(30, |_| SETTLED_NS);
    blind.iter_mut().for_each(|total| total.cpu_ns = 0);
    assert!(!has_settled(&blind, BIN_SECONDS));
    let mut slow = totals(30, |_| SETTLED_NS);
    slow.iter_mut().for_each(|total| total.responses /= 1_000);
    assert!(!has_settled(&slow, BIN_SECONDS));
    assert!(!has_settled(&[], BIN_SECONDS));
}

/// The cost relative to the settled cost, as a function of time in seconds.
type Shape = fn(f64) -> f64;

/// A cost that is 40 % too high at first and falls with a time constant of one second.
fn fast(seconds: f64) -> f64 {
    1.0 + 0.4 * (-seconds).exp()
}

/// A cost that is 30 % too high at first and falls with a time constant of three seconds.
fn slow(seconds: f64) -> f64 {
    1.0 + 0.3 * (-seconds / 3.0).exp()
}

fn steady(_: f64) -> f64 {
    1.0
}

/// A warm-up ended too early if the cost at its end, relative to the settled cost, exceeds this.
const TOO_HIGH: f64 = 1.05;

struct Ends {
    /// The share of warm-ups that ended because the cost seemed settled while it was still too
    /// high.
    too_early: f64,
    at_bound: f64,
    /// The median and the 90th percentile of the warm-ups' lengths, in seconds.
    seconds: [f64; 2],
    /// The median cost at the end, relative to the settled cost.
    left: f64,
}

/// Simulates warm-ups of at most `bins` bins. The noise of a bin has a standard deviation of 5 %;
/// `memory` is its correlation with the noise of the previous bin.
fn simulated(runs: usize, bins: usize, memory: f64, shape: Shape) -> Ends {
    let mut noise = Noise::seeded(31 + bins as u64);
    let (mut too_early, mut at_bound) = (0, 0);
    let (mut lengths, mut left) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let mut remembered = Drift::new(memory, &mut noise);
        let totals = totals(bins, |at| {
            let shock = remembered.next(&mut noise);
            SETTLED_NS * (shape(at) * (1.0 + 0.05 * shock)).max(0.01)
        });
        let settled = settles_after(&totals).filter(|ended| *ended < bins);
        let seconds = settled.unwrap_or(bins) as f64 / 10.0;
        let cost = shape(seconds);
        too_early += usize::from(settled.is_some() && cost > TOO_HIGH);
        at_bound += usize::from(settled.is_none());
        lengths.push(seconds);
        left.push(cost);
    }
    lengths.sort_by(f64::total_cmp);
    let share = |count: usize| count as f64 / runs as f64;
    Ends {
        too_early: share(too_early),
        at_bound: share(at_bound),
        seconds: [lengths[runs / 2], lengths[runs * 9 / 10]],
        left: median(&left).unwrap(),
    }
}

/// A cost that falls more slowly than the maximum trend may seem settled; docs/METHOD.md states
/// this limitation.
#[test]
fn a_falling_cost_has_not_settled_and_noise_delays_a_steady_one_little() {
    for memory in [0.0, 0.5] {
        let of = |bins: usize, shape: Shape| simulated(400, bins, memory, shape);
        let ends = of(20, steady);
        assert!(ends.at_bound < 0.4, "{memory}: {}", ends.at_bound);
        assert!(ends.seconds[0] <= 1.8, "{memory}: {:?}", ends.seconds);
        assert_eq!((ends.too_early, ends.left), (0.0, 1.0));
        for bins in [20, 600] {
            let ends = of(bins, fast);
            assert!(ends.too_early < 0.1, "{memory}: {}", ends.too_early);
        }
        let ends = of(600, slow);
        assert!((2.0..4.0).contains(&ends.seconds[0]), "{:?}", ends.seconds);
        assert!((1.05..1.2).contains(&ends.left), "{}", ends.left);
    }
}

#[test]
fn the_table_in_the_method_is_that_of_the_simulation() {
    let method = include_str!("../../../../docs/METHOD.md");
    let shapes: [(&str, Shape); 3] = [("steady", steady), ("fast", fast), ("slow", slow)];
    for bins in [20, 600] {
        for memory in [0.0, 0.5] {
            for (name, shape) in shapes {
                let ends = simulated(4_000, bins, memory, shape);
                let percent = |share: f64| format!("{:.1} %", 100.0 * share);
                let row = format!(
                    "| {} s | {memory} | {name} | {} | {} | {:.1} s, {:.1} s | {} |",
                    bins / 10,
                    percent(ends.too_early),
                    percent(ends.at_bound),
                    ends.seconds[0],
                    ends.seconds[1],
                    percent(ends.left - 1.0)
                );
                assert!(method.contains(&row), "not in docs/METHOD.md: {row}");
            }
        }
    }
}
