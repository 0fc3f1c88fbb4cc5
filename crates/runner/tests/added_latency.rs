//! Proves that the measurement of added latency recovers the known delays of a proxy that holds
//! requests and responses.
//!
//! Two groups send at the same rate through one gateway, half an interval apart: one on a route
//! that forwards immediately, the other on a route that holds requests or responses. The machine
//! disturbs both groups equally, so the difference of their medians is the hold. Each repetition
//! also measures a pair of routes that both forward immediately. The largest difference within this
//! pair (the median difference, for 99th percentiles) is the error of this machine, which is added
//! to the tolerance for the other pairs.
//!
//! If the load generator, the gateway or the upstream waits a long time for a core, requests and
//! responses are held longer than configured. A load during which this happens is repeated. Such a
//! load is identified by the kernel's figures and by dropped arrivals, not by measured latencies.
//!
//! The two tests take minutes and need two cores that are not busy, so they run only with `make
//! test-full`. They are in a separate binary, because they count the time that the threads of this
//! process wait for a core.
//!
//! Medians are proven at a low rate, with threads of the lowest priority that keep both cores from
//! idling. Without these threads, the routes would differ: a virtual core takes longer to wake up
//! the longer it has been idle, but a route that holds requests with a timer keeps its core awake.
//! The 99th percentile is proven at the rate of the report's loads, without such threads.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use gatebench_engine::{Class, Control, Group, Load, Metric, Outcome, Target, run};
use gatebench_gateway::GatewayConfig;
use gatebench_model::{Order, Request, Shape, load::Open};
use gatebench_upstream::{Kind, UpstreamConfig};
use serde_json::{Value, json};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// The number of measurements of every pair. It is odd, so the median is one of them.
const REPETITIONS: usize = 7;

#[derive(Clone, Copy)]
struct Pace {
    /// The rate of each of the two groups.
    rate_per_second: f64,
    measure: Duration,
}

/// A hold of 5 or 7 ms ends a millisecond away from the nearest sends of both groups.
const SLOW: Pace = Pace {
    rate_per_second: 250.0,
    measure: Duration::from_millis(600),
};

/// Both groups together send at the rate of the tour; a hundred requests of each group lie beyond
/// the 99th percentile.
const AS_REPORTED: Pace = Pace {
    rate_per_second: 2_500.0,
    measure: Duration::from_millis(4_000),
};

/// The accuracy of a hold, including the wake-up of a core, and the relative accuracy of
/// histograms.
const EXACT_NS: u64 = 30 * US;
const EXACT_SHARE: f64 = 0.002;
/// The tolerance beyond which a hold of 200 µs is indistinguishable from none.
const COARSE_NS: u64 = 100 * US;
/// The maximum share of a load's time that all threads together may wait for their cores: about a
/// tenth each for load generator, gateway and upstream. Beyond this share, the load is considered
/// disturbed. A smaller share does not affect medians.
const WAITED_SHARE_MAX: f64 = 0.33;
/// If two equal routes differ by more than this at their 99th percentiles, this machine cannot
/// prove a percentile.
const TAIL_NS_MAX: u64 = 2 * MS;
/// The maximum wait for undisturbed loads.
const PATIENCE: Duration = Duration::from_secs(300);
const AWAKE: &str = "awake";
const LOWEST_PRIORITY: i32 = 19;

fn serving(
    serve: impl FnOnce(Arc<AtomicBool>, mpsc::Sender<SocketAddr>) + Send + 'static,
) -> (SocketAddr, Serving) {
    let stop = Arc::new(AtomicBool::new(false));
    let (listens, heard) = mpsc::channel();
    let flag = Arc::clone(&stop);
    let thread = thread::spawn(move || serve(flag, listens));
    (
        heard.recv().unwrap(),
        Serving {
            stop,
            thread: Some(thread),
        },
    )
}

