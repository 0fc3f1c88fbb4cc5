//! The search as `gatebench capacity` does it, on a queue that is simulated request by request.

use super::*;

/// Requests per second that the server manages. Real ones manage more; times shrink in proportion, so that this
/// is as hard as a faster one with phases that are shorter by as much.
const SERVICE_PER_SECOND: f64 = 2_000.0;

/// What 99 in 100 requests must keep: twelve service times, as 600 µs at 20,000 requests/s.
const SLO_S: f64 = 12.0 / SERVICE_PER_SECOND;

/// A step as the command makes it by default, its warm-up, and how much longer one is that confirms.
const STEP_S: f64 = 4.0;
const WARM_UP_S: f64 = 1.0;
const CONFIRM_FACTOR: f64 = 4.0;

/// Requests that come evenly, as the engine sends them, and take exponential times, one after the other.
/// Answers with the 99th percentile of the response times after the warm-up, in seconds.
fn p99_s(service_per_second: f64, rate: f64, measure_s: f64, noise: &mut Noise) -> f64 {
    let gap = 1.0 / rate;
    let arrivals = ((WARM_UP_S + measure_s) * rate) as usize;
    let discarded = (WARM_UP_S * rate) as usize;
    let mut times = Vec::with_capacity(arrivals);
    // D. V. Lindley 1952: who comes next waits for what is left when he comes.
    let mut waits = 0.0_f64;
    for arrival in 0..arrivals {
        let response = waits + noise.exponential() / service_per_second;
        if arrival >= discarded {
            times.push(response);
        }
        waits = (response - gap).max(0.0);
    }
    let index = (times.len() as f64 * 0.99) as usize;
    *times.select_nth_unstable_by(index, f64::total_cmp).1
}

/// The rate at which the 99th percentile is the objective. Response times of a D/M/1 queue are exponential
/// with rate μ(1 − σ), σ the root of σ = exp(−μ(1 − σ) ÷ λ) below 1 (L. Kleinrock, Queueing Systems I, 1975, 6.4).
fn true_knee() -> f64 {
    let p99 = |rate: f64| {
        let mut sigma = 0.5_f64;
        for _ in 0..10_000 {
            sigma = (-SERVICE_PER_SECOND * (1.0 - sigma) / rate).exp();
        }
        100_f64.ln() / (SERVICE_PER_SECOND * (1.0 - sigma))
    };
    let (mut low, mut high) = (0.1 * SERVICE_PER_SECOND, 0.999 * SERVICE_PER_SECOND);
    for _ in 0..50 {
        let middle = low.midpoint(high);
        if p99(middle) < SLO_S {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

/// Whether the interval of the command's search holds the true knee, and the steps it took.
fn covered(seed: u64, process: f64, knee_per_second: f64) -> (bool, usize) {
    let mut noise = Noise::seeded(seed ^ 0x0b5e_55ed);
    let processes: Vec<f64> = (0..REPEATS)
        .map(|_| SERVICE_PER_SECOND * (process * noise.normal()).exp())
        .collect();
    let plan = Plan::around(processes[0], None, REPEATS, seed);
    let (answer, steps) = search(plan, |rate, phase, repeat| {
        let measure_s = match phase {
            Phase::Short => STEP_S,
            Phase::Long => STEP_S * CONFIRM_FACTOR,
        };
        judged(p99_s(processes[repeat], rate, measure_s, &mut noise) < SLO_S)
    });
    let interval = knee(answer).interval.unwrap();
    (
        (interval.low..=interval.high).contains(&knee_per_second),
        steps,
    )
}

fn coverage(runs: u64, process: f64) {
    let knee_per_second = true_knee();
    let results: Vec<(bool, usize)> = (0..runs)
        .map(|seed| covered(seed, process, knee_per_second))
        .collect();
    let held = results.iter().filter(|(covered, _)| *covered).count();
    let steps = results.iter().map(|(_, steps)| steps).sum::<usize>() as f64 / runs as f64;
    println!(
        "processes {process}: {held} of {runs} hold {knee_per_second:.0}/s, in {steps:.1} steps"
    );
    assert!(held as f64 >= 0.93 * runs as f64, "{held} of {runs}");
}

#[test]
fn the_formula_is_that_of_the_simulated_queue() {
    let mut noise = Noise::seeded(3);
    let found = p99_s(SERVICE_PER_SECOND, true_knee(), 400.0, &mut noise);
    assert!((found / SLO_S - 1.0).abs() < 0.05, "{found} for {SLO_S}");
}

#[test]
fn the_interval_of_a_simulated_queue_holds_its_knee() {
    coverage(200, 0.02);
}

#[test]
#[ignore = "half a minute; make test-full"]
fn whatever_processes_differ_by() {
    for process in [0.0, 0.02, 0.05] {
        coverage(1_000, process);
    }
}
