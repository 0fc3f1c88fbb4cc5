//! How many connections a closed load has at a time, and how long they think.

use gatebench_model::load::{Closed, DrawnThink, Think};
use rand_distr::{Distribution, Exp1, Uniform};

use crate::random::{Random, Use, generator};

/// The connections of one worker over time: a line through the numbers of the stages, of which worker
/// w of W has every connection whose number leaves w when divided by W.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Population {
    first: u32,
    legs: Vec<Leg>,
    worker: u32,
    workers: u32,
}

/// The way from one number to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leg {
    begin_ns: u64,
    over_ns: u64,
    from: u32,
    to: u32,
}

impl Leg {
    /// Connections that came or went until `at_ns`.
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

    /// When the n-th connection comes or goes, n being at least 1.
    fn change_ns(&self, number: u64) -> u64 {
        let all = u128::from(self.from.abs_diff(self.to));
        let from_begin = (u128::from(self.over_ns) * u128::from(number)).div_ceil(all);
        self.begin_ns.saturating_add(from_begin as u64)
    }
}

impl Population {
    /// The connections of worker `worker` of `workers`. The warm-up has the first number; the stages
    /// begin with the measurement.
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
            worker: worker as u32,
            workers: workers.max(1) as u32,
        }
    }

    /// The worker's connections at a time, in nanoseconds from the start.
    pub fn connections_at(&self, at_ns: u64) -> u32 {
        let leg = self.legs.iter().rfind(|leg| leg.begin_ns <= at_ns);
        self.share(leg.map_or(self.first, |leg| leg.after(leg.changes_until(at_ns))))
    }

    /// When the number changes next after a time.
    pub fn next_change_ns(&self, after_ns: u64) -> Option<u64> {
        let now = self.connections_at(after_ns);
        let current = self.legs.iter().rposition(|leg| leg.begin_ns <= after_ns);
        self.legs[current.unwrap_or(0)..].iter().find_map(|leg| {
            let done = leg.changes_until(after_ns);
            // Of as many changes as there are workers, one is this worker's.
            let last = u64::from(leg.from.abs_diff(leg.to)).min(done + u64::from(self.workers));
            // Changes at one time may undo each other.
            (done + 1..=last)
                .map(|number| leg.change_ns(number))
                .find(|at_ns| self.connections_at(*at_ns) != now)
        })
    }

    /// The most connections that the worker ever has.
    pub fn connections_max(&self) -> u32 {
        let most = self
            .legs
            .iter()
            .map(|leg| leg.to)
            .fold(self.first, u32::max);
        self.share(most)
    }

    fn share(&self, all: u32) -> u32 {
        all / self.workers + u32::from(self.worker < all % self.workers)
    }
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
    /// The think times of one worker; without `think` they are 0.
    pub fn new(think: Option<&Think>, seed: u64, worker: usize) -> Self {
        let law = match think {
            None => Law::Constant(0),
            Some(Think::Constant(span)) => Law::Constant(span.as_nanos()),
            Some(Think::Drawn(DrawnThink::Uniform(between))) => {
                let (min, max) = (between.min.as_nanos(), between.max.as_nanos());
                // Only a minimum above the maximum is refused, which files cannot have.
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

    /// The next think time in nanoseconds.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gatebench_model::HumanDuration;
    use gatebench_model::load::{ConnectionStage, ExponentialThink, UniformThink};
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    fn closed(first: u32, stages: &[(u32, u64)]) -> Closed {
        let stage = |(connections, ms): &(u32, u64)| ConnectionStage {
            connections: *connections,
            over: HumanDuration::from_millis(*ms),
        };
        Closed {
            stages: stages.iter().map(stage).collect(),
            ..Closed::new(first)
        }
    }

    /// Every change and the number after it.
    fn changes(population: &Population) -> Vec<(u64, u32)> {
        let mut at = 0;
        std::iter::from_fn(|| {
            at = population.next_change_ns(at)?;
            Some((at, population.connections_at(at)))
        })
        .collect()
    }

    #[test]
    fn stages_are_lines_that_begin_after_the_warm_up() {
        let population = Population::new(&closed(1, &[(3, 100), (3, 50), (0, 30)]), 10 * MS, 0, 1);
        assert_eq!(population.connections_at(59 * MS), 1);
        let expected = [(60, 2), (110, 3), (170, 2), (180, 1), (190, 0)];
        assert_eq!(changes(&population), expected.map(|(ms, n)| (ms * MS, n)));
        assert_eq!(population.connections_max(), 3);
    }

    #[test]
    fn a_stage_without_length_is_a_step() {
        let population = Population::new(&closed(5, &[(9, 0), (9, 10), (2, 0)]), 10 * MS, 0, 1);
        assert_eq!(changes(&population), [(10 * MS, 9), (20 * MS, 2)]);
    }

    #[test]
    fn a_constant_number_never_changes() {
        let population = Population::new(&Closed::new(7), 10, 1, 2);
        assert_eq!(
            (population.connections_at(0), population.next_change_ns(0)),
            (3, None)
        );
    }

    proptest! {
        #[test]
        fn workers_share_every_number_and_miss_no_change(
            first in 1..40_u32,
            stages in prop::collection::vec((0..40_u32, 0..50_u64), 0..5),
            workers in 1..5_usize,
            times in prop::collection::vec(0..200_000_000_u64, 20),
        ) {
            let closed = closed(first, &stages);
            let whole = Population::new(&closed, 10 * MS, 0, 1);
            let parts: Vec<_> =
                (0..workers).map(|worker| Population::new(&closed, 10 * MS, worker, workers)).collect();
            for at in times {
                let sum: u32 = parts.iter().map(|part| part.connections_at(at)).sum();
                prop_assert_eq!(sum, whole.connections_at(at));
            }
            for part in &parts {
                // Between changes the number stays; this looks just before each.
                let mut at = 0;
                while let Some(next) = part.next_change_ns(at) {
                    prop_assert!(next > at);
                    prop_assert_eq!(part.connections_at(next - 1), part.connections_at(at));
                    prop_assert_ne!(part.connections_at(next), part.connections_at(at));
                    at = next;
                }
            }
        }
    }

    #[test]
    fn think_times_have_their_laws() {
        let span = HumanDuration::from_millis;
        let mean = |think: Think| {
            let mut times = ThinkTimes::new(Some(&think), 1, 0);
            (0..20_000).map(|_| times.draw_ns() as f64).sum::<f64>() / 20_000.0 / MS as f64
        };
        assert_eq!(ThinkTimes::new(None, 1, 0).draw_ns(), 0);
        assert_eq!(mean(Think::Constant(span(5))), 5.0);
        let uniform = UniformThink {
            min: span(10),
            max: span(30),
        };
        // Six standard errors: 5.8 ÷ √20,000 each.
        assert!((mean(Think::Drawn(DrawnThink::Uniform(uniform))) - 20.0).abs() < 0.25);
        let exponential = ExponentialThink { mean: span(20) };
        assert!((mean(Think::Drawn(DrawnThink::Exponential(exponential))) - 20.0).abs() < 0.85);
    }
}
