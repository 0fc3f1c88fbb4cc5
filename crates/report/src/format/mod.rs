//! Formats numbers and names in the same way for every report.

mod unit;

use std::collections::BTreeMap;
use std::fmt::Display;

use gatebench_stats::{Comparison, Difference};

pub use unit::{Unit, UnitScale, quantity, range, short, split_quantity};

/// The minus sign, which is a different character from the dash of a range.
const MINUS: &str = "−";

/// Rounds the value to a whole number and separates groups of three digits with commas.
pub fn grouped(value: f64) -> String {
    let whole = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 && whole != "0" {
        format!("{MINUS}{text}")
    } else {
        text
    }
}

/// Formats the value with three significant digits, or more if its integer part has more: `0.412`,
/// `41.2`, `2,400`. A nonzero value below 1 has three decimals.
pub fn three_figures(value: f64) -> String {
    let decimals = match round_to_three(value).abs() {
        size if size >= 100.0 || size == 0.0 => return grouped(value),
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}").replace('-', MINUS)
}

/// Joins the ends of a range: `1.10–1.38`, or `−0.100 to 0.200` if either is negative.
pub fn ends(low: &str, high: &str) -> String {
    match low.starts_with(MINUS) || high.starts_with(MINUS) {
        true => format!("{low} to {high}"),
        false => format!("{low}–{high}"),
    }
}

/// Rounds the value to three significant digits.
pub fn round_to_three(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let places = 2 - value.abs().log10().floor() as i32;
    // Dividing by a power of ten is more accurate than multiplying by its inexact inverse.
    if places >= 0 {
        let power = 10_f64.powi(places);
        (value * power).round() / power
    } else {
        let power = 10_f64.powi(-places);
        (value / power).round() * power
    }
}

/// Formats a ratio and its interval, such as `0.61×` and `0.58–0.64`. The second string is empty if
/// there is no interval.
pub fn ratio_and_interval(result: &Comparison) -> (String, String) {
    // A comparison without blocks has no ratio.
    if result.ratio.is_nan() {
        return ("–".into(), String::new());
    }
    // With two decimals, a narrow interval would look like a point.
    let is_narrow = result.interval.is_some_and(|it| it.high - it.low < 0.02);
    let places = if is_narrow { 3 } else { 2 };
    let number = |value: f64| format!("{value:.places$}");
    let interval = result.interval.iter();
    let interval = interval.map(|it| format!("{}–{}", number(it.low), number(it.high)));
    (format!("{}×", number(result.ratio)), interval.collect())
}

/// Formats a difference with its sign, such as `+1.24`, and its interval, such as `1.10–1.38`, or
/// `−0.1 to +0.2` if the interval reaches below zero. The second string is empty if there are fewer
/// than two blocks. `number` formats the values.
pub fn signed(difference: &Difference, number: impl Fn(f64) -> String) -> (String, String) {
    let sign = |value: f64| if value < 0.0 { MINUS } else { "+" };
    let with_sign = |value: f64| format!("{}{}", sign(value), number(value.abs()));
    let (low, high) = difference.span();
    let span = match difference.blocks {
        0 | 1 => String::new(),
        _ if low >= 0.0 => format!("{}–{}", number(low), number(high)),
        _ => format!("{} to {}", with_sign(low), with_sign(high)),
    };
    (with_sign(difference.effect), span)
}

/// Formats a count with its noun: `1 block`, `3 blocks`, `2 processes`.
pub fn counted(count: u64, noun: &str) -> String {
    let ending = match (count, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{ending}", grouped(count as f64))
}

/// Joins the items of a list: `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Removes duplicates and keeps the order of first occurrence.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

const COUNTS_LISTED_MAX: usize = 6;

/// Lists up to six nonzero counts, the largest first: `12 × timeout, 3 × reset`. If there are more,
/// the text ends with the number of the others: `, and 2 more`.
pub fn listed_counts(counts: &BTreeMap<String, u64>) -> String {
    let mut seen: Vec<_> = counts.iter().filter(|(_, count)| **count > 0).collect();
    seen.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let items = seen.iter().take(COUNTS_LISTED_MAX);
    let items = items.map(|(what, count)| format!("{} × {what}", grouped(**count as f64)));
    let text = Vec::from_iter(items).join(", ");
    match seen.len().saturating_sub(COUNTS_LISTED_MAX) {
        0 => text,
        more => format!("{text}, and {more} more"),
    }
}

/// Formats a share as a percentage, with more decimals if it is small.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    let decimals = match value.abs() {
        size if size >= 10.0 || size == 0.0 => 0,
        size if size >= 0.1 => 1,
        _ => 3,
    };
    format!("{value:.decimals$} %")
}

/// Formats a duration: `45 s`, `12 min`, `2.5 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => {
            let hours = s / 3_600.0;
            let decimals = if hours < 20.0 { 1 } else { 0 };
            let text = format!("{hours:.decimals$}");
            format!("{} h", text.trim_end_matches(".0"))
        }
    }
}

pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + letters.as_str()
}

/// Formats a UTC time, whose `Display` form must be RFC 3339, without fractions of a second:
/// `2026-11-21 10:07:42 UTC`.
pub fn instant(moment: &impl Display) -> String {
    let text = moment.to_string();
    let seconds = text.split(['.', 'Z']).next().unwrap_or(&text);
    format!("{} UTC", seconds.replace('T', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_lists_and_shares_are_formatted() {
        assert_eq!(counted(1, "block"), "1 block");
        assert_eq!(counted(1_200, "process"), "1,200 processes");
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
        let counts = BTreeMap::from([
            ("reset".into(), 3),
            ("timeout".into(), 12),
            ("tls".into(), 0),
        ]);
        assert_eq!(listed_counts(&counts), "12 × timeout, 3 × reset");
        let counts = (0..8)
            .map(|number| (number.to_string(), 9 - number))
            .collect();
        let words = "9 × 0, 8 × 1, 7 × 2, 6 × 3, 5 × 4, 4 × 5, and 2 more";
        assert_eq!(listed_counts(&counts), words);
        assert_eq!(percent(0.973), "97 %");
        assert_eq!(percent(0.0123), "1.2 %");
        assert_eq!(percent(0.000_012), "0.001 %");
    }
}
