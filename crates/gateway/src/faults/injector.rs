//! The faults of a gateway and its workers: extra work for each response, a memory leak, errors in
//! response to requests that did not cause them, and wrong metrics. They are used to test the
//! checks that must detect a gateway with such faults.

use std::str::FromStr;

use gatebench_net::timers::Timers;

use super::handicap::{Burden, Handicap};
use super::hold::SPIN_NS;
use crate::client_ref::ClientRef;

/// The faults of every worker; none by default. They do not include known delays, which are
/// settings of routes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    pub handicap: Option<Handicap>,
    pub leak: Option<Leak>,
    /// The share of errors (0.01 is 1 %) after which the worker's next request gets an error too.
    pub stray_errors: Option<f64>,
    /// The share of responses that the metrics do not count.
    pub uncounted: Option<f64>,
    /// True if the metrics also count each retry.
    pub counts_retries: bool,
    /// True if the metrics do not count requests that clients abandon.
    pub forgets_abandoned: bool,
}

/// A leak of a known size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leak {
    /// The size of each leaked piece in bytes.
    pub bytes: usize,
    /// The number of a worker's responses per leaked piece; at least 1.
    pub responses: u64,
}

/// The error for text that is not a [`Leak`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not a leak: write SIZE/RESPONSES (each worker leaks SIZE after every RESPONSES responses), for example 1KiB/1000"
)]
pub struct NotLeak;

impl FromStr for Leak {
    type Err = NotLeak;

    fn from_str(word: &str) -> Result<Self, NotLeak> {
        let parsed = word.split_once('/').and_then(|(bytes, responses)| {
            let (number, unit) = match bytes.strip_suffix("KiB") {
                Some(number) => (number, 1024),
                None => (bytes.strip_suffix('B')?, 1),
            };
            let bytes = number.parse::<usize>().ok()?.checked_mul(unit)?;
            let responses = responses.parse().ok().filter(|count| *count > 0)?;
            Some(Self { bytes, responses })
        });
        parsed.ok_or(NotLeak)
    }
}

/// Injects the faults of one worker.
#[derive(Debug, Default)]
pub(crate) struct Injector {
    faults: Faults,
    burden: Option<Burden>,
    responses: u64,
    /// The number of stray errors, including fractions, that are still due.
    owed: f64,
    /// The number of responses, including fractions, that are still to be left out of the metrics.
    uncounted: f64,
    /// The holds of connections and streams, ordered by end time.
    pub(super) holds: Timers<ClientRef>,
}

impl Injector {
    pub(crate) fn new(faults: Faults) -> Self {
        Self {
            faults,
            burden: faults.handicap.map(Burden::new),
            ..Self::default()
        }
    }

    /// Does the extra work for a response with this status, leaks memory if it is due, and records
    /// the stray errors that the response causes.
    pub(crate) fn responded(&mut self, status: u16) {
        if let Some(burden) = &mut self.burden {
            burden.bear();
        }
        if let Some(leak) = self.faults.leak {
            self.responses += 1;
            if self.responses.is_multiple_of(leak.responses.max(1)) {
                // The memory is filled with ones so that it becomes resident.
                Box::leak(vec![1_u8; leak.bytes].into_boxed_slice());
            }
        }
        if let Some(share) = self.faults.stray_errors
            && status >= 400
        {
            self.owed += share;
        }
    }

    /// Reports whether the request that has just arrived gets a stray error. If it does, also
    /// subtracts the share that [`Self::responded`] is going to add for this error. Without the
    /// subtraction, stray errors would cause further stray errors.
    pub(crate) fn strays(&mut self) -> bool {
        let is_owed = self.owed >= 1.0;
        if is_owed {
            self.owed -= 1.0 + self.faults.stray_errors.unwrap_or(0.0);
        }
        is_owed
    }

    /// Reports whether the metrics count the response that has just ended.
    pub(crate) fn counts(&mut self) -> bool {
        let Some(share) = self.faults.uncounted else {
            return true;
        };
        self.uncounted += share;
        let is_left_out = self.uncounted >= 1.0;
        if is_left_out {
            self.uncounted -= 1.0;
        }
        !is_left_out
    }

    pub(crate) fn counts_abandoned(&self) -> bool {
        !self.faults.forgets_abandoned
    }

    pub(crate) fn counts_retries(&self) -> bool {
        self.faults.counts_retries
    }

    pub(crate) fn pop_due(&mut self, now_ns: u64) -> Option<ClientRef> {
        self.holds.pop_due(now_ns)
    }

    /// Returns the time until which the event loop may sleep: shortly before the next hold ends.
    pub(crate) fn sleep_until_ns(&self) -> Option<u64> {
        Some(self.holds.next_ns()?.saturating_sub(SPIN_NS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_stray_errors(share: f64) -> Injector {
        Injector::new(Faults {
            stray_errors: Some(share),
            ..Faults::default()
        })
    }

    #[test]
    fn a_share_of_the_errors_is_repeated() {
        let mut faulty = with_stray_errors(0.25);
        let mut shown = 0;
        for _ in 0..400 {
            // Good and failing requests alternate; a stray response is an error too.
            for status in [200, 500] {
                let strays = faulty.strays();
                shown += u32::from(strays);
                faulty.responded(if strays { 500 } else { status });
            }
        }
        assert!((99..=134).contains(&shown), "{shown}");
        let mut sound = Injector::default();
        sound.responded(500);
        assert!(!sound.strays());
    }

    #[test]
    fn a_share_of_the_responses_is_not_counted() {
        let mut faulty = Injector::new(Faults {
            uncounted: Some(0.01),
            ..Faults::default()
        });
        let counted = (0..1_000).filter(|_| faulty.counts()).count();
        assert!((989..=991).contains(&counted), "{counted}");
        assert!((0..1_000).all(|_| Injector::default().counts()));
    }

    #[test]
    fn without_errors_no_response_is_a_stray_error() {
        let mut faulty = with_stray_errors(1.0);
        (0..100).for_each(|_| faulty.responded(200));
        assert!(!faulty.strays());
    }
}
