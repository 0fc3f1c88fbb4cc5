//! The logistic curve of a search: the probability that a step holds, that is, meets the objective,
//! as a function of the logarithm of its rate.
//!
//! Within a process, a step holds with probability (1 − λ) ÷ (1 + exp((x − m) ÷ s)), where x is the
//! logarithm of its rate. λ is the share of steps that miss regardless of the rate
//! ([`super::lapses`]). The middles m of the processes are normally distributed around the middle
//! of the curve. The curve has four parameters: the width s of the steps, the width of the
//! processes (the standard deviation of m), the lapses λ and the middle. Each combination of them
//! on a grid is weighted by the likelihood of all steps. The prior is uniform for the middle and
//! log-uniform for the other parameters. With such a prior for the middle and the width, intervals
//! for a quantile of a normal distribution are exact. Each combination determines a quantile of the
//! curve over processes and steps. The estimate is the median of the weighted quantiles, and its
//! interval contains the middle 95 % of them. No step holds with a probability above 1 − λ, so the
//! sustained rate is computed only from combinations whose lapses allow one.
//!
//! Sources: H. Jeffreys, *Theory of Probability*, 1961 (prior); D. R. Cox, *The Regression Analysis
//! of Binary Sequences*, Journal of the Royal Statistical Society B 20(2), 1958.

use std::sync::OnceLock;

use super::Tried;
use super::deviating::{Middle, deviating};
use super::lapses::{self, Lapses};
use super::outcome::{Outcome, REPEATS_MIN, Rate, Sustained};
use crate::Interval;

/// The probability that a step at the sustained rate holds.
pub const SUSTAINED_PROBABILITY: f64 = 0.95;

const CONFIDENCE: f64 = 0.95;

/// The number of widths on the grid, both for steps and for processes. Widths are on the scale of
/// the logarithm of the rate.
const WIDTHS: usize = 10;
const WIDTH_MIN: f64 = 0.001;
const WIDTH_MAX: f64 = 0.2;

/// A combination is omitted if an upper bound on its weights is below this fraction of the largest
/// weight found so far.
const NEGLIGIBLE: f64 = 1e-9;

const PLACES: usize = 141;

/// The number of standard deviations beyond which a normal distribution is treated as zero.
const FAR: f64 = 5.0;

/// The search for a rate that holds with the required probability extends this far below the
/// middle, in multiples of the sum of the two widths.
const FURTHEST: f64 = 6.0;

fn width(index: usize) -> f64 {
    WIDTH_MIN * (WIDTH_MAX / WIDTH_MIN).powf(index as f64 / (WIDTHS - 1) as f64)
}

#[derive(Clone, Copy)]
enum Held {
    Half,
    Sustained,
}

/// A combination of widths and lapses, as indices on the grid.
#[derive(Clone, Copy, Default)]
struct Combination {
    steps: usize,
    processes: usize,
    lapses: usize,
}

const COMBINATIONS: usize = WIDTHS * WIDTHS * lapses::COUNT;

impl Combination {
    fn number(self) -> usize {
        (self.steps * WIDTHS + self.processes) * lapses::COUNT + self.lapses
    }

    /// Returns the distance below the middle at which steps hold with the probability that `held`
    /// denotes, or `None` if the lapses make that probability unreachable.
    fn below(self, held: Held) -> Option<f64> {
        static BELOW: [[OnceLock<f64>; COMBINATIONS]; 2] =
            [const { [const { OnceLock::new() }; COMBINATIONS] }; 2];
        let (known, probability) = match held {
            Held::Half => (&BELOW[0], 0.5),
            Held::Sustained => (&BELOW[1], SUSTAINED_PROBABILITY),
        };
        let wanted = probability / (1.0 - lapses::share(self.lapses));
        let below = || solve(wanted, width(self.steps), width(self.processes));
        (wanted < 1.0).then(|| *known[self.number()].get_or_init(below))
    }
}

/// A grid of middles, with the weights of the combinations that are not negligible.
pub(super) struct Curve {
    low: f64,
    spacing: f64,
    weights: Vec<(Combination, Vec<f64>)>,
}

