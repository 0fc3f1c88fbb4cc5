//! Blocks without a value because a side spoiled them: it dropped requests, failed or ended.
//!
//! Omitting such a block would reward a side that collapses when it is slow. Instead, the block
//! counts against the side that spoiled it: no verdict favours that side, regardless of the other
//! blocks. A side has lost if it alone spoiled blocks, and if chance would not plausibly assign
//! that many to one of two equal sides.

use crate::verdict::{MIN_BLOCKS, Verdict};

/// The blocks that one side spoiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpoiledBy {
    /// Blocks that the side certainly spoiled itself, and in which the other side has a value.
    pub alone: usize,
    /// All blocks that the side spoiled or may have spoiled, including those spoiled by both sides.
    pub all: usize,
}

/// The missing blocks of a comparison that its sides spoiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spoiled {
    /// Blocks spoiled by the candidate.
    pub candidate: SpoiledBy,
    /// Blocks spoiled by the baseline.
    pub baseline: SpoiledBy,
}

impl Spoiled {
    /// Reports whether there is any such block.
    pub fn any(&self) -> bool {
        self.candidate.all + self.baseline.all > 0
    }

    /// The number of blocks that one side alone spoiled, with the verdict if there are enough of
    /// them; none if both sides spoiled some.
    fn one_sided(&self) -> Option<(usize, Verdict)> {
        match (self.candidate, self.baseline) {
            (own, other) if own.alone > 0 && other.all == 0 => Some((own.alone, Verdict::Worse)),
            (own, other) if other.alone > 0 && own.all == 0 => Some((other.alone, Verdict::Better)),
            _ => None,
        }
    }

    /// Two-sided p-value of the sign test that both sides are equally likely to spoil a block,
    /// given `blocks` that have values; none if both sides spoiled some, or if there are fewer
    /// blocks than a verdict needs.
    ///
    /// The p-value remains valid if the blocks are examined after every block. If one side spoiled
    /// k blocks, 1 ÷ p is the mean capital of two gamblers who each bet everything on one side, and
    /// the capital in a fair game reaches 1 ÷ p at any time with a probability of at most p (J.
    /// Ville, *Étude critique de la notion de collectif*, 1939).
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
            // The other blocks favour the side that lost, so the two findings contradict each
            // other.
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
