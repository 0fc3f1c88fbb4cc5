//! The logistic curve of a search: the probability that a step holds its objective, over the
//! logarithm of its rate.
//!
//! Within a process a step holds with probability 1 ÷ (1 + exp((x − m) ÷ s)), x the logarithm of
//! its rate; the middles m of the processes are normal around the middle of the curve. The two
//! widths, of steps and of processes, and the middle are known as far as the steps say: each
//! combination on a grid is weighted by the likelihood of all steps, with the middle uniform and
//! the widths log-uniform before (the prior under which intervals for a normal quantile are exact).
//! A quantile of the curve over processes and steps follows from each combination; median and the
//! middle 95 % of those weights are the estimate and its interval.
//!
//! Sources: H. Jeffreys, *Theory of Probability*, 1961 (prior); D. R. Cox, *The Regression Analysis
//! of Binary Sequences*, Journal of the Royal Statistical Society B 20(2), 1958.

use std::sync::OnceLock;

use super::Tried;
use super::answer::{REPEATS_MIN, Rate, Sustained};
use crate::Interval;

/// The probability with which a step holds at the reported rate.
pub const SUSTAINED_PROBABILITY: f64 = 0.95;

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Widths that are weighed, of steps and of processes, as logarithms of rates: from a thousandth to
/// a fifth.
const WIDTHS: usize = 10;
const WIDTH_MIN: f64 = 0.001;
const WIDTH_MAX: f64 = 0.2;

/// The share of misses that do not depend on the rate. A single miss far below the others then
/// widens the curve little.
///
/// Source: F. A. Wichmann, N. J. Hill, *The psychometric function: I. Fitting, sampling, and
/// goodness of fit*, Perception & Psychophysics 63(8), 2001.
const LAPSES: f64 = 0.01;

/// Places on the grid of the middle.
const PLACES: usize = 141;

/// A normal distribution is taken to be zero beyond this many deviations.
const FAR: f64 = 5.0;

/// The width of number `index`.
fn width(index: usize) -> f64 {
    WIDTH_MIN * (WIDTH_MAX / WIDTH_MIN).powf(index as f64 / (WIDTHS - 1) as f64)
}

/// A grid of middles with the likelihoods of all combinations.
pub(super) struct Curve {
    low: f64,
    spacing: f64,
    /// Weight of each place, by width of steps and width of processes.
    weights: Vec<(usize, usize, Vec<f64>)>,
}

impl Curve {
    /// The rates of these repeats that are held half of the time, and with
    /// [`SUSTAINED_PROBABILITY`]. None if all steps held or all missed. `resolution` is the
    /// distance within which middles need not be separated.
    pub(super) fn fit(repeats: &[Vec<Tried>], resolution: f64) -> Option<Sustained> {
        let (mut low, mut high) = span(repeats)?;
        let mut curve = Self::over(repeats, low, high);
        // A single outcome far from the others makes the grid wide: it is drawn in to where the
        // weight is.
        for _ in 0..3 {
            if curve.spacing < resolution / 5.0 {
                break;
            }
            let middles = curve.quantiles(|_, _| 0.0, [1e-6, 1.0 - 1e-6]);
            let margin = 2.0 * curve.spacing;
            (low, high) = (
                (middles[0] - margin).max(low),
                (middles[1] + margin).min(high),
            );
            curve = Self::over(repeats, low, high);
        }
        let has_interval = repeats.len() >= REPEATS_MIN;
        let half = curve.rate(|_, _| 0.0, has_interval);
        Some(Sustained {
            rate: curve.rate(offset, has_interval),
            probability: SUSTAINED_PROBABILITY,
            knees_per_second: curve.knees(repeats, half.rate_per_second.ln()),
            half,
        })
    }

    fn over(repeats: &[Vec<Tried>], low: f64, high: f64) -> Self {
        let spacing = (high - low) / (PLACES - 1) as f64;
        let mut curve = Self {
            low,
            spacing,
            weights: Vec::new(),
        };
        // Fewer repeats do not show how far processes differ.
        let widths = if repeats.len() >= REPEATS_MIN {
            WIDTHS
        } else {
            1
        };
        for of_steps in 0..WIDTHS {
            let likelihoods: Vec<Vec<f64>> = repeats
                .iter()
                .map(|repeat| curve.likelihood(repeat, width(of_steps)))
                .collect();
            for of_processes in 0..widths {
                let kernel = curve.kernel(width(of_processes));
                let mut weights = vec![1.0; PLACES];
                for likelihood in &likelihoods {
                    for (place, weight) in weights.iter_mut().enumerate() {
                        *weight *= smoothed(likelihood, &kernel, place);
                    }
                }
                curve.weights.push((of_steps, of_processes, weights));
            }
        }
        curve
    }

    /// The likelihood of a repeat's steps by the middle of its process.
    fn likelihood(&self, repeat: &[Tried], width: f64) -> Vec<f64> {
        let at = |place: usize| {
            let middle = self.place(place);
            let log: f64 = repeat
                .iter()
                .map(|tried| {
                    // A mean over a longer time varies less.
                    let width = width / tried.length.sqrt();
                    let above = (middle - tried.rate_per_second.ln()) / width;
                    if tried.held {
                        log_logistic(above)
                    } else {
                        (LAPSES + (1.0 - LAPSES) * log_logistic(-above).exp()).ln()
                    }
                })
                .sum();
            log.exp()
        };
        (0..PLACES).map(at).collect()
    }

