//! Tests the times at which the requests of open loads are due.

use gatebench_engine::Schedule;
use gatebench_model::HumanDuration;
use gatebench_model::load::{Change, Open, RateStage, Spread};
use proptest::prelude::*;

const SECOND_NS: u64 = 1_000_000_000;

fn open(rate_per_second: f64, ramp_to_per_second: Option<f64>) -> Open {
    Open {
        ramp_to_per_second,
        ..Open::new(rate_per_second)
    }
}

fn stage(rate_per_second: f64, milliseconds: u64, how: Change) -> RateStage {
    RateStage {
        rate_per_second,
        over: HumanDuration::from_millis(milliseconds),
        how,
    }
}

fn all(schedule: &Schedule, worker: usize, workers: usize) -> Vec<u64> {
    let mut arrivals = schedule.arrivals(worker, workers, 1);
    std::iter::from_fn(|| arrivals.next_due_ns()).collect()
}

#[test]
fn a_constant_rate_is_listed_exactly() {
    let schedule = Schedule::new(&open(1000.0, None), 2_000_000, 3_000_000);
    let expected = [0, 1, 2, 3, 4].map(|ms| ms * 1_000_000);
    assert_eq!(all(&schedule, 0, 1), expected);
    assert_eq!(schedule.due_ns(5), None);
}

#[test]
fn workers_share_the_schedule() {
    let schedule = Schedule::new(&open(1000.0, Some(4000.0)), 2_000_000, 300_000_000);
    let mut dealt: Vec<u64> = (0..3)
        .flat_map(|worker| all(&schedule, worker, 3))
        .collect();
    dealt.sort_unstable();
    assert_eq!(dealt, all(&schedule, 0, 1));
}

#[test]
fn a_ramp_has_the_arrivals_of_its_area() {
    // One second of warm-up at 100/s has 100 arrivals, and the ramp from 100/s to 300/s in 10 s has
    // 2,000.
    let schedule = Schedule::new(&open(100.0, Some(300.0)), SECOND_NS, 10 * SECOND_NS);
    assert_eq!(all(&schedule, 0, 1).len(), 2_100);
    // The first half of the ramp has 100·5 + 20·25/2 = 750 arrivals.
    assert_eq!(schedule.due_ns(850), Some(6 * SECOND_NS));
}

#[test]
fn a_falling_ramp_ends() {
    let schedule = Schedule::new(&open(200.0, Some(100.0)), 0, 2 * SECOND_NS);
    assert_eq!(all(&schedule, 0, 1).len(), 300);
}

#[test]
fn a_spike_and_a_pause_are_listed_exactly() {
    let mut open = open(10.0, None);
    open.stages = vec![
        stage(10.0, 1_000, Change::Step),
        stage(20.0, 1_000, Change::Step),
        stage(0.0, 1_000, Change::Step),
        stage(10.0, 1_000, Change::Step),
    ];
    let due = all(&Schedule::new(&open, 0, 5 * SECOND_NS), 0, 1);
    let count = |from: u64, to: u64| due.iter().filter(|at| (from..to).contains(at)).count();
    let second = |n: u64| count(n * SECOND_NS, (n + 1) * SECOND_NS);
    assert_eq!((0..5).map(second).collect::<Vec<_>>(), [10, 20, 0, 10, 10]);
    assert_eq!(
        due[30],
        3 * SECOND_NS,
        "arrivals after a pause are not due before it ends"
    );
    assert_eq!(due[10..13], [1_000_000_000, 1_050_000_000, 1_100_000_000]);
}

#[test]
fn a_rate_falls_to_zero_and_rises_again() {
    let mut open = open(100.0, None);
    open.stages = vec![
        stage(0.0, 1_000, Change::Linear),
        stage(0.0, 500, Change::Linear),
        stage(100.0, 1_000, Change::Linear),
    ];
    let due = all(&Schedule::new(&open, 0, 2_500_000_000), 0, 1);
    assert_eq!(due.len(), 100);
    assert!(due[49] < SECOND_NS && due[51] > 1_500_000_000);
}

#[test]
fn rounding_at_the_end_of_a_fall_to_zero_does_not_end_the_schedule() {
    let mut open = open(5_000.0, None);
    open.stages = vec![
        stage(0.0, 25_000, Change::Linear),
        stage(5_000.0, 25_000, Change::Linear),
    ];
    // The warm-up has 5,000 arrivals, and each ramp has 62,500.
    let schedule = Schedule::new(&open, SECOND_NS, 50 * SECOND_NS);
    assert_eq!(schedule.due_ns(67_500), Some(26 * SECOND_NS));
    assert!(all(&schedule, 0, 1).len() >= 129_999);
}

