//! The times at which the requests of an open load are due, computed without reading a clock.
//!
//! The rate is piecewise linear in time; the area Λ(t) under it is the expected number of arrivals
//! due by t. Evenly spread arrivals are Λ⁻¹ of the whole numbers plus a constant phase. The
//! arrivals of a Poisson process are Λ⁻¹ of the arrivals of a Poisson process with rate 1, which is
//! exact for any rate (time-rescaling: Çinlar, Introduction to Stochastic Processes, 1975, section
//! 4.7).

use std::sync::Arc;

use gatebench_model::load::{Change, Open, Spread};
use rand_distr::{Distribution, Exp1};

use crate::random::{Random, Use, generator};

/// The arrivals of an open load: a rate that is constant in the warm-up and then follows the stages
/// or the ramp, if the load has any.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// The periods in which the rate is above zero, in chronological order.
    segments: Arc<[Segment]>,
    end_ns: f64,
    spread: Spread,
    phase: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    begin_ns: f64,
    rate_per_ns: f64,
    slope_per_ns2: f64,
    /// The number of arrivals before the segment.
    before: f64,
}

impl Schedule {
    /// The warm-up has the initial rate, and stages are cut off at the end of the measurement.
    pub fn new(open: &Open, warm_up_ns: u64, measure_ns: u64) -> Self {
        let mut line = Line {
            end_ns: warm_up_ns.saturating_add(measure_ns) as f64,
            ..Line::default()
        };
        let rate = open.rate_per_second;
        line.straight(rate, rate, warm_up_ns as f64);
        let mut last = rate;
        for stage in &open.stages {
            let from = match stage.how {
                Change::Linear => last,
                Change::Step => stage.rate_per_second,
            };
            last = stage.rate_per_second;
            line.straight(from, last, stage.over.as_nanos() as f64);
        }
        line.straight(last, open.ramp_to_per_second.unwrap_or(last), f64::INFINITY);
        Self {
            end_ns: line.last_ns,
            segments: line.segments.into(),
            spread: open.arrivals,
            phase: 0.0,
        }
    }

    /// Delays evenly spread arrivals by a fraction of a gap (from 0 to below 1), so that those of
    /// several groups do not coincide.
    pub fn with_phase(self, phase: f64) -> Self {
        Self { phase, ..self }
    }

    /// Returns the arrivals of one of several workers. Evenly spread arrivals are distributed in
    /// turn, so all workers' arrivals together form the schedule. For a Poisson process, each
    /// worker has an independent process with an equal part of the rate; together they form a
    /// Poisson process with the whole rate.
    pub fn arrivals(&self, worker: usize, workers: usize, seed: u64) -> Arrivals {
        let workers = workers.max(1);
        let next = match self.spread {
            Spread::Uniform => Next::Even {
                index: worker as u64,
                step: workers as u64,
            },
            Spread::Poisson => Next::Poisson {
                random: generator(seed, Use::Arrivals, worker),
                area: 0.0,
                mean: workers as f64,
            },
        };
        Arrivals {
            schedule: self.clone(),
            next,
        }
    }

    /// Returns the time at which arrival `index` of an evenly spread schedule is due, in
    /// nanoseconds from the start, or `None` if it is not due before the end.
    pub fn due_ns(&self, index: u64) -> Option<u64> {
        self.reached_ns(index as f64 + self.phase)
    }

    /// Returns Λ⁻¹, the time by which this number of arrivals is due, or `None` if that is not
    /// before the end.
    fn reached_ns(&self, arrivals: f64) -> Option<u64> {
        let number = self
            .segments
            .partition_point(|segment| segment.before <= arrivals);
        let segment = self.segments.get(number.checked_sub(1)?)?;
        let due_ns = segment.reached_ns(arrivals);
        (due_ns < self.end_ns).then_some(due_ns.round() as u64)
    }
}

