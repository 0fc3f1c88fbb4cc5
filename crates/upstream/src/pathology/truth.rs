//! What an open load must find, worked out before anything is sent.
//!
//! An arrival that is due at a time, and never waits for a connection, is answered when the case says.
//! So its response time is a pure function of its number: the engine that is asked for the same load has to say
//! the same, but for the way there and back.

use super::Case;

/// Uniform arrivals: the n-th is due n ÷ rate after the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Per second.
    pub rate_per_second: f64,
    /// The number of the first that counts: those before it were the warm-up.
    pub first: u64,
    /// How many count.
    pub count: u64,
}

impl Arrivals {
    /// Those of so many seconds, without a warm-up.
    pub fn of(rate_per_second: f64, seconds: f64) -> Self {
        Self {
            rate_per_second,
            first: 0,
            count: (rate_per_second * seconds).ceil() as u64,
        }
    }

    /// When an arrival is due, nanoseconds after the epoch.
    pub fn due_ns(&self, index: u64) -> u64 {
        (index as f64 * 1e9 / self.rate_per_second).round() as u64
    }
}

/// Every response time of a load, and how the requests end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// From due to told (the last byte, or the reset), in order, nanoseconds.
    pub response_ns: Vec<u64>,
    /// Answers that come whole.
    pub answered: u64,
    /// Answers broken off by a reset.
    pub reset: u64,
    /// Bytes of the bodies of whole answers.
    pub body_bytes: u64,
}

/// What a load of `arrivals` finds at an upstream that is ill in this way.
pub fn truth(case: &Case, arrivals: &Arrivals) -> Truth {
    let mut truth = Truth {
        response_ns: Vec::with_capacity(arrivals.count as usize),
        answered: 0,
        reset: 0,
        body_bytes: 0,
    };
    for index in arrivals.first..arrivals.first + arrivals.count {
        let service = case.service(index, arrivals.due_ns(index));
        truth.response_ns.push(service.ends_ns());
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

impl Truth {
    /// The least response time that at least the share `q` (0 to 1) of the requests does not exceed,
    /// nanoseconds: the ⌈q·n⌉-th of n. 0 for an empty load.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        let count = self.response_ns.len();
        // What is left of q·n beyond a whole number by rounding is not a request.
        let rank = (q * count as f64 - 1e-6).ceil().max(1.0) as usize;
        let at = rank.min(count).saturating_sub(1);
        self.response_ns.get(at).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const MS: u64 = 1_000_000;

    fn of(target: &str, rate_per_second: f64, seconds: f64) -> Truth {
        let (path, query) = target.split_once('?').unwrap();
        let case = Case::parse(path, query).unwrap();
        truth(&case, &Arrivals::of(rate_per_second, seconds))
    }

    fn quantiles_ms(truth: &Truth) -> [f64; 5] {
        [0.5, 0.9, 0.99, 0.999, 1.0].map(|q| truth.quantile_ns(q) as f64 / MS as f64)
    }

    #[test]
    fn a_stall_of_a_second_in_fourteen() {
        let truth = of("/stall?every=14s&for=1s&service=5ms", 1_000.0, 14.0);
        assert_eq!((truth.answered, truth.reset), (14_000, 0));
        // The 1,000 requests due from 6.495 s to 7.495 s wait 1,005, 1,004, ... 6 ms; all others 5 ms.
        // The 13,860th of 14,000 has 140 above it: the longest is 1,005, so it is 865.
        assert_eq!(quantiles_ms(&truth), [5.0, 5.0, 865.0, 991.0, 1_005.0]);
    }

    #[test]
    fn one_of_eight_is_slow() {
        let truth = of("/bimodal?fast=1ms&slow=20ms&slow_every=8", 1_000.0, 14.0);
        assert_eq!(quantiles_ms(&truth), [1.0, 20.0, 20.0, 20.0, 20.0]);
        let slow = truth
            .response_ns
            .iter()
            .filter(|ns| **ns == 20 * MS)
            .count();
        assert_eq!(slow, 1_750);
    }

    #[test]
    fn a_slow_start_is_a_straight_line() {
        // 10 requests at 0, 100, ... 900 ms take 11, 10, ... 2 ms, the next ten 1 ms.
        let truth = of("/slow-start?for=1s&from=11ms&to=1ms", 10.0, 2.0);
        let mut expected: Vec<u64> = (2..=11).map(|ms| ms * MS).collect();
        expected.splice(0..0, [MS; 10]);
        assert_eq!(truth.response_ns, expected);
        assert_eq!(quantiles_ms(&truth), [1.0, 9.0, 11.0, 11.0, 11.0]);
    }

    #[test]
    fn resets_and_bytes_are_counted() {
        let truth = of("/reset?every=100&service=1ms&bytes=10", 1_000.0, 1.0);
        assert_eq!((truth.answered, truth.reset), (990, 10));
        assert_eq!(truth.body_bytes, 9_900);
        let truth = of(
            "/trickle?bytes=1000&piece=100&every=2ms&service=1ms",
            200.0,
            1.0,
        );
        assert_eq!((truth.answered, truth.body_bytes), (200, 200_000));
        assert_eq!(quantiles_ms(&truth), [19.0; 5]);
    }

    #[test]
    fn exponential_service_has_its_known_quantiles() {
        let truth = of(
            "/jitter?distribution=exponential&mean=5ms&seed=3",
            1_000.0,
            100.0,
        );
        for q in [0.5, 0.9, 0.99] {
            let expected = -5e6 * f64::ln(1.0 - q);
            let found = truth.quantile_ns(q) as f64;
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "p{q}: {found} for {expected}"
            );
        }
    }

    #[test]
    fn a_warm_up_shifts_the_numbers_and_the_times() {
        let case = Case::parse("/stall", "every=10s&for=1s&at=0s&service=5ms").unwrap();
        let arrivals = Arrivals {
            first: 1_000,
            ..Arrivals::of(1_000.0, 1.0)
        };
        assert_eq!(arrivals.due_ns(1_000), 1_000 * MS);
        assert_eq!(truth(&case, &arrivals).response_ns, vec![5 * MS; 1_000]);
    }
}
