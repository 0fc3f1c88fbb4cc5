//! Fetches a gateway's own metrics under load, as Prometheus does. The cost of the fetches is part
//! of the measurement, and the report attributes the values to the gateway.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use gatebench_model::Request;
use gatebench_model::own_metrics::{OwnMetrics, OwnSeries};
use gatebench_store::{OwnAuditRecord, OwnMetricsRecord, SeriesRow};
use gatebench_testbed::{Interrupt, Wire};

use super::exposition::Page;
use super::tap::Tap;
use super::watch::Shared;
use crate::http_probe::send;
use crate::numbers::nanos;

/// The interval between checks for the end of the load.
const NAP: Duration = Duration::from_millis(20);
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: &'a OwnMetrics,
    pub(crate) interrupt: &'a Interrupt,
}

impl Source<'_> {
    /// Fetches the page. Returns the size of the body, and the page if it is complete.
    pub(crate) fn fetch(&self) -> (u64, Option<Page>) {
        let request = Request::new("GET", &self.metrics.path);
        let response = send(&Wire::plain(self.address), &request, None, self.interrupt);
        let Some(response) = response.ok().filter(|it| it.status == 200) else {
            return (0, None);
        };
        let bytes = response.body_bytes as u64;
        // Sums over a partial page would be wrong.
        let is_whole = response.body.len() == response.body_bytes;
        let page = is_whole.then(|| {
            let text = String::from_utf8_lossy(&response.body);
            Page::read(&text, self.metrics.format)
        });
        (bytes, page)
    }
}

pub(crate) struct Scraping<'a> {
    pub(crate) source: Source<'a>,
    /// The interval in nanoseconds, a whole number of seconds.
    pub(crate) every_ns: u64,
    pub(crate) measure_ns: u64,
    pub(crate) tap: Option<Tap<'a>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scrape {
    second: u32,
    took_ns: u64,
    bytes: u64,
    /// The gateway's count of requests; `None` if the fetch failed or the page lacks the count.
    requests: Option<u64>,
    /// The number of responses that the load generator had counted at the start of the fetch.
    responses: u64,
    /// The sizes of the gateway's pools, by the name of the series.
    pools: BTreeMap<String, u64>,
    /// The counters of the gateway's other figures, by name.
    counters: BTreeMap<String, Counter>,
}

/// A counter at the time of a fetch, and the counter that divides it, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counter {
    value: f64,
    over: Option<f64>,
}

impl Counter {
    /// For a counter of milliseconds with a divisor, returns the mean since an earlier fetch, in
    /// nanoseconds. For any other counter, returns the growth per 1,000 seconds. Returns `None` if
    /// the divisor has not grown, or if the counter fell, as after a restart.
    fn since(self, earlier: Self, seconds: f64) -> Option<u64> {
        let growth = self.value - earlier.value;
        let (scale, divisor) = match (self.over, earlier.over) {
            (Some(now), Some(before)) => (NS_PER_MS, now - before),
            _ => (PER_SECONDS, seconds),
        };
        // After a restart, both differences can be negative, and their quotient would be positive.
        (growth >= 0.0 && divisor > 0.0).then(|| (growth * scale / divisor).round() as u64)
    }
}

const NS_PER_MS: f64 = 1e6;
/// The number of seconds that a recorded rate refers to.
const PER_SECONDS: f64 = 1_000.0;

impl Scraping<'_> {
    /// Fetches once in each interval of the measurement, until the load is over.
    pub(crate) fn run(&self, shared: &Shared) -> Vec<Scrape> {
        let mut all = Vec::new();
        let mut due_ns = 0;
        while !shared.is_over() && due_ns < self.measure_ns {
            match shared.since_begin_ns().filter(|it| *it >= due_ns) {
                Some(since_ns) => {
                    let second = u32::try_from(since_ns / SECOND_NS).unwrap_or(u32::MAX);
                    let scrape = self.fetch(second, shared);
                    if let Some(tap) = &self.tap {
                        tap.feed.own(scrape.requests, &scrape.pools);
                    }
                    all.push(scrape);
                    let since_ns = shared.since_begin_ns().unwrap_or(since_ns);
                    due_ns = next_due_ns(since_ns, self.every_ns);
                }
                None => thread::sleep(NAP),
            }
        }
        all
    }

    fn fetch(&self, second: u32, shared: &Shared) -> Scrape {
        let (began, responses) = (Instant::now(), shared.completed());
        let (bytes, page) = self.source.fetch();
        let took_ns = nanos(began.elapsed());
        let page = page.unwrap_or_default();
        let metrics = self.source.metrics;
        let pools = metrics.pools.iter().flat_map(|pool| {
            let by = pool.by.as_slice();
            let sums = page.sums(&pool.metric, &pool.labels, by).into_iter();
            sums.map(|(values, sum)| (pool.series(&values), sum as u64))
        });
        let requests = page.sum(&metrics.requests, &metrics.labels);
        Scrape {
            second,
            took_ns,
            bytes,
            requests: requests.map(|it| it as u64),
            responses,
            pools: pools.collect(),
            counters: metrics
                .series
                .iter()
                .flat_map(|it| counters(&page, it))
                .collect(),
        }
    }
}

