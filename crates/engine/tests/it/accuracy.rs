//! Tests the engine against every case of the upstream `pathology`. The counts of the engine and of
//! the upstream must equal the computed ones exactly. For times, only lower bounds are asserted.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::common::{self, backends};
use gatebench_engine::{Control, Counts, Load, Metric, Outcome, Target, run};
use gatebench_model::load::Open;
use gatebench_model::{Check, Request, Shape};
use gatebench_net::Backend;
use gatebench_upstream::fault_server::{ACCOUNT_PATH, Account, Arrivals, BEGIN_PATH, Case, truth};
use gatebench_upstream::{Kind, UpstreamConfig, serve};

const RATE_PER_SECOND: f64 = 500.0;
const MEASURE: Duration = Duration::from_millis(400);
const WARM_UP: Duration = Duration::from_millis(100);
const WARM_UP_REQUESTS: u64 = 50;
const PATIENCE: Duration = Duration::from_secs(30);

const TARGETS: [&str; 6] = [
    "/stall?every=400ms&for=100ms&service=2ms",
    "/bimodal?fast=1ms&slow=5ms&slow_every=8",
    "/slow-start?for=200ms&from=10ms&to=1ms",
    "/jitter?distribution=exponential&mean=2ms&seed=1",
    "/reset?every=10&service=1ms&bytes=1024",
    "/trickle?bytes=2000&piece=500&every=1ms&service=1ms",
];

/// An upstream on a thread of this process. The thread ends when this value is dropped.
struct Upstream {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    fn start(backend: Backend) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let config = UpstreamConfig {
            kind: Kind::Pathology,
            listen: "127.0.0.1:0".parse().unwrap(),
            cores: Vec::new(),
            backend: Some(backend),
            tls: None,
            streams: gatebench_upstream::STREAMS,
        };
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            serve(config, stopped, |address| sender.send(address).unwrap()).unwrap();
        });
        Self {
            address: receiver.recv().unwrap(),
            stop,
            thread: Some(thread),
        }
    }

    fn ask(&self, line: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let head = "HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        stream
            .write_all(format!("{line} {head}").as_bytes())
            .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
        response.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    fn begin(&self) {
        self.ask(&format!(
            "POST {BEGIN_PATH}?rate={RATE_PER_SECOND}&warm_up={WARM_UP_REQUESTS}"
        ));
    }

    fn account(&self) -> Account {
        serde_json::from_str(&self.ask(&format!("GET {ACCOUNT_PATH}"))).unwrap()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

fn drive(address: SocketAddr, target: &str, connections: u32, backend: Backend) -> Outcome {
    let request = Request {
        checks: vec![Check::Status(200), Check::BodyEquals(body(target))],
        ..Request::new("GET", target)
    };
    let shape = Shape::Open(Open {
        connections_max: connections,
        ..Open::new(RATE_PER_SECOND)
    });
    let mut load = Load {
        warm_up: WARM_UP,
        drain: PATIENCE,
        backend: Some(backend),
        trace_tag: Some(7),
        ..common::load(Target::new(address, "test"), request, shape, MEASURE)
    };
    load.groups[0].timeout = PATIENCE;
    run(&load, &Control::new(1), |_, _| {}).unwrap()
}

fn body(target: &str) -> String {
    let text = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-\n";
    let bytes = case(target).service(0, 0).body_bytes;
    text.chars().cycle().take(bytes as usize).collect()
}

fn case(target: &str) -> Case {
    let (path, query) = target.split_once('?').unwrap();
    Case::parse(path, query).unwrap()
}

/// Returns the shortest recorded time of this metric, and the number of recorded times.
fn shortest(outcome: &Outcome, metric: Metric) -> (u64, u64) {
    let of_metric = outcome
        .recordings
        .iter()
        .filter(|((it, _), _)| *it == metric);
    of_metric.fold((u64::MAX, 0), |(min_ns, count), (_, recording)| {
        (
            min_ns.min(recording.min_ns),
            count + recording.histogram.len(),
        )
    })
}

#[test]
fn counts_match_the_ledger_in_every_fault() {
    for backend in backends() {
        let upstream = Upstream::start(backend);
        for target in TARGETS {
            upstream.begin();
            let outcome = drive(upstream.address, target, 64, backend);
            let (counts, account) = (&outcome.counts, upstream.account());
            let arrivals = Arrivals::of(RATE_PER_SECOND, MEASURE.as_secs_f64());
            let truth = truth(&case(target), &arrivals);
            let Counts {
                intended,
                sent,
                completed,
                dropped,
                traced,
                ..
            } = *counts;
            assert_eq!(
                (intended, sent, dropped),
                (arrivals.count, arrivals.count, 0),
                "{target}"
            );
            assert_eq!(account.warm_up, WARM_UP_REQUESTS, "{target}");
            assert_eq!((account.received, account.abandoned), (sent, 0), "{target}");
            assert_eq!(
                (account.answered, completed),
                (truth.answered, truth.answered),
                "{target}"
            );
            // A reset may be reported as a close.
            let failed: u64 = counts.errors.iter().sum();
            assert_eq!(
                (account.reset, failed),
                (truth.reset, truth.reset),
                "{target}"
            );
            assert_eq!(account.body_bytes, truth.body_bytes, "{target}");
            assert_eq!(
                (traced, counts.responses_failing_checks),
                (completed, 0),
                "{target}"
            );
            for metric in [Metric::Response, Metric::Service] {
                let (shortest_ns, count) = shortest(&outcome, metric);
                assert_eq!(count, sent, "{target}");
                assert!(
                    shortest_ns >= truth.response_ns[0],
                    "{target}: {shortest_ns} ns"
                );
            }
        }
    }
}

#[test]
fn two_connections_where_many_are_needed_lose_nothing() {
    for backend in backends() {
        let upstream = Upstream::start(backend);
        upstream.begin();
        // Two connections carry 200 of the 500 requests per second.
        let outcome = drive(upstream.address, "/constant?service=10ms", 2, backend);
        let (counts, account) = (&outcome.counts, upstream.account());
        assert_eq!(
            (counts.intended, counts.completed, counts.dropped),
            (200, 200, 0)
        );
        assert!(counts.queued_max > 0);
        assert_eq!((account.received, account.answered), (200, 200));
        // The last of 250 requests was due at 498 ms, and its response cannot arrive before 1,250
        // ms.
        let response = outcome
            .recordings
            .iter()
            .find(|((it, _), _)| *it == Metric::Response);
        assert!(response.unwrap().1.max_ns >= 750_000_000);
    }
}
