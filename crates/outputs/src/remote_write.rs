//! Prometheus remote write 1.0: protobuf messages, compressed as one snappy block.

use std::collections::{BTreeMap, BTreeSet};

use prost::Message as _;

use crate::distribution::Distribution;
use crate::exponential::Exponential;
use crate::metric::{Kind, Metric};
use crate::points::{Point, Value};
use crate::stat::Stat;
use messages::{BucketSpan, Histogram, Label, MetricMetadata, Sample, TimeSeries, WriteRequest};

/// The unit of durations: seconds.
const UNIT_NS: f64 = 1e9;
/// The bits of the NaN that marks the end of a series.
const STALE: u64 = 0x7ff0_0000_0000_0002;
/// The upper bound of the zero bucket, as in Prometheus's Go client.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

#[derive(Debug)]
pub(crate) struct RemoteWrite {
    /// The statistics of trends that are written as gauges; empty with native histograms.
    stats: Vec<Stat>,
    /// The schema of native histograms; `None` for gauges.
    native: Option<i32>,
    stale_markers: bool,
    /// The names of the metrics whose metadata has been written.
    described: BTreeSet<String>,
    request: WriteRequest,
}

/// Returns the name of the series of a counter, a gauge or a rate, or the common prefix of the
/// names of a trend's series.
pub(crate) fn name_of(metric: &Metric) -> String {
    let suffix = match metric.kind {
        Kind::Counter => "_total",
        Kind::Rate => "_rate",
        Kind::Gauge | Kind::Trend => "",
    };
    metric.prefixed() + suffix
}

impl RemoteWrite {
    /// Creates a writer that sends trends as native histograms with the schema `native`, if given,
    /// or as gauges of these statistics.
    pub(crate) fn new(stats: &[Stat], native: Option<i32>, stale_markers: bool) -> Self {
        Self {
            stats: native.map_or_else(|| stats.to_vec(), |_| Vec::new()),
            native,
            stale_markers,
            described: BTreeSet::new(),
            request: WriteRequest::default(),
        }
    }

    pub(crate) fn point(&mut self, point: &Point<'_>) {
        let name = name_of(point.metric);
        let now = match &point.value {
            Value::Counter { total, .. } => *total,
            Value::Gauge(now) => *now,
            Value::Rate { total, .. } => total.share(),
            Value::Trend { total, .. } => return self.trend(point, &name, total),
            Value::Stale | Value::StaleTrend(_) if !self.stale_markers => return,
            Value::Stale => return self.sample(point, name, f64::from_bits(STALE)),
            Value::StaleTrend(total) => {
                for (name, _) in gauges(&name, total, &self.stats) {
                    self.sample(point, name, f64::from_bits(STALE));
                }
                return;
            }
        };
        self.describe(point, &name);
        self.sample(point, name, now);
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.request).encode_to_vec()
    }

    fn describe(&mut self, point: &Point<'_>, name: &str) {
        if self.described.insert(name.to_owned()) {
            self.request.metadata.push(MetricMetadata {
                r#type: match point.metric.kind {
                    Kind::Counter => messages::COUNTER,
                    Kind::Trend if self.native.is_some() => messages::HISTOGRAM,
                    _ => messages::GAUGE,
                },
                metric_family_name: name.to_owned(),
                help: point.metric.help.to_owned(),
                unit: String::new(),
            });
        }
    }

    /// Adds a sample. If the sample is the first of a counter that was 0 before, adds a sample of 0
    /// before it.
    fn sample(&mut self, point: &Point<'_>, name: String, now: f64) {
        let sample = |value, timestamp| Sample { value, timestamp };
        let (from, to) = (point.at.start_ms(), point.at.end_ms());
        let begins = point.begins && point.metric.kind == Kind::Counter && from < to;
        let before = begins.then(|| sample(0.0, from));
        self.request.timeseries.push(TimeSeries {
            labels: labels(name, point.labels),
            samples: before.into_iter().chain([sample(now, to)]).collect(),
            histograms: Vec::new(),
        });
    }

    fn trend(&mut self, point: &Point<'_>, name: &str, total: &Distribution) {
        if let Some(schema) = self.native {
            let name = format!("{name}_seconds");
            self.describe(point, &name);
            self.native(point, name, total, schema);
        }
        for (name, value) in gauges(name, total, &self.stats) {
            self.describe(point, &name);
            self.sample(point, name, value);
        }
    }

    fn native(&mut self, point: &Point<'_>, name: String, total: &Distribution, schema: i32) {
        let (from, to) = (point.at.start_ms(), point.at.end_ms());
        let empty = Distribution::default();
        let before = (point.begins && from < to).then(|| histogram(&empty, schema, from));
        let now = histogram(total, schema, to);
        self.request.timeseries.push(TimeSeries {
            labels: labels(name, point.labels),
            samples: Vec::new(),
            histograms: before.into_iter().chain([now]).collect(),
        });
    }
}