struct Serving {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// The first and the last core of this process: one for the load generator and the upstream, one
/// for the gateway.
fn cores() -> (usize, usize) {
    let set = rustix::thread::sched_getaffinity(None).unwrap();
    let mut cores = (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| set.is_set(*core));
    let first = cores.next().unwrap();
    (first, cores.next_back().unwrap_or(first))
}

/// Keeps both cores from idling until it is dropped.
struct Awake {
    stop: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Awake {
    fn new() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let spin_on = |core| {
            let stop = Arc::clone(&stop);
            let spin = move || {
                let mut set = rustix::thread::CpuSet::new();
                set.set(core);
                rustix::thread::sched_setaffinity(None, &set).unwrap();
                let own = rustix::thread::gettid();
                rustix::process::setpriority_process(Some(own), LOWEST_PRIORITY).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            };
            thread::Builder::new()
                .name(AWAKE.into())
                .spawn(spin)
                .unwrap()
        };
        let (first, last) = cores();
        let threads = vec![spin_on(first), spin_on(last)];
        Self { stop, threads }
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}

fn upstream() -> (SocketAddr, Serving) {
    serving(|stop, listens| {
        let listen = ([127, 0, 0, 1], 0).into();
        let config = UpstreamConfig {
            kind: Kind::Ping,
            listen,
            cores: vec![cores().0],
            backend: None,
            tls: None,
            streams: gatebench_upstream::STREAMS,
        };
        gatebench_upstream::serve(config, stop, |address| listens.send(address).unwrap()).unwrap();
    })
}

fn gateway(upstream: SocketAddr, pairs: &[Pair]) -> (SocketAddr, Serving) {
    let target = json!({ "address": upstream.ip(), "port": upstream.port(), "weight": 1 });
    let route = |name: &str, delay: &Value| {
        json!({
            "name": name, "path": format!("/{name}"), "strip_path": true, "upstream": "origin",
            "test_delay": delay,
        })
    };
    let mut routes = vec![route("plain", &json!({}))];
    routes.extend(pairs.iter().map(|pair| route(pair.route, &pair.delay)));
    let config = json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{ "name": "origin", "keepalive": 64, "targets": [target] }],
        "routes": routes,
    });
    let config = GatewayConfig::parse(&config.to_string()).unwrap();
    serving(move |stop, listens| {
        gatebench_gateway::serve(&config, &[cores().1], None, stop, |bound| {
            listens.send(bound[0]).unwrap()
        })
        .unwrap();
    })
}

fn group(address: SocketAddr, route: &str, pace: Pace) -> Group {
    let path = format!("/{route}/ping");
    let open = Open {
        connections_max: 32,
        queue_max: 1_000,
        ..Open::new(pace.rate_per_second)
    };
    Group {
        name: route.into(),
        target: Target::new(address, address.to_string()),
        requests: vec![Request::new("GET", &path)],
        order: Order::default(),
        shape: Shape::Open(open),
        timeout: Duration::from_secs(5),
    }
}

/// Loads the plain route and another one at the same time. Each load needs a different tag for its
/// nonces.
fn load(address: SocketAddr, route: &str, tag: u16, pace: Pace) -> Outcome {
    let load = Load {
        groups: vec![group(address, "plain", pace), group(address, route, pace)],
        data: Default::default(),
        warm_up: Duration::from_millis(100),
        measure: pace.measure,
        drain: Duration::from_secs(5),
        cores: vec![cores().0],
        backend: None,
        trace_tag: Some(tag),
        shares_clock: true,
        part: None,
        spin: false,
        seed: 1,
    };
    let outcome = run(&load, &Control::new(1), |_, _| {}).unwrap();
    let counts = &outcome.counts;
    assert_eq!(counts.traced, counts.sent, "{route}: {counts:?}");
    outcome
}

const PARTS: [Metric; 3] = [Metric::RequestHalf, Metric::ResponseHalf, Metric::Added];

/// The request half, the response half and the whole of the added latency, in nanoseconds.
type Parts = [i64; PARTS.len()];

/// A mode of a route's hold times, with the quantile that shows it and the holds of both halves.
struct Mode {
    quantile: f64,
    request_ns: u64,
    response_ns: u64,
}

impl Mode {
    fn held(&self) -> Parts {
        [
            self.request_ns,
            self.response_ns,
            self.request_ns + self.response_ns,
        ]
        .map(|ns| ns as i64)
    }

    /// The route's quantile minus the plain route's median, both from the same load.
    fn found(&self, outcome: &Outcome) -> Parts {
        difference(outcome, self.quantile, 0.5)
    }

    /// Reports whether a part shows the hold. The 99th percentile of a half without a hold shows
    /// only the machine's own tail.
    fn shows(&self, held_ns: i64) -> bool {
        held_ns > 0 || self.quantile < 0.99
    }
}

/// A quantile of the second group minus a quantile of the first group, for each part.
fn difference(outcome: &Outcome, second: f64, first: f64) -> Parts {
    let at = |group: usize, metric, quantile| {
        let recording = &outcome.groups[group].recordings[&(metric, Class::Success)];
        recording.histogram.value_at_quantile(quantile) as i64
    };
    PARTS.map(|metric| at(1, metric, second) - at(0, metric, first))
}

