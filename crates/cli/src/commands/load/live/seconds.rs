//! The figures of each second of a load.

use gatebench_engine::{Interval, Metric};
use gatebench_stats::is_trustworthy;

use crate::commands::load::figures::Times;

/// Rate and response times of all workers in a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondFigures {
    /// Its number, counted from the start of the measurement.
    pub second: u32,
    /// The responses that arrived in it.
    pub completed: u64,
    /// The requests that ended in it, with or without a response.
    pub ended: u64,
    /// Median response time, nanoseconds; none if no request ended.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the response time, nanoseconds, however few requests ended.
    pub p99_ns: Option<u64>,
}

impl SecondFigures {
    /// The figures of a second of all workers.
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

    /// Returns the 99th percentile if enough requests ended.
    pub fn trusted_p99_ns(&self) -> Option<u64> {
        self.p99_ns.filter(|_| is_trustworthy(99.0, self.ended))
    }
}
