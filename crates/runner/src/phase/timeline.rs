//! Merges the seconds of all workers into the histograms and series of a phase.

use std::collections::BTreeMap;

use gatebench_engine::{Class, HIGHEST_NS, Interval, Merge, Metric};
use gatebench_stats::is_trustworthy;
use gatebench_store::{Histogram, LiveSecond, RequestsRow, SeriesRow, SeriesUsage, TaggedInterval};

use super::samples::{Moment, steps};
use super::tap::Tap;
use crate::outputs::row_of;
use crate::progress::{Observer, Progress};

const SECOND_NS: u64 = 1_000_000_000;

#[derive(Default)]
pub(crate) struct Timeline<'a> {
    merge: Merge,
    pub(crate) tap: Option<Tap<'a>>,
    pub(crate) onlooker: Option<Onlooker<'a>>,
    pub(crate) left_out: &'static [Metric],
    /// The seconds, merged over the workers, without the sampled usage.
    rows: Vec<SeriesRow>,
    requests: Vec<RequestsRow>,
    stretch_seconds: u32,
    stretches: BTreeMap<u32, Recordings>,
}

/// Passes the seconds of the measurement to an observer as they become complete.
pub(crate) struct Onlooker<'a> {
    pub(crate) observer: &'a dyn Observer,
    pub(crate) phase: &'a str,
    pub(crate) measure_ns: u64,
}

/// The histograms of one or more consecutive seconds, by metric and class.
type Recordings = BTreeMap<(Metric, Class), Histogram<u64>>;

#[derive(Default)]
pub(crate) struct Timed {
    pub(crate) histograms: Vec<TaggedInterval>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) requests: Vec<RequestsRow>,
}

impl Timed {
    pub(crate) fn extend(&mut self, next: Self) {
        self.histograms.extend(next.histograms);
        self.series.extend(next.series);
        self.requests.extend(next.requests);
    }
}

impl Timeline<'_> {
    /// Creates a timeline whose histograms each cover `stretch_seconds` seconds, so that a load
    /// that lasts a day does not need separate histograms for each second.
    pub(crate) fn new(workers: usize, stretch_seconds: u32) -> Self {
        Self {
            merge: Merge::new(workers),
            stretch_seconds: stretch_seconds.max(1),
            ..Self::default()
        }
    }

    pub(crate) fn take(&mut self, worker: usize, interval: &Interval) {
        for complete in self.merge.take(worker, interval) {
            self.close(&complete);
        }
    }

    fn close(&mut self, interval: &Interval) {
        let stretch = interval.second / self.stretch_seconds;
        let recordings = self.stretches.entry(stretch).or_default();
        for (metric, class, recording) in interval.recordings() {
            // The load generator's histograms reserve memory for times of up to a minute. The
            // copies need memory only for the recorded values.
            let histogram = recordings.entry((metric, class)).or_insert_with(empty);
            add(histogram, &recording.histogram);
        }
        let row = second(interval);
        if let Some(onlooker) = &self.onlooker {
            onlooker.see(&row);
        }
        self.rows.push(row);
        self.requests.push(row_of(interval));
        if let Some(tap) = &self.tap {
            tap.second(interval);
        }
    }

    /// Returns the histograms and rows of a phase, with the usage between consecutive `moments`.
    /// The measurement lasted `measure_ns`, and the drain `drained_ns`. The histograms and requests
    /// include responses in the drain, because they belong to requests of the measurement, but the
    /// series has no row for them.
    pub(crate) fn finish(
        mut self,
        phase: &str,
        measure_ns: u64,
        drained_ns: u64,
        moments: &[Moment],
    ) -> Timed {
        for interval in self.merge.rest() {
            self.close(&interval);
        }
        for recordings in self.stretches.values_mut() {
            recordings.retain(|(metric, _), _| !self.left_out.contains(metric));
        }
        let mut series = self.rows;
        series.retain(|row| is_measured(row, measure_ns));
        for row in &mut series {
            row.phase = phase.into();
            sample_usage(row, moments);
        }
        let stretch_ns = u64::from(self.stretch_seconds) * SECOND_NS;
        let mut histograms = Vec::new();
        for (stretch, recordings) in self.stretches {
            let start_ns = (u64::from(stretch) * stretch_ns).min(measure_ns);
            let measured_ns = (measure_ns - start_ns).min(stretch_ns);
            let duration_ns = match measured_ns {
                0 => drained_ns,
                measured_ns => measured_ns,
            };
            let tagged = |((metric, class), histogram): ((Metric, Class), _)| TaggedInterval {
                tag: format!("{phase}.{}.{}", metric.as_str(), class.as_str()),
                start_ns,
                duration_ns,
                histogram,
            };
            histograms.extend(recordings.into_iter().map(tagged));
        }
        for row in &mut self.requests {
            row.phase = phase.into();
        }
        Timed {
            histograms,
            series,
            requests: self.requests,
        }
    }
}

