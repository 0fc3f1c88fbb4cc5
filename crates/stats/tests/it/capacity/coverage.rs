//! Tests the coverage of the intervals when the gateway's curve is truly logistic.

use super::*;
use gatebench_stats::capacity::SUSTAINED_PROBABILITY;
use gatebench_stats::simulate::Noise;

/// A gateway whose steps hold according to a logistic law, on a machine that disturbs some steps.
#[derive(Clone, Copy)]
struct Truth {
    /// The width of the law, as a share of the rate.
    steps: f64,
    /// The standard deviation of the processes' middles.
    processes: f64,
    /// The share of steps that are disturbed, regardless of their outcome.
    disturbed: f64,
}

struct Covered {
    /// True if the interval of the sustained rate contains the true rate; `None` if the search
    /// found no sustained rate.
    sustained: Option<bool>,
    half: bool,
    steps: usize,
}

/// Draws the number of disturbed attempts at a step, at most two, before the attempt that counts.
/// The disturbance is independent of the outcome.
pub(super) fn disturbed(share: f64, noise: &mut Noise) -> usize {
    (0..2).take_while(|_| noise.uniform() < share).count()
}

const MIDDLE: f64 = 20_000.0;

impl Truth {
    fn sustained(&self) -> f64 {
        let (mut low, mut high) = (0.0, 2.0);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if holds(middle, self.steps, self.processes.max(1e-6)) < SUSTAINED_PROBABILITY {
                low = middle
            } else {
                high = middle
            }
        }
        MIDDLE * (-high).exp()
    }

    fn covered(&self, seed: u64) -> Covered {
        let mut noise = Noise::seeded(seed ^ 0x5eed);
        let middles: Vec<f64> = (0..REPEATS)
            .map(|_| MIDDLE.ln() + self.processes * noise.normal())
            .collect();
        let plan = Plan {
            seed,
            ..Plan::around(1.1 * MIDDLE, None, REPEATS, seed)
        };
        let mut steps = 0;
        let repeats = search(plan, |rate, repeat| {
            let probability = 1.0 / (1.0 + ((rate.ln() - middles[repeat]) / self.steps).exp());
            steps += 1 + disturbed(self.disturbed, &mut noise);
            noise.uniform() < probability
        });
        let (sustained, half) = rates(plan, &repeats);
        Covered {
            sustained: sustained.map(|it| is_in(it.interval, self.sustained())),
            half: is_in(half.interval, MIDDLE),
            steps,
        }
    }

    fn coverage(self, runs: u64) -> Coverage {
        let results: Vec<Covered> = (0..runs).map(|seed| self.covered(seed)).collect();
        let count = |is: fn(&Covered) -> bool| results.iter().filter(|it| is(it)).count();
        let sustaining = count(|it| it.sustained.is_some());
        let sustained = count(|it| it.sustained == Some(true));
        let half = count(|it| it.half);
        let steps = results.iter().map(|it| it.steps).sum::<usize>() as f64 / runs as f64;
        println!(
            "width of steps {}, width of processes {}, share disturbed {}: intervals contain the \
             sustained rate in {sustained} of {sustaining} runs, and the half rate in {half} of \
             {runs} runs, with {steps:.0} steps per run",
            self.steps, self.processes, self.disturbed
        );
        Coverage {
            sustaining: sustaining as f64 / runs as f64,
            sustained: sustained as f64 / sustaining.max(1) as f64,
            half: half as f64 / runs as f64,
        }
    }
}

const STEPS: [f64; 3] = [0.003, 0.02, 0.08];
const PROCESSES: [f64; 3] = [0.0, 0.02, 0.05];

/// Shares of runs: those that find a sustained rate (`sustaining`); of these, those whose interval
/// contains the true sustained rate (`sustained`); and those whose interval contains the true rate
/// at which half of the steps hold (`half`).
struct Coverage {
    sustaining: f64,
    sustained: f64,
    half: f64,
}

/// Returns the mean coverage over all combinations of [`STEPS`] and [`PROCESSES`].
fn coverage(runs: u64) -> Coverage {
    let laws = STEPS.iter().flat_map(|steps| {
        PROCESSES.iter().map(|processes| Truth {
            steps: *steps,
            processes: *processes,
            disturbed: 0.3,
        })
    });
    let shares: Vec<Coverage> = laws.map(|truth| truth.coverage(runs)).collect();
    let mean = |of: fn(&Coverage) -> f64| shares.iter().map(of).sum::<f64>() / shares.len() as f64;
    Coverage {
        sustaining: mean(|it| it.sustaining),
        sustained: mean(|it| it.sustained),
        half: mean(|it| it.half),
    }
}

#[test]
fn intervals_contain_a_logistic_truth_while_steps_are_disturbed() {
    let found = coverage(6);
    // If a true share is 95 %, fewer than 46 of 54 intervals contain the true rate in one test run
    // of 700.
    let (sustained, half) = (found.sustained, found.half);
    assert!(sustained > 0.85 && half > 0.85, "{sustained} {half}");
    assert!(found.sustaining > 0.8, "{}", found.sustaining);
}

#[test]
fn hundreds_of_repeats_have_a_narrow_interval() {
    const COUNT: usize = 300;
    let mut noise = Noise::seeded(1);
    let plan = Plan::around(1.1 * MIDDLE, None, COUNT, 1);
    let repeats = search(plan, |rate, _| {
        let above = (rate / MIDDLE).ln() / 0.02;
        noise.uniform() < 1.0 / (1.0 + above.exp())
    });
    assert_eq!(repeats.len(), COUNT);
    // The likelihood of all steps together is too small for a floating-point number.
    let (sustained, half) = rates(plan, &repeats);
    let sustained = sustained.unwrap();
    assert!(sustained.rate_per_second < half.rate_per_second);
    let ratio = half.rate_per_second / MIDDLE;
    assert!((ratio - 1.0).abs() < 0.01, "{half:?}");
    for rate in [sustained, half] {
        let interval = rate.interval.unwrap();
        assert!(interval.high / interval.low < 1.02, "{rate:?}");
    }
}

#[test]
#[ignore = "takes three minutes; `make test-full` runs it"]
fn intervals_contain_every_logistic_truth() {
    let found = coverage(400);
    let (sustained, half) = (found.sustained, found.half);
    assert!(sustained > 0.94 && half > 0.94, "{sustained} {half}");
    assert!(found.sustaining > 0.9, "{}", found.sustaining);
}
