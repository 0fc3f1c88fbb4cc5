//! Which gateway is ahead, said only where the blocks tell them apart.

use gatebench_stats::{Direction, Estimate};

use crate::words::{decimals, listed};

/// A gateway with what is compared.
pub(crate) struct Entry<'a> {
    pub(crate) variant: &'a str,
    pub(crate) estimate: &'a Estimate,
}

/// Blocks below which a range is a point, and nothing overlaps anything.
const BLOCKS_MIN: usize = 2;

/// `least CPU: a (18.0 µs); b takes 1.34 times as much; the range of c overlaps that of a, so the two
/// are not ranked`, without the beginning. None where there is nothing to rank.
pub(crate) fn sentence(
    mut entries: Vec<Entry>,
    direction: Direction,
    write: impl Fn(f64) -> String,
) -> Option<String> {
    entries.retain(|entry| entry.estimate.blocks >= BLOCKS_MIN);
    entries.sort_by(|a, b| {
        let order = a.estimate.median.total_cmp(&b.estimate.median);
        if direction == Direction::HigherIsBetter {
            order.reverse()
        } else {
            order
        }
    });
    let (first, rest) = entries.split_first()?;
    if rest.is_empty() || first.estimate.median <= 0.0 {
        return None;
    }
    let (close, apart): (Vec<_>, Vec<_>) = rest
        .iter()
        .partition(|entry| entry.estimate.overlaps(first.estimate));
    let mut parts = vec![format!(
        "{} ({})",
        first.variant,
        write(first.estimate.median)
    )];
    if !apart.is_empty() {
        parts.push(listed(
            &apart
                .iter()
                .map(|entry| times(entry, first))
                .collect::<Vec<_>>(),
        ));
    }
    if !close.is_empty() {
        let names: Vec<_> = close.iter().map(|entry| entry.variant.to_owned()).collect();
        let (ranges, verb) = if names.len() == 1 {
            ("range", "overlaps")
        } else {
            ("ranges", "overlap")
        };
        let first = first.variant;
        let names = listed(&names);
        parts.push(format!(
            "the {ranges} of {names} {verb} that of {first}, so they are not ranked"
        ));
    }
    Some(format!("{}.", parts.join("; ")))
}

fn times(entry: &Entry, first: &Entry) -> String {
    let ratio = decimals(entry.estimate.median / first.estimate.median, 2);
    format!("{} {ratio} times that", entry.variant)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn ranked(values: &[(&str, [f64; 3])], direction: Direction) -> Option<String> {
        let estimates: Vec<_> = values
            .iter()
            .map(|(variant, blocks)| (*variant, Estimate::of_blocks(blocks).unwrap()))
            .collect();
        let entries = estimates
            .iter()
            .map(|(variant, estimate)| Entry { variant, estimate })
            .collect();
        sentence(entries, direction, |value| format!("{value} µs"))
    }

    #[test]
    fn ranges_apart_are_told_by_their_ratio() {
        let values = [("b", [20.0, 21.0, 22.0]), ("a", [9.0, 10.0, 11.0])];
        let found = ranked(&values, Direction::LowerIsBetter);
        assert_eq!(found.unwrap(), "a (10 µs); b 2.10 times that.");
        let found = ranked(&values, Direction::HigherIsBetter);
        assert_eq!(found.unwrap(), "b (21 µs); a 0.48 times that.");
    }

    #[test]
    fn ranges_that_overlap_are_not_ranked() {
        let values = [
            ("a", [9.0, 10.0, 11.0]),
            ("b", [11.0, 12.0, 13.0]),
            ("c", [30.0, 30.0, 31.0]),
        ];
        let found = ranked(&values, Direction::LowerIsBetter);
        let expected = "a (10 µs); c 3.00 times that; the range of b overlaps that of a, so they are not ranked.";
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn one_gateway_or_one_block_is_no_ranking() {
        assert_eq!(
            ranked(&[("a", [1.0, 2.0, 3.0])], Direction::LowerIsBetter),
            None
        );
        let point = Estimate::of_blocks(&[1.0]).unwrap();
        let other = Estimate::of_blocks(&[2.0]).unwrap();
        let entries = vec![
            Entry {
                variant: "a",
                estimate: &point,
            },
            Entry {
                variant: "b",
                estimate: &other,
            },
        ];
        assert_eq!(
            sentence(entries, Direction::LowerIsBetter, |v| v.to_string()),
            None
        );
    }
}
