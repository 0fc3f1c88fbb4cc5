//! Measures the time until a changed configuration takes effect. Each request uses a new
//! connection, because an open connection may keep the old configuration until it is closed.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gatebench_model::ParityCase;
use gatebench_net::clock;
use gatebench_testbed::{Interrupt, Wire};

use crate::http_probe::send;

const ASK_EVERY: Duration = Duration::from_millis(10);

pub(crate) struct Propagation {
    began_ns: u64,
    /// Raised to stop the requests, even while one waits for its response.
    enough: Arc<Interrupt>,
    asking: JoinHandle<Option<u64>>,
}

impl Propagation {
    /// Starts sending requests. `began_ns` is the start of the change on `CLOCK_MONOTONIC`.
    pub(crate) fn of(began_ns: u64, wire: Wire, case: &ParityCase) -> Self {
        let enough = Arc::new(Interrupt::new());
        let (request, until) = (case.request.clone(), Arc::clone(&enough));
        let asking = thread::spawn(move || {
            while !until.is_raised() {
                let response = send(&wire, &request, None, &until);
                if response.is_ok_and(|it| it.failed_checks(&request.checks).is_empty()) {
                    return Some(clock::now_ns());
                }
                thread::sleep(ASK_EVERY);
            }
            None
        });
        Self {
            began_ns,
            enough,
            asking,
        }
    }

    /// Waits for a correct response, but not longer than the timeout, and then stops the requests.
    pub(crate) fn within(self, timeout: Duration) {
        let until = Instant::now() + timeout;
        while !self.asking.is_finished() && Instant::now() < until {
            thread::sleep(ASK_EVERY);
        }
        self.end();
    }

    /// Stops the requests. Returns the time from the change to the first correct response, in
    /// nanoseconds; `None` if there was none.
    pub(crate) fn end(self) -> Option<u64> {
        self.enough.raise();
        let at_ns = self.asking.join().ok().flatten()?;
        Some(at_ns.saturating_sub(self.began_ns))
    }
}
