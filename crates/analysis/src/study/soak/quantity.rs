//! The quantities that a soak watches, each with its lower envelope and slope.

use std::collections::BTreeSet;

use gatebench_stats::leak::{Growth, Rule, Sample, growth};
use gatebench_stats::median;
use gatebench_store::SeriesRow;

use super::text;
use crate::findings::{SoakQuantity, SoakStretch, SoakWhat, Unit};

/// Growth of a number of descriptors or connections that does not matter, per hour.
const COUNT_BOUND_PER_HOUR: f64 = 10.0;

/// The largest piece by which the kernel's count of anonymous memory usually grows: a huge page.
/// Arenas of allocators are larger, but they count only as far as they have been touched.
const HUGE_PAGE_BYTES: f64 = 2_097_152.0;

/// The piece in which a gateway's own account of a pool grows: objects lie in pages.
const PAGE_BYTES: f64 = 4_096.0;

/// Growth of the median response time that does not matter, as a share of it over the whole measurement.
const LATENCY_BOUND: f64 = 0.1;

/// Points of a plot.
const STRETCHES_MAX: usize = 240;

/// A process that is watched second by second.
pub(super) struct Watched<'a> {
    pub(super) variant: &'a str,
    pub(super) rows: Vec<&'a SeriesRow>,
    pub(super) answers: u64,
    pub(super) measured_seconds: f64,
    /// Whether the gateway sets the pace.
    pub(super) is_closed: bool,
    pub(super) growth_bytes_per_hour: f64,
    pub(super) seed: u64,
}

/// What a second says of a quantity.
type Read<'a> = dyn Fn(&SeriesRow) -> Option<u64> + 'a;

/// How one quantity is read and judged.
struct Reading<'a> {
    what: SoakWhat,
    title: String,
    unit: Unit,
    read: Box<Read<'a>>,
}

impl<'a> Reading<'a> {
    fn new(
        what: SoakWhat,
        title: impl Into<String>,
        unit: Unit,
        read: impl Fn(&SeriesRow) -> Option<u64> + 'a,
    ) -> Self {
        Self {
            what,
            title: title.into(),
            unit,
            read: Box::new(read),
        }
    }

    /// What every gateway is asked, memory first.
    fn of_all() -> [Self; 4] {
        let (bytes, count) = (Unit::Bytes, Unit::Count);
        [
            Self::new(SoakWhat::Memory, "memory", bytes, |row| {
                row.gateway.map(|it| it.rss_anon_bytes)
            }),
            Self::new(SoakWhat::Descriptors, "descriptors", count, |row| {
                row.gateway.map(|it| it.descriptors)
            }),
            Self::new(
                SoakWhat::UpstreamConnections,
                "connections to the upstream",
                count,
                |row| row.upstream.map(|it| it.descriptors),
            ),
            Self::new(
                SoakWhat::ResponseP50,
                "median response time",
                Unit::Nanoseconds,
                |row| row.response_p50_ns,
            ),
        ]
    }

    /// What may be taken at once without a reading that shows it.
    fn step(&self) -> f64 {
        match self.what {
            SoakWhat::Memory => HUGE_PAGE_BYTES,
            SoakWhat::Pool if self.unit == Unit::Bytes => PAGE_BYTES,
            SoakWhat::Descriptors | SoakWhat::UpstreamConnections | SoakWhat::Pool => 1.0,
            SoakWhat::ResponseP50 => 0.0,
        }
    }

    /// A pool, by the name of its series, which ends with its unit.
    fn of_pool(series: &'a str) -> Self {
        let (name, unit) = match series.rsplit_once('_') {
            Some((name, "bytes")) => (name, Unit::Bytes),
            Some((name, _)) => (name, Unit::Count),
            None => (series, Unit::Count),
        };
        let title = format!("its pool '{name}'");
        Self::new(SoakWhat::Pool, title, unit, move |row| {
            row.pools.get(series).copied()
        })
    }
}

impl Watched<'_> {
    /// Everything that could be read.
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
        // A process that was not sampled holds nothing.
        samples.iter().any(|it| it.value > 0.0).then_some(())?;
        let bound_per_hour = self.bound(reading, &samples)?;
        let rule = Rule {
            bound_per_hour,
            step: reading.step(),
            seed: self.seed,
        };
        let growth = growth(&samples, rule)?;
        let per_thousand_answers = self.per_thousand(reading, &growth);
        let mut quantity = SoakQuantity {
            what: reading.what,
            title: reading.title.clone(),
            unit: reading.unit,
            bound_per_hour,
            line: line(&growth),
            growth,
            per_thousand_answers,
            stretches: stretches(&samples),
            text: String::new(),
        };
        quantity.text = text::of_quantity(self.variant, &quantity);
        Some(quantity)
    }

    /// The series of a quantity. In a closed load the seconds of what grows with requests are counted by answers,
    /// at the mean rate: what slows the load down would else look like a leak that slows down.
    fn samples(&self, reading: &Reading<'_>) -> Vec<Sample> {
        let total: u64 = self.rows.iter().map(|row| row.completed).sum();
        let by_answers = self.is_closed && total > 0 && reading.what != SoakWhat::ResponseP50;
        let mut samples: Vec<Sample> = Vec::with_capacity(self.rows.len());
        let mut answers = 0;
        for row in &self.rows {
            answers += row.completed;
            let at_seconds = if by_answers {
                answers as f64 / total as f64 * self.rows.len() as f64
            } else {
                f64::from(row.second) + 1.0
            };
            let is_later = samples
                .last()
                .is_none_or(|last| last.at_seconds < at_seconds);
            if let Some(value) = (reading.read)(row).filter(|_| is_later) {
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
        let grows_with_requests = reading.what != SoakWhat::ResponseP50 && self.answers > 0;
        let slope = growth.slope_per_hour.filter(|_| grows_with_requests)?;
        let answers_per_hour = self.answers as f64 / (self.measured_seconds / 3_600.0);
        Some(slope / answers_per_hour * 1_000.0)
    }
}

/// The line of a slope through the middle of an envelope, from its first point to its last.
fn line(growth: &Growth) -> Option<[(f64, f64); 2]> {
    let per_second = growth.slope_per_hour? / 3_600.0;
    let level = |it: &Sample| it.value - per_second * it.at_seconds;
    let levels: Vec<f64> = growth.envelope.iter().map(level).collect();
    let middle = median(&levels)?;
    let at = |it: &Sample| (it.at_seconds, middle + per_second * it.at_seconds);
    Some([at(growth.envelope.first()?), at(growth.envelope.last()?)])
}

/// The least and the most of neighbouring seconds.
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
