//! The figures that columns show: their unit, their aspect, and their value for a load.

use gatebench_model::published::{Across, Figure};
use gatebench_report::figures::FigureCell;
use gatebench_report::{Unit, Validity};
use gatebench_stats::Estimate;
use gatebench_store::StoreError;

use super::cells::{Point, cell};
use super::measured::Load;
use crate::common::cpu::cores_busy;
use crate::common::facts::Aspect;

/// The unit of a figure.
pub(super) fn unit(figure: Figure) -> Unit {
    match figure {
        Figure::Rate | Figure::PeakRate => Unit::RequestsPerSecond,
        Figure::Mean | Figure::Max | Figure::P50 | Figure::P90 | Figure::P95 | Figure::P99 => {
            Unit::Nanoseconds
        }
        Figure::AddedP50 | Figure::AddedP95 | Figure::AddedP99 => Unit::Nanoseconds,
        Figure::PeakP95 | Figure::PeakP99 => Unit::Nanoseconds,
        Figure::Memory | Figure::Sent | Figure::Received => Unit::Bytes,
        Figure::Cpu => Unit::CpuNanosecondsPerRequest,
        Figure::GatewayCores | Figure::UpstreamCores | Figure::EngineCores => Unit::Cores,
        Figure::Checks | Figure::InFlight | Figure::Dropped | Figure::Failed => Unit::Count,
    }
}

/// The aspect that decides whether a figure is usable.
fn aspect(figure: Figure) -> Option<Aspect> {
    match (unit(figure), figure) {
        (Unit::RequestsPerSecond, _) => Some(Aspect::Throughput),
        (Unit::Nanoseconds, _) | (_, Figure::InFlight) => Some(Aspect::Latency),
        (Unit::CpuNanosecondsPerRequest | Unit::Cores, _) => Some(Aspect::CpuPerRequest),
        (_, Figure::Memory) => Some(Aspect::Memory),
        _ => None,
    }
}

/// The value of a figure; none for checks, which are text.
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
    let aspect = aspect(figure);
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

/// A figure over several loads as one cell. A sum over all loads is not an estimate.
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
