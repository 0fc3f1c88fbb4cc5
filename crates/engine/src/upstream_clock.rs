//! Relates this process's clock to that of an upstream on another machine, with bounds from the
//! requests themselves.
//!
//! A traced request has four times. By this process's clock, it is sent at t0 and its response has
//! arrived at t3. By the upstream's clock, the upstream has the request at t1 and the response
//! leaves at t2. They bound the amount θ by which the upstream's clock is ahead. Requests and
//! responses arrive after they are sent, so t2 − t3 ≤ θ ≤ t1 − t0. The intersection of all bounds
//! in a second is no wider than the shortest round trip without the time at the upstream. Clocks
//! drift, so each second has its own bounds, which are applied only to the requests of the next
//! second.

use serde::{Deserialize, Serialize};

const SECOND_NS: u64 = 1_000_000_000;

/// The difference between the upstream's clock and this process's clock; positive if the upstream's
/// clock is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ahead {
    pub(crate) ahead_ns: i64,
    pub(crate) uncertainty_ns: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct UpstreamClock {
    began_ns: u64,
    low_ns: i64,
    high_ns: i64,
    /// The difference according to the requests of the previous second.
    before: Option<Ahead>,
    /// True if the bounds of the previous second contradicted each other.
    stepped: bool,
}

/// The accuracy of the two halves of added latency. Each half lies between a time of the load
/// generator's clock and a time of the upstream's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Halves {
    /// The number of requests whose halves are unknown because the requests of the previous second
    /// gave no consistent bounds on the difference between the clocks.
    pub unknown: u64,
    /// The maximum error of the other requests' halves, in either direction; 0 if both clocks are
    /// the same.
    pub uncertainty_ns: u64,
    /// True if one of the clocks was set, so no difference between them agrees with all requests of
    /// a second.
    pub clock_stepped: bool,
}

impl Halves {
    /// Records the accuracy of a request's halves, and returns the difference between the two
    /// clocks if it is known.
    pub(crate) fn ahead_ns(&mut self, clocks: Clocks) -> Option<i64> {
        match clocks {
            Clocks::Shared => Some(0),
            Clocks::Bounded(ahead) => {
                self.uncertainty_ns = self.uncertainty_ns.max(ahead.uncertainty_ns);
                Some(ahead.ahead_ns)
            }
            Clocks::Unknown { stepped } => {
                self.unknown += 1;
                self.clock_stepped |= stepped;
                None
            }
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.unknown += other.unknown;
        self.uncertainty_ns = self.uncertainty_ns.max(other.uncertainty_ns);
        self.clock_stepped |= other.clock_stepped;
    }
}

/// The known relation between the two clocks at one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clocks {
    Shared,
    /// The requests of the previous second bounded the difference.
    Bounded(Ahead),
    /// Nothing is known. `stepped` is true if a clock was set.
    Unknown {
        stepped: bool,
    },
}

impl UpstreamClock {
    pub(crate) fn new() -> Self {
        Self {
            began_ns: 0,
            low_ns: i64::MIN,
            high_ns: i64::MAX,
            before: None,
            stepped: false,
        }
    }

    /// Adds the four times of a request, and returns the relation between the clocks that the
    /// previous second gave.
    pub(crate) fn see(&mut self, [t0, t1, t2, t3]: [u64; 4]) -> Clocks {
        if t3.saturating_sub(self.began_ns) >= SECOND_NS {
            self.turn(t3);
        }
        self.low_ns = self.low_ns.max(t2.wrapping_sub(t3).cast_signed());
        self.high_ns = self.high_ns.min(t1.wrapping_sub(t0).cast_signed());
        match self.before {
            Some(ahead) => Clocks::Bounded(ahead),
            None => Clocks::Unknown {
                stepped: self.stepped,
            },
        }
    }

    /// Ends a second, and begins the next with the bounds that the ended one gave.
    fn turn(&mut self, now_ns: u64) {
        let has_bounds = self.low_ns > i64::MIN && self.high_ns < i64::MAX;
        self.stepped = has_bounds && self.low_ns > self.high_ns;
        self.before = (has_bounds && !self.stepped).then(|| {
            let width_ns = self.high_ns.abs_diff(self.low_ns);
            Ahead {
                ahead_ns: self.low_ns.saturating_add_unsigned(width_ns / 2),
                uncertainty_ns: width_ns.div_ceil(2),
            }
        });
        (self.began_ns, self.low_ns, self.high_ns) = (now_ns, i64::MIN, i64::MAX);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the four times of a request that spends the times `ways_ns` on the way to the
    /// upstream, at the upstream, and on the way back.
    fn request(at_ns: u64, ahead_ns: i64, ways_ns: [u64; 3]) -> [u64; 4] {
        let [there, inside, back] = ways_ns;
        let upstream = |here: u64| here.wrapping_add_signed(ahead_ns);
        let (t1, t2) = (at_ns + there, at_ns + there + inside);
        [at_ns, upstream(t1), upstream(t2), t2 + back]
    }

    #[test]
    fn the_requests_of_one_second_bound_the_clocks_in_the_next() {
        let mut clock = UpstreamClock::new();
        let unknown = Clocks::Unknown { stepped: false };
        let ahead_ns = -3_000_000_000;
        let second = SECOND_NS;
        assert_eq!(
            clock.see(request(9 * second, ahead_ns, [400, 9, 100])),
            unknown
        );
        assert_eq!(
            clock.see(request(9 * second + 1_000, ahead_ns, [200, 9, 300])),
            unknown
        );
        let Clocks::Bounded(found) = clock.see(request(10 * second, ahead_ns, [200, 9, 300]))
        else {
            panic!("no bounds");
        };
        // The shortest trip to the upstream takes 200 ns, and the shortest trip back 100 ns.
        assert_eq!((found.ahead_ns, found.uncertainty_ns), (ahead_ns + 50, 150));
    }

    #[test]
    fn a_clock_that_was_set_is_noticed() {
        let mut clock = UpstreamClock::new();
        clock.see(request(9 * SECOND_NS, 0, [10, 0, 10]));
        clock.see(request(9 * SECOND_NS + 5_000, 90_000, [10, 0, 10]));
        let after = clock.see(request(10 * SECOND_NS, 90_000, [10, 0, 10]));
        assert_eq!(after, Clocks::Unknown { stepped: true });
    }

    proptest! {
        #[test]
        fn the_true_difference_is_within_the_uncertainty(
            ahead_ns in -8_000_000_000_i64..8_000_000_000,
            ways_ns in proptest::collection::vec(prop::array::uniform3(0..3_000_000_u64), 2..40),
        ) {
            let mut clock = UpstreamClock::new();
            let begin_ns = 20 * SECOND_NS;
            for (number, ways_ns) in (0..).zip(&ways_ns) {
                clock.see(request(begin_ns + number * 1_000, ahead_ns, *ways_ns));
            }
            let last = request(begin_ns + 2 * SECOND_NS, ahead_ns, ways_ns[0]);
            let Clocks::Bounded(found) = clock.see(last) else {
                panic!("no bounds");
            };
            prop_assert!(found.ahead_ns.abs_diff(ahead_ns) <= found.uncertainty_ns);
        }
    }
}
