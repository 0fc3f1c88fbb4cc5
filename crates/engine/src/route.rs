//! What one route, which is one request of one group, came to.

use crate::kind::{Class, ErrorKind};
use crate::recording::Recording;

/// Figures of one route over the whole measurement. With its histogram it takes about 12 KiB, so that
/// a thousand routes cost a worker 12 MiB.
#[derive(Clone, Debug)]
pub struct RouteRecord {
    /// Requests sent.
    pub sent: u64,
    /// Of these, answered.
    pub completed: u64,
    /// Answers by [`Class`].
    pub by_class: [u64; Class::ALL.len()],
    /// Requests without an answer, by [`ErrorKind`].
    pub errors: [u64; ErrorKind::ALL.len()],
    /// Answers of which at least one check failed.
    pub answers_failing_checks: u64,
    /// Response times of all that were sent, at 2 significant digits.
    pub response: Recording<u32>,
}

impl RouteRecord {
    pub(crate) fn new() -> Self {
        Self {
            sent: 0,
            completed: 0,
            by_class: Default::default(),
            errors: Default::default(),
            answers_failing_checks: 0,
            response: Recording::of_route(),
        }
    }

    /// Adds what another worker recorded.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.completed += other.completed;
        for (to, from) in self.by_class.iter_mut().zip(other.by_class) {
            *to += from;
        }
        for (to, from) in self.errors.iter_mut().zip(other.errors) {
            *to += from;
        }
        self.answers_failing_checks += other.answers_failing_checks;
        self.response.add(&other.response);
    }
}
