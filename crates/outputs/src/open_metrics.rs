//! OpenMetrics text with timestamps, as read by `promtool tsdb create-blocks-from openmetrics`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::facts::Fact;
use crate::points::{Point, Value};
use crate::remote_write::{gauges, name_of};
use crate::stat::Stat;
use crate::totals::{Duration, Totals};

/// Collects the samples of each metric, because the format requires them to be adjacent.
#[derive(Debug)]
pub struct OpenMetrics {
    totals: Totals,
    stats: Vec<Stat>,
    families: BTreeMap<String, Family>,
}

#[derive(Debug)]
struct Family {
    kind: &'static str,
    help: &'static str,
    lines: String,
}

impl OpenMetrics {
    /// Each trend becomes one gauge for each of these statistics.
    pub fn new(stats: Vec<Stat>, duration: Duration) -> Self {
        Self {
            totals: Totals::new(duration),
            stats,
            families: BTreeMap::new(),
        }
    }

    pub fn take(&mut self, fact: &Fact) {
        self.totals.take(fact, &mut |point| {
            let name = name_of(point.metric);
            let mut add = |name: &str, kind, value, at_ms| {
                // In OpenMetrics, the name of a counter's family does not include the suffix
                // `_total`.
                let family = name.strip_suffix("_total").unwrap_or(name);
                let family = self
                    .families
                    .entry(family.to_owned())
                    .or_insert_with(|| Family {
                        kind,
                        help: point.metric.help,
                        lines: String::new(),
                    });
                family.add(name, point, value, at_ms);
            };
            let (from, to) = (point.at.start_ms(), point.at.end_ms());
            match &point.value {
                Value::Counter { total, .. } => {
                    if point.begins && from < to {
                        add(&name, "counter", 0.0, from);
                    }
                    add(&name, "counter", *total, to);
                }
                Value::Gauge(now) => add(&name, "gauge", *now, to),
                Value::Rate { total, .. } => add(&name, "gauge", total.share(), to),
                Value::Trend { total, .. } => {
                    for (name, value) in gauges(&name, total, &self.stats) {
                        add(&name, "gauge", value, to);
                    }
                }
                Value::Stale | Value::StaleTrend(_) => {}
            }
        });
    }

    pub fn finish(self) -> String {
        let mut text = String::new();
        for (name, family) in self.families {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# TYPE {name} {}", family.kind);
            let _ = writeln!(text, "# HELP {name} {}", escaped(family.help));
            text.push_str(&family.lines);
        }
        text + "# EOF\n"
    }
}

impl Family {
    fn add(&mut self, name: &str, point: &Point<'_>, value: f64, at_ms: i64) {
        let pairs = point.labels.iter();
        let pairs = pairs.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        let labels = pairs.collect::<Vec<_>>().join(",");
        let (seconds, ms) = (at_ms / 1_000, at_ms % 1_000);
        let _ = writeln!(self.lines, "{name}{{{labels}}} {value} {seconds}.{ms:03}");
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}