/// A route that is loaded together with the plain route.
struct Pair {
    route: &'static str,
    delay: Value,
    modes: Vec<Mode>,
}

fn pair(route: &'static str, request_ns: u64, response_ns: u64) -> Pair {
    Pair {
        route,
        delay: json!({ "request_ns": request_ns, "response_ns": response_ns }),
        modes: vec![Mode {
            quantile: 0.5,
            request_ns,
            response_ns,
        }],
    }
}

/// One request in five is held longer. Each mode is read at its own median. For the four fifths
/// with the short hold, the median is the 40th percentile of all requests; for the others, it is
/// the 90th percentile.
fn bimodal(route: &'static str) -> Pair {
    let mode = |quantile, request_ns, response_ns| Mode {
        quantile,
        request_ns,
        response_ns,
    };
    let other = json!({ "every": 5, "request_ns": 5 * MS, "response_ns": 2 * MS });
    Pair {
        route,
        delay: json!({ "request_ns": 200 * US, "response_ns": 0, "bimodal": other }),
        modes: vec![mode(0.4, 200 * US, 0), mode(0.9, 5 * MS, 2 * MS)],
    }
}

/// One request in fifty is held, so the 99th percentile of all requests is the median of the held
/// requests.
fn tail(route: &'static str, request_ns: u64, response_ns: u64) -> Pair {
    let other = json!({ "every": 50, "request_ns": request_ns, "response_ns": response_ns });
    Pair {
        route,
        delay: json!({ "request_ns": 0, "response_ns": 0, "bimodal": other }),
        modes: vec![Mode {
            quantile: 0.99,
            request_ns,
            response_ns,
        }],
    }
}

/// Each of the two tests needs the cores to itself, so they take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the time that each thread of this process was runnable without a core, by thread ID, in
/// nanoseconds. Threads that only keep the cores awake do not count.
fn waits_ns() -> BTreeMap<String, u64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let of = |task: fs::DirEntry| -> Option<(String, u64)> {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let stat = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let waited = stat.split_whitespace().nth(1)?.parse().ok()?;
        let id = task.file_name().to_string_lossy().into_owned();
        (name.trim() != AWAKE).then_some((id, waited))
    };
    tasks.filter_map(of).collect()
}

/// Returns the total time that the threads that still exist have waited for a core since `before`.
fn waited_since_ns(before: &BTreeMap<String, u64>) -> u64 {
    let since = |(id, now): (&String, &u64)| now.saturating_sub(*before.get(id).unwrap_or(&0));
    waits_ns().iter().map(since).sum()
}

/// Loads every pair in turn until each has the required number of undisturbed loads. On a busy
/// machine, a hold really does last longer than configured, so a disturbed load proves nothing
/// about the measurement of added latency.
fn measured(address: SocketAddr, pairs: &[Pair], pace: Pace) -> Vec<Vec<Outcome>> {
    let waited_ns_max = (pace.measure.as_nanos() as f64 * WAITED_SHARE_MAX) as u64;
    let mut outcomes: Vec<Vec<Outcome>> = pairs.iter().map(|_| Vec::new()).collect();
    let deadline = Instant::now() + PATIENCE;
    let mut tags = 1..;
    while outcomes.iter().any(|outcomes| outcomes.len() < REPETITIONS) {
        assert!(
            Instant::now() < deadline,
            "the machine was too busy: {:?} of {REPETITIONS} loads were undisturbed within {PATIENCE:?}",
            outcomes.iter().map(Vec::len).collect::<Vec<_>>()
        );
        for (pair, outcomes) in pairs.iter().zip(&mut outcomes) {
            if outcomes.len() == REPETITIONS {
                continue;
            }
            let before = waits_ns();
            let outcome = load(address, pair.route, tags.next().unwrap(), pace);
            let engine_ns: u64 = outcome.workers.iter().map(|it| it.run_queue_wait_ns).sum();
            let waited_ns = engine_ns + waited_since_ns(&before);
            // If the machine stalls, the queue becomes full and arrivals are dropped.
            if waited_ns <= waited_ns_max && outcome.counts.dropped == 0 {
                outcomes.push(outcome);
            }
        }
    }
    outcomes
}

fn medians(found: &[Parts]) -> Parts {
    [0, 1, 2].map(|part| {
        let mut values: Vec<i64> = found.iter().map(|parts| parts[part]).collect();
        values.sort_unstable();
        values[values.len() / 2]
    })
}

