//! Ranks that are no finer than what the blocks can tell apart.

/// The rank of each range, 1 for the lowest, in the order given. Ranges that overlap share a rank,
/// also those that overlap only by way of a third: a rank ends where no range lies. After two that
/// share rank 1 comes rank 3.
pub fn ranks(ranges: &[(f64, f64)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..ranges.len()).collect();
    order.sort_by(|a, b| ranges[*a].0.total_cmp(&ranges[*b].0));
    let mut ranks = vec![1; ranges.len()];
    let (mut rank, mut reach) = (1, f64::NEG_INFINITY);
    for (position, index) in order.into_iter().enumerate() {
        let (low, high) = ranges[index];
        if low > reach {
            rank = position + 1;
        }
        ranks[index] = rank;
        reach = reach.max(high);
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
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
        assert_eq!(ranks(&[(1.0, 2.0), (2.0, 3.0)]), [1, 1], "they touch");
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
}
