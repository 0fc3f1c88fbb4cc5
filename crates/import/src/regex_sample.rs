//! Finds a path that a regular expression matches, and the literal text that every match begins
//! with.

use std::iter::Peekable;
use std::ops::Range;
use std::str::Chars;

use crate::log::Log;

const DEPTH_MAX: usize = 16;

/// The maximum number of repetitions that a quantifier may require.
const REPEAT_MAX: usize = 64;

/// The maximum size of a sample in bytes. Nested quantifiers multiply the size.
const BYTES_MAX: usize = 4096;

/// Returns a string that the expression matches, or `None` if the expression contains an
/// unsupported construct or exceeds a limit.
pub(crate) fn sample(expression: &str) -> Option<String> {
    let mut parser = Parser {
        chars: expression.chars().peekable(),
        depth: 0,
    };
    let text = parser.alternatives()?;
    parser.chars.next().is_none().then_some(text)
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
}

impl Parser<'_> {
    /// Returns the sample of the first alternative. The others are parsed and dropped.
    fn alternatives(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let first = self.sequence()?;
        while self.chars.next_if_eq(&'|').is_some() {
            self.sequence()?;
        }
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
            let atom = self.atom(c)?;
            let count = self.quantifier()?;
            if text.len() + atom.len() * count > BYTES_MAX {
                return None;
            }
            text += &atom.repeat(count);
        }
        Some(text)
    }

    fn atom(&mut self, c: char) -> Option<String> {
        Some(match c {
            '^' | '$' => String::new(),
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
            'b' | 'A' | 'z' | 'Z' => String::new(),
            '-' => "-".into(),
            c if !c.is_alphanumeric() => c.to_string(),
            _ => return None,
        })
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

    /// Returns a character that a class matches.
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

    /// Returns the minimum number of repetitions, which is 0 for an optional part.
    fn quantifier(&mut self) -> Option<usize> {
        let least = match self.chars.next_if(|c| "*?+{".contains(*c)) {
            None => return Some(1),
            Some('+') => 1,
            Some('{') => {
                let mut words = String::new();
                loop {
                    match self.chars.next()? {
                        '}' => break,
                        c => words.push(c),
                    }
                }
                match words.split(',').next()?.trim() {
                    "" => 0,
                    least => least.parse().ok()?,
                }
            }
            Some(_) => 0,
        };
        self.chars.next_if(|c| matches!(c, '?' | '+'));
        (least <= REPEAT_MAX).then_some(least)
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
            let _ = (sample(&text), literal_prefix(&text));
        }
    }
}
