//! Compares versions as gateways print them: numbers separated by dots, optionally after a `v` and
//! before a vendor's suffix.

use std::cmp::Ordering;

/// Reports whether a version is at least `min` and below `below`, if these are given. A suffix
/// after the numbers is ignored, such as `-1+deb12u4` in `2.6.12-1+deb12u4`.
pub(super) fn is_between(version: &str, min: &Option<String>, below: &Option<String>) -> bool {
    let at_least = |bound: &String| at_least(version, bound);
    min.as_ref().is_none_or(at_least) && !below.as_ref().is_some_and(at_least)
}

pub(in crate::gateway) fn at_least(version: &str, bound: &str) -> bool {
    compare(version, bound) != Ordering::Less
}

/// Reports whether a version begins with these numbers: `1.22.1` begins with `1.22`, but `1.221`
/// does not.
pub(super) fn begins_with(version: &str, beginning: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('v').to_owned();
    let (version, beginning) = (plain(version), plain(beginning));
    let rest = version.strip_prefix(&beginning);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
}

pub(super) fn range(min: &Option<String>, below: &Option<String>) -> String {
    let min = min.as_ref().map(|min| format!("at least {min}"));
    let below = below.as_ref().map(|below| format!("below {below}"));
    let bounds: Vec<String> = min.into_iter().chain(below).collect();
    bounds.join(" and ")
}

fn compare(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (numbers(left), numbers(right));
    let longer = left.len().max(right.len());
    left.resize(longer, 0);
    right.resize(longer, 0);
    left.cmp(&right)
}

fn numbers(version: &str) -> Vec<u64> {
    let plain = version.trim_start_matches('v');
    let mut numbers = plain.split(|c: char| !c.is_ascii_digit() && c != '.');
    let parts = numbers.next().unwrap_or_default().split('.');
    parts.map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(compare("2.10", "2.9"), Ordering::Greater);
        assert_eq!(compare("3", "3.0.0"), Ordering::Equal);
        assert_eq!(compare("v3.7.15", "3.8"), Ordering::Less);
        assert_eq!(compare("2.6.12-1+deb12u4", "2.6.12"), Ordering::Equal);
    }

    #[test]
    fn a_version_is_found_by_its_beginning() {
        assert!(begins_with("1.22.1", "1.22") && begins_with("v3.7", "3.7"));
        assert!(begins_with("2.6.12-1+deb12u4", "2.6.12"));
        assert!(!begins_with("1.221", "1.22") && !begins_with("1.2", "1.22"));
    }

    #[test]
    fn a_range_includes_its_minimum_but_not_its_upper_bound() {
        let (min, below) = (Some("3.0".to_owned()), Some("4".to_owned()));
        assert!(is_between("3.0", &min, &below) && is_between("3.99.1", &min, &below));
        assert!(!is_between("2.11.2", &min, &below) && !is_between("4.0.0", &min, &below));
        assert!(is_between("anything", &None, &None));
        assert_eq!(range(&min, &below), "at least 3.0 and below 4");
    }
}
