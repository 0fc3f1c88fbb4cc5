//! InfluxDB line protocol: k6's measurements with the field `value`, and durations in milliseconds.
//!
//! k6 sends one point per request, and dashboards compute percentiles from the points. Here, each
//! request has a point at low rates, and a point represents several requests at higher rates. The
//! points are taken from the histogram of each second at equally spaced ranks, with the maximum as
//! the last point, so percentiles of the points are close to those of the requests. Counts are sums
//! of `value` and are exact.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::distribution::Distribution;
use crate::facts::{Fact, What};
use crate::points::{Point, Value};

/// The unit of durations: milliseconds, as in k6.
const UNIT_NS: f64 = 1e6;
/// The target number of points per second and measurement. At lower rates, each request has a
/// separate point. The target is low because a request contributes to many measurements, and
/// InfluxDB often shares the machine with the run.
const POINTS_PER_SECOND: u64 = 500;
/// The number of requests per point is raised if a second would have more than this multiple of the
/// target.
const POINTS_FACTOR_MAX: u64 = 5;
const SAMPLING: &str = "gatebench_sampling";

#[derive(Debug)]
pub(crate) struct Influx {
    /// The number of requests per point; 0 until it is chosen.
    sampling: u64,
    /// The number of requests per point of the current fact. It is higher than `sampling` if the
    /// fact covers several seconds and would otherwise have too many points.
    sampling_now: u64,
    text: String,
}

impl Influx {
    /// Creates a writer with this initial number of requests per point. `None` derives the number
    /// from the first second.
    pub(crate) fn new(sampling: Option<u64>) -> Self {
        Self {
            sampling: sampling.unwrap_or(0),
            sampling_now: 1,
            text: String::new(),
        }
    }

    /// If the fact describes a second, sets or raises the number of requests per point if
    /// necessary, and writes the number.
    pub(crate) fn begin(&mut self, fact: &Fact) {
        let What::Second(second) = &fact.what else {
            return;
        };
        let length_ns = fact.to_ns.saturating_sub(fact.from_ns).max(1);
        let per_second = u128::from(second.requests()) * 1_000_000_000 / u128::from(length_ns);
        let per_second = u64::try_from(per_second).unwrap_or(u64::MAX);
        let points_max = POINTS_PER_SECOND * POINTS_FACTOR_MAX;
        if self.sampling == 0 || per_second > points_max * self.sampling {
            self.sampling = per_second.div_ceil(POINTS_PER_SECOND).max(1);
        }
        let least = second.requests().div_ceil(points_max);
        self.sampling_now = self.sampling.max(least);
        let (sampling, to_ns) = (self.sampling_now, fact.to_ns);
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{SAMPLING} value={sampling} {to_ns}");
    }

    pub(crate) fn point(&mut self, point: &Point<'_>) {
        match &point.value {
            Value::Counter { gained, .. } => self.line(point, *gained, point.at.to_ns),
            Value::Gauge(now) => self.line(point, *now, point.at.to_ns),
            Value::Rate { gained, .. } if gained.all > 0 => {
                self.line(point, gained.share(), point.at.to_ns);
            }
            Value::Trend { gained, .. } => self.sampled(point, gained),
            Value::Rate { .. } | Value::Stale | Value::StaleTrend(_) => {}
        }
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text).into_bytes()
    }

    /// Writes points that are spread over the second, because points of a series with the same
    /// timestamp overwrite each other.
    fn sampled(&mut self, point: &Point<'_>, gained: &Distribution) {
        let wanted = match gained.max_ns {
            // All values are 0, so one point suffices.
            0 => 1,
            _ => gained.count().div_ceil(self.sampling_now),
        };
        let shares: Vec<f64> = (0..wanted)
            .map(|index| (index as f64 + 0.5) / wanted as f64)
            .collect();
        let head = head(&point.metric.plain(), point.labels);
        let at = point.at;
        let step_ns = (at.to_ns.saturating_sub(at.from_ns) / wanted).max(1);
        let mut time_ns = at.from_ns;
        let last = wanted - 1;
        for (index, value_ns) in (0..).zip(gained.at(&shares)) {
            time_ns += step_ns;
            let value_ns = if index == last {
                gained.max_ns
            } else {
                value_ns
            };
            let value = value_ns as f64 / UNIT_NS;
            let _ = writeln!(self.text, "{head} value={value} {time_ns}");
        }
    }

    fn line(&mut self, point: &Point<'_>, value: f64, time_ns: u64) {
        let head = head(&point.metric.plain(), point.labels);
        let _ = writeln!(self.text, "{head} value={value} {time_ns}");
    }
}

/// A measurement with its tags. The tag `url` is omitted, because k6 sends it as a field and `name`
/// has the same content.
fn head(measurement: &str, labels: &BTreeMap<String, String>) -> String {
    let mut head = measurement.to_owned();
    for (name, value) in labels.iter().filter(|(name, _)| *name != "url") {
        head.push(',');
        escape(name, &mut head);
        head.push('=');
        escape(value, &mut head);
    }
    head
}

/// Escapes a tag. A backslash becomes a slash, because it cannot be escaped and would escape a
/// comma after it.
fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            ',' | '=' | ' ' => out.extend(['\\', c]),
            '\\' => out.push('/'),
            '\n' | '\r' => out.push_str("\\ "),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::facts::Second;

    #[test]
    fn tags_are_escaped() {
        let labels = [("name", "/a b,c=d\\"), ("url", "/"), ("x", "1\n2")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expected = "http_reqs,name=/a\\ b\\,c\\=d/,x=1\\ 2";
        assert_eq!(head("http_reqs", &BTreeMap::from(labels)), expected);
    }

    #[test]
    fn a_fact_about_an_hour_has_only_a_few_times_the_points_of_a_second() {
        let mut influx = Influx::new(None);
        for seconds in [1, 3_600, 1] {
            let second = Second {
                statuses: [(200, 1_000 * seconds)].into(),
                ..Second::default()
            };
            influx.begin(&Fact {
                load: Arc::default(),
                from_ns: 0,
                to_ns: 1_000_000_000 * seconds,
                what: What::Second(second),
            });
        }
        let text = String::from_utf8(influx.take()).unwrap();
        let values: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split(' ').nth(1))
            .collect();
        assert_eq!(values, ["value=2", "value=1440", "value=2"]);
    }
}
