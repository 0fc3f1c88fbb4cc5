//! When the n-th request of an open load is due: arithmetic on its index, without a clock.

use gatebench_model::load::Open;

/// Arrivals at a rate that is constant in the warm-up and then constant or linear in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    rate_per_ns: f64,
    /// Change of the rate per nanosecond, in the measured part.
    slope_per_ns2: f64,
    warm_up_ns: f64,
    end_ns: f64,
}

impl Schedule {
    /// The schedule of an open load.
    pub fn new(open: &Open, warm_up_ns: u64, measure_ns: u64) -> Self {
        let rate_per_ns = open.rate_per_second / 1e9;
        let end_rate = open
            .ramp_to_per_second
            .map_or(rate_per_ns, |rate| rate / 1e9);
        let measure = measure_ns as f64;
        Self {
            rate_per_ns,
            slope_per_ns2: if measure > 0.0 {
                (end_rate - rate_per_ns) / measure
            } else {
                0.0
            },
            warm_up_ns: warm_up_ns as f64,
            end_ns: (warm_up_ns + measure_ns) as f64,
        }
    }

    /// Nanoseconds from the start until arrival `index` is due, or `None` after the end.
    ///
    /// With the rate r in the warm-up w and the slope s after it, N(t) = r·t + s·(t−w)²/2 arrivals are
    /// due until t; this is its inverse.
    pub fn due_ns(&self, index: u64) -> Option<u64> {
        let arrivals = index as f64;
        let in_warm_up = self.rate_per_ns * self.warm_up_ns;
        let due = if arrivals <= in_warm_up || self.slope_per_ns2 == 0.0 {
            arrivals / self.rate_per_ns
        } else {
            // s/2·x² + r·x − n = 0 for x = t − w, in the form that does not cancel for small s.
            let n = arrivals - in_warm_up;
            let r = self.rate_per_ns;
            let root = r.mul_add(r, 2.0 * self.slope_per_ns2 * n);
            if root < 0.0 {
                return None;
            }
            self.warm_up_ns + 2.0 * n / (r + root.sqrt())
        };
        (due < self.end_ns).then_some(due.round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(rate_per_second: f64, ramp_to_per_second: Option<f64>) -> Open {
        Open {
            ramp_to_per_second,
            ..Open::new(rate_per_second)
        }
    }

    fn count(schedule: &Schedule) -> u64 {
        (0..)
            .find(|index| schedule.due_ns(*index).is_none())
            .unwrap_or(u64::MAX)
    }

    #[test]
    fn a_constant_rate_is_listed_exactly() {
        let schedule = Schedule::new(&open(1000.0, None), 2_000_000, 3_000_000);
        let due: Vec<_> = (0..6).map(|index| schedule.due_ns(index)).collect();
        let expected = [0, 1, 2, 3, 4].map(|ms| Some(ms * 1_000_000));
        assert_eq!(due[..5], expected);
        assert_eq!(due[5], None);
    }

    #[test]
    fn a_ramp_has_the_arrivals_of_its_area() {
        // 1 s of warm-up at 100/s, then 100/s to 300/s in 10 s: 100 + 2,000.
        let schedule = Schedule::new(&open(100.0, Some(300.0)), 1_000_000_000, 10_000_000_000);
        assert_eq!(count(&schedule), 2_100);
        // Half of the time holds 100·5 + 20·25/2 = 750 of them.
        let half = schedule.due_ns(850);
        assert_eq!(half, Some(6_000_000_000));
    }

    #[test]
    fn a_falling_ramp_ends() {
        let schedule = Schedule::new(&open(200.0, Some(100.0)), 0, 2_000_000_000);
        assert_eq!(count(&schedule), 300);
    }

    #[test]
    fn arrivals_never_go_back_in_time() {
        for ramp in [None, Some(50_000.0), Some(10.0)] {
            let schedule = Schedule::new(&open(7_777.0, ramp), 123_456_789, 1_000_000_000);
            let due: Vec<_> = (0..count(&schedule))
                .filter_map(|index| schedule.due_ns(index))
                .collect();
            assert!(due.is_sorted());
        }
    }
}