/// Returns the counters of a figure, by its name and the values of its labels.
fn counters(page: &Page, series: &OwnSeries) -> BTreeMap<String, Counter> {
    let of = |metric: &str| page.sums(metric, &BTreeMap::new(), &series.by);
    let over = series.over.as_deref().map(of);
    let named = |(values, value): (Vec<String>, f64)| {
        let over = over.as_ref().and_then(|it| it.get(&values)).copied();
        (series.series(&values), Counter { value, over })
    };
    of(&series.metric).into_iter().map(named).collect()
}

/// Returns the time of the next fetch. As in Prometheus, fetches that are due during a slow
/// response are skipped.
fn next_due_ns(since_ns: u64, every_ns: u64) -> u64 {
    (since_ns / every_ns + 1) * every_ns
}

pub(crate) fn record(all: &[Scrape], audit: Option<OwnAuditRecord>) -> Option<OwnMetricsRecord> {
    let mut counted = all
        .iter()
        .filter_map(|it| Some((it.requests?, it.responses)));
    let first = counted.next().unwrap_or_default();
    let last = counted.next_back().unwrap_or(first);
    (!all.is_empty()).then(|| OwnMetricsRecord {
        scrapes: all.len() as u64,
        failed: all.iter().filter(|it| it.requests.is_none()).count() as u64,
        bytes_max: all.iter().map(|it| it.bytes).max().unwrap_or(0),
        took_ns_max: all.iter().map(|it| it.took_ns).max().unwrap_or(0),
        requests: last.0.saturating_sub(first.0),
        responses: last.1.saturating_sub(first.1),
        audit,
    })
}

/// Returns the figures of the counters by second; each covers the time since the previous fetch.
fn figures(all: &[Scrape]) -> HashMap<u32, BTreeMap<String, u64>> {
    let pairs = all.iter().zip(all.iter().skip(1));
    let of_pair = |(earlier, later): (&Scrape, &Scrape)| {
        let seconds = f64::from(later.second - earlier.second);
        let figure = |(name, counter): (&String, &Counter)| {
            let figure = counter.since(*earlier.counters.get(name)?, seconds)?;
            Some((name.clone(), figure))
        };
        let figures = later.counters.iter().filter_map(figure);
        (later.second, figures.collect())
    };
    pairs.map(of_pair).collect()
}