#[test]
fn a_phase_moves_even_arrivals_by_a_part_of_the_gap() {
    let schedule = Schedule::new(&open(1000.0, None), 0, 3_000_000).with_phase(0.25);
    assert_eq!(all(&schedule, 0, 1), [250_000, 1_250_000, 2_250_000]);
}

/// Tests the gaps, scaled to rate 1, with Kolmogorov-Smirnov at the 0.1 % level, whose critical
/// value is 1.95 ÷ √n (Smirnov 1948).
#[test]
fn poisson_gaps_are_exponential_for_each_worker_and_for_all_together() {
    let mut open = open(20_000.0, None);
    open.arrivals = Spread::Poisson;
    let schedule = Schedule::new(&open, 0, 2 * SECOND_NS);
    let exponential = |mut due: Vec<u64>, rate_per_ns: f64| {
        due.sort_unstable();
        let mut gaps: Vec<f64> = due
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64 * rate_per_ns)
            .collect();
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = gaps.iter().enumerate().map(|(index, gap)| {
            let law = 1.0 - (-gap).exp();
            (law - index as f64 / n)
                .abs()
                .max((law - (index + 1) as f64 / n).abs())
        });
        let worst = distance.fold(0.0, f64::max);
        assert!(worst < 1.95 / n.sqrt(), "{worst} of {n}");
    };
    exponential(all(&schedule, 0, 2), 10_000.0 / 1e9);
    exponential(
        [all(&schedule, 0, 2), all(&schedule, 1, 2)].concat(),
        20_000.0 / 1e9,
    );
}

fn any_open() -> impl Strategy<Value = Open> {
    let rate = prop_oneof![Just(0.0), 1.0..5_000.0_f64];
    let how = prop_oneof![Just(Change::Linear), Just(Change::Step)];
    let stages = prop::collection::vec((rate, 1..600_u64, how), 0..6);
    (1.0..5_000.0_f64, stages).prop_map(|(rate_per_second, stages)| Open {
        stages: stages
            .into_iter()
            .map(|(rate, ms, how)| stage(rate, ms, how))
            .collect(),
        ..Open::new(rate_per_second)
    })
}

/// Computes the area under the rate as a sum of trapezoids, independently of the schedule.
fn area(open: &Open, warm_up_ms: u64, measure_ms: u64) -> f64 {
    let mut total = open.rate_per_second * warm_up_ms as f64 / 1e3;
    let (mut left_ms, mut rate) = (measure_ms, open.rate_per_second);
    for stage in &open.stages {
        let whole_ms = stage.over.as_nanos() / 1_000_000;
        let ms = whole_ms.min(left_ms);
        let begin = if stage.how == Change::Step {
            stage.rate_per_second
        } else {
            rate
        };
        let end = begin + (stage.rate_per_second - begin) * ms as f64 / whole_ms as f64;
        total += (begin + end) / 2.0 * ms as f64 / 1e3;
        left_ms -= ms;
        rate = stage.rate_per_second;
    }
    total + rate * left_ms as f64 / 1e3
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn even_arrivals_match_the_area_and_are_ordered(
        open in any_open(), warm_up_ms in 0..500_u64, measure_ms in 1..2_000_u64
    ) {
        let schedule = Schedule::new(&open, warm_up_ms * 1_000_000, measure_ms * 1_000_000);
        let due = all(&schedule, 0, 1);
        let expected = area(&open, warm_up_ms, measure_ms);
        prop_assert!((due.len() as f64 - expected).abs() <= 1.0, "{} of {expected}", due.len());
        prop_assert!(due.is_sorted());
        prop_assert!(due.last().is_none_or(|at| *at <= (warm_up_ms + measure_ms) * 1_000_000));
    }

    #[test]
    fn poisson_arrivals_approximate_the_area(
        open in any_open(), measure_ms in 1..2_000_u64, workers in 1..4_usize
    ) {
        let open = Open { arrivals: Spread::Poisson, ..open };
        let schedule = Schedule::new(&open, 0, measure_ms * 1_000_000);
        let expected = area(&open, 0, measure_ms);
        let count: usize = (0..workers).map(|worker| all(&schedule, worker, workers).len()).sum();
        // The tolerance is six standard deviations of a Poisson count, with a margin for counts too
        // small to be nearly normal.
        prop_assert!((count as f64 - expected).abs() <= 6.0 * expected.sqrt() + 12.0);
        prop_assert!(all(&schedule, 0, workers).is_sorted());
    }
}