impl Segment {
    /// Returns the time at which n of the segment's arrivals are due: solves r·x + s/2·x² = n for
    /// x, in the form without cancellation for small s. If a falling rate never reaches n, the time
    /// is not before the end of the segment.
    fn reached_ns(&self, arrivals: f64) -> f64 {
        let n = arrivals - self.before;
        let r = self.rate_per_ns;
        if self.slope_per_ns2 == 0.0 {
            return self.begin_ns + n / r;
        }
        // At the end of a fall to zero, rounding may make the square of the rate negative.
        let square = r.mul_add(r, 2.0 * self.slope_per_ns2 * n).max(0.0);
        // For n = 0, x is 0 even at a rate of zero.
        let from_begin = if n > 0.0 {
            2.0 * n / (r + square.sqrt())
        } else {
            0.0
        };
        self.begin_ns + from_begin
    }
}

#[derive(Default)]
struct Line {
    segments: Vec<Segment>,
    now_ns: f64,
    area: f64,
    /// The end of the measurement.
    end_ns: f64,
    /// The last time at which the rate is above zero.
    last_ns: f64,
}

impl Line {
    /// Appends a period in which the rate changes linearly from one value to another. A change
    /// whose length is not configured (`over_ns` is infinite: the ramp over the measurement) takes
    /// exactly the remaining time. A configured change that is longer than the remaining time is
    /// cut off.
    fn straight(&mut self, from_per_second: f64, to_per_second: f64, over_ns: f64) {
        let left_ns = self.end_ns - self.now_ns;
        let whole_ns = if over_ns.is_finite() {
            over_ns
        } else {
            left_ns
        };
        let length_ns = whole_ns.min(left_ns);
        if length_ns <= 0.0 {
            return;
        }
        let rate_per_ns = from_per_second / 1e9;
        let slope_per_ns2 = (to_per_second - from_per_second) / 1e9 / whole_ns;
        let area = (slope_per_ns2 * length_ns / 2.0 + rate_per_ns) * length_ns;
        let segment = Segment {
            begin_ns: self.now_ns,
            rate_per_ns,
            slope_per_ns2,
            before: self.area,
        };
        let continues = self.last_ns == self.now_ns
            && self.segments.last().is_some_and(|last| {
                (last.rate_per_ns, last.slope_per_ns2) == (rate_per_ns, 0.0) && slope_per_ns2 == 0.0
            });
        self.now_ns += length_ns;
        if area > 0.0 {
            self.area += area;
            self.last_ns = self.now_ns;
            if !continues {
                self.segments.push(segment);
            }
        }
    }
}

/// The arrivals of one worker, in order.
#[derive(Clone, Debug)]
pub struct Arrivals {
    schedule: Schedule,
    next: Next,
}

#[derive(Clone, Debug)]
enum Next {
    Even {
        index: u64,
        step: u64,
    },
    Poisson {
        random: Random,
        area: f64,
        mean: f64,
    },
}

impl Arrivals {
    /// Continues with another schedule, which must be the same up to now. Returns the last arrival
    /// again, at its time in the new schedule, because it may lie after the point where the two
    /// schedules begin to differ. Returns `None` if it is not due before the end.
    pub fn go_on_by(&mut self, schedule: Schedule) -> Option<u64> {
        self.schedule = schedule;
        match &self.next {
            Next::Even { index, step } => self.schedule.due_ns(index.saturating_sub(*step)),
            Next::Poisson { area, .. } => self.schedule.reached_ns(*area),
        }
    }

    /// Returns the time of the next arrival in nanoseconds from the start, or `None` after the last
    /// arrival. The times never decrease.
    pub fn next_due_ns(&mut self) -> Option<u64> {
        match &mut self.next {
            Next::Even { index, step } => {
                let due_ns = self.schedule.due_ns(*index);
                *index += *step;
                due_ns
            }
            Next::Poisson { random, area, mean } => {
                let gap: f64 = Exp1.sample(random);
                *area += gap * *mean;
                self.schedule.reached_ns(*area)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_to_zero_reaches_its_last_arrival_despite_rounding() {
        let segment = Segment {
            begin_ns: 0.0,
            rate_per_ns: 5e-6,
            slope_per_ns2: -2e-16,
            before: 0.0,
        };
        // The area is 62,500, so the square of the rate is slightly below zero.
        assert_eq!(segment.reached_ns(62_500.000_001).round(), 25e9);
    }
}