/// Adds the metrics to the series row of the same second. If a second has several fetches, the
/// requests and the pools are those of the first fetch.
pub(crate) fn into_series(all: &[Scrape], series: &mut [SeriesRow]) {
    // A day has 86,400 rows and fetches, so they are matched by key. The fetches are inserted in
    // reverse order, so the first fetch of a second replaces the others.
    let first_last = all.iter().rev().map(|it| (it.second, it));
    let by_second: HashMap<u32, &Scrape> = first_last.collect();
    let figures = figures(all);
    for row in series {
        row.own_series = figures.get(&row.second).cloned().unwrap_or_default();
        let of_second = by_second.get(&row.second);
        row.own_requests = of_second.and_then(|it| it.requests);
        row.pools = of_second.map(|it| it.pools.clone()).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use gatebench_model::own_metrics::MetricsFormat;

    use super::*;

    #[test]
    fn a_counter_has_no_growth_over_a_reset() {
        let counter = |value, over| Counter { value, over };
        let before = counter(200.0, Some(20.0));
        assert_eq!(
            counter(230.0, Some(30.0)).since(before, 1.0),
            Some(3_000_000)
        );
        assert_eq!(counter(5.0, Some(1.0)).since(before, 1.0), None);
        assert_eq!(counter(300.0, Some(20.0)).since(before, 1.0), None);
        let plain = counter(200.0, None);
        assert_eq!(counter(210.0, None).since(plain, 2.0), Some(5_000));
        assert_eq!(counter(10.0, None).since(plain, 2.0), None);
    }

    #[test]
    fn figures_are_the_growth_of_counters_between_two_fetches() {
        let text = |count: u32, ms: f64| {
            format!(
                "rq{{route=\"a\",code=\"200\"}} {count}\nrq{{route=\"a\",code=\"500\"}} 1\n\
                 ms_sum{{service=\"s\"}} {ms}\nms_count{{service=\"s\"}} {count}\n"
            )
        };
        let series = |name: &str, metric: &str, over: Option<&str>, by: &[&str]| OwnSeries {
            name: name.into(),
            metric: metric.into(),
            over: over.map(str::to_owned),
            by: by.iter().map(|it| (*it).to_owned()).collect(),
        };
        let asked = [
            series("requests", "rq", None, &["route", "code"]),
            series("latency", "ms_sum", Some("ms_count"), &["service"]),
        ];
        let page = |text: &str| Page::read(text, MetricsFormat::Prometheus);
        let scrape = |second, text: &str| Scrape {
            second,
            counters: asked
                .iter()
                .flat_map(|it| counters(&page(text), it))
                .collect(),
            ..Scrape::default()
        };
        let all = [scrape(0, &text(10, 5.0)), scrape(4, &text(30, 15.0))];
        let figures = figures(&all);
        let expected = [
            ("latency.s_ns", 500_000),
            ("requests.a.200_per_1000_s", 5_000),
            ("requests.a.500_per_1000_s", 0),
        ];
        let expected = expected.map(|(name, figure)| (name.to_owned(), figure));
        assert_eq!(figures[&4], BTreeMap::from(expected));
    }

    #[test]
    fn fetches_during_a_slow_response_are_skipped() {
        assert_eq!(next_due_ns(20, 1_000), 1_000);
        assert_eq!(next_due_ns(1_000, 1_000), 2_000);
        assert_eq!(next_due_ns(3_400, 1_000), 4_000);
    }

    #[test]
    fn a_record_spans_the_successful_scrapes() {
        let scrape = |second, requests, responses| Scrape {
            second,
            requests,
            responses,
            took_ns: 5 + u64::from(second),
            bytes: 10,
            counters: BTreeMap::new(),
            pools: BTreeMap::from([("heap_bytes".into(), 7 + u64::from(second))]),
        };
        let all = [
            scrape(0, Some(100), 90),
            scrape(1, Some(200), 190),
            scrape(2, None, 250),
        ];
        let expected = OwnMetricsRecord {
            scrapes: 3,
            failed: 1,
            bytes_max: 10,
            took_ns_max: 7,
            requests: 100,
            responses: 100,
            audit: None,
        };
        assert_eq!(record(&all, None), Some(expected));
        assert_eq!(record(&[], None), None);
        let mut series = vec![SeriesRow::default(), SeriesRow::default()];
        series[1].second = 2;
        into_series(&all, &mut series);
        assert_eq!(
            (series[0].own_requests, series[1].own_requests),
            (Some(100), None)
        );
        assert_eq!(series[1].pools["heap_bytes"], 9);
    }

    /// A linear search for each row would take minutes.
    #[test]
    fn fetches_of_a_day_are_matched_to_their_seconds() {
        const DAY_SECONDS: u32 = 86_400;
        let scrape = |second, requests| Scrape {
            second,
            requests: Some(requests),
            ..Scrape::default()
        };
        let twice = (0..DAY_SECONDS).flat_map(|it| [scrape(it, it.into()), scrape(it, 0)]);
        let all: Vec<Scrape> = twice.collect();
        let row = |second| SeriesRow {
            second,
            ..SeriesRow::default()
        };
        let mut series: Vec<SeriesRow> = (0..DAY_SECONDS).map(row).collect();
        into_series(&all, &mut series);
        let is_own = |it: &SeriesRow| it.own_requests == Some(it.second.into());
        assert!(series.iter().all(is_own));
    }
}
