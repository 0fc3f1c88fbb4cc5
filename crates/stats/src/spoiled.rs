//! Blocks without a value because a side spoiled them: it dropped requests, failed or ended.
//!
//! Leaving such a block out would reward a side that collapses when it is slow. It counts against
//! the side that spoiled it: no verdict favours that side, whatever the other blocks show. A side
//! has lost if it alone spoiled blocks, and more than equal sides would plausibly spoil on one side
//! only.

use crate::verdict::{MIN_BLOCKS, Verdict};

/// The blocks that one side spoiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpoiledBy {
    /// Blocks that it certainly spoiled itself, in which the other side has a value.
    pub alone: usize,
    /// All blocks that it spoiled or may have spoiled, those of both sides included.
    pub all: usize,
}

/// The missing blocks of a comparison that its sides spoiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spoiled {
    /// By the candidate.
    pub candidate: SpoiledBy,
    /// By the baseline.
    pub baseline: SpoiledBy,
}

impl Spoiled {
    /// Reports whether there is any such block.
    pub fn any(&self) -> bool {
        self.candidate.all + self.baseline.all > 0
    }

    /// The blocks that one side alone spoiled, with the verdict that enough of them give; none if
    /// both sides spoiled some.
    fn one_sided(&self) -> Option<(usize, Verdict)> {
        match (self.candidate, self.baseline) {
            (own, other) if own.alone > 0 && other.all == 0 => Some((own.alone, Verdict::Worse)),
            (own, other) if other.alone > 0 && own.all == 0 => Some((other.alone, Verdict::Better)),
            _ => None,
        }
    }

    /// Two-sided p of the sign test that each side spoils a block as likely as the other, given
    /// `blocks` that have values; none if both spoiled some, or if the blocks are fewer than a
    /// verdict needs.
    ///
    /// It holds at all looks together, after every block: for k blocks of one side, 1 ÷ p is the mean
    /// capital of two gamblers who bet all they have on one side each, and the capital in a fair game
    /// ever reaches 1 ÷ p with a probability of at most p (J. Ville, *Étude critique de la notion de
    /// collectif*, 1939).
    pub fn p_value(&self, blocks: usize) -> Option<f64> {
        let (alone, _) = self.one_sided()?;
        (alone + blocks >= MIN_BLOCKS).then(|| 0.5_f64.powi(alone as i32 - 1))
    }

    /// The `verdict` of `blocks` that have values, corrected for spoiled blocks at the sign test's
    /// `level`.
    pub fn weigh(&self, verdict: Verdict, blocks: usize, level: f64) -> Verdict {
        if let Some((_, lost)) = self.one_sided()
            && self.p_value(blocks).is_some_and(|p| p <= level)
        {
            // What the other blocks show speaks for the side that lost: the two say different things.
            return match (lost, verdict) {
                (Verdict::Worse, Verdict::Better) | (Verdict::Better, Verdict::Worse) => {
                    Verdict::Inconclusive {
                        blocks_needed: None,
                    }
                }
                _ => lost,
            };
        }
        match verdict {
            _ if !self.any() => verdict,
            Verdict::Worse if self.baseline.all == 0 => verdict,
            Verdict::Better if self.candidate.all == 0 => verdict,
            Verdict::TooFewBlocks { .. } => verdict,
            _ => Verdict::Inconclusive {
                blocks_needed: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Noise;

    const OPEN: Verdict = Verdict::Inconclusive {
        blocks_needed: None,
    };

    fn by(alone: usize, all: usize) -> SpoiledBy {
        SpoiledBy { alone, all }
    }

    fn weighed(candidate: SpoiledBy, baseline: SpoiledBy, verdict: Verdict) -> Verdict {
        let spoiled = Spoiled {
            candidate,
            baseline,
        };
        spoiled.weigh(verdict, 10, 0.05)
    }

    #[test]
    fn who_lost_by_spoiled_blocks_and_leads_in_the_others_gets_no_verdict() {
        use Verdict::{Better, NoChange, Worse};
        let (none, many) = (by(0, 0), by(7, 7));
        assert_eq!(weighed(many, none, Better), OPEN);
        assert_eq!(weighed(none, many, Worse), OPEN);
        for verdict in [Worse, NoChange, OPEN] {
            assert_eq!(weighed(many, none, verdict), Worse);
        }
        for verdict in [Better, NoChange, OPEN] {
            assert_eq!(weighed(none, many, verdict), Better);
        }
    }

    #[test]
    fn no_verdict_favours_a_side_that_spoiled_a_block() {
        use Verdict::{Better, NoChange, Worse};
        let none = by(0, 0);
        for spoiled in [by(1, 1), by(0, 1), by(3, 4)] {
            assert_eq!(weighed(spoiled, none, Better), OPEN);
            assert_eq!(weighed(spoiled, none, NoChange), OPEN);
            assert_eq!(weighed(spoiled, none, Worse), Worse);
            assert_eq!(weighed(none, spoiled, Worse), OPEN);
            assert_eq!(weighed(none, spoiled, NoChange), OPEN);
            assert_eq!(weighed(none, spoiled, Better), Better);
            for verdict in [Better, Worse, NoChange] {
                assert_eq!(
                    weighed(spoiled, by(1, 1), verdict),
                    OPEN,
                    "both spoiled some"
                );
            }
        }
        for verdict in [Better, Worse, NoChange, Verdict::TooFewBlocks { blocks: 9 }] {
            assert_eq!(weighed(none, none, verdict), verdict);
        }
    }

    #[test]
    fn six_blocks_that_one_side_alone_spoiled_are_lost() {
        let none = by(0, 0);
        assert_eq!(weighed(by(5, 5), none, Verdict::NoChange), OPEN);
        assert_eq!(weighed(by(6, 6), none, Verdict::NoChange), Verdict::Worse);
        assert_eq!(weighed(none, by(6, 6), Verdict::NoChange), Verdict::Better);
        assert_eq!(weighed(by(6, 6), by(0, 1), Verdict::NoChange), OPEN);
        // 2^(1 − 6) is 0.031, which six comparisons held together do not allow.
        let six = Spoiled {
            candidate: by(6, 6),
            baseline: none,
        };
        let few = Verdict::TooFewBlocks { blocks: 3 };
        assert_eq!(six.p_value(4), Some(0.031_25));
        assert_eq!(six.weigh(Verdict::NoChange, 10, 0.05 / 6.0), OPEN);
        assert_eq!(six.weigh(few, 3, 0.05), few, "nine blocks carry no verdict");
    }

    #[test]
    fn equals_that_spoil_blocks_lose_in_at_most_one_of_twenty_runs_over_all_looks() {
        // Each spoils a fifth of 60 blocks; looked at after every one.
        let mut noise = Noise::seeded(5);
        let mut run = |_: &usize| {
            let mut spoiled = Spoiled::default();
            (1..=60).any(|block: usize| {
                let (own, other) = (noise.uniform() < 0.2, noise.uniform() < 0.2);
                spoiled.candidate.all += usize::from(own);
                spoiled.baseline.all += usize::from(other);
                spoiled.candidate.alone += usize::from(own && !other);
                spoiled.baseline.alone += usize::from(other && !own);
                spoiled.p_value(block).is_some_and(|p| p <= 0.05)
            })
        };
        let lost = (0..20_000).filter(|at| run(at)).count();
        assert!(lost <= 1_000, "{lost} of 20,000");
        assert!(
            lost > 100,
            "{lost} of 20,000: the test must be able to fail"
        );
    }
}
