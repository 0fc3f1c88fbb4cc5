//! OpenTelemetry metrics (OTLP), as protobuf over HTTP.

use std::collections::{BTreeMap, HashMap};

use prost::Message as _;

use crate::distribution::Distribution;
use crate::exponential::Exponential;
use crate::points::{Point, Value};
use messages::{
    AnyValue, Buckets, Data, ExponentialHistogram, ExponentialHistogramDataPoint,
    ExportMetricsServiceRequest, Gauge, InstrumentationScope, KeyValue, Metric, NumberDataPoint,
    Resource, ResourceMetrics, ScopeMetrics, Sum,
};

/// The unit of durations: milliseconds, as in k6.
const UNIT_NS: f64 = 1e6;
/// The aggregation temporality of totals since the start time.
const CUMULATIVE: i32 = 2;
/// Eight buckets per doubling, as in k6's native histograms for Prometheus.
const SCALE: i32 = 3;
/// The flag that marks a point as the end of its series.
const NO_RECORDED_VALUE: u32 = 1;

#[derive(Debug)]
pub(crate) struct Otlp {
    service: String,
    prefix: String,
    metrics: Vec<Metric>,
    /// The indexes of the metrics in `metrics`, by name.
    places: HashMap<String, usize>,
}

impl Otlp {
    pub(crate) fn new(service: &str, prefix: &str) -> Self {
        Self {
            service: service.into(),
            prefix: prefix.into(),
            metrics: Vec::new(),
            places: HashMap::new(),
        }
    }

    pub(crate) fn point(&mut self, point: &Point<'_>) {
        let number = |value| number(point, value, &[]);
        match &point.value {
            Value::Counter { total, .. } => self.sum(point, "", number(*total)),
            Value::Gauge(now) => self.gauge(point, number(*now)),
            Value::Stale => {
                let stale = NumberDataPoint {
                    as_double: None,
                    flags: NO_RECORDED_VALUE,
                    ..number(0.0)
                };
                self.gauge(point, stale);
            }
            Value::Rate { total, .. } => {
                let nonzero = total.with as f64;
                let zero = (total.all - total.with) as f64;
                for (condition, value) in [("nonzero", nonzero), ("zero", zero)] {
                    let label = [("condition", condition)];
                    self.sum(point, ".total", self::number(point, value, &label));
                }
            }
            Value::Trend { total, .. } => self.histogram(point, total),
            Value::StaleTrend(_) => {}
        }
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.places.clear();
        let metrics = std::mem::take(&mut self.metrics);
        if metrics.is_empty() {
            return Vec::new();
        }
        let scope = InstrumentationScope {
            name: "gatebench".into(),
            version: env!("CARGO_PKG_VERSION").into(),
        };
        let request = ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(Resource {
                    attributes: vec![attribute("service.name", &self.service)],
                }),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(scope),
                    metrics,
                }],
            }],
        };
        request.encode_to_vec()
    }

    fn gauge(&mut self, point: &Point<'_>, value: NumberDataPoint) {
        let unit = point.metric.unit();
        if let Data::Gauge(gauge) = self.data(point, "", unit, || Data::Gauge(Gauge::default())) {
            gauge.data_points.push(value);
        }
    }

    fn sum(&mut self, point: &Point<'_>, suffix: &str, value: NumberDataPoint) {
        let empty = || {
            Data::Sum(Sum {
                data_points: Vec::new(),
                aggregation_temporality: CUMULATIVE,
                is_monotonic: true,
            })
        };
        if let Data::Sum(sum) = self.data(point, suffix, point.metric.unit(), empty) {
            sum.data_points.push(value);
        }
    }

    fn histogram(&mut self, point: &Point<'_>, total: &Distribution) {
        let exponential = Exponential::of(total, UNIT_NS, SCALE);
        let time = |value_ns: u64| Some(value_ns as f64 / UNIT_NS);
        let value = ExponentialHistogramDataPoint {
            attributes: attributes(point.labels, &[]),
            start_time_unix_nano: point.at.begin_ns,
            time_unix_nano: point.at.to_ns,
            count: total.count(),
            sum: Some(total.sum_ns as f64 / UNIT_NS),
            scale: SCALE,
            zero_count: exponential.zeros,
            positive: Some(buckets(&exponential)),
            min: time(total.min_ns),
            max: time(total.max_ns),
        };
        let empty = || {
            Data::ExponentialHistogram(ExponentialHistogram {
                data_points: Vec::new(),
                aggregation_temporality: CUMULATIVE,
            })
        };
        if let Data::ExponentialHistogram(histogram) = self.data(point, "", "ms", empty) {
            histogram.data_points.push(value);
        }
    }

    /// Returns the data of the point's metric. Creates the metric if the body does not contain it
    /// yet.
    fn data(
        &mut self,
        point: &Point<'_>,
        suffix: &str,
        unit: &str,
        empty: impl Fn() -> Data,
    ) -> &mut Data {
        let prefix = match point.metric.is_of_k6 {
            true => self.prefix.as_str(),
            false => "",
        };
        let name = format!("{prefix}{}{suffix}", point.metric.plain());
        let place = *self.places.entry(name.clone()).or_insert_with(|| {
            self.metrics.push(Metric {
                name,
                description: point.metric.help.into(),
                unit: unit.into(),
                data: None,
            });
            self.metrics.len() - 1
        });
        self.metrics[place].data.get_or_insert_with(empty)
    }
}