/// Returns the error of the machine: for each part, the largest deviation from zero of any
/// repetition.
fn disturbance(alike: &[Parts]) -> [u64; PARTS.len()] {
    [0, 1, 2].map(|part| {
        let distances = alike.iter().map(|parts| parts[part].unsigned_abs());
        distances.max().unwrap()
    })
}

/// Describes the measured times that differ from a route's holds by more than the tolerance.
fn mistakes(pair: &Pair, outcomes: &[Outcome], disturbance: [u64; PARTS.len()]) -> Vec<String> {
    let mut mistakes = Vec::new();
    for mode in &pair.modes {
        let found: Vec<Parts> = outcomes.iter().map(|outcome| mode.found(outcome)).collect();
        let parts = medians(&found)
            .into_iter()
            .zip(mode.held())
            .zip(disturbance);
        for (((found_ns, held_ns), disturbance_ns), metric) in parts.zip(PARTS) {
            if !mode.shows(held_ns) {
                continue;
            }
            let exact_ns = EXACT_NS + (held_ns as f64 * EXACT_SHARE) as u64;
            let tolerance_ns = exact_ns + disturbance_ns;
            let route = pair.route;
            let message = format!(
                "{} of {route}: {found_ns} ns instead of {held_ns} ± {tolerance_ns} ns",
                metric.as_str()
            );
            eprintln!("{message}");
            if found_ns.abs_diff(held_ns) > tolerance_ns {
                mistakes.push(message);
            }
        }
    }
    mistakes
}

#[test]
#[ignore = "takes one to three minutes and needs two cores that are not busy; run `make test-full`"]
fn known_delays_are_recovered() {
    let _alone = alone();
    let pairs = [
        pair("alike", 0, 0),
        pair("request", 200 * US, 0),
        pair("response", 0, 200 * US),
        pair("long-request", 5 * MS, 200 * US),
        pair("long-response", 200 * US, 5 * MS),
        bimodal("bimodal"),
    ];
    let _awake = Awake::new();
    let (origin, _origin) = upstream();
    let (address, _gateway) = gateway(origin, &pairs);
    let outcomes = measured(address, &pairs, SLOW);
    let alike: Vec<Parts> = outcomes[0]
        .iter()
        .map(|outcome| pairs[0].modes[0].found(outcome))
        .collect();
    let disturbance = disturbance(&alike);
    eprintln!("two equal routes differed by up to {disturbance:?} ns in {alike:?}");
    if disturbance.iter().any(|ns| *ns > COARSE_NS) {
        eprintln!("this machine is too busy to distinguish a hold of 200 µs from none");
    }
    let held = pairs.iter().zip(&outcomes).skip(1);
    let mistakes: Vec<String> = held
        .flat_map(|(pair, outcomes)| mistakes(pair, outcomes, disturbance))
        .collect();
    assert_eq!(mistakes, Vec::<String>::new());
}

#[test]
#[ignore = "takes one to five minutes and needs two cores that are not busy; run `make test-full`"]
fn known_tails_are_recovered_at_the_rate_of_the_reports() {
    let _alone = alone();
    let pairs = [
        pair("alike", 0, 0),
        tail("tail-request", 10 * MS, 0),
        tail("tail-response", 0, 10 * MS),
        tail("tail-both", 8 * MS, 4 * MS),
    ];
    let (origin, _origin) = upstream();
    let (address, _gateway) = gateway(origin, &pairs);
    let outcomes = measured(address, &pairs, AS_REPORTED);
    let alike: Vec<Parts> = outcomes[0]
        .iter()
        .map(|outcome| difference(outcome, 0.99, 0.99))
        .collect();
    let disturbance = medians(
        &alike
            .iter()
            .map(|parts| parts.map(i64::abs))
            .collect::<Vec<_>>(),
    )
    .map(i64::unsigned_abs);
    eprintln!(
        "the 99th percentiles of two equal routes differed by {disturbance:?} ns in {alike:?}"
    );
    assert!(
        disturbance.iter().all(|ns| *ns <= TAIL_NS_MAX),
        "this machine is too busy for a 99th percentile: {disturbance:?} ns"
    );
    let held = pairs.iter().zip(&outcomes).skip(1);
    let mistakes: Vec<String> = held
        .flat_map(|(pair, outcomes)| mistakes(pair, outcomes, disturbance))
        .collect();
    assert_eq!(mistakes, Vec::<String>::new());
}
