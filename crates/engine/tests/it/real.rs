//! Tests the engine over real sockets against a server that counts requests.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use crate::common::{self, backends};
use gatebench_engine::{
    Class, Control, EngineError, ErrorKind, Load, Metric, Outcome, Part, Target, run,
};
use gatebench_model::load::{Closed, Open};
use gatebench_model::{Check, Request, Shape};
use gatebench_net::{Backend, Peer};

/// A server with a thread per connection. It ends with the process.
struct Server {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
}

/// Handles request n of a connection, counted from 0. Returns the response, and true to continue or
/// false to close the connection.
type Response = fn(u64) -> (&'static [u8], bool);

impl Server {
    fn start(response: Response) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                thread::spawn(move || serve(stream, &counted, response));
            }
        });
        Self { address, requests }
    }
}

fn serve(stream: TcpStream, requests: &AtomicU64, response: Response) {
    stream.set_nodelay(true).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut number = 0;
    while lines
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.is_empty())
    {
        requests.fetch_add(1, Ordering::Relaxed);
        let (bytes, go_on) = response(number);
        number += 1;
        if writer.write_all(bytes).is_err() || !go_on {
            return;
        }
    }
}

fn ok(_: u64) -> (&'static [u8], bool) {
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true)
}

fn load(address: SocketAddr, backend: Backend, shape: Shape) -> Load {
    let request = Request {
        checks: vec![Check::Status(200), Check::BodyEquals("ok".into())],
        ..Request::new("GET", "/")
    };
    let target = Target::new(address, "test");
    Load {
        backend: Some(backend),
        ..common::load(target, request, shape, Duration::from_millis(300))
    }
}

fn closed(connections: u32) -> Shape {
    Shape::Closed(Closed::new(connections))
}

fn open(rate_per_second: f64) -> Shape {
    Shape::Open(Open {
        connections_max: 8,
        queue_max: 10_000,
        ..Open::new(rate_per_second)
    })
}

fn run_quietly(load: &Load) -> Outcome {
    run(load, &Control::new(load.cores.len()), |_, _| {}).unwrap()
}

#[test]
fn the_server_counts_every_request_sent() {
    for backend in backends() {
        for shape in [closed(8), open(2_000.0)] {
            let server = Server::start(ok);
            let outcome = run_quietly(&load(server.address, backend, shape));
            let counts = &outcome.counts;
            assert!(counts.completed > 100, "{counts:?}");
            assert_eq!(counts.sent, server.requests.load(Ordering::Relaxed));
            assert_eq!(counts.sent, counts.completed);
            assert_eq!(counts.by_class, [counts.completed, 0, 0, 0, 0]);
            assert_eq!((counts.responses_failing_checks, counts.dropped), (0, 0));
        }
    }
}

#[test]
fn a_load_that_is_stopped_before_its_start_sends_nothing() {
    for backend in backends() {
        for shape in [closed(8), open(2_000.0)] {
            let server = Server::start(ok);
            // The load is a part of a larger one, so it waits for a start from outside.
            let load = Load {
                part: Some(Part {
                    first_worker: 0,
                    workers: 1,
                }),
                ..load(server.address, backend, shape)
            };
            let control = Control::new(1);
            let outcome = thread::scope(|scope| {
                let load = scope.spawn(|| run(&load, &control, |_, _| {}));
                while !control.is_ready() && !load.is_finished() {
                    thread::sleep(Duration::from_millis(1));
                }
                control.stop();
                load.join().unwrap().unwrap()
            });
            assert_eq!(outcome.counts.sent, 0, "{:?}", outcome.counts);
            assert_eq!(server.requests.load(Ordering::Relaxed), 0);
        }
    }
}

/// Returns a response that is too large for one read.
fn large(_: u64) -> (&'static [u8], bool) {
    static LARGE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut response = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".to_vec();
        response.resize(response.len() + 1_000_000, b'x');
        response
    });
    (&LARGE, true)
}

#[test]
fn each_response_of_a_group_has_one_waiting_and_one_receiving_time() {
    for backend in backends() {
        for response in [ok as Response, large] {
            let server = Server::start(response);
            let mut load = load(server.address, backend, closed(2));
            load.groups[0].requests[0].checks.clear();
            let mut second = load.groups[0].clone();
            second.name = "second".into();
            load.groups.push(second);
            let outcome = run_quietly(&load);
            for group in &outcome.groups {
                assert!(group.counts.completed > 5, "{:?}", group.counts);
                for metric in [Metric::Service, Metric::Waiting, Metric::Receiving] {
                    let times = &group.recordings[&(metric, Class::Success)];
                    assert_eq!(times.histogram.len(), group.counts.completed, "{metric:?}");
                }
            }
        }
    }
}

