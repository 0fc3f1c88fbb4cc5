//! Tests that the histograms in remote write and OTLP contain every value, and that exact
//! statistics are kept.

use std::sync::Arc;

use gatebench_outputs::wire::otlp::{Data, ExportMetricsServiceRequest};
use gatebench_outputs::wire::remote_write::Histogram;
use gatebench_outputs::{Class, Distribution, Duration, Encoder, Format, Second, Trend};
use hdrhistogram::Histogram as Hdr;
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message as _;

use crate::facts::{fact, load};
use crate::prometheus::received;

/// The upper bound and count of each bucket of a native histogram, as Prometheus reads them.
fn buckets(histogram: &Histogram) -> Vec<(f64, u64)> {
    let mut deltas = histogram.positive_deltas.iter();
    let (mut index, mut count) = (0, 0);
    let mut all = Vec::new();
    for span in &histogram.positive_spans {
        index += span.offset;
        for _ in 0..span.length {
            count += deltas.next().unwrap();
            let bound = (f64::from(index) / f64::from(1 << histogram.schema)).exp2();
            all.push((bound, u64::try_from(count).unwrap()));
            index += 1;
        }
    }
    assert!(deltas.next().is_none());
    all
}

fn distribution(hdr: &Hdr<u64>) -> Distribution {
    let values = hdr.iter_recorded();
    Distribution::new(values.map(|it| (it.value_iterated_to(), it.count_at_value())))
}

fn second_of(number: u32, times: Distribution) -> Second {
    Second {
        number,
        statuses: [(200, times.count())].into(),
        times: [((Trend::Response, Class::Success), times)].into(),
        ..Second::default()
    }
}

proptest! {
    #[test]
    fn counts_are_kept_in_their_buckets(
        seconds in vec(vec(0_u64..60_000_000_000, 0..50), 1..5),
        schema in 0_i32..=8,
    ) {
        let load = load();
        let mut all = Hdr::<u64>::new(3).unwrap();
        let mut facts = Vec::new();
        for (number, values) in (0..).zip(&seconds) {
            let mut hdr = Hdr::<u64>::new(3).unwrap();
            for value in values {
                hdr.record(*value).unwrap();
                all.record(*value).unwrap();
            }
            facts.push(fact(&load, second_of(number, distribution(&hdr))));
        }
        let received = received(&facts, Some(schema));
        let series = received.iter().find(|(labels, _)| {
            labels[0].1 == "k6_http_req_duration_seconds"
        });
        let Some((_, series)) = series else {
            prop_assert_eq!(all.len(), 0);
            return Ok(());
        };
        let counts: Vec<u64> = series.histograms.iter().map(|it| it.count_int.unwrap()).collect();
        prop_assert!(counts.is_sorted());
        let last = series.histograms.last().unwrap();
        prop_assert_eq!(*counts.last().unwrap(), all.len());
        let buckets = buckets(last);
        let zeros = last.zero_count_int.unwrap();
        let in_buckets: u64 = buckets.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(zeros + in_buckets, all.len());
        let mut values = all.iter_recorded().peekable();
        let (mut below, mut expected) = (zeros, 0);
        for (bound, count) in buckets {
            below += count;
            while let Some(it) = values.next_if(|it| it.value_iterated_to() as f64 / 1e9 <= bound) {
                expected += it.count_at_value();
            }
            prop_assert_eq!(below, expected);
        }
    }

    #[test]
    fn otlp_keeps_every_value(values in vec(0_u64..60_000_000_000, 1..100)) {
        let mut hdr = Hdr::<u64>::new(3).unwrap();
        values.iter().for_each(|value| hdr.record(*value).unwrap());
        let times = distribution(&hdr);
        let format = Format::Otlp { service: "gatebench".into(), prefix: String::new() };
        let mut encoder = Encoder::new(&format, Duration::Response);
        let body = encoder.encode(&fact(&load(), second_of(0, times.clone())));
        let request = ExportMetricsServiceRequest::decode(&body[..]).unwrap();
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        let metric = metrics.iter().find(|it| it.name == "http_req_duration").unwrap();
        let Some(Data::ExponentialHistogram(histogram)) = &metric.data else {
            panic!("{metric:?}");
        };
        let point = &histogram.data_points[0];
        let positive = point.positive.as_ref().unwrap();
        prop_assert_eq!(
            point.zero_count + positive.bucket_counts.iter().sum::<u64>(),
            values.len() as u64
        );
        let base = (1.0 / f64::from(1 << point.scale)).exp2();
        for (place, count) in (0..).zip(&positive.bucket_counts) {
            let low = base.powi(positive.offset + place);
            let inside = times.values().iter().filter(|(value, _)| {
                let ms = *value as f64 / 1e6;
                ms > low * 1.000_001 && ms <= low * base * 0.999_999
            });
            prop_assert!(inside.map(|(_, count)| count).sum::<u64>() <= *count);
        }
    }
}

#[test]
fn exact_figures_survive() {
    let load = load();
    let times = Distribution::new([(1_023_999, 3)]).with_exact(3_000_000, 999_999, 1_000_001);
    let facts = [fact(&load, second_of(0, times))];
    let all = received(&facts, None);
    let value = |name: &str| {
        let series = all.iter().find(|(labels, _)| labels[0].1 == name);
        series.map(|(_, it)| it.samples[0].value).unwrap()
    };
    assert_eq!(value("k6_http_req_duration_sum"), 0.003);
    assert_eq!(value("k6_http_req_duration_max"), 0.001_000_001);
    assert_eq!(Arc::strong_count(&load), 2);
}
