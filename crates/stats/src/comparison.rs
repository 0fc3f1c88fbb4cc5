//! Paired comparisons, block by block.

use serde::Serialize;

use crate::sign_flip::sign_flip_p;
use crate::spoiled::Spoiled;
use crate::spread::Spread;
use crate::verdict::{Direction, MIN_BLOCKS, Verdict, judge};
use crate::{Interval, bootstrap, holm};

/// The confidence of the interval of a single comparison. Holm's correction may raise it if there
/// are several.
pub const CONFIDENCE: f64 = 0.95;

/// The minimum number of blocks for a bootstrap interval. With fewer, the resamples are too similar
/// to each other.
pub const BOOTSTRAP_BLOCKS: usize = 20;

/// The values of two variants in the same blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    pub baseline: Vec<f64>,
    /// The values to be judged, in the baseline's order of blocks.
    pub candidate: Vec<f64>,
    pub direction: Direction,
}

/// The settings of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The smallest effect that matters: 0.02 is two percent.
    pub smallest_effect: f64,
    pub seed: u64,
}

/// The method by which an interval was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t on the paired log ratios.
    Student,
    /// The bootstrap of at least [`BOOTSTRAP_BLOCKS`] blocks ([`bootstrap::mean_interval`]).
    Bootstrap,
    /// The repeated interval of a comparison that may stop after any block ([`crate::sequential`]).
    Repeated,
    /// Welch's t on the log values of two runs ([`crate::apart`]).
    Welch,
    /// The prediction interval of one run, given several ([`crate::apart`]).
    Prediction,
}

/// The result of comparing a candidate with a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The ratio of the geometric means, candidate ÷ baseline; NaN (in JSON: null) if the sides
    /// spoiled every block.
    pub ratio: f64,
    /// The ratio's interval, at the confidence that all comparisons together require; `None` with
    /// fewer than [`MIN_BLOCKS`] blocks or fewer than [`crate::MIN_RUNS`] baseline runs.
    pub interval: Option<Interval>,
    pub method: Option<Method>,
    /// The p-value of the sign-flip test, as a check on the interval. `None` without blocks, with
    /// more than 20 blocks, in a comparison that may stop after any block, and for runs that are
    /// not paired.
    pub sign_flip_p: Option<f64>,
    pub verdict: Verdict,
}

impl Comparison {
    pub(crate) fn without_interval(ratio: f64, blocks: usize) -> Self {
        Self {
            ratio,
            interval: None,
            method: None,
            sign_flip_p: None,
            verdict: Verdict::TooFewBlocks { blocks },
        }
    }

    /// Adds an interval, whose ends are given as logarithms.
    pub(crate) fn add_interval(&mut self, method: Method, ends: (f64, f64), confidence: f64) {
        let ends = (ends.0.exp(), ends.1.exp());
        self.method = Some(method);
        self.interval = Some(Interval::of(ends, confidence));
    }
}

/// Compares one pair by itself; see [`compare_all`].
pub fn compare(pair: &Pair, rule: Rule) -> Option<Comparison> {
    compare_all(std::slice::from_ref(pair), rule).pop()?
}

/// Compares pairs that are reported together. The effect is the mean of the paired log ratios. Its
/// interval is that of Student's t or, with at least [`BOOTSTRAP_BLOCKS`] blocks, that of the
/// bootstrap. Holm's procedure determines each interval's confidence from the p-values of Student's
/// test for all pairs that have enough blocks. All verdicts of better or worse are therefore
/// simultaneously correct with 95 % confidence.
///
/// The result is `None` for a pair whose sides differ in length, are empty, or contain a value that
/// is not positive and finite.
pub fn compare_all(pairs: &[Pair], rule: Rule) -> Vec<Option<Comparison>> {
    compare_all_weighed(pairs, &vec![Spoiled::default(); pairs.len()], rule)
}

