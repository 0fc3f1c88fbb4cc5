//! Helpers shared by several test suites of the engine.

use std::time::Duration;

use gatebench_engine::{Group, Load, Target};
use gatebench_model::{Order, Request, Shape};
use gatebench_net::{Backend, choose};

/// Returns a load without a warm-up, whose only group sends only this request.
pub fn load(target: Target, request: Request, shape: Shape, measure: Duration) -> Load {
    let group = Group {
        name: "all".into(),
        target,
        requests: vec![request],
        order: Order::default(),
        shape,
        timeout: Duration::from_secs(5),
    };
    Load {
        groups: vec![group],
        data: Default::default(),
        warm_up: Duration::ZERO,
        measure,
        drain: Duration::from_secs(5),
        cores: Vec::new(),
        backend: None,
        trace_tag: None,
        shares_clock: true,
        part: None,
        spin: false,
        seed: 1,
    }
}

/// Returns epoll and, if this kernel allows it, io_uring. Panics if the kernel refuses io_uring
/// although `GATEBENCH_REQUIRE_URING=1` is set.
pub fn backends() -> Vec<Backend> {
    if choose(None) == Backend::Uring {
        return vec![Backend::Uring, Backend::Epoll];
    }
    assert!(
        std::env::var_os("GATEBENCH_REQUIRE_URING").is_none_or(|it| it != "1"),
        "this kernel refuses io_uring, which GATEBENCH_REQUIRE_URING=1 demands"
    );
    eprintln!("SKIPPED on io_uring, which this kernel refuses");
    vec![Backend::Epoll]
}
