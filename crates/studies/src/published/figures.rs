//! Computes the figures that columns show, and combines them into cells. A cell is a figure over
//! the blocks of a row, or the ratio of two rows, block by block.

use gatebench_model::published::{Across, Figure};
use gatebench_report::figures::FigureCell;
use gatebench_report::{Unit, Validity};
use gatebench_stats::{Direction, Estimate, Pair, compare};
use gatebench_store::StoreError;

use super::measured::Load;
use crate::common::comparisons::rule;
use crate::common::cpu::cores_busy;
use crate::common::facts::Aspect;

/// The unit of a figure, and the aspect that decides whether it is usable.
pub(super) fn unit_and_aspect(figure: Figure) -> (Unit, Option<Aspect>) {
    match figure {
        Figure::Rate | Figure::PeakRate => (Unit::RequestsPerSecond, Some(Aspect::Throughput)),
        Figure::Mean | Figure::Max | Figure::P50 | Figure::P90 | Figure::P95 | Figure::P99 => {
            (Unit::Nanoseconds, Some(Aspect::Latency))
        }
        Figure::AddedP50 | Figure::AddedP95 | Figure::AddedP99 => {
            (Unit::Nanoseconds, Some(Aspect::Latency))
        }
        Figure::PeakP95 | Figure::PeakP99 => (Unit::Nanoseconds, Some(Aspect::Latency)),
        Figure::Memory => (Unit::Bytes, Some(Aspect::Memory)),
        Figure::Sent | Figure::Received => (Unit::Bytes, None),
        Figure::Cpu => (Unit::CpuNanosecondsPerRequest, Some(Aspect::CpuPerRequest)),
        Figure::GatewayCores | Figure::UpstreamCores | Figure::EngineCores => {
            (Unit::Cores, Some(Aspect::CpuPerRequest))
        }
        Figure::InFlight => (Unit::Count, Some(Aspect::Latency)),
        Figure::Checks | Figure::Dropped | Figure::Failed => (Unit::Count, None),
    }
}

/// The value of a figure; `None` if it was not measured, and for checks, which are text.
fn value(figure: Figure, load: &Load<'_>) -> Result<Option<f64>, StoreError> {
    let counts = &load.phase.counts;
    let cores = |component| cores_busy(load.phase, component);
    Ok(match figure {
        Figure::Rate => load.rate(),
        Figure::Mean => load.mean_ns(),
        Figure::Max => load.max_ns(),
        Figure::P50 => load.response_ns(50.0),
        Figure::P90 => load.response_ns(90.0),
        Figure::P95 => load.response_ns(95.0),
        Figure::P99 => load.response_ns(99.0),
        Figure::AddedP50 => load.added_ns(50.0),
        Figure::AddedP95 => load.added_ns(95.0),
        Figure::AddedP99 => load.added_ns(99.0),
        Figure::PeakRate => load.peak_rate(),
        Figure::PeakP95 => load.peak_response_ns(95.0)?,
        Figure::PeakP99 => load.peak_response_ns(99.0)?,
        Figure::Memory => load.memory_bytes(),
        Figure::Cpu => load.cpu_ns(),
        Figure::GatewayCores => cores("gateway"),
        Figure::UpstreamCores => cores("upstream"),
        Figure::EngineCores => cores("engine"),
        Figure::Sent => Some(counts.bytes_sent as f64),
        Figure::Received => Some(counts.bytes_received as f64),
        Figure::Checks => None,
        Figure::InFlight => load.in_flight(),
        Figure::Dropped => Some(counts.dropped as f64),
        Figure::Failed => {
            let unanswered: u64 = counts.errors.values().sum();
            Some((unanswered + counts.responses_failing_checks()) as f64)
        }
    })
}

/// A figure for each load. Percentiles at the peak are not computed for an invalid load.
pub(super) fn points(loads: &[Load<'_>], figure: Figure) -> Result<Vec<Point>, StoreError> {
    let (_, aspect) = unit_and_aspect(figure);
    let of_peak = matches!(figure, Figure::PeakP95 | Figure::PeakP99);
    let point = |load: &Load<'_>| -> Result<Point, StoreError> {
        let validity = load.validity(aspect);
        let value = match validity {
            Validity::Invalid if of_peak => None,
            _ => value(figure, load)?,
        };
        Ok(Point {
            block: load.block(),
            validity,
            value,
        })
    };
    loads.iter().map(point).collect()
}

/// A figure over several loads as one cell. A sum over all loads has no range.
pub(super) fn over(
    loads: &[Load<'_>],
    figure: Figure,
    across: Across,
) -> Result<FigureCell, StoreError> {
    let points = points(loads, figure)?;
    let values = || points.iter().filter_map(|it| it.value);
    let one = match across {
        Across::Median => return Ok(cell(&points)),
        Across::Sum => return Ok(FigureCell::of_one(Some(values().sum()))),
        Across::Mean => Some(values().sum::<f64>() / values().count() as f64),
        Across::Max => values().reduce(f64::max),
        Across::WeightedMean => {
            let weighted = points.iter().zip(loads).filter_map(|(point, load)| {
                Some((point.value?, load.phase.counts.completed as f64))
            });
            let (sum, responses) = weighted.fold((0.0, 0.0), |(sum, all), (value, responses)| {
                (sum + value * responses, all + responses)
            });
            (responses > 0.0).then(|| sum / responses)
        }
    };
    let range = cell(&points);
    let both = range.estimate.zip(one);
    Ok(FigureCell {
        estimate: both.map(|(range, median)| Estimate { median, ..range }),
        ..range
    })
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) block: u32,
    pub(super) validity: Validity,
    /// The figure; `None` if it was not measured, or not computed because the load is invalid.
    pub(super) value: Option<f64>,
}

/// The text that replaces a ratio if something other than the gateway limited its base.
const BASE_LIMITED: &str = "base limited";

/// A figure of each load, with the validity of `aspect`.
pub(super) fn values<'a>(
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
    cell(&values(loads, Some(aspect), figure)).median()
}

/// A figure of `own` divided by that of `base`; see [`ratio_of`]. Limited points of the base are
/// left out, because the ratio would describe what limited them and not the cost of `own`. If all
/// points of the base are limited, the cell contains [`BASE_LIMITED`] instead.
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
/// its range, and, with ten or more blocks, the interval of their geometric mean.
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
    let compared = compare(&pair, rule(seed));
    FigureCell {
        estimate: Estimate::of_blocks(&ratios).map(|estimate| Estimate {
            interval: compared.and_then(|it| it.interval),
            ..estimate
        }),
        validity: both.iter().map(|(validity, ..)| *validity).max(),
        words: None,
    }
}

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

pub(super) fn worst(cells: &[FigureCell]) -> Option<Validity> {
    cells.iter().filter_map(|cell| cell.validity).max()
}