#[test]
fn an_open_load_sends_exactly_its_schedule_with_several_workers() {
    for backend in backends() {
        let server = Server::start(ok);
        let cores = gatebench_cores();
        let load = Load {
            cores,
            ..load(server.address, backend, open(1_000.0))
        };
        let outcome = run_quietly(&load);
        assert_eq!(outcome.counts.intended, 300);
        assert_eq!(outcome.counts.sent, 300);
        assert_eq!(server.requests.load(Ordering::Relaxed), 300);
        assert_eq!(outcome.workers.len(), load.cores.len());
    }
}

/// Returns one or two cores that this process may use, so there are two workers where possible.
fn gatebench_cores() -> Vec<usize> {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    (0..1024)
        .filter(|core| allowed.is_set(*core))
        .take(2)
        .collect()
}

#[test]
fn a_server_that_closes_after_each_response_causes_no_errors() {
    for backend in backends() {
        let server = Server::start(|_| {
            (
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
                false,
            )
        });
        let outcome = run_quietly(&load(server.address, backend, closed(4)));
        let counts = &outcome.counts;
        assert!(counts.completed > 10, "{counts:?}");
        assert_eq!(counts.errors, [0; ErrorKind::ALL.len()]);
        assert!(counts.connections_opened >= counts.completed);
        assert_eq!(counts.sent, server.requests.load(Ordering::Relaxed));
    }
}

#[test]
fn a_response_cut_off_is_an_early_close_and_garbage_a_protocol_error() {
    let cases: [(Response, ErrorKind); 2] = [
        (
            |_| (b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok", false),
            ErrorKind::ClosedEarly,
        ),
        (
            |_| (b"220 ftp.example ready\r\n", false),
            ErrorKind::Protocol,
        ),
    ];
    for backend in backends() {
        for (response, kind) in cases {
            let server = Server::start(response);
            let counts = run_quietly(&load(server.address, backend, open(200.0))).counts;
            // A reset may overtake the bytes that were sent before it.
            let found = counts.errors[kind as usize] + counts.errors[ErrorKind::Reset as usize];
            assert_eq!((counts.completed, found), (0, 60), "{counts:?}");
        }
    }
}

#[test]
fn an_unreachable_target_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    for backend in backends() {
        let load = load(address, backend, closed(2));
        let error = run(&load, &Control::new(1), |_, _| {}).unwrap_err();
        assert!(matches!(error, EngineError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains(&address.to_string()));
    }
}

#[test]
fn an_address_that_the_kernel_refuses_is_not_blamed_on_this_machine() {
    for backend in backends() {
        let mut load = load("127.0.0.1:9".parse().unwrap(), backend, closed(2));
        let target = &mut load.groups[0].target;
        target.address = Peer::Unix("/tmp/".to_owned().repeat(40).into());
        let error = run(&load, &Control::new(1), |_, _| {}).unwrap_err();
        assert!(matches!(error, EngineError::Unreachable { .. }), "{error}");
        let server = Server::start(ok);
        let target = &mut load.groups[0].target;
        target.address = server.address.into();
        // An address for documentation (RFC 5737), which no machine has.
        target.sources = ["127.0.0.1", "192.0.2.1"]
            .map(|it| it.parse().unwrap())
            .into();
        let error = run(&load, &Control::new(1), |_, _| {}).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("does not have the source address 192.0.2.1"),
            "{error}"
        );
    }
}

#[test]
fn a_worker_that_cannot_begin_ends_the_others() {
    let server = Server::start(ok);
    let mut load = load(server.address, Backend::Epoll, closed(4));
    // Hardly any machine has this core.
    load.cores = vec![gatebench_cores()[0], 1_000];
    let error = run(&load, &Control::new(2), |_, _| {}).unwrap_err();
    assert!(matches!(error, EngineError::Environment(_)), "{error}");
}

#[test]
fn a_load_that_is_stopped_keeps_what_it_measured() {
    for backend in backends() {
        let server = Server::start(ok);
        let mut load = load(server.address, backend, closed(4));
        load.measure = Duration::from_secs(60);
        let control = Control::new(1);
        let mut intervals = 0;
        let outcome = thread::scope(|scope| {
            scope.spawn(|| {
                while control.live()[0].completed.load(Ordering::Relaxed) < 100 {
                    thread::sleep(Duration::from_millis(1));
                }
                control.stop();
            });
            run(&load, &control, |_, _| intervals += 1).unwrap()
        });
        assert!(outcome.interrupted);
        assert!(outcome.counts.completed >= 100);
        assert!(outcome.window_ns.1 - outcome.window_ns.0 < 60_000_000_000);
        assert!(intervals > 0);
    }
}
