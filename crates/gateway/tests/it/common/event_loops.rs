//! The event loops on which tests run.

use gatebench_net::{Backend, choose};

/// epoll, and io_uring if this kernel allows it; `GATEBENCH_REQUIRE_URING=1` requires io_uring.
pub fn backends() -> Vec<Backend> {
    if choose(None) == Backend::Uring {
        return vec![Backend::Epoll, Backend::Uring];
    }
    assert!(
        std::env::var_os("GATEBENCH_REQUIRE_URING").is_none_or(|it| it != "1"),
        "this kernel refuses io_uring, which GATEBENCH_REQUIRE_URING=1 demands"
    );
    eprintln!("SKIPPED on io_uring, which this kernel refuses");
    vec![Backend::Epoll]
}