impl Onlooker<'_> {
    fn see(&self, row: &SeriesRow) {
        if is_measured(row, self.measure_ns) {
            self.observer.observe(Progress::Second(LiveSecond {
                phase: self.phase.to_owned(),
                second: row.second,
                completed: row.completed,
                failed: row.failed,
                response_p50_ns: row.response_p50_ns,
                response_p99_ns: row.response_p99_ns,
            }));
        }
    }
}

/// Reports whether a second belongs to the measurement, and not to the drain.
fn is_measured(row: &SeriesRow, measure_ns: u64) -> bool {
    u64::from(row.second) * SECOND_NS < measure_ns
}

/// Returns the row of a second, whose only usage is the CPU time of the load generator's workers.
fn second(interval: &Interval) -> SeriesRow {
    let mut response = empty();
    for (metric, class, recording) in interval.recordings() {
        if metric == Metric::Response && class != Class::Failed {
            add(&mut response, &recording.histogram);
        }
    }
    let counts = &interval.counts;
    SeriesRow {
        second: interval.second,
        completed: counts.completed_in_window,
        failed: counts.errors.iter().sum::<u64>() + counts.responses_failing_checks,
        response_p50_ns: percentile(&response, 0.5),
        response_p99_ns: percentile(&response, 0.99),
        engine: Some(SeriesUsage {
            cpu_ns: interval.cpu_ns,
            ..SeriesUsage::default()
        }),
        ..SeriesRow::default()
    }
}

fn sample_usage(row: &mut SeriesRow, moments: &[Moment]) {
    let at = row.second as usize;
    let both = moments.get(at).zip(moments.get(at + 1));
    // The load generator's process also has threads other than its workers.
    let workers_cpu_ns = row.engine.map_or(0, |usage| usage.cpu_ns);
    [row.gateway, row.engine, row.upstream] = both.map_or([None; 3], |(from, to)| steps(from, to));
    if let Some(engine) = &mut row.engine {
        engine.cpu_ns = workers_cpu_ns;
    }
}

/// Returns the value at a quantile, if enough responses are beyond it.
pub(crate) fn percentile(histogram: &Histogram<u64>, quantile: f64) -> Option<u64> {
    is_trustworthy(quantile * 100.0, histogram.len()).then(|| histogram.value_at_quantile(quantile))
}

/// Returns a histogram that has the load generator's precision and grows as needed.
pub(crate) fn empty() -> Histogram<u64> {
    let mut histogram = Histogram::new(3).expect("3 significant digits are allowed");
    histogram.auto(true);
    histogram
}

/// Adds a histogram to another. Values above [`HIGHEST_NS`] are added as [`HIGHEST_NS`].
pub(crate) fn add(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    for value in from.iter_recorded() {
        let value_ns = value.value_iterated_to().min(HIGHEST_NS);
        to.record_n(value_ns, value.count_at_value())
            .expect("the histogram grows as needed");
    }
}

#[cfg(test)]
mod tests {
    use gatebench_testbed::probe::Sample;

    use super::*;

    fn interval(second: u32, responses_ns: &[u64]) -> Interval {
        let mut interval = Interval::new(0);
        interval.second = second;
        interval.cpu_ns = 7;
        interval.counts.completed_in_window = responses_ns.len() as u64;
        for response_ns in responses_ns {
            interval.record(Class::Success, *response_ns, *response_ns, 1);
        }
        interval
    }

