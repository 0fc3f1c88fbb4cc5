//! The figures of a load, which are computed once and then printed, judged and written as JSON.

use gatebench_engine::{
    Class, Counts, Interval, Metric, Outcome, Recording, Recordings, RouteRecord,
};
use gatebench_model::bound::Clock;
use gatebench_stats::is_trustworthy;
use hdrhistogram::Counter;

/// The percentiles that are shown if enough samples lie beyond them, with their keys in JSON.
pub const PERCENTILES: [(f64, &str); 7] = [
    (50.0, "p50"),
    (75.0, "p75"),
    (90.0, "p90"),
    (95.0, "p95"),
    (99.0, "p99"),
    (99.9, "p99_9"),
    (99.99, "p99_99"),
];

/// The figures of a load, computed from its outcome. Unless stated otherwise, counts and times
/// cover the requests that were due in the measured window.
pub struct Figures<'a> {
    pub outcome: &'a Outcome,
    /// The times from the intended send to the last byte. For a request without a response, the
    /// time ends when the request failed.
    pub response: Times,
    /// The times from the actual send to the last byte.
    pub service: Times,
    /// The times from the intended to the actual send.
    pub lateness: Times,
    pub window_s: f64,
    pub checked: bool,
}

impl<'a> Figures<'a> {
    pub fn of(outcome: &'a Outcome) -> Self {
        let times = |metric| Times::of(&outcome.recordings, metric);
        Self {
            response: times(Metric::Response),
            service: times(Metric::Service),
            lateness: times(Metric::Lateness),
            window_s: (outcome.window_ns.1 - outcome.window_ns.0) as f64 / 1e9,
            checked: !outcome.checks.is_empty(),
            outcome,
        }
    }

    pub fn times(&self, clock: Clock) -> &Times {
        match clock {
            Clock::Response => &self.response,
            Clock::Service => &self.service,
            Clock::Lateness => &self.lateness,
        }
    }

    pub fn counts(&self) -> &Counts {
        &self.outcome.counts
    }

    /// Responses that arrived within the measured window, per second.
    pub fn rate_per_second(&self) -> f64 {
        self.per_second(self.counts().completed_in_window)
    }

    pub fn per_second(&self, count: u64) -> f64 {
        ratio(count as f64, self.window_s)
    }

    /// Requests that ended, with or without a response.
    pub fn ended(&self) -> u64 {
        self.counts().completed + self.unanswered()
    }

    pub fn unanswered(&self) -> u64 {
        self.counts().errors.iter().sum()
    }

    /// Requests without a good response. A good response passes the checks or, without checks, has
    /// a status from 200 to 399.
    pub fn failed(&self) -> u64 {
        let counts = self.counts();
        self.unanswered() + self.bad(counts.responses_failing_checks, &counts.by_class)
    }

    /// Responses that fail the checks or, without checks, have a status outside 200 to 399.
    fn bad(&self, failing_checks: u64, by_class: &[u64; Class::ALL.len()]) -> u64 {
        if self.checked {
            return failing_checks;
        }
        let bad = [Class::ClientError, Class::ServerError, Class::Failed];
        bad.into_iter().map(|class| by_class[class as usize]).sum()
    }

    pub fn failed_of(&self, route: &RouteRecord) -> u64 {
        self.bad(route.responses_failing_checks, &route.by_class) + route.errors.iter().sum::<u64>()
    }

    pub fn responses(&self, class: Class) -> u64 {
        self.counts().by_class[class as usize]
    }

    /// Returns each check as text, with the number of responses that failed it. The counts of equal
    /// checks on different requests are added.
    pub fn failed_checks(&self) -> Vec<(&str, u64)> {
        let mut found: Vec<(&str, u64)> = Vec::new();
        for (text, failed) in self.outcome.checks.iter().zip(&self.counts().checks_failed) {
            match found.iter_mut().find(|(known, _)| known == text) {
                Some((_, sum)) => *sum += failed,
                None => found.push((text, *failed)),
            }
        }
        found
    }

    /// Returns the name and the record of each request; empty if there is only one request.
    pub fn routes(&self) -> impl Iterator<Item = (&str, &RouteRecord)> {
        let groups = self.outcome.groups.iter();
        let routes = groups.flat_map(|group| &group.routes);
        routes.map(|(name, route)| (name.as_str(), route))
    }

    /// CPU time of the workers in the measured window, in nanoseconds, without polls that found no
    /// event.
    pub fn cpu_ns(&self) -> u64 {
        self.outcome.workers.iter().map(|it| it.cpu_ns).sum()
    }

