//! The outcome of one route, which is one request of one group.

use crate::counts::add_each;
use crate::kind::{Class, ErrorKind};
use crate::recording::Recording;

/// The figures of one route over the whole measurement. A record takes about 11 KiB with its
/// histogram, so a thousand routes cost a worker 11 MiB.
#[derive(Clone, Debug)]
pub struct RouteRecord {
    /// Requests that were due in the measured window and were sent.
    pub sent: u64,
    /// Requests among `sent` that got a complete response.
    pub completed: u64,
    pub by_class: [u64; Class::ALL.len()],
    /// Requests among `sent` without a complete response, by [`ErrorKind`].
    pub errors: [u64; ErrorKind::ALL.len()],
    pub responses_failing_checks: u64,
    /// Response times of all requests in `sent` that ended, with 2 significant digits.
    pub response: Recording<u32>,
}

impl RouteRecord {
    pub(crate) fn new() -> Self {
        Self {
            sent: 0,
            completed: 0,
            by_class: Default::default(),
            errors: Default::default(),
            responses_failing_checks: 0,
            response: Recording::of_route(),
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.completed += other.completed;
        add_each(&mut self.by_class, &other.by_class);
        add_each(&mut self.errors, &other.errors);
        self.responses_failing_checks += other.responses_failing_checks;
        self.response.add(&other.response);
    }
}