    fn moments(count: u64) -> Vec<Moment> {
        let sample = |at: u64| Sample {
            at_ns: at,
            cpu_ns: at * 100,
            ..Sample::default()
        };
        (0..count)
            .map(|at| Moment {
                upstream: Some(sample(at)),
                own: sample(at),
                ..Moment::default()
            })
            .collect()
    }

    #[test]
    fn a_second_is_complete_when_every_worker_has_delivered_it() {
        let mut timeline = Timeline::new(2, 1);
        let mut medians = |worker, second, response_ns| {
            timeline.take(worker, &interval(second, &[response_ns; 30]));
            let done = timeline.rows.iter().map(|it| it.response_p50_ns);
            done.flatten().collect::<Vec<u64>>()
        };
        assert!(medians(0, 0, 1_000).is_empty());
        assert!(medians(0, 1, 2_000).is_empty());
        assert_eq!(medians(1, 0, 1_000), [1_000_u64]);
        assert_eq!(medians(1, 1, 2_000), [1_000_u64, 2_000]);
        assert!(timeline.merge.rest().is_empty());
    }

    #[test]
    fn a_phase_becomes_rows_and_tagged_histograms() {
        let mut timeline = Timeline::new(1, 1);
        for second in [
            interval(0, &[1_000; 30]),
            interval(1, &[3_000; 10]),
            interval(2, &[9_000]),
        ] {
            timeline.take(0, &second);
        }
        let timed = timeline.finish("steady", 1_500_000_000, 40_000_000, &moments(3));
        let (intervals, rows) = (timed.histograms, timed.series);
        assert_eq!(timed.requests.len(), 3, "the requests include the drain");
        assert_eq!(rows.len(), 2, "the drain has no row");
        assert_eq!(
            (
                rows[0].completed,
                rows[0].response_p50_ns,
                rows[0].response_p99_ns
            ),
            (30, Some(1_000), None)
        );
        assert_eq!(
            rows[1].response_p50_ns, None,
            "10 responses leave 5 beyond the median"
        );
        assert_eq!(rows[0].upstream.unwrap().cpu_ns, 100);
        assert_eq!(rows[0].engine.unwrap().cpu_ns, 7);
        assert_eq!(rows[0].gateway, None);
        let response: Vec<_> = intervals
            .iter()
            .filter(|it| it.tag == "steady.response.2xx")
            .collect();
        let times: Vec<_> = response
            .iter()
            .map(|it| (it.start_ns, it.duration_ns))
            .collect();
        assert_eq!(
            times,
            [
                (0, 1_000_000_000),
                (1_000_000_000, 500_000_000),
                (1_500_000_000, 40_000_000)
            ]
        );
        assert_eq!(
            response.iter().map(|it| it.histogram.len()).sum::<u64>(),
            41
        );
    }

    #[test]
    fn seconds_of_a_stretch_share_their_histograms_and_keep_their_rows() {
        let mut timeline = Timeline::new(1, 2);
        for second in 0..5 {
            timeline.take(0, &interval(second, &[1_000; 30]));
        }
        let timed = timeline.finish("soak", 4_500_000_000, 0, &[]);
        let (intervals, rows) = (timed.histograms, timed.series);
        assert_eq!(rows.len(), 5);
        let response: Vec<_> = intervals
            .iter()
            .filter(|it| it.tag == "soak.response.2xx")
            .map(|it| (it.start_ns, it.duration_ns, it.histogram.len()))
            .collect();
        let second = 1_000_000_000;
        assert_eq!(
            response,
            [
                (0, 2 * second, 60),
                (2 * second, 2 * second, 60),
                (4 * second, second / 2, 30)
            ]
        );
    }

    #[test]
    fn a_silent_worker_does_not_cause_losses() {
        let mut timeline = Timeline::new(2, 1);
        timeline.take(0, &interval(0, &[1_000; 30]));
        let timed = timeline.finish("p", 1_000_000_000, 0, &[]);
        assert_eq!(
            (timed.series.len(), timed.histograms.is_empty()),
            (1, false)
        );
    }
}
