//! Generates values that replace the identifiers of a log. Each value has the kind of the replaced
//! identifiers and, unless the kind determines the length, their mean length.

use std::collections::BTreeMap;

use gatebench_model::Source;
use gatebench_model::data::{List, Pick, Rows, Uniform};

use super::identifier::Kind;

/// The number of values in a generated list. Numbers are drawn from a range instead.
const VALUES: u64 = 200;

const CHARS_MAX: usize = 200;

/// Returns sources of values of these kinds and mean lengths, by name.
pub(super) fn sources(kinds: impl IntoIterator<Item = (Kind, usize)>) -> BTreeMap<String, Source> {
    let source = |(kind, length): (Kind, usize)| (kind.name().to_owned(), source(kind, length));
    kinds.into_iter().map(source).collect()
}

fn source(kind: Kind, length: usize) -> Source {
    let length = length.clamp(1, CHARS_MAX);
    if kind == Kind::Number {
        let digits = u32::try_from(length.min(15)).unwrap_or(1);
        return Source::Uniform(Uniform {
            min: 10_i64.pow(digits - 1),
            max: 10_i64.pow(digits) - 1,
        });
    }
    let mut rows = Rows::new(0);
    for number in 0..VALUES {
        rows.push(&value(kind, length, number));
    }
    uniform(rows)
}

pub(super) fn uniform(values: Rows) -> Source {
    Source::List(List {
        columns: Vec::new(),
        values,
        pick: Pick::Uniform,
        exponent: None,
    })
}

fn value(kind: Kind, length: usize, number: u64) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
    const HEX: &[u8] = b"0123456789abcdef";
    const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut digits = Digits(number);
    match kind {
        Kind::Uuid => {
            let all = digits.text(HEX, 32);
            let (a, b, c, d) = (&all[..8], &all[8..12], &all[13..16], &all[17..20]);
            format!("{a}-{b}-4{c}-a{d}-{}", &all[20..])
        }
        Kind::Date => format!("2025-{:02}-{:02}", number % 12 + 1, number / 12 % 28 + 1),
        Kind::Hash => digits.text(HEX, length),
        Kind::Token => digits.text(BASE64, length),
        Kind::Mail => format!(
            "{}@example.com",
            digits.text(LETTERS, length.saturating_sub(12).max(3))
        ),
        Kind::Number | Kind::Text => digits.text(LETTERS, length),
    }
}

/// Generates pseudorandom digits that depend only on the seed (SplitMix64).
struct Digits(u64);

impl Digits {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn text(&mut self, alphabet: &[u8], length: usize) -> String {
        let count = alphabet.len() as u64;
        let digit = |_| char::from(alphabet[(self.next() % count) as usize]);
        (0..length).map(digit).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::identifier::kind_of;

    #[test]
    fn values_are_recognized_as_their_kind() {
        for kind in [Kind::Uuid, Kind::Date, Kind::Hash, Kind::Mail] {
            for number in 0..VALUES {
                let value = value(kind, 32, number);
                assert_eq!(kind_of(&value), Some(kind), "{value}");
            }
        }
        assert_ne!(value(Kind::Token, 20, 1), value(Kind::Token, 20, 2));
    }
}