/// The gauges of a trend, each with its name. Percentiles with too few values beyond them are
/// omitted.
pub(crate) fn gauges(name: &str, total: &Distribution, stats: &[Stat]) -> Vec<(String, f64)> {
    let gauge = |stat: &Stat| Some((format!("{name}_{stat}"), stat.of(total, UNIT_NS)?));
    stats.iter().filter_map(gauge).collect()
}

pub(crate) fn compressed(body: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new()
        .compress_vec(body)
        .expect("a body is much smaller than 4 GiB")
}

/// The labels, sorted by name as remote write requires.
fn labels(name: String, labels: &BTreeMap<String, String>) -> Vec<Label> {
    let mut labels = labels.clone();
    labels.insert("__name__".into(), name);
    let label = |(name, value)| Label { name, value };
    labels.into_iter().map(label).collect()
}

fn histogram(all: &Distribution, schema: i32, timestamp: i64) -> Histogram {
    let exponential = Exponential::of(all, UNIT_NS, schema);
    let (mut spans, mut deltas) = (Vec::new(), Vec::new());
    let (mut next, mut last) = (0, 0);
    for (first, counts) in exponential.runs() {
        spans.push(BucketSpan {
            offset: first - next,
            length: counts.len() as u32,
        });
        next = first + counts.len() as i32;
        for count in counts {
            deltas.push(count as i64 - last);
            last = count as i64;
        }
    }
    Histogram {
        count_int: Some(all.count()),
        sum: all.sum_ns as f64 / UNIT_NS,
        schema,
        zero_threshold: ZERO_THRESHOLD,
        zero_count_int: Some(exponential.zeros),
        positive_spans: spans,
        positive_deltas: deltas,
        timestamp,
    }
}

/// The messages of `prometheus/prompb` that the encoder writes.
#[allow(missing_docs)]
pub mod messages {
    /// The values of `type` in [`MetricMetadata`].
    pub const COUNTER: i32 = 1;
    pub const GAUGE: i32 = 2;
    pub const HISTOGRAM: i32 = 3;

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct WriteRequest {
        #[prost(message, repeated, tag = "1")]
        pub timeseries: Vec<TimeSeries>,
        #[prost(message, repeated, tag = "3")]
        pub metadata: Vec<MetricMetadata>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct MetricMetadata {
        #[prost(int32, tag = "1")]
        pub r#type: i32,
        #[prost(string, tag = "2")]
        pub metric_family_name: String,
        #[prost(string, tag = "4")]
        pub help: String,
        #[prost(string, tag = "5")]
        pub unit: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TimeSeries {
        #[prost(message, repeated, tag = "1")]
        pub labels: Vec<Label>,
        #[prost(message, repeated, tag = "2")]
        pub samples: Vec<Sample>,
        #[prost(message, repeated, tag = "4")]
        pub histograms: Vec<Histogram>,
    }

    /// A label. The value of `__name__` is the name of the metric.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Label {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, tag = "2")]
        pub value: String,
    }

    /// A value, with its time in milliseconds since 1970.
    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct Sample {
        #[prost(double, tag = "1")]
        pub value: f64,
        #[prost(int64, tag = "2")]
        pub timestamp: i64,
    }

    /// A native histogram, whose counts are totals since the start of the series.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Histogram {
        #[prost(uint64, optional, tag = "1")]
        pub count_int: Option<u64>,
        #[prost(double, tag = "3")]
        pub sum: f64,
        #[prost(sint32, tag = "4")]
        pub schema: i32,
        #[prost(double, tag = "5")]
        pub zero_threshold: f64,
        #[prost(uint64, optional, tag = "6")]
        pub zero_count_int: Option<u64>,
        #[prost(message, repeated, tag = "11")]
        pub positive_spans: Vec<BucketSpan>,
        #[prost(sint64, repeated, tag = "12")]
        pub positive_deltas: Vec<i64>,
        #[prost(int64, tag = "15")]
        pub timestamp: i64,
    }

    /// A run of `length` consecutive buckets, `offset` buckets after the previous run or, for the
    /// first run, after index 0.
    #[derive(Clone, Copy, PartialEq, prost::Message)]
    pub struct BucketSpan {
        #[prost(sint32, tag = "1")]
        pub offset: i32,
        #[prost(uint32, tag = "2")]
        pub length: u32,
    }
}
