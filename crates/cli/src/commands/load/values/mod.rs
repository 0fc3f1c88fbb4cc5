//! Parsers for command-line values.

pub mod check;
pub mod data;
pub mod header;
pub mod resolve;
pub mod stage;
pub mod template;
pub mod url;

use std::ops::RangeInclusive;

use gatebench_report::format::grouped;

/// Returns a parser for whole numbers within a range.
pub fn whole<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number: u64 = text
            .parse()
            .map_err(|_| "write a whole number, for example 64".to_owned())?;
        Some(number)
            .filter(|number| range.contains(number))
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| outside(&range))
    }
}

fn outside(range: &RangeInclusive<u64>) -> String {
    let (least, most) = (*range.start() as f64, *range.end() as f64);
    match *range.end() {
        u64::MAX => format!("write at least {}", grouped(least)),
        _ => format!(
            "write at least {} and at most {}",
            grouped(least),
            grouped(most)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_shows_a_whole_number() {
        let read = whole::<u32>(1..=1_000_000);
        assert_eq!(read("64"), Ok(64));
        for wrong in ["abc", "", "1.5", "-1", "1e3"] {
            assert_eq!(
                read(wrong),
                Err("write a whole number, for example 64".into())
            );
        }
        let outside = Err("write at least 1 and at most 1,000,000".into());
        assert_eq!((read("0"), read("1000001")), (outside.clone(), outside));
        assert_eq!(
            whole::<u64>(1..=u64::MAX)("0"),
            Err("write at least 1".into())
        );
    }
}
