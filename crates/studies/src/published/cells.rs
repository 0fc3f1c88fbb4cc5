//! Cells: a figure over the blocks of a row, and the ratio of two rows, block by block.

use gatebench_report::Validity;
use gatebench_report::figures::FigureCell;
use gatebench_stats::{Direction, Estimate, Pair, Rule, compare};

use super::measured::Load;
use crate::common::comparisons::SMALLEST_EFFECT;
use crate::common::facts::Aspect;

/// A figure of one load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) block: u32,
    /// The validity, which decides whether the figure is usable.
    pub(super) validity: Validity,
    /// None if it was not measured.
    pub(super) value: Option<f64>,
}

/// The text that replaces a ratio if something other than the gateway limited its base.
const BASE_LIMITED: &str = "base limited";

/// A figure of each load; the validity of the aspect decides whether it is usable.
pub(super) fn points<'a>(
    loads: &[Load<'a>],
    aspect: Option<Aspect>,
    figure: impl Fn(&Load<'a>) -> Option<f64>,
) -> Vec<Point> {
    let point = |load: &Load<'a>| Point {
        block: load.block(),
        validity: load.validity(aspect),
        value: figure(load),
    };
    loads.iter().map(point).collect()
}

/// Median and range of the usable points.
pub(super) fn cell(points: &[Point]) -> FigureCell {
    let known = points.iter().map(|it| (it.validity, it.value));
    FigureCell::over(known.filter_map(|(validity, value)| Some((validity, value?))))
}

/// Median of a figure over the loads in which it is usable.
pub(super) fn median_of<'a>(
    loads: &[Load<'a>],
    aspect: Aspect,
    figure: impl Fn(&Load<'a>) -> Option<f64>,
) -> Option<f64> {
    cell(&points(loads, Some(aspect), figure)).median()
}

/// A figure of `own` divided by that of `base`; see [`ratio_of`]. None if the base was limited,
/// because the ratio would then describe that limit and not the cost of `own`.
pub(super) fn ratio(own: &[Point], base: &[Point], seed: u64) -> FigureCell {
    let is_free = |point: &&Point| point.validity != Validity::Limited;
    let free: Vec<Point> = base.iter().filter(is_free).copied().collect();
    if free.is_empty() && !base.is_empty() {
        return FigureCell {
            words: Some(BASE_LIMITED.into()),
            ..FigureCell::default()
        };
    }
    ratio_of(own, &free, seed)
}

/// `own` divided by `base`, over the blocks in which both are usable: the median of the ratios with
/// its range, and from ten blocks on the interval of their geometric mean.
pub(super) fn ratio_of(own: &[Point], base: &[Point], seed: u64) -> FigureCell {
    let both = own.iter().filter_map(|point| {
        let other = base.iter().find(|it| it.block == point.block)?;
        let validity = point.validity.max(other.validity);
        let both = (validity, point.value?, other.value?);
        (validity != Validity::Invalid).then_some(both)
    });
    let both: Vec<(Validity, f64, f64)> = both.collect();
    let ratios: Vec<f64> = both.iter().map(|(_, own, base)| own / base).collect();
    let pair = Pair {
        candidate: both.iter().map(|(_, own, _)| *own).collect(),
        baseline: both.iter().map(|(.., base)| *base).collect(),
        direction: Direction::HigherIsBetter,
    };
    let rule = Rule {
        smallest_effect: SMALLEST_EFFECT,
        seed,
    };
    let compared = compare(&pair, rule);
    FigureCell {
        estimate: Estimate::of_blocks(&ratios).map(|estimate| Estimate {
            interval: compared.and_then(|it| it.interval),
            ..estimate
        }),
        validity: both.iter().map(|(validity, ..)| *validity).max(),
        words: None,
    }
}

/// One ratio divided by another, if both are known.
pub(super) fn of_ratios(here: &FigureCell, published: &FigureCell) -> FigureCell {
    let both = here.estimate.as_ref().zip(published.median());
    let Some((here_is, published)) = both.filter(|(_, published)| *published > 0.0) else {
        return FigureCell::default();
    };
    FigureCell {
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

/// The worst validity of cells that were measured.
pub(super) fn worst(cells: &[FigureCell]) -> Option<Validity> {
    cells.iter().filter_map(|cell| cell.validity).max()
}
