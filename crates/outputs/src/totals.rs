//! The series of each load, with their totals since its start.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::distribution::Distribution;
use crate::facts::{Class, Fact, Load, Own, Second, Trend, Usage, Validity, What};
use crate::labels::{self, Extra};
use crate::metric::{self, Kind, Metric};
use crate::points::{At, Cases, Point, Value};

/// The maximum lag between the threads that report responses and CPU time, in seconds.
const SECONDS_APART_MAX: usize = 8;

/// The meaning of `http_req_duration`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duration {
    /// The time from when the request was due, including the wait for a connection.
    #[default]
    Response,
    /// The time from when the request was sent, as in k6.
    Service,
}

#[derive(Debug, Default)]
pub(crate) struct Totals {
    duration: Duration,
    loads: HashMap<u64, LoadTotals>,
}

#[derive(Debug, Default)]
struct LoadTotals {
    load: Arc<Load>,
    begin_ns: u64,
    series: HashMap<(&'static str, Extra), Series>,
    /// The end of the last second. It prevents two points of a series from having the same time.
    last_ns: u64,
    responses: Cumulative,
    gateway_cpu_ns: Cumulative,
}

/// A total, with its value at the end of each of the latest seconds.
#[derive(Debug, Default)]
struct Cumulative {
    total: u64,
    at_end: BTreeMap<u32, u64>,
}

impl Cumulative {
    fn add(&mut self, second: u32, gained: u64) {
        self.total += gained;
        self.at_end.insert(second, self.total);
        if self.at_end.len() > SECONDS_APART_MAX {
            self.at_end.pop_first();
        }
    }
}

#[derive(Debug)]
struct Series {
    metric: &'static Metric,
    labels: BTreeMap<String, String>,
    total: Total,
}

#[derive(Debug)]
enum Total {
    Counter(f64),
    Gauge,
    Rate(Cases),
    Trend(Distribution),
}

/// A value that a fact adds to a series.
enum Gained<'a> {
    Count(f64),
    /// The current value of a counter that may have started before the load.
    Reads(f64),
    Gauge(f64),
    Cases(Cases),
    Times(&'a Distribution),
}

impl Totals {
    pub(crate) fn new(duration: Duration) -> Self {
        Self {
            duration,
            loads: HashMap::new(),
        }
    }

