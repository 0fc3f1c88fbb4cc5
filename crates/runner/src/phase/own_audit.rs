//! Compares a gateway's own counts over a load with the counts of the load generator. The gateway's
//! metrics are fetched before and after the load, and their growth is recorded next to the load
//! generator's counts.

use std::thread;
use std::time::{Duration, Instant};

use gatebench_engine::{Class, Metric, Recording, Recordings};
use gatebench_model::own_metrics::{Covers, LatencyKind, OwnLatency};
use gatebench_stats::is_trustworthy;
use gatebench_store::{Histogram, LedgerDelta, MeasuredTimes, OwnAuditRecord, OwnLatencyRecord};

use super::exposition::{Page, bound};
use super::scrape::Source;
use super::timeline;
use crate::numbers::nanos;

/// The time until the metrics contain a request, unless the gateway's folder states another time.
const LATE_BY: Duration = Duration::from_secs(1);
/// The first and the longest pause between the fetches after a load. The pause doubles after each
/// fetch, up to the longest, so that a gateway that counts fetches is not flooded with them.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(800)];
/// After a load, fetching ends if nothing has changed for this multiple of the delay of the metrics
/// ([`late_by`]).
const PATIENCE: u32 = 2;
/// The maximum duration of the fetches after a load.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The interval between checks for an interrupt.
const NAP: Duration = Duration::from_millis(20);
const MILLISECOND_NS: f64 = 1e6;
/// The minimum number of recorded times for the conclusion that a histogram or a summary measures
/// in whole milliseconds.
const WHOLE_MIN: u64 = 100;

pub(crate) struct Audit<'a> {
    source: Source<'a>,
    before: Page,
    settled: Duration,
}

pub(crate) struct Counted<'a> {
    /// The recordings of the requests in the measurement, and of those outside it.
    pub(crate) recordings: [&'a Recordings; 2],
    pub(crate) ledger: Option<&'a LedgerDelta>,
    /// The number of fetches during the load.
    pub(crate) fetches: u64,
}

impl<'a> Audit<'a> {
    /// Waits until the metrics should contain every earlier request, and then fetches them; `None`
    /// if they cannot be read.
    pub(crate) fn begin(source: Source<'a>) -> Option<Self> {
        let settled = late_by(&source);
        let until = Instant::now() + settled;
        while Instant::now() < until && !source.interrupt.is_raised() {
            thread::sleep(NAP);
        }
        let (_, before) = source.fetch();
        Some(Self {
            source,
            before: before?,
            settled,
        })
    }

    /// Fetches the metrics until they contain every request of the load or stop changing, but not
    /// longer than [`WAIT_MAX`]. An interrupt ends the fetches. Returns `None` if the first fetch
    /// fails.
    pub(crate) fn end(self, counted: &Counted<'_>) -> Option<OwnAuditRecord> {
        let mut audit = expected(counted);
        audit.settled_ns = nanos(self.settled);
        let (began, mut changed) = (Instant::now(), Instant::now());
        let (mut last, mut figures) = (None, Vec::new());
        let (mut fetches, mut pause) = (counted.fetches, PAUSES[0]);
        loop {
            let page = self.source.fetch().1;
            fetches += 1;
            audit.waited_ns = nanos(began.elapsed());
            if let Some(page) = page {
                let read = self.figures(&page, fetches);
                if read != figures {
                    (figures, changed) = (read, Instant::now());
                }
                last = Some(page);
            }
            self.compare(last.as_ref()?, fetches, counted, &mut audit);
            if is_complete(&audit) {
                audit.late_ns = Some(audit.waited_ns);
                break;
            }
            let patience = late_by(&self.source) * PATIENCE;
            let is_over = changed.elapsed() > patience || began.elapsed() > WAIT_MAX;
            if is_over || self.source.interrupt.is_raised() {
                break;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSES[1]);
        }
        Some(audit)
    }

    /// Returns the figures that [`Self::end`] watches until they stop changing, without the
    /// increase that the fetches so far have caused.
    fn figures(&self, page: &Page, fetches: u64) -> Vec<Option<u64>> {
        let metrics = self.source.metrics;
        let requests = page.sum(&metrics.requests, &metrics.labels);
        let requests = requests.map(|it| it as u64);
        if metrics.counts_fetches {
            // Fetches also increase the counts of the latency metrics. Only the number of requests,
            // from which the fetches can be subtracted, shows whether anything else has changed.
            return vec![requests.map(|it| it.saturating_sub(fetches))];
        }
        let counts = metrics.latency.iter().map(|it| Reading::of(page, it).count);
        [requests].into_iter().chain(counts.map(Some)).collect()
    }

