//! Blocks that have no value because a side spoiled them, for example by dropping requests or by
//! exiting.
//!
//! Omitting such a block would reward a side that collapses when it is slow. Instead, the block
//! counts against the side that spoiled it: no verdict favors that side, regardless of the other
//! blocks. A side has lost if only that side spoiled blocks, and more of them than chance would
//! plausibly assign to one of two equal sides.

use crate::verdict::{MIN_BLOCKS, Verdict};

/// The blocks that one side spoiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpoiledBy {
    /// The number of blocks that the side certainly spoiled and in which the other side has a
    /// value.
    pub alone: usize,
    /// The number of blocks that the side spoiled or may have spoiled, including those that both
    /// sides spoiled.
    pub all: usize,
}

/// The blocks that are missing from a comparison because its sides spoiled them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spoiled {
    pub candidate: SpoiledBy,
    pub baseline: SpoiledBy,
}

impl Spoiled {
    /// Reports whether either side spoiled or may have spoiled a block.
    pub fn any(&self) -> bool {
        self.candidate.all + self.baseline.all > 0
    }

    /// Returns the number of blocks that one side alone spoiled, and the verdict if that number is
    /// large enough. Returns `None` unless one side certainly spoiled a block and the other side
    /// certainly spoiled none.
    fn one_sided(&self) -> Option<(usize, Verdict)> {
        match (self.candidate, self.baseline) {
            (own, other) if own.alone > 0 && other.all == 0 => Some((own.alone, Verdict::Worse)),
            (own, other) if other.alone > 0 && own.all == 0 => Some((other.alone, Verdict::Better)),
            _ => None,
        }
    }

    /// Returns the two-sided p-value of the sign test that both sides are equally likely to spoil a
    /// block, given `blocks` that have values. Returns `None` unless one side certainly spoiled a
    /// block, the other side certainly spoiled none, and there are as many blocks as a verdict
    /// requires.
    ///
    /// The p-value remains valid even if it is computed after every block. If one side alone
    /// spoiled blocks, 1 ÷ p is the mean capital of two gamblers who start with 1 and always bet
    /// everything, each on one side. The probability that capital in a fair game ever reaches 1 ÷ p
    /// is at most p (J. Ville, *Étude critique de la notion de collectif*, 1939).
    pub fn p_value(&self, blocks: usize) -> Option<f64> {
        let (alone, _) = self.one_sided()?;
        (alone + blocks >= MIN_BLOCKS).then(|| 0.5_f64.powi(alone as i32 - 1))
    }

    /// Corrects `verdict`, which is based on the `blocks` that have values, for the spoiled blocks.
    /// `level` is the level of the sign test.
    pub fn weigh(&self, verdict: Verdict, blocks: usize, level: f64) -> Verdict {
        if let Some((_, lost)) = self.one_sided()
            && self.p_value(blocks).is_some_and(|p| p <= level)
        {
            // If the other blocks favor the side that lost, the two findings contradict each other.
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