impl Curve {
    /// Fits the curve to these repeats. Returns `None` if all steps held or all missed.
    /// `resolution` is the distance below which middles need not be distinguished.
    pub(super) fn fit(repeats: &[Vec<Tried>], resolution: f64) -> Option<Outcome> {
        let (mut low, mut high) = span(repeats)?;
        let mut curve = Self::over(repeats, low, high);
        // A single outcome far from the others widens the grid, so narrow it to the places that
        // have weight.
        for _ in 0..3 {
            if curve.spacing < resolution / 5.0 {
                break;
            }
            let middles = curve.quantiles(|_| Some(0.0), [1e-6, 1.0 - 1e-6]);
            let margin = 2.0 * curve.spacing;
            (low, high) = (
                (middles[0] - margin).max(low),
                (middles[1] + margin).min(high),
            );
            curve = Self::over(repeats, low, high);
        }
        let lapses = curve.lapses();
        let has_interval = repeats.len() >= REPEATS_MIN;
        let half = curve.rate_held(Held::Half, has_interval);
        if lapses.share >= 1.0 - SUSTAINED_PROBABILITY {
            return Some(Outcome::Lapsing { lapses, half });
        }
        let middle = curve.rate(|_| Some(0.0), false);
        Some(Outcome::Found(Sustained {
            rate: curve.rate_held(Held::Sustained, has_interval),
            probability: SUSTAINED_PROBABILITY,
            half,
            knees_per_second: curve.knees(repeats, middle.rate_per_second.ln()),
            deviating: deviating(&curve.middles(repeats)),
            lapses,
        }))
    }

    fn over(repeats: &[Vec<Tried>], low: f64, high: f64) -> Self {
        let spacing = (high - low) / (PLACES - 1) as f64;
        let mut curve = Self {
            low,
            spacing,
            weights: Vec::new(),
        };
        // With fewer repeats, the spread between processes is unknown, so use the smallest width.
        let widths = if repeats.len() >= REPEATS_MIN {
            WIDTHS
        } else {
            1
        };
        let kernels: Vec<Vec<f64>> = (0..widths).map(|it| curve.kernel(width(it))).collect();
        let mut largest = f64::NEG_INFINITY;
        for steps in 0..WIDTHS {
            let holds: Vec<Vec<Vec<f64>>> = repeats
                .iter()
                .map(|repeat| curve.holds(repeat, width(steps)))
                .collect();
            for cell in 0..lapses::COUNT {
                let likelihoods: Vec<Vec<f64>> = repeats
                    .iter()
                    .zip(&holds)
                    .map(|(repeat, holds)| likelihood(repeat, holds, lapses::share(cell)))
                    .collect();
                let most = |of: &Vec<f64>| of.iter().copied().fold(0.0, f64::max).ln();
                let prior = lapses::prior(cell).ln();
                // An upper bound on the weight at any place.
                let most = prior + likelihoods.iter().map(most).sum::<f64>();
                if most < NEGLIGIBLE.ln() + largest {
                    continue;
                }
                for (processes, kernel) in kernels.iter().enumerate() {
                    let mut weights = vec![prior; PLACES];
                    for likelihood in &likelihoods {
                        for (place, weight) in weights.iter_mut().enumerate() {
                            *weight += smoothed(likelihood, kernel, place).ln();
                        }
                    }
                    largest = weights.iter().copied().fold(largest, f64::max);
                    let of = Combination {
                        steps,
                        processes,
                        lapses: cell,
                    };
                    curve.weights.push((of, weights));
                }
            }
        }
        // Only ratios of weights matter, and the product of many likelihoods is too small for a
        // floating-point number. The weights are therefore logarithms up to this point, and are now
        // scaled so that the largest is 1.
        for weight in curve.weights.iter_mut().flat_map(|(_, weights)| weights) {
            *weight = (*weight - largest).exp();
        }
        curve
    }

    /// Returns, for each place on the grid, the probability that each step of a repeat would hold
    /// without lapses if the middle of the repeat's process were at this place.
    fn holds(&self, repeat: &[Tried], width: f64) -> Vec<Vec<f64>> {
        let at = |place: usize| {
            let middle = self.place(place);
            let holds = |tried: &Tried| {
                // The result of a longer step varies less.
                let width = width / tried.length.sqrt();
                logistic((middle - tried.rate_per_second.ln()) / width)
            };
            repeat.iter().map(holds).collect()
        };
        (0..PLACES).map(at).collect()
    }

    /// Returns one half of a normal distribution on the grid, from its middle outward. Both halves
    /// together sum to one.
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

    fn rate_held(&self, held: Held, has_interval: bool) -> Rate {
        self.rate(|of| of.below(held), has_interval)
    }

    /// Returns the rate at a distance below the middle. `below` returns the distance, in logarithms
    /// of rates, for a combination; combinations for which it returns `None` are ignored.
    fn rate(&self, below: impl Fn(Combination) -> Option<f64>, has_interval: bool) -> Rate {
        let tail = (1.0 - CONFIDENCE) / 2.0;
        let [low, middle, high] = self.quantiles(below, [tail, 0.5, 1.0 - tail]).map(f64::exp);
        Rate {
            rate_per_second: middle,
            interval: has_interval.then(|| Interval::of((low, high), CONFIDENCE)),
        }
    }

