//! Computes the number of connections of a closed load over time, and draws think times.

use gatebench_model::load::{Closed, DrawnThink, Think};
use rand_distr::{Distribution, Exp1, Uniform};

use crate::random::{Random, Use, generator};

/// A worker's number of connections over time. The total number follows straight lines between the
/// stages' numbers. Worker w of W has every connection whose number modulo W is w.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Population {
    first: u32,
    legs: Vec<Leg>,
    worker: usize,
    workers: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leg {
    begin_ns: u64,
    over_ns: u64,
    from: u32,
    to: u32,
}

impl Leg {
    /// Returns the number of connections that this line has added or removed by `at_ns`.
    fn changes_until(&self, at_ns: u64) -> u64 {
        let all = u64::from(self.from.abs_diff(self.to));
        let Some(passed) = at_ns.checked_sub(self.begin_ns) else {
            return 0;
        };
        if passed >= self.over_ns {
            return all;
        }
        (u128::from(all) * u128::from(passed) / u128::from(self.over_ns)) as u64
    }

    fn after(&self, changes: u64) -> u32 {
        let changes = changes as u32;
        if self.to > self.from {
            self.from + changes
        } else {
            self.from - changes
        }
    }

    /// Returns the time of change `number`, which is counted from 1.
    fn change_ns(&self, number: u64) -> u64 {
        let all = u128::from(self.from.abs_diff(self.to));
        let from_begin = (u128::from(self.over_ns) * u128::from(number)).div_ceil(all);
        self.begin_ns.saturating_add(from_begin as u64)
    }
}

impl Population {
    /// Creates the population of worker `worker` of `workers`. The warm-up has the initial number
    /// of connections, and the stages begin with the measurement.
    pub fn new(closed: &Closed, warm_up_ns: u64, worker: usize, workers: usize) -> Self {
        let (mut begin_ns, mut from) = (warm_up_ns, closed.connections);
        let mut legs = Vec::with_capacity(closed.stages.len());
        for stage in &closed.stages {
            let over_ns = stage.over.as_nanos();
            let to = stage.connections;
            legs.push(Leg {
                begin_ns,
                over_ns,
                from,
                to,
            });
            begin_ns = begin_ns.saturating_add(over_ns);
            from = to;
        }
        Self {
            first: closed.connections,
            legs,
            worker,
            workers: workers.max(1),
        }
    }

    /// Returns the worker's number of connections at a time in nanoseconds from the start.
    pub fn connections_at(&self, at_ns: u64) -> u32 {
        let leg = self.legs.iter().rfind(|leg| leg.begin_ns <= at_ns);
        self.share(leg.map_or(self.first, |leg| leg.after(leg.changes_until(at_ns))))
    }

    /// Returns the time of the next change in the worker's number of connections after `after_ns`,
    /// or `None` if there is none.
    pub fn next_change_ns(&self, after_ns: u64) -> Option<u64> {
        let now = self.connections_at(after_ns);
        let current = self.legs.iter().rposition(|leg| leg.begin_ns <= after_ns);
        self.legs[current.unwrap_or(0)..].iter().find_map(|leg| {
            let done = leg.changes_until(after_ns);
            // One in every `workers` changes belongs to this worker.
            let last = u64::from(leg.from.abs_diff(leg.to)).min(done + self.workers as u64);
            // Changes at the same time may cancel each other out.
            (done + 1..=last)
                .map(|number| leg.change_ns(number))
                .find(|at_ns| self.connections_at(*at_ns) != now)
        })
    }

    pub fn connections_max(&self) -> u32 {
        let numbers = self.legs.iter().map(|leg| leg.to);
        self.share(numbers.fold(self.first, u32::max))
    }

    fn share(&self, all: u32) -> u32 {
        share(u64::from(all), self.worker, self.workers) as u32
    }
}

/// Returns a worker's part of a number that is divided among all workers. The remainder goes to the
/// first workers.
pub(crate) fn share(all: u64, worker: usize, workers: usize) -> u64 {
    let (worker, workers) = (worker as u64, workers as u64);
    all / workers + u64::from(worker < all % workers)
}

/// Draws think times.
#[derive(Clone, Debug)]
pub struct ThinkTimes {
    random: Random,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Constant(u64),
    Uniform(Uniform<u64>),
    Exponential(f64),
}

impl ThinkTimes {
    /// If `think` is `None`, all think times are 0.
    pub fn new(think: Option<&Think>, seed: u64, worker: usize) -> Self {
        let law = match think {
            None => Law::Constant(0),
            Some(Think::Constant(span)) => Law::Constant(span.as_nanos()),
            Some(Think::Drawn(DrawnThink::Uniform(between))) => {
                let (min, max) = (between.min.as_nanos(), between.max.as_nanos());
                // This fails only if the minimum exceeds the maximum.
                Uniform::new_inclusive(min, max).map_or(Law::Constant(min), Law::Uniform)
            }
            Some(Think::Drawn(DrawnThink::Exponential(of))) => {
                Law::Exponential(of.mean.as_nanos() as f64)
            }
        };
        Self {
            random: generator(seed, Use::Think, worker),
            law,
        }
    }

    pub fn draw_ns(&mut self) -> u64 {
        match &self.law {
            Law::Constant(nanos) => *nanos,
            Law::Uniform(between) => between.sample(&mut self.random),
            Law::Exponential(mean) => {
                let drawn: f64 = Exp1.sample(&mut self.random);
                (drawn * mean) as u64
            }
        }
    }
}
