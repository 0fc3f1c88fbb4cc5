//! The quantities that a soak watches, each with its lower envelope and slope.

use std::collections::BTreeSet;

use gatebench_report::Unit;
use gatebench_stats::leak::{Growth, Rule, Sample, growth};
use gatebench_stats::median;
use gatebench_store::SeriesRow;

use super::facts::{SoakQuantity, SoakStretch, SoakWhat};
use super::text;

/// The largest negligible growth in the number of file descriptors or connections, per hour.
const COUNT_BOUND_PER_HOUR: f64 = 10.0;

/// The largest step by which the kernel's count of anonymous memory usually grows: a huge page.
/// Allocators' arenas are larger, but count only to the extent that they have been touched.
const HUGE_PAGE_BYTES: f64 = 2_097_152.0;

/// The step by which the reported size of a pool grows, because objects are allocated in pages.
const PAGE_BYTES: f64 = 4_096.0;

/// The largest negligible growth of the median response time over the whole measurement, as a share
/// of the median.
const LATENCY_BOUND: f64 = 0.1;

const STRETCHES_MAX: usize = 240;

/// A process with its per-second samples.
pub(super) struct Watched<'a> {
    pub(super) variant: &'a str,
    pub(super) rows: Vec<&'a SeriesRow>,
    pub(super) responses: u64,
    pub(super) measured_seconds: f64,
    /// True if the gateway determines the rate.
    pub(super) is_closed: bool,
    pub(super) growth_bytes_per_hour: f64,
    pub(super) seed: u64,
}

struct Reading<'a> {
    what: SoakWhat,
    title: String,
    unit: Unit,
    /// The name of a pool's series; empty for all other quantities.
    series: &'a str,
}

impl<'a> Reading<'a> {
    /// The quantities that every gateway has, memory first.
    fn of_all() -> [Self; 4] {
        use SoakWhat::{Descriptors, Memory, ResponseP50, UpstreamConnections};
        let count = Unit::Count;
        [
            (Memory, "memory", Unit::Bytes),
            (Descriptors, "descriptors", count),
            (UpstreamConnections, "connections to the upstream", count),
            (ResponseP50, "median response time", Unit::Nanoseconds),
        ]
        .map(|(what, title, unit)| Self {
            what,
            title: title.into(),
            unit,
            series: "",
        })
    }

    fn read(&self, row: &SeriesRow) -> Option<u64> {
        match self.what {
            SoakWhat::Memory => row.gateway.map(|it| it.rss_anon_bytes),
            SoakWhat::Descriptors => row.gateway.map(|it| it.descriptors),
            SoakWhat::UpstreamConnections => row.upstream.map(|it| it.descriptors),
            SoakWhat::ResponseP50 => row.response_p50_ns,
            SoakWhat::Pool => row.pools.get(self.series).copied(),
        }
    }

    /// The largest amount by which the quantity may grow at once, without any sign of it in earlier
    /// readings.
    fn step(&self) -> f64 {
        match self.what {
            SoakWhat::Memory => HUGE_PAGE_BYTES,
            SoakWhat::Pool if self.unit == Unit::Bytes => PAGE_BYTES,
            SoakWhat::Descriptors | SoakWhat::UpstreamConnections | SoakWhat::Pool => 1.0,
            SoakWhat::ResponseP50 => 0.0,
        }
    }

    /// Describes a pool by the name of its series, which ends with the unit.
    fn of_pool(series: &'a str) -> Self {
        let (name, unit) = match series.rsplit_once('_') {
            Some((name, "bytes")) => (name, Unit::Bytes),
            Some((name, _)) => (name, Unit::Count),
            None => (series, Unit::Count),
        };
        Self {
            what: SoakWhat::Pool,
            title: format!("its pool '{name}'"),
            unit,
            series,
        }
    }
}

