//! The gateway's counters, in the Prometheus text format.
//!
//! Each worker has its own counters, so incrementing one is a load and a store; the output contains
//! the sums. A sum may lack part of a request that ends while the sums are computed, but each
//! counter is exact.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Inclusive upper bounds of the buckets in nanoseconds, from 50 µs to 10 s; a final bucket has no
/// bound.
const BOUNDS_NS: [u64; 17] = [
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// Status classes, as written in the output; the last is for requests whose connection or stream
/// ended before the whole response was queued.
const CLASSES: [&str; 5] = ["2xx", "3xx", "4xx", "5xx", "aborted"];
const ABORTED: usize = CLASSES.len() - 1;

#[derive(Debug)]
pub(crate) struct Metrics {
    pub(crate) path: String,
    /// The counters, indexed by the number of the route; the last entry is for requests without a
    /// route.
    routes: Vec<Route>,
}

#[derive(Debug)]
struct Route {
    name: String,
    /// One entry per worker.
    places: Arc<[Place]>,
}

/// One worker's counters for one route, on separate cache lines.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Place {
    /// The number of requests in each class, in the order of [`CLASSES`].
    classes: [AtomicU64; CLASSES.len()],
    /// The number of requests in each bucket. These counts are not cumulative, unlike those in the
    /// output.
    buckets: [AtomicU64; BOUNDS_NS.len() + 1],
    sum_ns: AtomicU64,
}

impl Metrics {
    /// Returns counters for these routes. A route continues the counts of the route with the same
    /// name in `before`.
    pub(crate) fn new<'a>(
        path: &str,
        names: impl Iterator<Item = &'a str>,
        workers: usize,
        before: Option<&Self>,
    ) -> Self {
        let known = |name: &str| {
            let mut routes = before.into_iter().flat_map(|it| &it.routes);
            routes.find(|route| route.name == name)
        };
        let route = |name: &str| Route {
            name: name.to_owned(),
            places: known(name).map_or_else(
                || (0..workers).map(|_| Place::default()).collect(),
                |route| Arc::clone(&route.places),
            ),
        };
        Self {
            path: path.to_owned(),
            routes: names.chain([""]).map(route).collect(),
        }
    }

    pub(crate) fn count(&self, worker: usize, route: Option<usize>, status: u16, duration_ns: u64) {
        let class = usize::from(status / 100).clamp(2, 5) - 2;
        self.count_class(worker, route, class, duration_ns);
    }

    pub(crate) fn count_aborted(&self, worker: usize, route: Option<usize>, duration_ns: u64) {
        self.count_class(worker, route, ABORTED, duration_ns);
    }

    fn count_class(&self, worker: usize, route: Option<usize>, class: usize, duration_ns: u64) {
        let route = &self.routes[route.unwrap_or(self.routes.len() - 1)];
        let place = &route.places[worker];
        let bucket = BOUNDS_NS.partition_point(|bound_ns| *bound_ns < duration_ns);
        add(&place.classes[class], 1);
        add(&place.buckets[bucket], 1);
        add(&place.sum_ns, duration_ns);
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::from(
            "# HELP gatebench_gateway_requests_total Requests by route and status class.\n\
             # TYPE gatebench_gateway_requests_total counter\n",
        );
        for route in &self.routes {
            let labels = format!("requests_total{{route=\"{}\"", label(&route.name));
            by_class(&mut out, &labels, route.places.iter());
        }
        // The load of the workers may differ, because the kernel assigns connections to workers and
        // a connection stays with its worker.
        out.push_str(
            "# HELP gatebench_gateway_worker_requests_total Requests by worker and status class.\n\
             # TYPE gatebench_gateway_worker_requests_total counter\n",
        );
        let workers = self.routes.first().map_or(0, |route| route.places.len());
        for worker in 0..workers {
            let labels = format!("worker_requests_total{{worker=\"{worker}\"");
            let places = self.routes.iter().map(|route| &route.places[worker]);
            by_class(&mut out, &labels, places);
        }
        out.push_str(
            "# HELP gatebench_gateway_request_duration_seconds Time from reading a request's head until the \
             whole response is queued or the request is aborted.\n\
             # TYPE gatebench_gateway_request_duration_seconds histogram\n",
        );
        for route in &self.routes {
            route.histogram(&mut out);
        }
        out
    }
}

