//! Gateways without a verdict, because there are too few blocks: values with their ranges, in the
//! plan's order. They are not ranked: over three blocks, the ranges of two equal gateways do not
//! overlap in one pair of ten.

use gatebench_report::Unit;
use gatebench_report::format::{listed, range};
use gatebench_stats::{Estimate, MIN_BLOCKS};

/// The values in a sentence: `a 18.0 µs (17.9–18.2 over 3 blocks) and b 24.1 µs (24.0–24.3 over 3
/// blocks); a ranking needs 10 blocks.` None for a single gateway, or if there are enough blocks
/// for a verdict.
pub(crate) fn sentence(
    entries: &[(&str, &Estimate)],
    unit: Unit,
    write: impl Fn(f64) -> String,
) -> Option<String> {
    let too_few = entries.iter().all(|(_, it)| it.blocks < MIN_BLOCKS);
    (entries.len() > 1 && too_few).then_some(())?;
    let values = entries.iter().map(|(variant, estimate)| {
        let median = write(estimate.median);
        format!("{variant} {median} ({})", range(estimate, unit))
    });
    let values = listed(&values.collect::<Vec<_>>());
    Some(format!("{values}; a ranking needs {MIN_BLOCKS} blocks."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[(&str, &[f64])]) -> Option<String> {
        let estimates: Vec<_> = values
            .iter()
            .map(|(variant, blocks)| (*variant, Estimate::of_blocks(blocks).unwrap()))
            .collect();
        let entries = estimates.iter().map(|(variant, it)| (*variant, it));
        let entries: Vec<(&str, &Estimate)> = entries.collect();
        sentence(&entries, Unit::Count, |value| format!("{value}"))
    }

    #[test]
    fn values_keep_the_given_order() {
        let apart: [(&str, &[f64]); 2] = [("b", &[20.0, 21.0, 22.0]), ("a", &[9.0, 10.0, 11.0])];
        let expected =
            "b 21 (20–22 over 3 blocks) and a 10 (9–11 over 3 blocks); a ranking needs 10 blocks.";
        assert_eq!(words(&apart).unwrap(), expected);
        assert_eq!(
            words(&[("a", &[1.0]), ("b", &[2.0])]).unwrap(),
            "a 1 (1 block) and b 2 (1 block); a ranking needs 10 blocks."
        );
    }

    #[test]
    fn one_gateway_or_ten_blocks_give_no_sentence() {
        assert_eq!(words(&[("a", &[1.0, 2.0, 3.0])]), None);
        assert_eq!(words(&[("a", &[1.0; 10]), ("b", &[2.0; 10])]), None);
    }
}