    fn compare(
        &self,
        after: &Page,
        fetches: u64,
        counted: &Counted<'_>,
        audit: &mut OwnAuditRecord,
    ) {
        let metrics = self.source.metrics;
        let read = |page: &Page| page.sum(&metrics.requests, &metrics.labels).unwrap_or(0.0) as u64;
        let own = read(after).saturating_sub(read(&self.before));
        let of_fetches = if metrics.counts_fetches { fetches } else { 0 };
        audit.requests = own.saturating_sub(of_fetches);
        let latencies = metrics.latency.iter();
        let latencies = latencies.filter_map(|it| self.latency(it, after, counted));
        audit.latencies = latencies.collect();
    }

    /// Returns the record of a latency metric; `None` if the gateway does not have the metric.
    fn latency(
        &self,
        latency: &OwnLatency,
        after: &Page,
        counted: &Counted<'_>,
    ) -> Option<OwnLatencyRecord> {
        let (before, after) = (
            Reading::of(&self.before, latency),
            Reading::of(after, latency),
        );
        if !after.exists {
            return None;
        }
        let unit_ns = latency.unit.nanos();
        let declared = latency.resolution.map(|it| it.as_nanos());
        let grown = after.since(&before);
        let are_enough = latency.kind == LatencyKind::Mean || grown.count >= WHOLE_MIN;
        let are_whole = are_enough && before.is_whole(unit_ns) && after.is_whole(unit_ns);
        let detected = || are_whole.then_some(MILLISECOND_NS as u64);
        let bounds_ns: Vec<u64> = grown
            .buckets
            .iter()
            .map(|it| (it.0 * unit_ns).round() as u64)
            .collect();
        Some(OwnLatencyRecord {
            metric: latency.metric.clone(),
            kind: latency.kind,
            covers: latency.covers,
            count: grown.count,
            mean_ns: grown.mean().map(|mean| mean * unit_ns),
            resolution_ns: declared.or_else(detected),
            up_to: grown.buckets.iter().map(|it| it.1).collect(),
            measured: measured(latency.covers, counted, &bounds_ns),
            bounds_ns,
        })
    }
}

fn late_by(source: &Source<'_>) -> Duration {
    source.metrics.late_by.map_or(LATE_BY, |stated| stated.0)
}

/// Reports whether the metrics contain every request that the gateway must have counted.
fn is_complete(audit: &OwnAuditRecord) -> bool {
    let mut timed = audit.latencies.iter();
    audit.requests >= audit.completed + audit.abandoned
        && timed.all(|it| {
            let times_all = it.kind != LatencyKind::Mean && it.covers != Covers::Upstream;
            !times_all || it.count >= audit.completed
        })
}

/// Returns an audit record without the gateway's own counts.
fn expected(counted: &Counted<'_>) -> OwnAuditRecord {
    let all = || counted.recordings.into_iter().flatten();
    let services = || all().filter(|((metric, _), _)| *metric == Metric::Service);
    let count = |failed: bool| -> u64 {
        let of = services().filter(|((_, class), _)| (*class == Class::Failed) == failed);
        of.map(|(_, recording)| recording.histogram.len()).sum()
    };
    let (completed, failed) = (count(false), count(true));
    let reached = counted.ledger.map_or(0, |it| it.unique);
    OwnAuditRecord {
        completed,
        sent: completed + failed,
        abandoned: reached.saturating_sub(completed).min(failed),
        repeated: counted.ledger.map_or(0, |it| it.repeated),
        ..OwnAuditRecord::default()
    }
}

/// Returns the load generator's times for the part of a request that a metric covers.
fn measured(covers: Covers, counted: &Counted<'_>, bounds_ns: &[u64]) -> MeasuredTimes {
    let metric = match covers {
        Covers::Request => Metric::Service,
        Covers::Gateway => Metric::Added,
        Covers::RequestSide => Metric::RequestHalf,
        Covers::Upstream => return of_upstream(counted),
    };
    let (mut times, mut sum_ns) = (timeline::empty(), 0.0);
    for recording in of_metric(counted, metric) {
        timeline::add(&mut times, &recording.histogram);
        sum_ns += recording.sum_ns as f64;
    }
    MeasuredTimes {
        count: times.len(),
        mean_ns: (!times.is_empty()).then(|| sum_ns / times.len() as f64),
        up_to: bounds_ns.iter().map(|it| up_to(&times, *it)).collect(),
        percentiles: percentiles(&times),
    }
}

/// Computes the mean of the upstream's times: the mean service time minus the mean added latency.
/// There are no percentiles and no counts up to the bounds, because they cannot be computed from
/// these means.
fn of_upstream(counted: &Counted<'_>) -> MeasuredTimes {
    let sum = |metric| {
        of_metric(counted, metric).fold((0, 0.0), |(count, sum_ns), it| {
            (count + it.histogram.len(), sum_ns + it.sum_ns as f64)
        })
    };
    let ((count, service_ns), (traced, added_ns)) = (sum(Metric::Service), sum(Metric::Added));
    let is_known = count > 0 && count == traced;
    MeasuredTimes {
        count,
        mean_ns: is_known.then(|| (service_ns - added_ns) / count as f64),
        ..MeasuredTimes::default()
    }
}

