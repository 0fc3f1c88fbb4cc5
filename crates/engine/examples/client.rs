//! A minimal program that drives the engine. The benchmarks run it as a separate process.
//!
//! `client URL CONNECTIONS SECONDS [RATE]` prints one line of JSON. The percentiles are those of
//! the response times of responses with status 2xx. The CPU time includes recording latencies and
//! checking statuses. If `GATEBENCH_REQUESTS` is set, a closed load ends after that number of
//! requests, so instructions per request can be counted. `GATEBENCH_BACKEND` (`epoll` or
//! `io_uring`) selects the kernel interface.

use std::net::ToSocketAddrs;
use std::time::Duration;

use gatebench_engine::{Class, Control, Group, Load, Metric, Target, run};
use gatebench_model::load::{Closed, Open};
use gatebench_model::{Check, Order, Request, Shape};
use gatebench_net::Backend;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, connections, seconds, rest @ ..] = words.as_slice() else {
        return Err("usage: client http://HOST:PORT/PATH CONNECTIONS SECONDS [RATE]".into());
    };
    let load = load(url, connections.parse()?, seconds.parse()?, rest.first())?;
    let outcome = run(&load, &Control::new(1), |_, _| {})?;
    let counts = &outcome.counts;
    let response = outcome.recordings.get(&(Metric::Response, Class::Success));
    let quantile = |q| response.map(|it| it.histogram.value_at_quantile(q));
    let line = serde_json::json!({
        "backend": outcome.backend.as_str(),
        "requests": counts.completed,
        "errors": counts.errors.iter().sum::<u64>(),
        "dropped": counts.dropped,
        "failing_checks": counts.responses_failing_checks,
        "window_ns": outcome.window_ns.1 - outcome.window_ns.0,
        "worker_cpu_ns": outcome.workers.iter().map(|it| it.cpu_ns).sum::<u64>(),
        "response_p50_ns": quantile(0.5),
        "response_p99_ns": quantile(0.99),
    });
    println!("{line}");
    Ok(())
}

fn load(
    url: &str,
    connections: u32,
    seconds: f64,
    rate: Option<&String>,
) -> Result<Load, Box<dyn std::error::Error>> {
    let rest = url
        .strip_prefix("http://")
        .ok_or("the URL must begin with http://")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = host
        .to_socket_addrs()?
        .next()
        .ok_or("the host has no address")?;
    let requests = std::env::var("GATEBENCH_REQUESTS").ok();
    let shape = match rate {
        None => Shape::Closed(Closed {
            requests_max: requests.and_then(|it| it.parse().ok()),
            ..Closed::new(connections)
        }),
        Some(rate) => Shape::Open(Open {
            connections_max: connections,
            ..Open::new(rate.parse()?)
        }),
    };
    let backend = match std::env::var("GATEBENCH_BACKEND").as_deref() {
        Ok("epoll") => Some(Backend::Epoll),
        Ok("io_uring") => Some(Backend::Uring),
        _ => None,
    };
    let request = Request {
        checks: vec![Check::Status(200)],
        ..Request::new("GET", format!("/{path}"))
    };
    let group = Group {
        name: "all".into(),
        target: Target::new(address, host),
        requests: vec![request],
        order: Order::default(),
        shape,
        timeout: Duration::from_secs(10),
    };
    Ok(Load {
        groups: vec![group],
        data: Default::default(),
        warm_up: Duration::ZERO,
        measure: Duration::from_secs_f64(seconds),
        drain: Duration::from_secs(1),
        cores: Vec::new(),
        backend,
        trace_tag: None,
        shares_clock: true,
        part: None,
        spin: false,
        seed: 1,
    })
}
