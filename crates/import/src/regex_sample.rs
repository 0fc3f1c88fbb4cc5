//! Finds a string that a regular expression matches, and the literal text that every match begins
//! with.

use std::iter::Peekable;
use std::ops::{Range, RangeInclusive};
use std::str::Chars;

use crate::log::Log;

const DEPTH_MAX: usize = 16;

/// The maximum number of repetitions that a quantifier may require.
const REPEAT_MAX: usize = 64;

/// The maximum size of a sample in bytes, without padding. Nested quantifiers multiply the size.
const BYTES_MAX: usize = 4096;

/// Returns a string that the expression matches, or `None` if the expression is invalid, contains
/// an unsupported construct or exceeds a limit.
pub(crate) fn sample(expression: &str) -> Option<String> {
    longer(expression, 0).map(|(text, _)| text)
}

/// Returns a string like [`sample`] whose number of characters is in the range. An expression need
/// not match the whole string.
pub(crate) fn sample_of_length(expression: &str, range: &RangeInclusive<usize>) -> Option<String> {
    let (shortest, is_final) = longer(expression, 0)?;
    let length = shortest.chars().count();
    let missing = range.start().saturating_sub(length);
    if missing == 0 || !is_final {
        let is_short = length + missing <= *range.end();
        return is_short.then(|| shortest + &"x".repeat(missing));
    }
    // A repeated group adds several characters at a time, so more characters than are missing may
    // be necessary.
    let samples = (missing..=missing + REPEAT_MAX).filter_map(|extra| longer(expression, extra));
    let mut samples = samples.map(|(text, _)| text);
    samples.find(|sample| range.contains(&sample.chars().count()))
}

/// Returns a sample in which quantifiers add up to `extra` characters to the shortest sample. The
/// flag is true if the expression may fail to match when more text follows the sample.
fn longer(expression: &str, extra: usize) -> Option<(String, bool)> {
    let mut parser = Parser {
        chars: expression.chars().peekable(),
        depth: 0,
        extra,
        is_final: false,
    };
    let text = parser.alternatives()?;
    let is_whole = parser.chars.next().is_none();
    is_whole.then_some((text, parser.is_final))
}

/// Returns a path that an expression matches, like [`sample`]. If no such path is found, adds a
/// note that the path `text` gets no request.
pub(crate) fn sample_of(
    expression: &str,
    text: &str,
    span: &Range<usize>,
    log: &mut Log<'_>,
) -> Option<String> {
    let sample = sample(expression);
    if sample.is_none() {
        let what = format!("the path {text}: no request can be generated for it");
        log.simplified(span, what);
    }
    sample
}

/// Returns the literal text that every match begins with.
pub(crate) fn literal_prefix(expression: &str) -> String {
    let mut prefix = String::new();
    let mut chars = expression
        .strip_prefix('^')
        .unwrap_or(expression)
        .chars()
        .peekable();
    while let Some(c) = chars.next() {
        let literal = match c {
            '\\' => match chars.next() {
                Some(escaped) if !escaped.is_alphanumeric() => escaped,
                _ => break,
            },
            '.' | '[' | '(' | '{' | '*' | '+' | '?' | '|' | '$' | '^' | ')' => break,
            c => c,
        };
        if matches!(chars.peek(), Some('*' | '?' | '{')) {
            break;
        }
        prefix.push(literal);
    }
    // Alternatives at the top level may begin with different literals.
    match has_alternatives(expression) {
        true => String::new(),
        false => prefix,
    }
}

/// Reports whether an expression has alternatives outside groups.
fn has_alternatives(expression: &str) -> bool {
    let (mut depth, mut in_class, mut is_escaped) = (0_usize, false, false);
    for c in expression.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

struct Parser<'e> {
    chars: Peekable<Chars<'e>>,
    depth: usize,
    /// The number of characters that quantifiers may still add.
    extra: usize,
    /// True if the sample contains an assertion that text after the sample may violate.
    is_final: bool,
}

