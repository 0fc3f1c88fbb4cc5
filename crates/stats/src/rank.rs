//! Ranks no finer than the differences between their members.

/// The rank of each of `count` things, 1 for the first; `is_ahead(a, b)` reports whether `a` is
/// separated from `b` and ahead of it. Things that are not separated share a rank, directly or
/// through a third. After two with rank 1 comes rank 3.
pub fn ranks_by(count: usize, is_ahead: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    // True if a leads to b by steps in which none is behind the next.
    let mut leads: Vec<Vec<bool>> = (0..count)
        .map(|a| (0..count).map(|b| !is_ahead(b, a)).collect())
        .collect();
    for middle in 0..count {
        let onward = leads[middle].clone();
        for row in leads.iter_mut().filter(|row| row[middle]) {
            row.iter_mut()
                .zip(&onward)
                .for_each(|(to, more)| *to |= more);
        }
    }
    let before = |a: usize, b: usize| leads[a][b] && !leads[b][a];
    (0..count)
        .map(|own| 1 + (0..count).filter(|other| before(*other, own)).count())
        .collect()
}

/// The rank of each range, 1 for the lowest: ranges that overlap share one.
pub fn ranks(ranges: &[(f64, f64)]) -> Vec<usize> {
    ranks_by(ranges.len(), |a, b| ranges[a].1 < ranges[b].0)
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

    #[test]
    fn what_leads_in_a_circle_shares_a_rank() {
        let beats = [(0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3)];
        assert_eq!(ranks_by(4, |a, b| beats.contains(&(a, b))), [1, 1, 1, 4]);
        assert_eq!(ranks_by(3, |_, _| false), [1, 1, 1]);
        assert_eq!(
            ranks_by(3, |a, b| (a, b) == (2, 0)),
            [1, 1, 1],
            "by way of the second"
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
}