    /// A normal distribution on the grid, from its middle outwards; it adds up to one with its
    /// other half.
    fn kernel(&self, width: f64) -> Vec<f64> {
        let reach = ((FAR * width / self.spacing).ceil() as usize).min(PLACES - 1);
        let density = |place: usize| (-0.5 * (place as f64 * self.spacing / width).powi(2)).exp();
        let half: Vec<f64> = (0..=reach).map(density).collect();
        let sum = 2.0 * half.iter().sum::<f64>() - half[0];
        half.iter().map(|it| it / sum).collect()
    }

    fn place(&self, place: usize) -> f64 {
        self.low + place as f64 * self.spacing
    }

    /// The rate that lies this far below the middle, by the widths of steps and processes.
    fn rate(&self, below: impl Fn(usize, usize) -> f64, has_interval: bool) -> Rate {
        let tail = (1.0 - CONFIDENCE) / 2.0;
        let [low, middle, high] = self.quantiles(below, [tail, 0.5, 1.0 - tail]).map(f64::exp);
        Rate {
            rate_per_second: middle,
            interval: has_interval.then_some(Interval {
                low,
                high,
                confidence: CONFIDENCE,
            }),
        }
    }

    fn quantiles<const N: usize>(
        &self,
        below: impl Fn(usize, usize) -> f64,
        wanted: [f64; N],
    ) -> [f64; N] {
        let mut values: Vec<(f64, f64)> = Vec::new();
        for (of_steps, of_processes, weights) in &self.weights {
            let below = below(*of_steps, *of_processes);
            let of_place = |(place, weight): (usize, &f64)| (self.place(place) - below, *weight);
            values.extend(weights.iter().enumerate().map(of_place));
        }
        values.retain(|(_, weight)| *weight > 0.0);
        values.sort_by(|one, other| one.0.total_cmp(&other.0));
        let all: f64 = values.iter().map(|(_, weight)| weight).sum();
        wanted.map(|share| {
            let mut sum = 0.0;
            let reached = values.iter().find(|(_, weight)| {
                sum += weight;
                sum >= share * all
            });
            let last = values.last().map_or(f64::NAN, |it| it.0);
            reached.map_or(last, |it| it.0)
        })
    }

    /// The middle of each repeat's process, at the widths that are most likely.
    fn knees(&self, repeats: &[Vec<Tried>], middle: f64) -> Vec<f64> {
        let total = |weights: &[f64]| weights.iter().sum::<f64>();
        let likeliest = self
            .weights
            .iter()
            .max_by(|one, other| total(&one.2).total_cmp(&total(&other.2)));
        let (of_steps, of_processes) = likeliest.map_or((0, 0), |it| (it.0, it.1));
        let spread = width(of_processes);
        let of_repeat = |repeat: &Vec<Tried>| {
            let likelihood = self.likelihood(repeat, width(of_steps));
            let (mut sum, mut all) = (0.0, 0.0);
            for (place, likelihood) in likelihood.iter().enumerate() {
                let away = (self.place(place) - middle) / spread;
                let weight = likelihood * (-0.5 * away * away).exp();
                sum += weight * self.place(place);
                all += weight;
            }
            if all > 0.0 { sum / all } else { middle }.exp()
        };
        repeats.iter().map(of_repeat).collect()
    }
}

/// The kernel's transform of a likelihood at a place.
fn smoothed(likelihood: &[f64], kernel: &[f64], place: usize) -> f64 {
    let below = likelihood[..=place].iter().rev().zip(kernel);
    let above = likelihood[place + 1..].iter().zip(&kernel[1..]);
    below.chain(above).map(|(value, part)| value * part).sum()
}

/// Where the middle may lie: around the lowest rate that missed and the highest that held. None
/// where all steps held or all missed.
fn span(repeats: &[Vec<Tried>]) -> Option<(f64, f64)> {
    let steps = || repeats.iter().flatten();
    let rates = |held: bool| {
        let those = steps().filter(move |it| it.held == held);
        those.map(|it| it.rate_per_second.ln())
    };
    let missed = rates(false).reduce(f64::min)?;
    let held = rates(true).reduce(f64::max)?;
    let (low, high) = (missed.min(held), missed.max(held));
    let margin = (high - low).max(WIDTH_MAX / 2.0);
    Some((low - margin, high + margin))
}

/// The logarithm of the logistic function.
fn log_logistic(x: f64) -> f64 {
    if x > 0.0 {
        -(-x).exp().ln_1p()
    } else {
        x - x.exp().ln_1p()
    }
}

/// The distance below the middle at which steps of these widths hold with
/// [`SUSTAINED_PROBABILITY`].
fn offset(of_steps: usize, of_processes: usize) -> f64 {
    static OFFSETS: OnceLock<Vec<f64>> = OnceLock::new();
    let all = OFFSETS.get_or_init(|| {
        let pairs = (0..WIDTHS * WIDTHS).map(|it| (width(it / WIDTHS), width(it % WIDTHS)));
        pairs
            .map(|(steps, processes)| solve(steps, processes))
            .collect()
    });
    all[of_steps * WIDTHS + of_processes]
}

/// Bisects for the distance at which a step holds with [`SUSTAINED_PROBABILITY`], over processes.
fn solve(steps: f64, processes: f64) -> f64 {
    let (mut low, mut high) = (0.0, 4.0 * (steps + processes));
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if holds(middle, steps, processes) < SUSTAINED_PROBABILITY {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

/// The probability that a step holds this far below the middle: the logistic function's mean over
/// processes.
pub(super) fn holds(below: f64, steps: f64, processes: f64) -> f64 {
    const PARTS: i32 = 400;
    let (mut sum, mut all) = (0.0, 0.0);
    for part in -PARTS..=PARTS {
        let away = FAR * f64::from(part) / f64::from(PARTS);
        let weight = (-0.5 * away * away).exp();
        sum += weight * log_logistic((below + away * processes) / steps).exp();
        all += weight;
    }
    sum / all
}
