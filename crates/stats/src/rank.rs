//! Ranks items. Two items share a rank if neither is clearly ahead of the other.

/// Returns the rank of each of `count` items, from 1. `is_ahead(a, b)` reports whether `a` is
/// clearly ahead of `b`. Two items share a rank if neither is ahead of the other. They also share a
/// rank if, in each direction, a chain of items connects them in which no item is behind the next.
/// Two items with rank 1 are followed by rank 3.
pub fn ranks_by(count: usize, is_ahead: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    // True at [a][b] if a path leads from a to b along which no item is behind the next.
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

/// Returns the rank of each range, from 1 for the lowest. Ranges that overlap, directly or through
/// other ranges, share a rank.
pub fn ranks(ranges: &[(f64, f64)]) -> Vec<usize> {
    ranks_by(ranges.len(), |a, b| ranges[a].1 < ranges[b].0)
}