fn of_metric<'c>(
    counted: &Counted<'c>,
    wanted: Metric,
) -> impl Iterator<Item = &'c Recording> + use<'c> {
    let all = counted.recordings.into_iter().flatten();
    all.filter(move |((metric, _), _)| *metric == wanted)
        .map(|(_, recording)| recording)
}

fn up_to(times: &Histogram<u64>, bound_ns: u64) -> u64 {
    let below = times.iter_recorded();
    let below = below.take_while(|it| it.value_iterated_to() <= bound_ns);
    below.map(|it| it.count_at_value()).sum()
}

/// The median, the 95th and the 99th percentile, each if enough times are beyond it.
fn percentiles(times: &Histogram<u64>) -> Vec<(f64, u64)> {
    let known = [50.0, 95.0, 99.0]
        .into_iter()
        .filter(|it| is_trustworthy(*it, times.len()));
    known
        .map(|it| (it, times.value_at_percentile(it)))
        .collect()
}

/// The values of a latency metric on a page, in the metric's unit.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reading {
    exists: bool,
    /// The finite bounds, each with the number of recorded times up to it.
    buckets: Vec<(f64, u64)>,
    count: u64,
    sum: Option<f64>,
    /// The value, if the metric is a gauge.
    mean: Option<f64>,
}

impl Reading {
    fn of(page: &Page, latency: &OwnLatency) -> Self {
        let named = |suffix: &str| format!("{}{suffix}", latency.metric);
        if latency.kind == LatencyKind::Mean {
            return Self::of_gauge(page, latency);
        }
        let (count, sum) = (named("_count"), named("_sum"));
        let count = page.sum(&count, &latency.labels);
        let mut reading = Self {
            exists: count.is_some(),
            count: count.unwrap_or(0.0) as u64,
            sum: page.sum(&sum, &latency.labels),
            ..Self::default()
        };
        if latency.kind == LatencyKind::Histogram {
            for (labels, value) in page.of(&named("_bucket"), &latency.labels) {
                reading.exists = true;
                if let Some(bound) = bound(labels).filter(|it| it.is_finite()) {
                    reading.add(bound, value as u64);
                }
            }
            reading.buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        reading
    }

    /// Reads a gauge. Several gauges have no common mean, unless at most one of them is above zero,
    /// as when the others belong to backends without requests.
    fn of_gauge(page: &Page, latency: &OwnLatency) -> Self {
        let values = page.of(&latency.metric, &latency.labels);
        let values: Vec<f64> = values.map(|(_, value)| value).collect();
        let positive: Vec<f64> = values.iter().copied().filter(|it| *it > 0.0).collect();
        Self {
            exists: !values.is_empty() && positive.len() <= 1,
            mean: Some(positive.first().copied().unwrap_or(0.0)),
            ..Self::default()
        }
    }

    fn add(&mut self, bound: f64, count: u64) {
        match self.buckets.iter_mut().find(|it| it.0 == bound) {
            Some(bucket) => bucket.1 += count,
            None => self.buckets.push((bound, count)),
        }
    }

    fn since(&self, before: &Self) -> Self {
        let earlier = |bound: f64| {
            let found = before.buckets.iter().find(|it| it.0 == bound);
            found.map_or(0, |it| it.1)
        };
        let buckets = self.buckets.iter();
        Self {
            exists: self.exists,
            buckets: buckets
                .map(|it| (it.0, it.1.saturating_sub(earlier(it.0))))
                .collect(),
            count: self.count.saturating_sub(before.count),
            sum: self.sum.map(|sum| sum - before.sum.unwrap_or(0.0)),
            mean: self.mean,
        }
    }

    fn mean(&self) -> Option<f64> {
        let of_sum = || Some(self.sum.filter(|_| self.count > 0)? / self.count as f64);
        self.mean.or_else(of_sum)
    }

    /// Reports whether the times appear to be whole milliseconds. By chance, the sum of times in
    /// microseconds is a whole number of milliseconds in one of a thousand readings, so callers
    /// require two such readings.
    fn is_whole(&self, unit_ns: f64) -> bool {
        let is_whole = |value: f64| {
            let ms = value * unit_ns / MILLISECOND_NS;
            (ms - ms.round()).abs() < 1e-5
        };
        match (self.mean, self.sum) {
            (Some(mean), _) => is_whole(mean),
            (None, Some(sum)) => self.count > 0 && is_whole(sum),
            (None, None) => false,
        }
    }
}