impl Parser<'_> {
    /// Returns the sample of the first alternative.
    fn alternatives(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let first = self.sequence()?;
        let (extra, is_final) = (self.extra, self.is_final);
        while self.chars.next_if_eq(&'|').is_some() {
            self.sequence()?;
        }
        (self.extra, self.is_final) = (extra, is_final);
        self.depth -= 1;
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        while let Some(&c) = self.chars.peek() {
            if c == '|' || c == ')' {
                break;
            }
            self.chars.next();
            text += &self.repeated(c)?;
            if text.len() > BYTES_MAX {
                return None;
            }
        }
        Some(text)
    }

    /// Returns the sample of an atom with its quantifier. Additional copies of the atom supply the
    /// extra characters. Quantifiers inside the copies supply the rest, because they can add fewer
    /// characters at a time.
    fn repeated(&mut self, c: char) -> Option<String> {
        let extra = std::mem::take(&mut self.extra);
        let start = self.chars.clone();
        let shortest = self.atom(c)?;
        let (least, most) = self.quantifier()?;
        let end = self.chars.clone();
        let length = shortest.chars().count();
        let more = (extra / length.max(1)).min(most.saturating_sub(least));
        self.extra = extra - more * length;
        let mut copies = least + more;
        let mut text = String::new();
        while copies > 0 && self.extra > 0 {
            let before = self.extra;
            self.chars = start.clone();
            text += &self.atom(c)?;
            copies -= 1;
            if self.extra == before {
                break;
            }
        }
        self.chars = end;
        Some(text + &shortest.repeat(copies))
    }

    fn atom(&mut self, c: char) -> Option<String> {
        Some(match c {
            '^' => String::new(),
            '$' => self.assertion(),
            '.' => "x".into(),
            '[' => self.class()?.to_string(),
            '(' => self.group()?,
            '\\' => self.escape()?,
            '*' | '+' | '?' => return None,
            c => c.to_string(),
        })
    }

    fn escape(&mut self) -> Option<String> {
        Some(match self.chars.next()? {
            'd' => "1".into(),
            'w' | 'S' | 'D' => "x".into(),
            'A' => String::new(),
            'b' | 'z' | 'Z' => self.assertion(),
            '-' => "-".into(),
            c if !c.is_alphanumeric() => c.to_string(),
            _ => return None,
        })
    }

    /// Returns the empty text of an assertion that text after the sample may violate.
    fn assertion(&mut self) -> String {
        self.is_final = true;
        String::new()
    }

    fn group(&mut self) -> Option<String> {
        if self.chars.next_if_eq(&'?').is_some() {
            match self.chars.next()? {
                ':' | '>' => {}
                'P' => {
                    self.chars.next_if_eq(&'<')?;
                    self.rest_of_name()?;
                }
                '<' if matches!(self.chars.peek(), Some('=' | '!')) => return None,
                '<' => self.rest_of_name()?,
                'i' => drop(self.chars.next_if_eq(&':')?),
                _ => return None,
            }
        }
        let text = self.alternatives()?;
        self.chars.next_if_eq(&')')?;
        Some(text)
    }

    fn rest_of_name(&mut self) -> Option<()> {
        self.chars.find(|c| *c == '>').map(drop)
    }

    fn class(&mut self) -> Option<char> {
        let is_negated = self.chars.next_if_eq(&'^').is_some();
        let mut members = Vec::new();
        loop {
            let c = self.chars.next()?;
            match c {
                ']' if !members.is_empty() => break,
                '\\' => {
                    let sample = self.escape()?;
                    members.push(sample.chars().next()?);
                }
                // A POSIX class, such as [:alnum:].
                '[' if self.chars.peek() == Some(&':') => {
                    self.chars.find(|c| *c == ']')?;
                    members.push('x');
                }
                c => members.push(c),
            }
        }
        if !is_negated {
            return members.into_iter().find(|c| *c != '-');
        }
        let mut others = ['x', '1', '-', '_'].into_iter();
        others.find(|c| !members.contains(c))
    }

    /// Returns the minimum and the maximum number of repetitions, or `None` if the quantifier is
    /// invalid or its minimum exceeds [`REPEAT_MAX`].
    fn quantifier(&mut self) -> Option<(usize, usize)> {
        let (least, most) = match self.chars.next_if(|c| "*?+{".contains(*c)) {
            None => return Some((1, 1)),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => {
                let mut words = String::new();
                loop {
                    match self.chars.next()? {
                        '}' => break,
                        c => words.push(c),
                    }
                }
                let words = words.as_str();
                let (least, most) = words.split_once(',').unwrap_or((words, words));
                let number = |word: &str, default: usize| match word.trim() {
                    "" => Some(default),
                    word => word.parse().ok(),
                };
                (number(least, 0)?, number(most, usize::MAX)?)
            }
            Some(_) => (0, usize::MAX),
        };
        self.chars.next_if(|c| matches!(c, '?' | '+'));
        (least <= REPEAT_MAX).then_some((least, most))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sample_matches_its_expression() {
        for (expression, expected) in [
            ("^/users/\\d+$", Some("/users/1")),
            ("/json(?:/|$)", Some("/json/")),
            ("/a\\.b/[^/]+/c", Some("/a.b/x/c")),
            ("/(v1|v2)/items/?", Some("/v1/items")),
            ("/(?<id>[a-f0-9]{4})", Some("/aaaa")),
            ("/(?P<id>\\w+)/.*", Some("/x/")),
            ("\\.(jpg|png)$", Some(".jpg")),
            ("/(?=x)", None),
            ("/(unclosed", None),
            ("/[unclosed", None),
            ("*", None),
            ("(((a{64}){64}){64}){64}", None),
        ] {
            assert_eq!(sample(expression).as_deref(), expected, "{expression}");
        }
    }

    #[test]
    fn a_sample_has_the_wanted_length() {
        for (expression, range, expected) in [
            ("^[a-z0-9_]+$", 3..=9, Some("aaa")),
            ("^[A-Z]{2,4}-?\\d*$", 6..=8, Some("AAAA-1")),
            ("^(ab)+$", 5..=6, Some("ababab")),
            ("^(ab)+$", 5..=5, None),
            ("^(a|b+)c*$", 3..=3, Some("acc")),
            ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 3..=63, Some("aaa")),
            ("^([a-z]+\\.)*[a-z]+$", 3..=3, Some("a.a")),
            ("^([a-z]+\\.)*[a-z]+$", 6..=6, Some("aa.a.a")),
            ("^(\\+[0-9]+ )?[0-9]+$", 3..=3, Some("000")),
            ("^(\\+[0-9]+ )?[0-9]+$", 7..=7, Some("+0000 0")),
            ("^([a-z]+){2}$", 5..=5, Some("aaaaa")),
            ("^([a-z]+){2}$", 6..=6, Some("aaaaaa")),
            ("^(a?){3}$", 2..=2, Some("aa")),
            ("^(a?)*$", 2..=2, Some("aa")),
            ("^a{3}$", 0..=2, None),
            ("^a?$", 2..=2, None),
            ("^https?://", 12..=99, Some("http://xxxxx")),
            ("^/", 3..=3, Some("/xx")),
            ("^[a-z]", 3..=9, Some("axx")),
            ("a|b$", 2..=2, Some("ax")),
            ("a$|b", 2..=2, None),
            ("^(a$|b)", 2..=2, None),
            ("^a\\$", 3..=3, Some("a$x")),
            ("^a\\z", 2..=2, None),
            ("^a\\b", 2..=2, None),
            ("^abc", 0..=2, None),
        ] {
            let sample = sample_of_length(expression, &range);
            assert_eq!(sample.as_deref(), expected, "{expression}");
        }
    }

    #[test]
    fn a_prefix_is_literal() {
        assert_eq!(literal_prefix("^/users/\\d+"), "/users/");
        assert_eq!(literal_prefix("/json(?:/|$)"), "/json");
        assert_eq!(literal_prefix("/a\\.b?"), "/a.");
        assert_eq!(literal_prefix("/a|/b"), "");
        assert_eq!(literal_prefix("/a(b|c)[|]\\|"), "/a");
        assert_eq!(literal_prefix("/a(b)|/c"), "");
    }

    proptest! {
        #[test]
        fn no_expression_panics(text in "[\\^$\\\\()\\[\\]{}|*+?.<>:,a-c1/-]{0,30}") {
            let _ = (sample(&text), sample_of_length(&text, &(9..=20)), literal_prefix(&text));
        }
    }
}