    pub(crate) fn take(&mut self, fact: &Fact, emit: &mut impl FnMut(&Point<'_>)) {
        let totals = self
            .loads
            .entry(fact.load.id)
            .or_insert_with(|| LoadTotals {
                load: Arc::clone(&fact.load),
                begin_ns: fact.from_ns,
                ..LoadTotals::default()
            });
        let mut at = At::of(fact, totals.begin_ns);
        let mut emitter = Emitter { totals, at, emit };
        match &fact.what {
            What::Second(second) => emitter.second(second, self.duration),
            What::Usage(usage) => emitter.usage(usage),
            What::Own(own) => emitter.own(own),
            What::Judged(validity) => emitter.judged(validity),
            What::Ended => emitter.ended(),
            What::Closed => {
                at.to_ns = at.to_ns.max(emitter.totals.last_ns + 2_000_000);
                emitter.at = at;
                emitter.closed();
                self.loads.remove(&fact.load.id);
            }
        }
    }
}

struct Emitter<'a, F> {
    totals: &'a mut LoadTotals,
    at: At,
    emit: &'a mut F,
}

impl<F: FnMut(&Point<'_>)> Emitter<'_, F> {
    fn gain(&mut self, metric: &'static Metric, extra: Extra, gained: &Gained<'_>) {
        let load = &self.totals.load;
        let key = (metric.name, extra);
        let mut is_new = false;
        let series = self
            .totals
            .series
            .entry(key)
            .or_insert_with_key(|(_, extra)| {
                is_new = true;
                Series::new(metric, load, extra)
            });
        let value = match (&mut series.total, gained) {
            (Total::Counter(total), Gained::Count(count)) => {
                *total += count;
                Value::Counter {
                    total: *total,
                    gained: *count,
                }
            }
            (Total::Counter(total), Gained::Reads(now)) => {
                let before = std::mem::replace(total, *now);
                Value::Counter {
                    total: *now,
                    gained: if is_new { 0.0 } else { now - before },
                }
            }
            (Total::Gauge, Gained::Gauge(now)) => Value::Gauge(*now),
            (Total::Rate(total), Gained::Cases(cases)) => {
                total.with += cases.with;
                total.all += cases.all;
                Value::Rate {
                    total: *total,
                    gained: *cases,
                }
            }
            (Total::Trend(total), Gained::Times(times)) => {
                total.add(times);
                Value::Trend {
                    total,
                    gained: times,
                }
            }
            _ => unreachable!("a metric has one kind"),
        };
        (self.emit)(&Point {
            metric,
            labels: &series.labels,
            at: self.at,
            begins: is_new && !matches!(gained, Gained::Reads(_)),
            value,
        });
    }

    fn count(&mut self, metric: &'static Metric, extra: Extra, count: u64) {
        self.gain(metric, extra, &Gained::Count(count as f64));
    }

    fn gauge(&mut self, metric: &'static Metric, extra: Extra, value: f64) {
        self.gain(metric, extra, &Gained::Gauge(value));
    }

    /// The labels of the load's requests, followed by those of their outcome.
    fn request(&self, outcome: Extra) -> Extra {
        let request = self.totals.load.request.iter();
        let request = request.map(|(name, value)| (*name, value.clone()));
        request.chain(outcome).collect()
    }

    fn second(&mut self, second: &Second, duration: Duration) {
        self.at.to_ns = self.at.to_ns.max(self.totals.last_ns + 1_000_000);
        self.totals.last_ns = self.at.to_ns;
        self.requests(second);
        self.times(second, duration);
        self.checks(second);
        self.count(&metric::ITERATIONS, Extra::new(), second.requests());
        self.count(&metric::DROPPED_ITERATIONS, Extra::new(), second.dropped);
        self.count(&metric::DROPPED, Extra::new(), second.dropped);
        self.count(&metric::DATA_SENT, Extra::new(), second.bytes_sent);
        self.count(&metric::DATA_RECEIVED, Extra::new(), second.bytes_received);
        self.gauge(&metric::VUS, Extra::new(), second.busy as f64);
        let connections_max = self.totals.load.connections_max as f64;
        self.gauge(&metric::VUS_MAX, Extra::new(), connections_max);
        self.cpu("engine", second.engine_cpu_ns);
        self.gauge(&metric::PHASE_INFO, Extra::new(), 1.0);
        let responses = &mut self.totals.responses;
        responses.add(second.number, second.responses());
        self.cpu_per_request(second.number);
    }

    fn requests(&mut self, second: &Second) {
        let all = second.requests();
        let mut failed = Cases { with: 0, all };
        let mut classes = second.classes.clone();
        for (status, count) in &second.statuses {
            *classes.entry(Class::of(*status)).or_default() += count;
            let labels = self.request(labels::of_status(*status));
            self.count(&metric::HTTP_REQS, labels, *count);
        }
        for (class, count) in &second.classes {
            let labels = self.request(labels::of_class(*class));
            self.count(&metric::HTTP_REQS, labels, *count);
        }
        for (class, count) in classes {
            failed.with += if class.is_expected() { 0 } else { count };
            self.count(&metric::REQUESTS, of_class(class), count);
        }
        for (kind, count) in &second.errors {
            failed.with += count;
            let labels = self.request(labels::of_error(kind));
            self.count(&metric::HTTP_REQS, labels, *count);
            self.count(&metric::ERRORS, vec![("kind", kind.clone())], *count);
        }
        let labels = self.request(Extra::new());
        self.gain(&metric::HTTP_REQ_FAILED, labels, &Gained::Cases(failed));
    }

    fn times(&mut self, second: &Second, duration: Duration) {
        let mut iterations = Distribution::default();
        for ((trend, class), times) in second.times.iter().filter(|(_, it)| it.count() > 0) {
            let (own, of_k6) = metrics_of(*trend, duration);
            if let Some(metric) = own {
                self.gain(metric, of_class(*class), &Gained::Times(times));
            }
            let labels = self.request(labels::of_times(*class, second));
            if let Some(metric) = of_k6 {
                self.gain(metric, labels.clone(), &Gained::Times(times));
            }
            if *trend == Trend::Response {
                iterations.add(times);
                let zeros = Distribution::new([(0, times.count())]);
                for metric in NEVER {
                    self.gain(metric, labels.clone(), &Gained::Times(&zeros));
                }
            }
        }
        if iterations.count() > 0 {
            let gained = Gained::Times(&iterations);
            self.gain(&metric::ITERATION_DURATION, Extra::new(), &gained);
        }
    }

    fn checks(&mut self, second: &Second) {
        let load = Arc::clone(&self.totals.load);
        let all = second.responses();
        let passed = |failed: u64| {
            Gained::Cases(Cases {
                with: all.saturating_sub(failed),
                all,
            })
        };
        for (number, check) in load.checks.iter().enumerate() {
            let failed = second.checks_failed.get(&number).copied().unwrap_or(0);
            let label = || vec![("check", check.clone())];
            self.count(&metric::CHECKS_FAILED, label(), failed);
            if load.checks_apply_to_all {
                self.gain(&metric::CHECKS, label(), &passed(failed));
            }
        }
        if !load.checks_apply_to_all && !load.checks.is_empty() {
            let label = vec![("check", "all checks".to_owned())];
            self.gain(&metric::CHECKS, label, &passed(second.failing_checks));
        }
    }

    fn usage(&mut self, usage: &Usage) {
        for (name, it) in &usage.components {
            let label = || vec![("component", (*name).to_owned())];
            if let Some(cpu_ns) = it.cpu_ns {
                self.cpu(name, cpu_ns);
            }
            self.gauge(&metric::COMPONENT_MEMORY, label(), it.memory_bytes as f64);
            let descriptors = it.descriptors as f64;
            self.gauge(&metric::COMPONENT_DESCRIPTORS, label(), descriptors);
        }
        if let Some(cpu_ns) = usage.components.get("gateway").and_then(|it| it.cpu_ns) {
            self.totals.gateway_cpu_ns.add(usage.second, cpu_ns);
            self.cpu_per_request(usage.second);
        }
    }

    fn cpu(&mut self, component: &str, cpu_ns: u64) {
        let label = vec![("component", component.to_owned())];
        let seconds = Gained::Count(cpu_ns as f64 / 1e9);
        self.gain(&metric::COMPONENT_CPU, label, &seconds);
    }

    /// Emits the CPU time per response if both the CPU time and the responses of a second are
    /// known.
    fn cpu_per_request(&mut self, second: u32) {
        let at_end = |it: &Cumulative| it.at_end.get(&second).copied();
        let responses = at_end(&self.totals.responses).filter(|count| *count > 0);
        if let Some((responses, cpu_ns)) = responses.zip(at_end(&self.totals.gateway_cpu_ns)) {
            let each = cpu_ns as f64 / 1e9 / responses as f64;
            self.gauge(&metric::CPU_PER_REQUEST, Extra::new(), each);
        }
    }

    fn own(&mut self, own: &Own) {
        if let Some(requests) = own.requests {
            let reads = Gained::Reads(requests as f64);
            self.gain(&metric::OWN_REQUESTS, Extra::new(), &reads);
        }
        for (pool, size) in &own.pools {
            let label = vec![("pool", pool.clone())];
            self.gauge(&metric::OWN_POOL, label, *size as f64);
        }
    }

    fn judged(&mut self, validity: &Validity) {
        let valid = f64::from(u8::from(validity.is_valid));
        self.gauge(&metric::VALID, Extra::new(), valid);
        for reason in &validity.reasons {
            self.gauge(&metric::LIMITED, vec![("reason", reason.clone())], 1.0);
        }
    }

    fn ended(&mut self) {
        self.at.to_ns = self.at.to_ns.max(self.totals.last_ns + 1_000_000);
        self.totals.last_ns = self.at.to_ns;
        self.gauge(&metric::VUS, Extra::new(), 0.0);
    }

    fn closed(&mut self) {
        for series in self.totals.series.values() {
            let value = match &series.total {
                Total::Counter(_) => continue,
                Total::Gauge | Total::Rate(_) => Value::Stale,
                Total::Trend(total) => Value::StaleTrend(total),
            };
            (self.emit)(&Point {
                metric: series.metric,
                labels: &series.labels,
                at: self.at,
                begins: false,
                value,
            });
        }
    }
}

impl Series {
    fn new(metric: &'static Metric, load: &Load, extra: &Extra) -> Self {
        let mut labels = load.labels.clone();
        let extra = extra.iter();
        labels.extend(extra.map(|(name, value)| ((*name).to_owned(), value.clone())));
        labels.retain(|_, value| !value.is_empty());
        Self {
            metric,
            labels,
            total: match metric.kind {
                Kind::Counter => Total::Counter(0.0),
                Kind::Gauge => Total::Gauge,
                Kind::Rate => Total::Rate(Cases::default()),
                Kind::Trend => Total::Trend(Distribution::default()),
            },
        }
    }
}

/// The k6 timings that are always 0 here.
const NEVER: [&Metric; 3] = [
    &metric::HTTP_REQ_CONNECTING,
    &metric::HTTP_REQ_TLS_HANDSHAKING,
    &metric::HTTP_REQ_SENDING,
];

/// The metrics of gatebench and k6 for a trend, if they exist.
fn metrics_of(
    trend: Trend,
    duration: Duration,
) -> (Option<&'static Metric>, Option<&'static Metric>) {
    let if_measured = |sense| Some(&metric::HTTP_REQ_DURATION).filter(|_| duration == sense);
    match trend {
        Trend::Response => (Some(&metric::RESPONSE), if_measured(Duration::Response)),
        Trend::Service => (Some(&metric::SERVICE), if_measured(Duration::Service)),
        Trend::Lateness => (Some(&metric::LATENESS), Some(&metric::HTTP_REQ_BLOCKED)),
        Trend::Added => (Some(&metric::ADDED), None),
        Trend::RequestHalf => (Some(&metric::REQUEST_HALF), None),
        Trend::ResponseHalf => (Some(&metric::RESPONSE_HALF), None),
        Trend::Waiting => (None, Some(&metric::HTTP_REQ_WAITING)),
        Trend::Receiving => (None, Some(&metric::HTTP_REQ_RECEIVING)),
    }
}

fn of_class(class: Class) -> Extra {
    vec![("class", class.as_str().to_owned())]
}
