//! Tests the worker on a simulated event loop, in which time is a number, so the correct record is
//! known exactly.

mod accuracy;
mod split;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use gatebench_model::load::{Change, Closed, ConnectionStage, Open, RateStage, Think};
use gatebench_model::{Check, HumanDuration, Order, Request, Shape};
use gatebench_net::{Buffer, ConnId, Event, Io, IoTask, ListenerId, Peer};
use rtrb::RingBuffer;

use crate::compiled::compile;
use crate::control::Control;
use crate::counts::Counts;
use crate::kind::{Class, ErrorKind, Metric};
use crate::load::{Group, Load, Target};
use crate::record::Interval;
use crate::recorder::Kept;
use crate::worker::{Outlet, Work};

const MS: u64 = 1_000_000;

/// Returns the simulated server's reaction to request number `index`, which arrives at `now_ns`
/// with these bytes.
type Server = fn(index: u64, now_ns: u64, request: &[u8]) -> Reaction;

enum Reaction {
    /// Responds with these bytes after this number of nanoseconds.
    Response(u64, &'static [u8]),
    /// Closes after this number of nanoseconds.
    Close(u64),
    /// Responds after the first number of nanoseconds, and closes after the second.
    ResponseAndClose(u64, &'static [u8], u64),
    Silence,
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Requests with their send times.
type Sent = Vec<(u64, Vec<u8>)>;

struct Simulated {
    now_ns: u64,
    server: Server,
    requests: u64,
    sent: Rc<RefCell<Sent>>,
    conns: u32,
    events: BinaryHeap<Reverse<(u64, u64)>>,
    waiting: Vec<Option<Event>>,
    /// The time at which the whole machine pauses, including the server, and the length of the
    /// pause.
    pause: Option<(u64, u64)>,
}

impl Simulated {
    fn new(server: Server) -> Self {
        Self {
            now_ns: 1,
            server,
            requests: 0,
            sent: Rc::default(),
            conns: 0,
            events: BinaryHeap::new(),
            waiting: Vec::new(),
            pause: None,
        }
    }

    /// Advances the time without running the worker or the server.
    fn skip(&mut self, for_ns: u64) {
        self.now_ns += for_ns;
        let later = |Reverse((at, number))| Reverse((at + for_ns, number));
        self.events = self.events.drain().map(later).collect();
    }

    fn at(&mut self, at_ns: u64, event: Event) {
        self.events
            .push(Reverse((at_ns, self.waiting.len() as u64)));
        self.waiting.push(Some(event));
    }
}

impl Io for Simulated {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn listen(&mut self, _: SocketAddr, _: bool) -> io::Result<(ListenerId, SocketAddr)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn stop_listening(&mut self, _: ListenerId) {}

    fn connect(&mut self, _: impl Into<Peer>, _: Option<IpAddr>) -> io::Result<ConnId> {
        let conn = ConnId::new(self.conns, 0);
        self.conns += 1;
        self.at(self.now_ns, Event::Connected { conn });
        Ok(conn)
    }

    fn send(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let reaction = (self.server)(self.requests, self.now_ns, &bytes);
        self.sent.borrow_mut().push((self.now_ns, bytes.clone()));
        self.at(self.now_ns, Event::Sent { conn, bytes });
        self.requests += 1;
        match reaction {
            Reaction::Response(after_ns, bytes) => {
                let bytes = Buffer::from(bytes);
                self.at(self.now_ns + after_ns, Event::Received { conn, bytes });
            }
            Reaction::Close(after_ns) => {
                self.at(self.now_ns + after_ns, Event::EndOfStream { conn })
            }
            Reaction::ResponseAndClose(after_ns, bytes, close_ns) => {
                let bytes = Buffer::from(bytes);
                self.at(self.now_ns + after_ns, Event::Received { conn, bytes });
                self.at(self.now_ns + close_ns, Event::EndOfStream { conn });
            }
            Reaction::Silence => {}
        }
        None
    }

    fn send_now(&mut self, conn: ConnId, bytes: Vec<u8>) -> Option<Vec<u8>> {
        self.send(conn, bytes)
    }

    fn pause(&mut self, _: ConnId) {}
    fn resume(&mut self, _: ConnId) {}
    fn shutdown(&mut self, _: ConnId) {}
    fn close(&mut self, _: ConnId) {}
    fn abort(&mut self, _: ConnId) {}

    fn poll(&mut self, until_ns: Option<u64>, events: &mut Vec<Event>) -> io::Result<()> {
        let next = self.events.peek().map(|Reverse((at, _))| *at);
        let until = until_ns.unwrap_or(u64::MAX).min(next.unwrap_or(u64::MAX));
        assert_ne!(
            until,
            u64::MAX,
            "the worker waits for an event that never occurs"
        );
        self.now_ns = self.now_ns.max(until);
        if let Some((_, for_ns)) = self.pause.take_if(|(at, _)| *at <= until) {
            self.skip(for_ns);
        }
        while let Some(Reverse((at, number))) = self.events.peek().copied() {
            if at > self.now_ns {
                break;
            }
            self.events.pop();
            events.extend(self.waiting[number as usize].take());
        }
        Ok(())
    }
}

fn load(shape: Shape, warm_up_ms: u64, measure_ms: u64) -> Load {
    let request = Request {
        checks: vec![Check::Status(200), Check::BodyEquals("ok".into())],
        ..Request::new("GET", "/")
    };
    Load {
        data: Default::default(),
        groups: vec![group("all", request, shape)],
        warm_up: Duration::from_millis(warm_up_ms),
        measure: Duration::from_millis(measure_ms),
        drain: Duration::from_millis(2_000),
        cores: Vec::new(),
        backend: None,
        trace_tag: None,
        shares_clock: true,
        part: None,
        spin: false,
        seed: 1,
    }
}

fn group(name: &str, request: Request, shape: Shape) -> Group {
    Group {
        name: name.into(),
        target: Target::new(SocketAddr::from(([127, 0, 0, 1], 1)), "test"),
        requests: vec![request],
        order: Order::default(),
        shape,
        timeout: Duration::from_millis(1_000),
    }
}

fn open(rate_per_second: f64, connections_max: u32, queue_max: u32) -> Shape {
    Shape::Open(Open {
        connections_max,
        queue_max,
        ..Open::new(rate_per_second)
    })
}

/// Runs one worker, and returns its finished intervals and their sum.
fn simulate(load: &Load, server: Server) -> (Vec<Interval>, Interval) {
    let (intervals, sum, _) = simulate_on(load, Simulated::new(server));
    (intervals, sum)
}

/// Simulates a load on the given machine, and also returns the records kept until the end.
fn simulate_on(load: &Load, machine: Simulated) -> (Vec<Interval>, Interval, Kept) {
    simulate_controlled(load, &Control::new(1), machine)
}

fn simulate_controlled(
    load: &Load,
    control: &Control,
    machine: Simulated,
) -> (Vec<Interval>, Interval, Kept) {
    let compiled = compile(load, control).unwrap();
    control.starts_at(10 * MS);
    let (full, mut out) = RingBuffer::new(64);
    let (_back, empty) = RingBuffer::new(64);
    let work = Work {
        compiled: &compiled,
        number: 0,
        outlet: Outlet { full, empty },
    };
    let ended = work.run(machine).unwrap();
    let intervals: Vec<_> = std::iter::from_fn(|| Some(*out.pop().ok()?)).collect();
    let mut sum = Interval::new(compiled.check_count);
    for interval in &intervals {
        sum.add(interval);
    }
    (intervals, sum, ended.kept)
}

/// Returns the exact count, minimum, maximum and mean of one recording, in nanoseconds.
fn exact(interval: &Interval, metric: Metric, class: Class) -> Option<(u64, u64, u64, u64)> {
    let mut recordings = interval.recordings();
    let (_, _, it) = recordings.find(|(m, c, _)| *m == metric && *c == class)?;
    let count = it.histogram.len();
    let mean_ns = (it.sum_ns / u128::from(count)) as u64;
    Some((count, it.min_ns, it.max_ns, mean_ns))
}

#[test]
fn a_closed_load_sends_on_each_response() {
    let shape = Shape::Closed(Closed::new(4));
    let (intervals, sum) = simulate(&load(shape, 100, 2_000), |_, _, _| {
        Reaction::Response(10 * MS, OK)
    });
    // 4 connections ÷ 10 ms = 400/s.
    assert_eq!(sum.counts.completed_in_window, 800);
    let by_second = intervals
        .iter()
        .map(|it| (it.second, it.counts.completed_in_window));
    assert_eq!(by_second.collect::<Vec<_>>(), [(0, 400), (1, 400), (2, 0)]);
    let (_, min, max, mean) = exact(&sum, Metric::Response, Class::Success).unwrap();
    assert_eq!((min, max, mean), (10 * MS, 10 * MS, 10 * MS));
    assert_eq!(exact(&sum, Metric::Lateness, Class::Success).unwrap().2, 0);
    assert_eq!(sum.counts.sent, sum.counts.completed);
}

#[test]
fn an_open_load_keeps_its_schedule_when_the_server_stalls() {
    // One connection gets 100 requests/s. The response to the request sent 500 ms into the
    // measurement takes 305 ms and the others 5 ms, so the 30 arrivals during the stall wait in the
    // queue.
    let (_, sum) = simulate(&load(open(100.0, 1, 1_000), 0, 1_000), |index, _, _| {
        Reaction::Response(if index == 50 { 305 * MS } else { 5 * MS }, OK)
    });
    let counts = &sum.counts;
    assert_eq!(
        (counts.intended, counts.sent, counts.completed),
        (100, 100, 100)
    );
    assert_eq!(counts.queued_max, 30);
    let (_, _, service_max, _) = exact(&sum, Metric::Service, Class::Success).unwrap();
    let (_, min, response_max, _) = exact(&sum, Metric::Response, Class::Success).unwrap();
    assert_eq!(min, 5 * MS);
    assert_eq!((service_max, response_max), (305 * MS, 305 * MS));
    // The arrival due at 510 ms is sent at 805 ms, 295 ms late. Its response arrives 300 ms after
    // it was due.
    let (_, _, lateness_max, _) = exact(&sum, Metric::Lateness, Class::Success).unwrap();
    assert_eq!(lateness_max, 295 * MS);
    let mut recordings = sum.recordings();
    let (_, _, response) = recordings.find(|it| it.0 == Metric::Response).unwrap();
    // Requests are due every 10 ms and served every 5 ms, so those after the stalled one take 300,
    // 295, 290, … ms. The stall slows down all of the last 50 requests.
    let slow = response.histogram.len() - response.histogram.count_between(0, 5 * MS + MS / 10);
    assert!((48..=61).contains(&slow), "{slow}");
}

#[test]
fn arrivals_beyond_the_queue_are_dropped_and_counted() {
    let (_, sum) = simulate(&load(open(100.0, 1, 3), 0, 1_000), |index, _, _| {
        Reaction::Response(if index == 0 { 501 * MS } else { MS }, OK)
    });
    // Of the 50 arrivals during the stall, 3 wait and 47 are dropped.
    let counts = &sum.counts;
    assert_eq!(
        (counts.intended, counts.dropped, counts.queued_max),
        (100, 47, 3)
    );
    assert_eq!((counts.sent, counts.completed), (53, 53));
}

#[test]
fn the_warm_up_is_not_recorded() {
    let (_, sum) = simulate(&load(open(1_000.0, 8, 10), 500, 1_000), |_, now, _| {
        // The warm-up ends 510 ms after time 0. The server is slow until 5 ms before that.
        Reaction::Response(if now < 505 * MS { 3 * MS } else { MS }, OK)
    });
    assert_all_take_a_millisecond(&sum);
}

fn assert_all_take_a_millisecond(sum: &Interval) {
    assert_eq!((sum.counts.intended, sum.counts.completed), (1_000, 1_000));
    let found = exact(sum, Metric::Response, Class::Success);
    assert_eq!(found, Some((1_000, MS, MS, MS)));
}

/// Simulates a load whose warm-up is ended from outside, 300 ms after the start.
fn simulate_ended_warm_up(shape: Shape) -> Interval {
    let load = load(shape, 60_000, 1_000);
    let control = Control::new(1);
    control.measure_from(310 * MS);
    let server: Server =
        |_, now, _| Reaction::Response(if now < 305 * MS { 3 * MS } else { MS }, OK);
    simulate_controlled(&load, &control, Simulated::new(server)).1
}

#[test]
fn ending_the_warm_up_keeps_the_whole_measurement() {
    let sum = simulate_ended_warm_up(open(1_000.0, 8, 10));
    assert_all_take_a_millisecond(&sum);
    let sum = simulate_ended_warm_up(Shape::Closed(Closed::new(4)));
    assert_eq!(sum.counts.completed_in_window, 4_000);
}

#[test]
fn stages_begin_where_the_warm_up_ends() {
    let stage = |rate_per_second, over_ms| RateStage {
        rate_per_second,
        over: HumanDuration::from_millis(over_ms),
        how: Change::Step,
    };
    let staged = Shape::Open(Open {
        connections_max: 8,
        stages: vec![stage(100.0, 500), stage(400.0, 500)],
        ..Open::new(100.0)
    });
    let sum = simulate_ended_warm_up(staged);
    assert_eq!(sum.counts.intended, 50 + 200);
}

#[test]
fn silence_counts_as_a_timeout_at_its_elapsed_time() {
    let (_, sum) = simulate(
        &load(open(10.0, 64, 10), 0, 1_000),
        |index, _, _| match index {
            3 => Reaction::Silence,
            _ => Reaction::Response(MS, OK),
        },
    );
    assert_eq!(sum.counts.completed, 9);
    assert_eq!(sum.counts.errors[ErrorKind::Timeout as usize], 1);
    let (count, min, max, _) = exact(&sum, Metric::Response, Class::Failed).unwrap();
    assert_eq!((count, min), (1, max));
    assert!((1_000 * MS..1_100 * MS).contains(&max), "{max}");
}

#[test]
fn a_connection_closed_in_mid_response_is_an_error_and_reopened() {
    let (_, sum) = simulate(
        &load(open(100.0, 2, 100), 0, 1_000),
        |index, _, _| match index {
            10 | 20 => Reaction::Close(2 * MS),
            _ => Reaction::Response(MS, OK),
        },
    );
    assert_eq!(sum.counts.errors[ErrorKind::ClosedEarly as usize], 2);
    assert_eq!((sum.counts.completed, sum.counts.dropped), (98, 0));
    assert_eq!(sum.counts.connections_opened, 4);
}

#[test]
fn a_user_whose_idle_connection_is_closed_goes_on_thinking() {
    let shape = Shape::Closed(Closed {
        think: Some(Think::Constant(HumanDuration::from_millis(1_000))),
        ..Closed::new(1)
    });
    let machine = Simulated::new(|_, _, _| Reaction::ResponseAndClose(MS, OK, 500 * MS));
    let sent = Rc::clone(&machine.sent);
    let (_, sum, _) = simulate_on(&load(shape, 0, 5_000), machine);
    let times: Vec<u64> = sent.borrow().iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [10, 1_011, 2_012, 3_013, 4_014].map(|ms| ms * MS));
    assert_eq!((sum.counts.intended, sum.counts.completed), (5, 5));
}

#[test]
fn a_user_whose_connection_ends_with_the_response_thinks() {
    let shape = Shape::Closed(Closed {
        think: Some(Think::Constant(HumanDuration::from_millis(1_000))),
        requests_per_connection: Some(1),
        ..Closed::new(1)
    });
    let machine = Simulated::new(|_, _, _| Reaction::Response(MS, OK));
    let sent = Rc::clone(&machine.sent);
    simulate_on(&load(shape, 0, 5_000), machine);
    let times: Vec<u64> = sent.borrow().iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [10, 1_011, 2_012, 3_013, 4_014].map(|ms| ms * MS));
}

#[test]
fn users_that_leave_during_their_think_time_do_not_return() {
    let shape = Shape::Closed(Closed {
        think: Some(Think::Constant(HumanDuration::from_millis(1_000))),
        stages: vec![ConnectionStage {
            connections: 1,
            over: HumanDuration::from_millis(800),
        }],
        ..Closed::new(2)
    });
    let machine = Simulated::new(|_, _, _| Reaction::ResponseAndClose(MS, OK, 100 * MS));
    let sent = Rc::clone(&machine.sent);
    simulate_on(&load(shape, 0, 5_000), machine);
    let sent = sent.borrow();
    let late = sent.iter().filter(|(at, _)| *at > 900 * MS).count();
    assert!((4..=5).contains(&late), "{sent:?}");
}

#[test]
fn failed_checks_are_counted_by_check_and_by_response() {
    let (_, sum) = simulate(&load(open(100.0, 4, 100), 0, 1_000), |index, _, _| {
        match index % 4 {
            0 => Reaction::Response(MS, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"),
            1 => Reaction::Response(MS, b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"),
            _ => Reaction::Response(MS, OK),
        }
    });
    let Counts {
        checks_failed,
        responses_failing_checks,
        by_class,
        ..
    } = &sum.counts;
    assert_eq!(checks_failed, &[25, 50]);
    assert_eq!(*responses_failing_checks, 50);
    assert_eq!(by_class, &[75, 0, 0, 25, 0]);
}

#[test]
fn bytes_beyond_the_response_are_a_protocol_error() {
    let (_, sum) = simulate(
        &load(open(10.0, 4, 100), 0, 1_000),
        |index, _, _| match index {
            5 => Reaction::Response(
                MS,
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n",
            ),
            6 => Reaction::Response(MS, b"SSH-2.0-OpenSSH_9\r\n"),
            _ => Reaction::Response(MS, OK),
        },
    );
    assert_eq!(sum.counts.errors[ErrorKind::Protocol as usize], 2);
    assert_eq!(sum.counts.completed, 8);
}

#[test]
fn groups_run_concurrently_and_are_recorded_separately() {
    let path = |path: &str| Request {
        checks: vec![Check::Status(200)],
        ..Request::new("GET", path)
    };
    let mut load = load(open(100.0, 8, 10), 0, 1_000);
    load.groups = vec![
        group("good", path("/good"), open(100.0, 8, 10)),
        group("failing", path("/failing"), Shape::Closed(Closed::new(2))),
    ];
    load.groups[0].requests.push(path("/better"));
    let machine = Simulated::new(|_, _, request| match request {
        it if it.starts_with(b"GET /good") => Reaction::Response(2 * MS, OK),
        it if it.starts_with(b"GET /better") => Reaction::Response(MS, OK),
        _ => Reaction::Response(10 * MS, b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
    });
    let (_, sum, kept) = simulate_on(&load, machine);
    let [good, failing] = &kept.groups[..] else {
        panic!("{} groups", kept.groups.len())
    };
    let checked = |it: &Interval| (it.counts.completed, it.counts.responses_failing_checks);
    let found = [good, failing, &sum].map(checked);
    assert_eq!(found, [(100, 0), (200, 200), (300, 200)]);
    let (_, _, max, _) = exact(good, Metric::Response, Class::Success).unwrap();
    assert_eq!(max, 2 * MS);
    let (_, min, _, _) = exact(failing, Metric::Response, Class::ServerError).unwrap();
    assert_eq!(min, 10 * MS);
    let routes = kept.routes.iter().map(|it| (it.sent, it.response.max_ns));
    let expected = [(50, 2 * MS), (50, MS), (200, 10 * MS)];
    assert_eq!(routes.collect::<Vec<_>>(), expected);
}

#[test]
fn a_paused_machine_is_not_mistaken_for_a_silent_server() {
    let mut machine = Simulated::new(|_, _, _| Reaction::Response(5 * MS, OK));
    // The pause is longer than the timeout, and stops both the server and the worker.
    machine.pause = Some((500 * MS, 1_500 * MS));
    let (_, sum, _) = simulate_on(&load(open(100.0, 64, 1_000), 0, 4_000), machine);
    assert_eq!(sum.counts.errors, [0; ErrorKind::ALL.len()]);
    assert_eq!((sum.counts.intended, sum.counts.completed), (400, 400));
    // The pause is part of the latency of requests that were in flight or became due during it.
    let (_, _, response_max, _) = exact(&sum, Metric::Response, Class::Success).unwrap();
    assert!(response_max >= 1_500 * MS, "{response_max}");
}
