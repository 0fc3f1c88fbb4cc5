use gatebench_stats::rank::{ranks, ranks_by};
use proptest::prelude::*;

#[test]
fn ranges_apart_are_ranked_from_the_lowest() {
    assert_eq!(ranks(&[(5.0, 6.0), (1.0, 2.0), (3.0, 4.0)]), [3, 1, 2]);
    assert_eq!(ranks(&[]), Vec::<usize>::new());
}

#[test]
fn ranges_that_overlap_share_a_rank() {
    let apart_but_for_the_second = [(1.0, 3.0), (2.0, 6.0), (5.0, 7.0), (8.0, 9.0)];
    assert_eq!(ranks(&apart_but_for_the_second), [1, 1, 1, 4]);
    assert_eq!(ranks(&[(1.0, 2.0), (2.0, 3.0)]), [1, 1], "the ranges touch");
}

#[test]
fn cyclic_orders_share_a_rank() {
    let beats = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)];
    assert_eq!(ranks_by(4, |a, b| beats.contains(&(a, b))), [1, 1, 1, 4]);
    assert_eq!(ranks_by(3, |_, _| false), [1, 1, 1]);
    assert_eq!(
        ranks_by(3, |a, b| (a, b) == (2, 0)),
        [1, 1, 1],
        "the first and the third share a rank by way of the second"
    );
}

proptest! {
    #[test]
    fn no_two_that_overlap_differ_in_rank(
        ranges in prop::collection::vec((0.0_f64..100.0, 0.0_f64..20.0), 0..12),
    ) {
        let ranges: Vec<_> = ranges.into_iter().map(|(low, wide)| (low, low + wide)).collect();
        let ranks = ranks(&ranges);
        for (a, first) in ranges.iter().enumerate() {
            for (b, second) in ranges.iter().enumerate() {
                let overlap = first.0 <= second.1 && second.0 <= first.1;
                prop_assert!(!overlap || ranks[a] == ranks[b]);
                prop_assert!(ranks[a] >= ranks[b] || first.0 < second.0);
            }
        }
    }
}
