//! A figure of one row over that of another, block by block.

use gatebench_stats::{Direction, Estimate, Pair, Rule, compare};

use super::measured::Load;
use crate::comparisons::SMALLEST_EFFECT;
use crate::findings::{Aspect, DocumentCell, Validity};

/// What is set against what: a figure, and by which aspect it is judged whether it may be used.
pub(super) type Side<'f, 'a> = (Option<Aspect>, &'f dyn Fn(&Load<'a>) -> Option<f64>);

/// The text in place of a ratio whose base something other than the gateway limited.
const BASE_LIMITED: &str = "base limited";

/// A figure of `own` over the same of `base`; see [`ratio_of`]. None if the base was limited: the
/// ratio would then describe that limit and not the cost of `own`.
pub(super) fn ratio<'a>(
    own: &[Load<'a>],
    base: &[Load<'a>],
    aspect: Aspect,
    figure: impl Fn(&Load<'a>) -> Option<f64>,
    seed: u64,
) -> DocumentCell {
    let side: Side<'_, 'a> = (Some(aspect), &figure);
    let is_free = |load: &&Load<'a>| load.validity(Some(aspect)) != Validity::Limited;
    let free: Vec<Load<'a>> = base.iter().filter(is_free).cloned().collect();
    if free.is_empty() && !base.is_empty() {
        return DocumentCell {
            words: Some(BASE_LIMITED.into()),
            ..DocumentCell::default()
        };
    }
    ratio_of((own, side), (&free, side), seed)
}

/// `own` over `base`, over the blocks in which both may be used: the median of their ratios with its range, and
/// from ten blocks on the interval of their geometric mean.
pub(super) fn ratio_of<'a>(
    (own, (own_aspect, own_figure)): (&[Load<'a>], Side<'_, 'a>),
    (base, (base_aspect, base_figure)): (&[Load<'a>], Side<'_, 'a>),
    seed: u64,
) -> DocumentCell {
    let partner = |block| base.iter().find(|it| it.block() == block);
    let mut pair = Pair {
        baseline: Vec::new(),
        candidate: Vec::new(),
        direction: Direction::HigherIsBetter,
    };
    let mut worst = None;
    for load in own {
        let Some(other) = partner(load.block()) else {
            continue;
        };
        let validity = load.validity(own_aspect).max(other.validity(base_aspect));
        let both = own_figure(load).zip(base_figure(other));
        let Some((candidate, baseline)) = both.filter(|_| validity != Validity::Invalid) else {
            continue;
        };
        worst = worst.max(Some(validity));
        pair.candidate.push(candidate);
        pair.baseline.push(baseline);
    }
    let blocks = pair.candidate.iter().zip(&pair.baseline);
    let ratios: Vec<f64> = blocks.map(|(own, base)| own / base).collect();
    let rule = Rule {
        smallest_effect: SMALLEST_EFFECT,
        seed,
    };
    let compared = compare(&pair, rule);
    DocumentCell {
        estimate: Estimate::of_blocks(&ratios).map(|estimate| Estimate {
            interval: compared.and_then(|it| it.interval),
            ..estimate
        }),
        validity: worst,
        words: None,
    }
}

/// One ratio over another, as far as both are known.
pub(super) fn of_ratios(here: &DocumentCell, published: &DocumentCell) -> DocumentCell {
    let both = here.estimate.as_ref().zip(published.median());
    let Some((here_is, published)) = both.filter(|(_, published)| *published > 0.0) else {
        return DocumentCell::default();
    };
    DocumentCell {
        estimate: Some(Estimate {
            median: here_is.median / published,
            min: here_is.min / published,
            max: here_is.max / published,
            blocks: here_is.blocks,
            interval: None,
        }),
        validity: here.validity,
        words: None,
    }
}
