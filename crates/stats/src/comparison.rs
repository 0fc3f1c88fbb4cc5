//! Paired comparisons, block by block.

use serde::Serialize;

use crate::sign_flip::sign_flip_p;
use crate::spoiled::Spoiled;
use crate::spread::Spread;
use crate::verdict::{Direction, MIN_BLOCKS, Verdict, judge};
use crate::{Interval, bootstrap, holm};

/// Confidence of the interval of a comparison that is made alone; Holm's correction raises it where
/// there are more.
pub const CONFIDENCE: f64 = 0.95;

/// Blocks from which on the interval is the bootstrap's. Below, too few resamples differ.
pub const BOOTSTRAP_BLOCKS: usize = 20;

/// Values of the same blocks under two variants.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// What is compared with.
    pub baseline: Vec<f64>,
    /// What is judged, in the same order.
    pub candidate: Vec<f64>,
    /// Which values are good.
    pub direction: Direction,
}

/// How comparisons are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The smallest effect that matters: 0.02 is two per cent.
    pub smallest_effect: f64,
    /// Seed of the bootstrap.
    pub seed: u64,
}

/// Where an interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Student's t on the paired log ratios.
    Student,
    /// The bootstrap over blocks, from [`BOOTSTRAP_BLOCKS`] on; at confidences that its resamples
    /// do not reach, the wider of it and Student's t at either end.
    Bootstrap,
    /// The repeated interval of a comparison that may stop after any block ([`crate::sequential`]).
    Repeated,
    /// Welch's t on the log values of two runs ([`crate::apart`]).
    Welch,
    /// The prediction interval of one run among several ([`crate::apart`]).
    Prediction,
}

/// A candidate against a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The geometric mean of the blocks' ratios, candidate ÷ baseline; not a number (in JSON: null)
    /// if the sides spoiled every block.
    pub ratio: f64,
    /// Its interval, at the confidence that Holm's correction asks for; none below [`MIN_BLOCKS`]
    /// blocks.
    pub interval: Option<Interval>,
    /// Where the interval comes from; none without one.
    pub method: Option<Method>,
    /// p of the sign-flip test, a check on the interval; none above 20 blocks, nor where the interval
    /// is a repeated one.
    pub sign_flip_p: Option<f64>,
    /// What it says.
    pub verdict: Verdict,
}

/// Compares one pair by itself; see [`compare_all`].
pub fn compare(pair: &Pair, rule: Rule) -> Option<Comparison> {
    compare_all(std::slice::from_ref(pair), rule).pop()?
}

/// Compares the pairs that are reported together. The effect is the mean of the paired log ratios.
/// Its interval is Student's t on them, from [`BOOTSTRAP_BLOCKS`] blocks on the bootstrap's. Its
/// confidence is Holm's for that pair among all that have enough blocks, ordered by the p values of
/// Student's test, so that all verdicts of better or worse hold together with 95 %.
///
/// None for a pair whose sides differ in length, are empty, or hold a value that is not positive.
pub fn compare_all(pairs: &[Pair], rule: Rule) -> Vec<Option<Comparison>> {
    compare_all_weighed(pairs, &vec![Spoiled::default(); pairs.len()], rule)
}