/// Like [`compare_all`], but also counts the missing blocks of each pair against the side that
/// spoiled them ([`Spoiled::weigh`]). Holm's correction includes the p-value of the sign test on
/// these blocks. A pair whose blocks were all spoiled has no interval, and its ratio is NaN.
pub fn compare_all_weighed(
    pairs: &[Pair],
    spoiled: &[Spoiled],
    rule: Rule,
) -> Vec<Option<Comparison>> {
    let both = pairs.iter().zip(spoiled);
    let hypotheses: Vec<_> = both
        .map(|(pair, spoiled)| Hypotheses::of(pair, *spoiled))
        .collect();
    let p_values: Vec<f64> = hypotheses
        .iter()
        .flatten()
        .flat_map(|it| it.p_value.into_iter().chain(it.spoiled_p))
        .collect();
    let mut levels = holm::levels(&p_values, 1.0 - CONFIDENCE).into_iter();
    let mut seed = rule.seed;
    let compared = pairs.iter().zip(hypotheses).map(|(pair, hypotheses)| {
        let Hypotheses {
            logs,
            p_value,
            spoiled,
            spoiled_p,
        } = hypotheses?;
        let mut level = |p: Option<f64>| p.and_then(|_| levels.next());
        let ratio = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let mut found = Comparison::without_interval(ratio, logs.len());
        found.sign_flip_p = sign_flip_p(&logs);
        if let Some(level) = level(p_value) {
            // Resample each pair independently.
            seed = seed.wrapping_add(1);
            let rule = Rule { seed, ..rule };
            settle(&mut found, &logs, pair.direction, 1.0 - level, rule);
        }
        let level = level(spoiled_p).unwrap_or(0.0);
        found.verdict = spoiled.weigh(found.verdict, logs.len(), level);
        Some(found)
    });
    compared.collect()
}

struct Hypotheses {
    logs: Vec<f64>,
    p_value: Option<f64>,
    spoiled: Spoiled,
    spoiled_p: Option<f64>,
}

impl Hypotheses {
    /// Returns `None` if the values cannot be compared, unless they are empty because all blocks
    /// were spoiled.
    fn of(pair: &Pair, spoiled: Spoiled) -> Option<Self> {
        let is_lost = pair.baseline.is_empty() && pair.candidate.is_empty() && spoiled.any();
        let logs = match is_lost {
            true => Vec::new(),
            false => log_ratios(pair)?,
        };
        Some(Self {
            p_value: p_value(&logs),
            spoiled_p: spoiled.p_value(logs.len()),
            spoiled,
            logs,
        })
    }
}

fn settle(found: &mut Comparison, logs: &[f64], direction: Direction, confidence: f64, rule: Rule) {
    let spread = Spread::of(logs);
    let (method, ends) = if logs.len() < BOOTSTRAP_BLOCKS {
        (Method::Student, spread.interval(logs.len(), confidence))
    } else {
        let ends = bootstrap::mean_interval(logs, confidence, rule.seed);
        (Method::Bootstrap, ends)
    };
    found.add_interval(method, ends, confidence);
    found.verdict = judge(ends, direction, rule.smallest_effect, || {
        spread.blocks_needed(logs.len(), confidence, rule.smallest_effect)
    });
}

pub(crate) fn log_ratios(pair: &Pair) -> Option<Vec<f64>> {
    let Pair {
        baseline,
        candidate,
        ..
    } = pair;
    let usable = |value: &f64| value.is_finite() && *value > 0.0;
    let comparable = baseline.len() == candidate.len() && !baseline.is_empty();
    if !comparable || !baseline.iter().chain(candidate).all(usable) {
        return None;
    }
    let pairs = baseline.iter().zip(candidate);
    Some(pairs.map(|(base, new)| log_ratio(*base, *new)).collect())
}

fn log_ratio(base: f64, new: f64) -> f64 {
    let ratio = new / base;
    // The logarithms of two numbers are in range even if their ratio is not.
    if ratio.is_normal() {
        ratio.ln()
    } else {
        new.ln() - base.ln()
    }
}

/// Returns the two-sided p-value of Student's test that the mean is zero, or `None` with fewer than
/// [`MIN_BLOCKS`] blocks.
fn p_value(logs: &[f64]) -> Option<f64> {
    (logs.len() >= MIN_BLOCKS).then(|| Spread::of(logs).p_value(logs.len()))
}
