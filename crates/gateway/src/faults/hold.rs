//! Implements known delays by holding back the output of a connection or stream.

use super::Delays;
use super::injector::Injector;
use crate::client_ref::ClientRef;
use crate::config::{Route, TestDelay};

/// The duration of the last part of a hold. The worker polls during this part instead of sleeping,
/// because a sleeping thread wakes up too late for an accurate delay.
pub(super) const SPIN_NS: u64 = 150_000;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hold {
    until_ns: Option<u64>,
}

impl Hold {
    /// Holds the output back for `delay_ns` from now; 0 does nothing.
    pub(crate) fn begin(
        &mut self,
        delay_ns: u64,
        now_ns: u64,
        id: ClientRef,
        faults: &mut Injector,
    ) {
        if delay_ns > 0 {
            self.until_ns = Some(now_ns + delay_ns);
            faults.holds.schedule(now_ns + delay_ns, id);
        }
    }

    pub(crate) fn is_held(self) -> bool {
        self.until_ns.is_some()
    }

    /// Ends the hold and returns true if it is due.
    pub(crate) fn release(&mut self, now_ns: u64) -> bool {
        let is_due = self.until_ns.is_some_and(|until_ns| until_ns <= now_ns);
        if is_due {
            self.until_ns = None;
        }
        is_due
    }
}

pub(crate) type RouteDelay = Option<TestDelay>;

pub(crate) fn delay_of(route: &Route) -> RouteDelay {
    route.test_delay
}

/// Yields the delays of one worker's successive requests to a route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DelayTurns {
    delay: RouteDelay,
    turn: u32,
}

impl DelayTurns {
    pub(crate) fn new(delay: RouteDelay) -> Self {
        Self { delay, turn: 0 }
    }

    pub(crate) fn next(&mut self) -> Delays {
        let Some(delay) = self.delay else {
            return Delays::default();
        };
        self.turn = self.turn.wrapping_add(1);
        let (request_ns, response_ns) = match delay.bimodal {
            Some(other) if self.turn.is_multiple_of(other.every) => {
                (other.request_ns, other.response_ns)
            }
            _ => (delay.request_ns, delay.response_ns),
        };
        Delays {
            request_ns,
            response_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Bimodal;

    #[test]
    fn every_tenth_request_gets_the_other_delays() {
        let bimodal = Some(Bimodal {
            every: 10,
            request_ns: 3,
            response_ns: 4,
        });
        let mut turns = DelayTurns::new(Some(TestDelay {
            request_ns: 1,
            response_ns: 2,
            bimodal,
        }));
        let all: Vec<_> = (0..20).map(|_| turns.next()).collect();
        for (at, delays) in all.iter().enumerate() {
            let expected = if at % 10 == 9 { (3, 4) } else { (1, 2) };
            assert_eq!((delays.request_ns, delays.response_ns), expected, "{at}");
        }
    }
}