/// As [`compare_all`], with the missing blocks of each pair that a side spoiled
/// ([`Spoiled::weigh`]). Their sign test is one more hypothesis of Holm's. A pair without a block
/// has no ratio (not a number) and no interval.
pub fn compare_all_weighed(
    pairs: &[Pair],
    spoiled: &[Spoiled],
    rule: Rule,
) -> Vec<Option<Comparison>> {
    let hypotheses: Vec<Option<Hypotheses>> = pairs
        .iter()
        .zip(spoiled)
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
        let mut found = Comparison {
            ratio: (logs.iter().sum::<f64>() / logs.len() as f64).exp(),
            interval: None,
            method: None,
            sign_flip_p: sign_flip_p(&logs),
            verdict: Verdict::TooFewBlocks { blocks: logs.len() },
        };
        if let Some(level) = level(p_value) {
            // Resamples of one pair say nothing about those of another.
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

/// The hypotheses about one pair.
struct Hypotheses {
    logs: Vec<f64>,
    /// That the values do not differ; none below [`MIN_BLOCKS`] blocks.
    p_value: Option<f64>,
    spoiled: Spoiled,
    /// That neither side spoils more blocks than the other; none where none did, or both.
    spoiled_p: Option<f64>,
}

impl Hypotheses {
    /// None where nothing can be compared.
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

/// Adds interval and verdict.
fn settle(found: &mut Comparison, logs: &[f64], direction: Direction, confidence: f64, rule: Rule) {
    let spread = Spread::of(logs);
    let (method, (low, high)) = if logs.len() < BOOTSTRAP_BLOCKS {
        (Method::Student, spread.interval(logs.len(), confidence))
    } else {
        let interval = bootstrap::mean_interval(logs, confidence, rule.seed);
        (Method::Bootstrap, interval)
    };
    found.method = Some(method);
    found.interval = Some(Interval {
        low: low.exp(),
        high: high.exp(),
        confidence,
    });
    found.verdict = judge((low, high), direction, rule.smallest_effect, || {
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
    // The logarithms of two numbers are in range even where their ratio is not.
    if ratio.is_normal() {
        ratio.ln()
    } else {
        new.ln() - base.ln()
    }
}

/// Two-sided p of Student's test that the mean is zero; none below [`MIN_BLOCKS`] blocks.
fn p_value(logs: &[f64]) -> Option<f64> {
    (logs.len() >= MIN_BLOCKS).then(|| Spread::of(logs).p_value(logs.len()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::verdict::Reading;
    use proptest::prelude::*;

    const RULE: Rule = Rule {
        smallest_effect: 0.02,
        seed: 1,
    };

    fn pair(baseline: &[f64], candidate: &[f64]) -> Pair {
        Pair {
            baseline: baseline.into(),
            candidate: candidate.into(),
            direction: Direction::HigherIsBetter,
        }
    }

    /// An even number of blocks whose log ratios have this mean and deviation.
    fn blocks(count: usize, mean: f64, deviation: f64) -> Pair {
        // Alternating ±1 has mean 0 and sample variance n / (n − 1).
        let scale = deviation / (count as f64 / (count - 1) as f64).sqrt();
        let value = |i| (mean + if i % 2 == 0 { scale } else { -scale }).exp();
        pair(
            &vec![1.0; count],
            &(0..count).map(value).collect::<Vec<_>>(),
        )
    }

    fn verdict(mean: f64, deviation: f64) -> Verdict {
        compare(&blocks(10, mean, deviation), RULE).unwrap().verdict
    }

    #[test]
    fn the_interval_is_students() {
        let found = compare(&blocks(10, 0.1, 0.05), RULE).unwrap();
        let half = 2.262_157 * 0.05 / 10.0_f64.sqrt();
        let interval = found.interval.unwrap();
        assert_eq!(found.method, Some(Method::Student));
        assert!((found.ratio.ln() - 0.1).abs() < 1e-12);
        assert!((interval.low.ln() - (0.1 - half)).abs() < 1e-6);
        assert!((interval.high.ln() - (0.1 + half)).abs() < 1e-6);
        assert!((interval.confidence - 0.95).abs() < 1e-12);
    }

    #[test]
    fn each_verdict_has_its_case() {
        assert_eq!(verdict(0.1, 0.05), Verdict::Better);
        assert_eq!(verdict(-0.1, 0.05), Verdict::Worse);
        // Excludes zero, but lies within two per cent: too small to matter.
        assert_eq!(verdict(0.01, 0.001), Verdict::NoChange);
        assert!(matches!(verdict(0.02, 0.05), Verdict::Inconclusive { .. }));
    }

    #[test]
    fn lower_is_better_turns_it_round() {
        let slower = Pair {
            direction: Direction::LowerIsBetter,
            ..blocks(10, 0.1, 0.05)
        };
        assert_eq!(compare(&slower, RULE).unwrap().verdict, Verdict::Worse);
    }

    #[test]
    fn nine_blocks_carry_no_verdict_however_clear() {
        let found = compare(&pair(&[1.0; 9], &[2.0; 9]), RULE).unwrap();
        assert_eq!(found.verdict, Verdict::TooFewBlocks { blocks: 9 });
        assert_eq!((found.interval, found.method), (None, None));
    }

    #[test]
    fn twenty_blocks_are_resampled() {
        let found = compare(&blocks(20, 0.1, 0.05), RULE).unwrap();
        let student = Spread::of(&log_ratios(&blocks(20, 0.1, 0.05)).unwrap()).interval(20, 0.95);
        let interval = found.interval.unwrap();
        assert_eq!(found.method, Some(Method::Bootstrap));
        assert!(
            (interval.low.ln() - student.0).abs() < 0.003,
            "{interval:?}"
        );
        assert!(
            (interval.high.ln() - student.1).abs() < 0.003,
            "{interval:?}"
        );
        assert_eq!(found, compare(&blocks(20, 0.1, 0.05), RULE).unwrap());
    }

    #[test]
    fn what_is_clear_alone_may_be_chance_among_many() {
        // t = 2.53 at nine degrees of freedom: p = 0.032.
        let close = blocks(10, 0.04, 0.05);
        assert_eq!(compare(&close, RULE).unwrap().verdict, Verdict::Better);
        let mut all = vec![close];
        all.extend((0..3).map(|_| blocks(10, 0.001, 0.1)));
        all.push(blocks(10, 0.5, 0.05));
        all.push(pair(&[1.0; 3], &[2.0; 3]));
        let found = compare_all(&all, RULE);
        let verdicts: Vec<_> = found.iter().flatten().map(|found| found.verdict).collect();
        assert!(matches!(verdicts[0], Verdict::Inconclusive { .. }));
        assert_eq!(verdicts[4], Verdict::Better);
        assert_eq!(verdicts[5], Verdict::TooFewBlocks { blocks: 3 });
        let confidence = |i: usize| found[i].as_ref().unwrap().interval.unwrap().confidence;
        // Three blocks are no hypothesis, so there are five.
        assert!((confidence(4) - (1.0 - 0.05 / 5.0)).abs() < 1e-12);
        assert!((confidence(0) - (1.0 - 0.05 / 4.0)).abs() < 1e-12);
        assert_eq!(confidence(0), confidence(1));
    }

    #[test]
    fn the_blocks_needed_settle_it_and_one_fewer_does_not() {
        let Verdict::Inconclusive {
            blocks_needed: Some(needed),
        } = verdict(0.02, 0.05)
        else {
            panic!("not inconclusive")
        };
        let spread = Spread {
            mean: 0.02,
            deviation: 0.05,
        };
        let settled = |n| Reading::of(spread.interval(n, 0.95), 0.02).settles();
        assert!(settled(needed) && !settled(needed - 1), "{needed}");
    }

    #[test]
    fn unpaired_and_impossible_values_are_refused() {
        for (baseline, candidate) in [
            (&[1.0][..], &[][..]),
            (&[], &[]),
            (&[0.0], &[1.0]),
            (&[1.0], &[f64::NAN]),
        ] {
            assert_eq!(compare(&pair(baseline, candidate), RULE), None);
        }
    }

    proptest! {
        // Each case asks for hundreds of quantiles.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn swapping_the_sides_inverts_the_ratio(
            pairs in prop::collection::vec((0.1_f64..10.0, 0.1_f64..10.0), 10..20),
        ) {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let there = compare(&pair(&a, &b), RULE).unwrap();
            let back = compare(&pair(&b, &a), RULE).unwrap();
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
            let interval = there.interval.unwrap();
            prop_assert!(interval.low <= there.ratio && there.ratio <= interval.high);
        }
    }
}
