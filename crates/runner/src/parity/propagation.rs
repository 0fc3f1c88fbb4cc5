//! Measures how long a changed configuration takes to act. Each request uses a new connection: an
//! open connection may keep the old configuration as long as it lasts.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gatebench_model::ParityCase;
use gatebench_net::clock;

use crate::http_probe::wire::Wire;
use crate::http_probe::{exchange, render};
use crate::interrupt::Interrupt;

/// How long after an answer it is asked again.
const ASK_EVERY: Duration = Duration::from_millis(10);

/// A thread that asks until the response is right.
pub(crate) struct Propagation {
    began_ns: u64,
    /// Ends the asking, also in the middle of an answer.
    enough: Arc<Interrupt>,
    asking: JoinHandle<Option<u64>>,
}

impl Propagation {
    /// Begins to ask; a change began at `began_ns`.
    pub(crate) fn of(began_ns: u64, wire: Wire, case: &ParityCase) -> Self {
        let enough = Arc::new(Interrupt::new());
        let (request, until) = (case.request.clone(), Arc::clone(&enough));
        let bytes = render(&request, &wire.address.to_string(), None);
        let is_head = request.method == "HEAD";
        let asking = thread::spawn(move || {
            while !until.is_raised() {
                let answer = exchange(&wire, &bytes, is_head, &until);
                if answer.is_ok_and(|it| it.failed_checks(&request.checks).is_empty()) {
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

    /// Waits so long at most for a right answer.
    pub(crate) fn within(self, timeout: Duration) {
        let until = Instant::now() + timeout;
        while !self.asking.is_finished() && Instant::now() < until {
            thread::sleep(ASK_EVERY);
        }
        self.end();
    }

    /// How long after the change the answer was right for the first time; none where it never was.
    pub(crate) fn end(self) -> Option<u64> {
        self.enough.raise();
        let at_ns = self.asking.join().ok().flatten()?;
        Some(at_ns.saturating_sub(self.began_ns))
    }
}