impl Watched<'_> {
    /// All quantities whose growth could be judged.
    pub(super) fn quantities(&self) -> Vec<SoakQuantity> {
        let pools = self.rows.iter().flat_map(|row| row.pools.keys());
        let pools: BTreeSet<&str> = pools.map(String::as_str).collect();
        let readings = Reading::of_all().into_iter();
        readings
            .chain(pools.into_iter().map(Reading::of_pool))
            .filter_map(|reading| self.quantity(&reading))
            .collect()
    }

    fn quantity(&self, reading: &Reading<'_>) -> Option<SoakQuantity> {
        let samples = self.samples(reading);
        // A process that was not sampled has only zeros.
        samples.iter().any(|it| it.value > 0.0).then_some(())?;
        let bound_per_hour = self.bound(reading, &samples)?;
        let rule = Rule {
            bound_per_hour,
            step: reading.step(),
            seed: self.seed,
        };
        let growth = growth(&samples, rule)?;
        let per_thousand_responses = self.per_thousand(reading, &growth);
        let mut quantity = SoakQuantity {
            what: reading.what,
            title: reading.title.clone(),
            unit: reading.unit,
            bound_per_hour,
            line: line(&growth),
            growth,
            per_thousand_responses,
            stretches: stretches(&samples),
            text: String::new(),
        };
        quantity.text = text::of_quantity(self.variant, &quantity);
        Some(quantity)
    }

    /// The series of a quantity. In a closed load, the time axis of every quantity except the
    /// response time is the number of responses, converted to seconds at the mean rate. On a real
    /// time axis, a load that slows down would look like a leak that slows down.
    fn samples(&self, reading: &Reading<'_>) -> Vec<Sample> {
        let total: u64 = self.rows.iter().map(|row| row.completed).sum();
        let by_responses = self.is_closed && total > 0 && reading.what != SoakWhat::ResponseP50;
        let mut samples: Vec<Sample> = Vec::with_capacity(self.rows.len());
        let mut responses = 0;
        for row in &self.rows {
            responses += row.completed;
            let at_seconds = if by_responses {
                responses as f64 / total as f64 * self.rows.len() as f64
            } else {
                f64::from(row.second) + 1.0
            };
            let last = samples.last().map(|last| last.at_seconds);
            let is_later = last.is_none_or(|last| last < at_seconds);
            if let Some(value) = reading.read(row).filter(|_| is_later) {
                samples.push(Sample {
                    at_seconds,
                    value: value as f64,
                });
            }
        }
        samples
    }

    fn bound(&self, reading: &Reading<'_>, samples: &[Sample]) -> Option<f64> {
        Some(match reading.what {
            SoakWhat::Memory => self.growth_bytes_per_hour,
            SoakWhat::Pool if reading.unit == Unit::Bytes => self.growth_bytes_per_hour,
            SoakWhat::Descriptors | SoakWhat::UpstreamConnections | SoakWhat::Pool => {
                COUNT_BOUND_PER_HOUR
            }
            SoakWhat::ResponseP50 => {
                let values: Vec<f64> = samples.iter().map(|it| it.value).collect();
                LATENCY_BOUND * median(&values)? / (self.measured_seconds / 3_600.0)
            }
        })
    }

    fn per_thousand(&self, reading: &Reading<'_>, growth: &Growth) -> Option<f64> {
        let grows_with_requests = reading.what != SoakWhat::ResponseP50 && self.responses > 0;
        let slope = growth.slope_per_hour.filter(|_| grows_with_requests)?;
        let responses_per_hour = self.responses as f64 / (self.measured_seconds / 3_600.0);
        Some(slope / responses_per_hour * 1_000.0)
    }
}

/// The fitted line. It has the slope of the growth, goes through the middle of the envelope, and
/// reaches from the envelope's first point to its last.
fn line(growth: &Growth) -> Option<[(f64, f64); 2]> {
    let per_second = growth.slope_per_hour? / 3_600.0;
    let level = |it: &Sample| it.value - per_second * it.at_seconds;
    let levels: Vec<f64> = growth.envelope.iter().map(level).collect();
    let middle = median(&levels)?;
    let at = |it: &Sample| (it.at_seconds, middle + per_second * it.at_seconds);
    Some([at(growth.envelope.first()?), at(growth.envelope.last()?)])
}

/// The smallest and largest values of groups of consecutive seconds.
fn stretches(samples: &[Sample]) -> Vec<SoakStretch> {
    let of = |part: &[Sample]| {
        let values = || part.iter().map(|it| it.value);
        Some(SoakStretch {
            at_seconds: part.last()?.at_seconds,
            low: values().fold(f64::INFINITY, f64::min),
            high: values().fold(f64::NEG_INFINITY, f64::max),
        })
    };
    let size = samples.len().div_ceil(STRETCHES_MAX).max(1);
    samples.chunks(size).filter_map(of).collect()
}