fn number(point: &Point<'_>, value: f64, further: &[(&str, &str)]) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(point.labels, further),
        start_time_unix_nano: point.at.begin_ns,
        time_unix_nano: point.at.to_ns,
        as_double: Some(value),
        flags: 0,
    }
}

fn attributes(labels: &BTreeMap<String, String>, further: &[(&str, &str)]) -> Vec<KeyValue> {
    let labels = labels.iter().map(|(name, value)| attribute(name, value));
    let further = further.iter().map(|(name, value)| attribute(name, value));
    labels.chain(further).collect()
}

fn attribute(name: &str, value: &str) -> KeyValue {
    KeyValue {
        key: name.into(),
        value: Some(AnyValue {
            string_value: Some(value.into()),
        }),
    }
}

/// All buckets from the first to the last. In OTLP, bucket `i` contains values above b^i and up to
/// b^(i+1).
fn buckets(exponential: &Exponential) -> Buckets {
    let first = exponential.buckets.first().map_or(0, |(index, _)| *index);
    let mut bucket_counts = Vec::new();
    for (index, count) in &exponential.buckets {
        bucket_counts.resize((index - first) as usize, 0);
        bucket_counts.push(*count);
    }
    Buckets {
        offset: first - 1,
        bucket_counts,
    }
}

/// The messages of `opentelemetry/proto` that the encoder writes.
#[allow(missing_docs)]
pub mod messages {
    /// The body of a request to `/v1/metrics`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ExportMetricsServiceRequest {
        #[prost(message, repeated, tag = "1")]
        pub resource_metrics: Vec<ResourceMetrics>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ResourceMetrics {
        #[prost(message, optional, tag = "1")]
        pub resource: Option<Resource>,
        #[prost(message, repeated, tag = "2")]
        pub scope_metrics: Vec<ScopeMetrics>,
    }

    /// The service, by attributes such as `service.name`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Resource {
        #[prost(message, repeated, tag = "1")]
        pub attributes: Vec<KeyValue>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ScopeMetrics {
        #[prost(message, optional, tag = "1")]
        pub scope: Option<InstrumentationScope>,
        #[prost(message, repeated, tag = "2")]
        pub metrics: Vec<Metric>,
    }

    /// The library that took the measurements.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct InstrumentationScope {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, tag = "2")]
        pub version: String,
    }

    /// An attribute, which Prometheus calls a label.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct KeyValue {
        #[prost(string, tag = "1")]
        pub key: String,
        #[prost(message, optional, tag = "2")]
        pub value: Option<AnyValue>,
    }

    /// A string. The encoder writes no other kinds of values.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct AnyValue {
        #[prost(string, optional, tag = "1")]
        pub string_value: Option<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Metric {
        #[prost(string, tag = "1")]
        pub name: String,
        #[prost(string, tag = "2")]
        pub description: String,
        #[prost(string, tag = "3")]
        pub unit: String,
        #[prost(oneof = "Data", tags = "5, 7, 10")]
        pub data: Option<Data>,
    }

    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Data {
        #[prost(message, tag = "5")]
        Gauge(Gauge),
        #[prost(message, tag = "7")]
        Sum(Sum),
        #[prost(message, tag = "10")]
        ExponentialHistogram(ExponentialHistogram),
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Gauge {
        #[prost(message, repeated, tag = "1")]
        pub data_points: Vec<NumberDataPoint>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Sum {
        #[prost(message, repeated, tag = "1")]
        pub data_points: Vec<NumberDataPoint>,
        #[prost(int32, tag = "2")]
        pub aggregation_temporality: i32,
        #[prost(bool, tag = "3")]
        pub is_monotonic: bool,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct NumberDataPoint {
        #[prost(fixed64, tag = "2")]
        pub start_time_unix_nano: u64,
        #[prost(fixed64, tag = "3")]
        pub time_unix_nano: u64,
        #[prost(double, optional, tag = "4")]
        pub as_double: Option<f64>,
        #[prost(message, repeated, tag = "7")]
        pub attributes: Vec<KeyValue>,
        #[prost(uint32, tag = "8")]
        pub flags: u32,
    }

    /// Histograms whose bucket bounds grow by a constant factor.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ExponentialHistogram {
        #[prost(message, repeated, tag = "1")]
        pub data_points: Vec<ExponentialHistogramDataPoint>,
        #[prost(int32, tag = "2")]
        pub aggregation_temporality: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ExponentialHistogramDataPoint {
        #[prost(message, repeated, tag = "1")]
        pub attributes: Vec<KeyValue>,
        #[prost(fixed64, tag = "2")]
        pub start_time_unix_nano: u64,
        #[prost(fixed64, tag = "3")]
        pub time_unix_nano: u64,
        #[prost(fixed64, tag = "4")]
        pub count: u64,
        #[prost(double, optional, tag = "5")]
        pub sum: Option<f64>,
        #[prost(sint32, tag = "6")]
        pub scale: i32,
        #[prost(fixed64, tag = "7")]
        pub zero_count: u64,
        #[prost(message, optional, tag = "8")]
        pub positive: Option<Buckets>,
        #[prost(double, optional, tag = "12")]
        pub min: Option<f64>,
        #[prost(double, optional, tag = "13")]
        pub max: Option<f64>,
    }

    /// The counts of consecutive buckets, starting with the first bucket that is not empty.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Buckets {
        #[prost(sint32, tag = "1")]
        pub offset: i32,
        #[prost(uint64, repeated, tag = "2")]
        pub bucket_counts: Vec<u64>,
    }
}
