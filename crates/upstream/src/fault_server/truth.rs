//! The result that an open load must yield, which is computed before anything is sent.
//!
//! An arrival that is due at a known time and never waits for a connection gets its response at the
//! time that the case sets. Its response time is therefore a pure function of its number. A load
//! generator that sends the same load must report the same times, except for the time in transit.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Case, Service};

/// Uniform arrivals. The n-th arrival, counted from 0, is due n ÷ rate after the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    pub rate_per_second: f64,
    pub count: u64,
}

impl Arrivals {
    pub fn of(rate_per_second: f64, seconds: f64) -> Self {
        Self {
            rate_per_second,
            count: (rate_per_second * seconds).ceil() as u64,
        }
    }

    /// Returns the time at which an arrival is due, in nanoseconds after the epoch.
    pub fn due_ns(&self, index: u64) -> u64 {
        (index as f64 * 1e9 / self.rate_per_second).round() as u64
    }
}

/// The response times of a load, and how its requests end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// The times from when each request is due to the last byte of its response, or to the reset,
    /// in ascending order.
    pub response_ns: Vec<u64>,
    /// The number of complete responses.
    pub answered: u64,
    /// The number of responses that a reset cuts off.
    pub reset: u64,
    /// The total size of the bodies of complete responses, in bytes.
    pub body_bytes: u64,
}

/// Returns the result of this load at an upstream that serves this case, if no arrival has to wait
/// for a connection.
pub fn truth(case: &Case, arrivals: &Arrivals) -> Truth {
    Truth::of(arrivals, |index, due_ns| {
        let service = case.service(index, due_ns);
        (service, service.ends_ns())
    })
}

/// Like [`fn@truth`], but over a number of connections (at least 1), each of which carries one
/// request at a time. Arrivals that find no free connection wait, in order, for the first one that
/// becomes free.
pub fn truth_through(connections: usize, case: &Case, arrivals: &Arrivals) -> Truth {
    let mut free_ns: BinaryHeap<Reverse<u64>> = (0..connections).map(|_| Reverse(0)).collect();
    Truth::of(arrivals, |index, due_ns| {
        let Reverse(free) = free_ns.pop().unwrap_or_default();
        let sent_ns = due_ns.max(free);
        let service = case.service(index, sent_ns);
        let ended_ns = sent_ns + service.ends_ns();
        free_ns.push(Reverse(ended_ns));
        (service, ended_ns - due_ns)
    })
}

impl Truth {
    /// `serve` is called for the arrivals in order, with the index and the due time, and returns
    /// the service and the response time.
    fn of(arrivals: &Arrivals, mut serve: impl FnMut(u64, u64) -> (Service, u64)) -> Self {
        let mut truth = Self {
            response_ns: Vec::with_capacity(arrivals.count as usize),
            answered: 0,
            reset: 0,
            body_bytes: 0,
        };
        for index in 0..arrivals.count {
            let (service, response_ns) = serve(index, arrivals.due_ns(index));
            truth.response_ns.push(response_ns);
            if service.is_reset {
                truth.reset += 1;
            } else {
                truth.answered += 1;
                truth.body_bytes += service.body_bytes;
            }
        }
        truth.response_ns.sort_unstable();
        truth
    }

    /// Returns the smallest response time, in nanoseconds, that at least the share `q` (0 to 1) of
    /// the requests do not exceed: the ⌈q·n⌉-th of n times. Returns 0 for an empty load.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        let count = self.response_ns.len();
        // If q·n barely exceeds a whole number, the excess is a rounding error.
        let rank = (q * count as f64 - 1e-6).ceil().max(1.0) as usize;
        let at = rank.min(count).saturating_sub(1);
        self.response_ns.get(at).copied().unwrap_or(0)
    }
}