fn by_class<'p>(out: &mut String, labels: &str, places: impl Iterator<Item = &'p Place> + Clone) {
    for (at, class) in CLASSES.iter().enumerate() {
        let counts = places.clone().map(|place| &place.classes[at]);
        let count = sum(counts);
        let _ = writeln!(out, "gatebench_gateway_{labels},code=\"{class}\"}} {count}");
    }
}

fn sum<'p>(counters: impl Iterator<Item = &'p AtomicU64>) -> u64 {
    counters
        .map(|counter| counter.load(Ordering::Relaxed))
        .sum()
}

/// Formats a string as the value of a label, for which exactly three escapes are defined.
fn label(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    escaped.replace('\n', "\\n")
}

impl Route {
    fn histogram(&self, out: &mut String) {
        let metric = "gatebench_gateway_request_duration_seconds";
        let name = label(&self.name);
        let mut count = 0;
        for at in 0..=BOUNDS_NS.len() {
            count += sum(self.places.iter().map(|place| &place.buckets[at]));
            let bound = BOUNDS_NS
                .get(at)
                .map_or_else(|| "+Inf".to_owned(), |ns| (*ns as f64 / 1e9).to_string());
            let _ = writeln!(
                out,
                "{metric}_bucket{{route=\"{name}\",le=\"{bound}\"}} {count}"
            );
        }
        let sum_s = sum(self.places.iter().map(|place| &place.sum_ns)) as f64 / 1e9;
        let _ = writeln!(out, "{metric}_sum{{route=\"{name}\"}} {sum_s}");
        let _ = writeln!(out, "{metric}_count{{route=\"{name}\"}} {count}");
    }
}

/// Each counter has only one writer, so no other write can come between the load and the store.
fn add(counter: &AtomicU64, amount: u64) {
    counter.store(
        counter.load(Ordering::Relaxed).wrapping_add(amount),
        Ordering::Relaxed,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_include_their_upper_bound() {
        let metrics = Metrics::new("/metrics", ["a"].into_iter(), 2, None);
        metrics.count(0, Some(0), 200, 50_000);
        metrics.count(1, Some(0), 204, 50_001);
        metrics.count(1, Some(0), 502, 20_000_000_000);
        metrics.count(1, None, 404, 0);
        metrics.count_aborted(0, Some(0), 1_000);
        let text = metrics.text();
        for line in [
            "gatebench_gateway_requests_total{route=\"a\",code=\"2xx\"} 2",
            "gatebench_gateway_requests_total{route=\"a\",code=\"5xx\"} 1",
            "gatebench_gateway_requests_total{route=\"a\",code=\"aborted\"} 1",
            "gatebench_gateway_requests_total{route=\"\",code=\"4xx\"} 1",
            "gatebench_gateway_worker_requests_total{worker=\"0\",code=\"2xx\"} 1",
            "gatebench_gateway_worker_requests_total{worker=\"1\",code=\"2xx\"} 1",
            "gatebench_gateway_worker_requests_total{worker=\"1\",code=\"4xx\"} 1",
            "gatebench_gateway_worker_requests_total{worker=\"0\",code=\"5xx\"} 0",
            "gatebench_gateway_request_duration_seconds_bucket{route=\"a\",le=\"0.00005\"} 2",
            "gatebench_gateway_request_duration_seconds_bucket{route=\"a\",le=\"0.0001\"} 3",
            "gatebench_gateway_request_duration_seconds_bucket{route=\"a\",le=\"10\"} 3",
            "gatebench_gateway_request_duration_seconds_bucket{route=\"a\",le=\"+Inf\"} 4",
            "gatebench_gateway_request_duration_seconds_sum{route=\"a\"} 20.000101001",
            "gatebench_gateway_request_duration_seconds_count{route=\"a\"} 4",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
        }
        let after = Metrics::new("/metrics", ["b", "a"].into_iter(), 2, Some(&metrics));
        assert!(after.text().contains("_count{route=\"a\"} 4\n"));
        assert!(after.text().contains("_count{route=\"b\"} 0\n"));
    }

    #[test]
    fn route_names_are_valid_labels() {
        let name = "a \"b\" \\ c\nd\t\u{e4}\u{200b}";
        let metrics = Metrics::new("/metrics", [name].into_iter(), 1, None);
        let text = metrics.text();
        let line_of_name =
            "requests_total{route=\"a \\\"b\\\" \\\\ c\\nd\t\u{e4}\u{200b}\",code=\"2xx\"} 0\n";
        assert!(text.contains(line_of_name), "{text}");
        assert!(!text.contains("\\u") && !text.contains("\\t"), "{text}");
    }
}
