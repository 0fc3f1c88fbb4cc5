//! Tests numbers of connections over time, and think times.

use gatebench_engine::{Population, ThinkTimes};
use gatebench_model::HumanDuration;
use gatebench_model::load::{
    Closed, ConnectionStage, DrawnThink, ExponentialThink, Think, UniformThink,
};
use proptest::prelude::*;

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

/// Returns every change, with the number of connections after it.
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
            // The number stays the same between changes, so check just before each change.
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
fn think_times_follow_their_distributions() {
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
    // The tolerances are six standard errors of the mean. One such error is 5.8 ÷ √20,000 for the
    // uniform think times, and 20 ÷ √20,000 for the exponential ones.
    assert!((mean(Think::Drawn(DrawnThink::Uniform(uniform))) - 20.0).abs() < 0.25);
    let exponential = ExponentialThink { mean: span(20) };
    assert!((mean(Think::Drawn(DrawnThink::Exponential(exponential))) - 20.0).abs() < 0.85);
}