    /// CPU time of the workers per response, in nanoseconds.
    pub fn cpu_ns_per_request(&self) -> Option<f64> {
        let responses = self.counts().completed_in_window;
        (responses > 0).then(|| self.cpu_ns() as f64 / responses as f64)
    }

    /// The CPU time of the workers as a share of their cores' time, without polls that found no
    /// event. The share can slightly exceed 1.
    pub fn busy_share(&self) -> f64 {
        self.share_of_workers(self.cpu_ns())
    }

    /// The share of the time in which the workers were ready to run but had no core.
    pub fn run_queue_share(&self) -> f64 {
        let waits = self.outcome.workers.iter().map(|it| it.run_queue_wait_ns);
        self.share_of_workers(waits.sum())
    }

    fn share_of_workers(&self, ns: u64) -> f64 {
        let workers = self.outcome.workers.len() as f64;
        ratio(ns as f64, self.window_s * 1e9 * workers)
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The name of a class in the results. The load generator puts statuses outside 200 to 599 into the
/// class `Failed`, which is shown as `other`.
pub fn class_word(class: Class) -> &'static str {
    match class {
        Class::Failed => "other",
        class => class.as_str(),
    }
}

/// The recorded times of one kind; none if nothing was recorded.
#[derive(Debug, Default)]
pub struct Times<C: Counter = u64>(Option<Recording<C>>);

impl Times {
    fn of(recordings: &Recordings, metric: Metric) -> Self {
        let of_metric = recordings.iter().filter(|((it, _), _)| *it == metric);
        Self::sum(of_metric.map(|(_, recording)| recording))
    }

    /// Merges the times of all requests that ended in the interval.
    pub fn of_second(interval: &Interval, metric: Metric) -> Self {
        let of_metric = interval.recordings().filter(|(it, ..)| *it == metric);
        Self::sum(of_metric.map(|(.., recording)| recording))
    }

    fn sum<'a>(mut recordings: impl Iterator<Item = &'a Recording>) -> Self {
        let mut sum = recordings.next().cloned();
        if let Some(sum) = &mut sum {
            recordings.for_each(|it| sum.add(it));
        }
        Self(sum)
    }

    pub fn of_class(recordings: &Recordings, metric: Metric, class: Class) -> Self {
        Self(recordings.get(&(metric, class)).cloned())
    }
}

impl<C: Counter> Times<C> {
    pub fn of_recording(recording: &Recording<C>) -> Self {
        Self(Some(recording.clone()))
    }

    pub fn recording(&self) -> Option<&Recording<C>> {
        self.0.as_ref().filter(|it| !it.histogram.is_empty())
    }

    pub fn count(&self) -> u64 {
        self.recording().map_or(0, |it| it.histogram.len())
    }

    /// The exact mean, in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        let recording = self.recording()?;
        Some(recording.sum_ns as f64 / recording.histogram.len() as f64)
    }

    /// The exact minimum, in nanoseconds.
    pub fn min_ns(&self) -> Option<u64> {
        self.recording().map(|it| it.min_ns)
    }

    /// The exact maximum, in nanoseconds.
    pub fn max_ns(&self) -> Option<u64> {
        self.recording().map(|it| it.max_ns)
    }

    /// Returns the time at this percentile (0 to 100), in nanoseconds; `None` if fewer than ten
    /// samples lie beyond it.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let recording = self.recording()?;
        is_trustworthy(percentile, recording.histogram.len()).then(|| {
            let value = recording.histogram.value_at_quantile(percentile / 100.0);
            value.clamp(recording.min_ns, recording.max_ns)
        })
    }
}

/// Rate and response times of all workers in one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondFigures {
    /// The number of the second, counted from 0 at the start of the measurement.
    pub second: u32,
    /// The responses that arrived in the second.
    pub completed: u64,
    /// The requests that ended in the second, with or without a response.
    pub ended: u64,
    /// Median response time, in nanoseconds; `None` if no request ended.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the response time, in nanoseconds, even if only a few requests ended;
    /// `None` if no request ended.
    pub p99_ns: Option<u64>,
}

impl SecondFigures {
    pub fn of(interval: &Interval) -> Self {
        let response = Times::of_second(interval, Metric::Response);
        let recording = response.recording();
        let at = |quantile| recording.map(|it| it.histogram.value_at_quantile(quantile));
        Self {
            second: interval.second,
            completed: interval.counts.completed_in_window,
            ended: response.count(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
        }
    }

    pub fn trusted_p99_ns(&self) -> Option<u64> {
        self.p99_ns.filter(|_| is_trustworthy(99.0, self.ended))
    }
}