    fn quantiles<const N: usize>(
        &self,
        below: impl Fn(Combination) -> Option<f64>,
        wanted: [f64; N],
    ) -> [f64; N] {
        let mut values: Vec<(f64, f64)> = Vec::new();
        for (of, weights) in &self.weights {
            let Some(below) = below(*of) else { continue };
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

    fn lapses(&self) -> Lapses {
        let mut cells = [0.0; lapses::COUNT];
        for (of, weights) in &self.weights {
            cells[of.lapses] += weights.iter().sum::<f64>();
        }
        Lapses::of(cells)
    }

    fn likeliest(&self) -> Combination {
        let total = |weights: &[f64]| weights.iter().sum::<f64>();
        let most = self
            .weights
            .iter()
            .max_by(|one, other| total(&one.1).total_cmp(&total(&other.1)));
        most.map(|it| it.0).unwrap_or_default()
    }

    /// Returns, for each repeat, the rate at the middle of its process's curve, for the most likely
    /// widths and lapses. The prior is a normal distribution around `middle`.
    fn knees(&self, repeats: &[Vec<Tried>], middle: f64) -> Vec<f64> {
        let spread = width(self.likeliest().processes);
        let own = self.own_middles(repeats, |place| {
            let away = (self.place(place) - middle) / spread;
            (-0.5 * away * away).exp()
        });
        let rate = |own: Option<Middle>| own.map_or(middle, |it| it.at).exp();
        own.into_iter().map(rate).collect()
    }

    /// Returns the middle of each repeat's process for the most likely widths and lapses, estimated
    /// from its own steps alone. The result is empty if the steps of any repeat have likelihood
    /// zero at every place.
    fn middles(&self, repeats: &[Vec<Tried>]) -> Vec<Middle> {
        let own = self.own_middles(repeats, |_| 1.0).into_iter();
        own.collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns the middle of each repeat's process, given a prior weight for each place; `None` for
    /// a repeat for which no place has weight.
    fn own_middles(
        &self,
        repeats: &[Vec<Tried>],
        before: impl Fn(usize) -> f64,
    ) -> Vec<Option<Middle>> {
        let of = self.likeliest();
        let of_repeat = |repeat: &Vec<Tried>| {
            let holds = self.holds(repeat, width(of.steps));
            let likelihood = likelihood(repeat, &holds, lapses::share(of.lapses));
            let weights = likelihood.iter().enumerate();
            let weights: Vec<f64> = weights.map(|(place, it)| it * before(place)).collect();
            let all: f64 = weights.iter().sum();
            let mean = |value: &dyn Fn(f64) -> f64| {
                let places = weights.iter().enumerate();
                let sum: f64 = places.map(|(at, it)| it * value(self.place(at))).sum();
                sum / all
            };
            let at = mean(&|place| place);
            let error = mean(&|place| (place - at).powi(2)).sqrt();
            (all > 0.0).then_some(Middle { at, error })
        };
        repeats.iter().map(of_repeat).collect()
    }
}

/// Returns the likelihood of a repeat's steps as a function of its process's middle. `holds`
/// contains the probabilities that the steps would hold without lapses.
fn likelihood(repeat: &[Tried], holds: &[Vec<f64>], lapses: f64) -> Vec<f64> {
    let at = |holds: &Vec<f64>| {
        let steps = repeat.iter().zip(holds);
        let each = steps.map(|(tried, holds)| {
            let held = (1.0 - lapses) * holds;
            if tried.held { held } else { 1.0 - held }
        });
        each.product::<f64>()
    };
    holds.iter().map(at).collect()
}

fn smoothed(likelihood: &[f64], kernel: &[f64], place: usize) -> f64 {
    let below = likelihood[..=place].iter().rev().zip(kernel);
    let above = likelihood[place + 1..].iter().zip(&kernel[1..]);
    below.chain(above).map(|(value, part)| value * part).sum()
}

/// Returns the range of possible middles, around the lowest rate that missed and the highest rate
/// that held, or `None` if all steps held or all missed.
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

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Finds by bisection the distance below the middle at which a step of a random process holds with
/// `probability`, not counting lapses. `probability` must be at least one half. `steps` and
/// `processes` are the widths.
fn solve(probability: f64, steps: f64, processes: f64) -> f64 {
    let (mut low, mut high) = (0.0, FURTHEST * (steps + processes));
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if holds(middle, steps, processes) < probability {
            low = middle
        } else {
            high = middle
        }
    }
    high
}

/// Returns the probability that a step of a random process holds at this distance below the middle,
/// not counting lapses: the mean of the logistic function over all processes.
pub fn holds(below: f64, steps: f64, processes: f64) -> f64 {
    const PARTS: i32 = 400;
    let (mut sum, mut all) = (0.0, 0.0);
    for part in -PARTS..=PARTS {
        let away = FAR * f64::from(part) / f64::from(PARTS);
        let weight = (-0.5 * away * away).exp();
        sum += weight * logistic((below + away * processes) / steps);
        all += weight;
    }
    sum / all
}
