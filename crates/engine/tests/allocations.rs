//! The load generator allocates no memory for a request, so that no allocator adds to the times it
//! measures. This test is a separate program because it replaces the allocator.
#![allow(clippy::unwrap_used)]

use std::alloc::System;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use gatebench_engine::{Control, Group, Load, Protocol, Target, run};
use gatebench_model::load::Closed;
use gatebench_model::{Check, Order, Request, Shape};
use gatebench_net::{Backend, choose};
use gatebench_upstream::{Kind, UpstreamConfig, serve};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FEW: u64 = 2_000;
const MANY: u64 = 42_000;

/// Some allocations depend on the duration of a load, not on its number of requests. This bound
/// allows for them.
const DIFFERENCE_MAX: usize = 400;

/// Sends requests to an upstream in this process. Returns the number of allocations, including
/// those of the upstream.
fn allocations(address: SocketAddr, protocol: Protocol, backend: Backend, requests: u64) -> usize {
    let request = Request {
        checks: vec![Check::Status(200), Check::BodyEquals("ok".into())],
        ..Request::new("GET", "/ping")
    };
    let group = Group {
        name: "all".into(),
        target: Target {
            protocol,
            ..Target::new(address, "test")
        },
        requests: vec![request],
        order: Order::default(),
        shape: Shape::Closed(Closed {
            requests_max: Some(requests),
            ..Closed::new(8)
        }),
        timeout: Duration::from_secs(10),
    };
    let load = Load {
        groups: vec![group],
        data: Default::default(),
        warm_up: Duration::ZERO,
        measure: Duration::from_secs(60),
        drain: Duration::from_secs(10),
        cores: Vec::new(),
        backend: Some(backend),
        trace_tag: None,
        shares_clock: true,
        part: None,
        spin: false,
        seed: 1,
    };
    let before = ALLOCATOR.stats();
    let outcome = run(&load, &Control::new(1), |_, _| {}).unwrap();
    let after = ALLOCATOR.stats();
    assert_eq!(outcome.counts.completed, requests);
    after.allocations + after.reallocations - before.allocations - before.reallocations
}

fn assert_requests_allocate_nothing(protocol: Protocol, backend: Backend) {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let config = UpstreamConfig {
        kind: Kind::Ping,
        listen: "127.0.0.1:0".parse().unwrap(),
        cores: Vec::new(),
        backend: Some(backend),
        tls: None,
        streams: gatebench_upstream::STREAMS,
    };
    let stopped = Arc::clone(&stop);
    let upstream = thread::spawn(move || {
        serve(config, stopped, |address| sender.send(address).unwrap()).unwrap();
    });
    let address = receiver.recv().unwrap();
    let of = |requests| allocations(address, protocol, backend, requests);
    // The first load also fills the buffers that the upstream keeps.
    of(FEW);
    let (few, many) = (of(FEW), of(MANY));
    assert!(few > 0, "the allocator does not count");
    assert!(
        many <= few + DIFFERENCE_MAX,
        "{protocol:?} on {backend:?}: {few} allocations for {FEW} requests, {many} for {MANY}"
    );
    stop.store(true, Ordering::Relaxed);
    upstream.join().unwrap();
}

/// The cases run one after the other, because the allocator counts for the whole process.
#[test]
fn a_request_allocates_nothing() {
    let mut backends = vec![Backend::Epoll];
    if choose(None) == Backend::Uring {
        backends.push(Backend::Uring);
    } else {
        eprintln!("SKIPPED on io_uring, which this kernel refuses");
    }
    for backend in backends {
        assert_requests_allocate_nothing(Protocol::Http1, backend);
        assert_requests_allocate_nothing(Protocol::Http2 { streams: 10 }, backend);
    }
}
