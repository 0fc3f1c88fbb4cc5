//! The event loops that tests run on.

use gatebench_net::{Backend, choose};

/// Returns epoll and, if this kernel allows it, io_uring. With `GATEBENCH_REQUIRE_URING=1`, panics
/// if the kernel does not allow io_uring.
pub fn backends() -> Vec<Backend> {
    if choose(None) == Backend::Uring {
        return vec![Backend::Epoll, Backend::Uring];
    }
    assert!(
        std::env::var_os("GATEBENCH_REQUIRE_URING").is_none_or(|it| it != "1"),
        "this kernel refuses io_uring, which GATEBENCH_REQUIRE_URING=1 requires"
    );
    eprintln!("SKIPPED on io_uring, which this kernel refuses");
    vec![Backend::Epoll]
}
