//! Finds a string that a regular expression matches, and the literal text that every match begins
//! with.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::rc::Rc;

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use crate::log::Log;

/// The maximum depth of nested groups and quantifiers.
const DEPTH_MAX: u32 = 32;

/// The maximum number of characters in a sample, without padding.
const CHARS_MAX: usize = 4095;

/// The maximum number of characters by which a sample exceeds its minimum length. A repeated group
/// adds several characters at a time, so there may be no match of the minimum length.
const EXCESS_MAX: usize = 64;

/// The maximum number of times that sets of lengths are shifted for one expression. Shifting them
/// so often takes a few tenths of a second.
const SHIFTS_MAX: usize = 2_000_000;

/// The characters that a sample contains if a class allows them, the preferred ones first.
const PREFERRED: &str = "xaA1-_.~";

/// Returns a string that the expression matches, with as few repetitions as possible. Returns
/// `None` if the expression is invalid, contains an unsupported construct or exceeds a limit, or if
/// the string contains a control character or a character outside ASCII.
pub(crate) fn sample(expression: &str) -> Option<String> {
    let mut text = String::new();
    shortest(&parsed(expression)?, &mut text)?;
    let is_printable = text.chars().all(|c| (' '..='~').contains(&c));
    matched(expression, text).filter(|_| is_printable)
}

/// Like [`sample`], but for a path, which contains no space.
pub(crate) fn sample_path(expression: &str) -> Option<String> {
    sample(expression).filter(|it| !it.contains(' '))
}

/// Returns a string that the expression matches, and whose number of characters is in the range.
/// Unlike [`sample`], permits any characters. The expression need not match the whole string.
pub(crate) fn sample_of_length(expression: &str, range: &RangeInclusive<usize>) -> Option<String> {
    if range.is_empty() {
        return None;
    }
    let whole = parsed(expression)?;
    let alternatives = match whole.kind() {
        HirKind::Alternation(all) => &all[..],
        _ => std::slice::from_ref(&whole),
    };
    let mut samples = alternatives.iter().filter_map(|it| of_length(it, range));
    samples.find_map(|it| matched(expression, it))
}

fn of_length(part: &Hir, range: &RangeInclusive<usize>) -> Option<String> {
    let mut text = String::new();
    shortest(part, &mut text)?;
    let length = text.chars().count();
    if range.contains(&length) {
        return Some(text);
    }
    // The sample consists of the first alternatives, and others may be shorter.
    if length > *range.end() || is_final(part) {
        return exact(part, range);
    }
    let missing = range.start() - length;
    Some(text + &"x".repeat(missing))
}

/// Returns a match of the whole part whose length is in the range, and as short as possible.
fn exact(part: &Hir, range: &RangeInclusive<usize>) -> Option<String> {
    let most = (*range.end()).min(range.start().saturating_add(EXCESS_MAX));
    let mut sampler = Sampler {
        most: most.min(CHARS_MAX),
        shifts_left: SHIFTS_MAX,
        sets: HashMap::new(),
    };
    let all = sampler.lengths(part)?.all.clone();
    let length = (*range.start()..=sampler.most).find(|it| all.has(*it))?;
    let mut text = String::new();
    sampler.build(part, length, &mut text)?;
    Some(text)
}

/// Returns a path that an expression matches, like [`sample_path`]. If no such path is found, adds
/// a note that the path `text` gets no request.
pub(crate) fn sample_of(
    expression: &str,
    text: &str,
    span: &Range<usize>,
    log: &mut Log<'_>,
) -> Option<String> {
    let sample = sample_path(expression);
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

/// Parses an expression. Atomic groups match what ordinary groups match first, and `\Z` is another
/// name of `\z`.
fn parsed(expression: &str) -> Option<Hir> {
    let expression = with_escaped_classes(expression);
    let expression = expression.replace("(?>", "(?:").replace("\\Z", "\\z");
    let mut parser = ParserBuilder::new().nest_limit(DEPTH_MAX).build();
    parser.parse(&expression).ok()
}

/// Escapes the characters of classes that only regex-syntax treats specially: a bracket, a doubled
/// `&` or `~`, and a hyphen next to a class such as `\w`.
fn with_escaped_classes(expression: &str) -> String {
    let mut text = String::with_capacity(expression.len());
    let mut chars = expression.chars().peekable();
    let (mut in_class, mut is_first, mut after_class) = (false, false, false);
    while let Some(c) = chars.next() {
        let was_after_class = std::mem::take(&mut after_class);
        match c {
            '\\' => {
                let escaped = chars.next();
                after_class = escaped.is_some_and(|it| "wWdDsS".contains(it));
                text.push(c);
                text.extend(escaped);
            }
            '[' if !in_class => {
                (in_class, is_first) = (true, true);
                text.push(c);
                continue;
            }
            '^' if in_class && is_first => {
                text.push(c);
                continue;
            }
            ']' if in_class && !is_first => {
                in_class = false;
                text.push(c);
            }
            '[' if chars.peek() == Some(&':') => {
                // A POSIX class, such as [:alnum:].
                text.push(c);
                while let Some(c) = chars.next_if(|c| *c != ']') {
                    text.push(c);
                }
                text.extend(chars.next());
            }
            '-' if in_class && (was_after_class || next_is_class(&chars)) => text += "\\-",
            '[' | '&' | '~' if in_class => text.extend(['\\', c]),
            c => text.push(c),
        }
        is_first = false;
    }
    text
}

fn next_is_class(chars: &std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let mut chars = chars.clone();
    chars.next() == Some('\\') && chars.next().is_some_and(|it| "wWdDsS".contains(it))
}

/// Returns the sample unless the expression does not match it, for example because of an assertion
/// in the middle.
fn matched(expression: &str, sample: String) -> Option<String> {
    let compiled = regex_lite::Regex::new(expression);
    let is_match = compiled.map_or(true, |it| it.is_match(&sample));
    is_match.then_some(sample)
}

/// Reports whether a part contains an assertion that text after the sample may violate.
fn is_final(part: &Hir) -> bool {
    let is_start = |look| matches!(look, Look::Start | Look::StartLF | Look::StartCRLF);
    part.properties()
        .look_set()
        .iter()
        .any(|look| !is_start(look))
}

/// Appends the match with the first alternatives and the fewest repetitions.
fn shortest(part: &Hir, text: &mut String) -> Option<()> {
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(member(class)?),
        HirKind::Capture(group) => shortest(&group.sub, text)?,
        HirKind::Concat(all) => all.iter().try_for_each(|it| shortest(it, text))?,
        HirKind::Alternation(all) => shortest(all.first()?, text)?,
        HirKind::Repetition(repeated) => {
            for _ in 0..repeated.min {
                let before = text.len();
                shortest(&repeated.sub, text)?;
                if text.len() == before {
                    break;
                }
            }
        }
    }
    // A character has at most four bytes.
    let is_short = text.len() <= CHARS_MAX || text.chars().count() <= CHARS_MAX;
    is_short.then_some(())
}

/// Returns a character of a class, or `None` if the class is empty.
fn member(class: &Class) -> Option<char> {
    let ranges: Vec<RangeInclusive<char>> = match class {
        Class::Unicode(class) => class.iter().map(|it| it.start()..=it.end()).collect(),
        Class::Bytes(class) => class
            .iter()
            .map(|it| char::from(it.start())..=char::from(it.end()))
            .collect(),
    };
    let letters = ('a'..='z').chain('A'..='Z').chain('0'..='9');
    let others = ('!'..='~').chain([' ']);
    let mut wanted = PREFERRED.chars().chain(letters).chain(others);
    let found = wanted.find(|c| ranges.iter().any(|range| range.contains(c)));
    found.or_else(|| ranges.first().map(|range| *range.start()))
}

/// Builds matches of a given length.
struct Sampler {
    /// The maximum length of a match, in characters.
    most: usize,
    shifts_left: usize,
    /// The sets of each part, by the part's address.
    sets: HashMap<*const Hir, Rc<Sets>>,
}

/// The lengths of a part's matches.
struct Sets {
    all: Lengths,
    /// For a repetition, the lengths of 0, 1, 2 ... copies. The last number of copies stands for
    /// all greater numbers if the set no longer changes.
    of_copies: Vec<Lengths>,
}

impl Sampler {
    /// Returns the lengths of all matches of a part that have at most `most` characters. Returns
    /// `None` if computing them takes too long.
    fn lengths(&mut self, part: &Hir) -> Option<Rc<Sets>> {
        let address = std::ptr::from_ref(part);
        if let Some(known) = self.sets.get(&address) {
            return Some(Rc::clone(known));
        }
        let mut of_copies = Vec::new();
        let all = match part.kind() {
            HirKind::Empty | HirKind::Look(_) => Lengths::of(0),
            HirKind::Literal(literal) => {
                Lengths::of(String::from_utf8_lossy(&literal.0).chars().count())
            }
            HirKind::Class(class) if member(class).is_some() => Lengths::of(1),
            HirKind::Class(_) => Lengths::none(),
            HirKind::Capture(group) => self.lengths(&group.sub)?.all.clone(),
            HirKind::Concat(all) => {
                let mut sums = Lengths::of(0);
                for part in all {
                    let own = self.lengths(part)?;
                    sums = self.plus(&sums, &own.all)?;
                }
                sums
            }
            HirKind::Alternation(all) => {
                let mut any = Lengths::none();
                for part in all {
                    any.add(&self.lengths(part)?.all);
                }
                any
            }
            HirKind::Repetition(repeated) => {
                of_copies = self.copies(repeated)?;
                let mut any = Lengths::none();
                let fewest = (repeated.min as usize).min(of_copies.len() - 1);
                of_copies[fewest..].iter().for_each(|it| any.add(it));
                any
            }
        };
        let sets = Rc::new(Sets { all, of_copies });
        self.sets.insert(address, Rc::clone(&sets));
        Some(sets)
    }

    /// Returns [`Sets::of_copies`]. The last set is empty if this number of copies would be too
    /// long.
    fn copies(&mut self, repeated: &Repetition) -> Option<Vec<Lengths>> {
        let of_one = self.lengths(&repeated.sub)?;
        let limit = repeated.max.map_or(usize::MAX, |it| it as usize);
        let mut all = vec![Lengths::of(0)];
        while all.len() <= limit {
            let last = &all[all.len() - 1];
            let next = self.plus(last, &of_one.all)?;
            if next == *last {
                break;
            }
            let is_empty = next.is_empty();
            all.push(next);
            if is_empty {
                break;
            }
        }
        Some(all)
    }

    /// Appends a match of a part with exactly `length` characters. Returns `None` if there is none.
    /// The first parts of a sequence become as long as possible.
    fn build(&mut self, part: &Hir, length: usize, text: &mut String) -> Option<()> {
        match part.kind() {
            HirKind::Capture(group) => self.build(&group.sub, length, text),
            HirKind::Concat(all) => self.sequence(all, length, text),
            HirKind::Alternation(all) => {
                for part in all {
                    if self.lengths(part)?.all.has(length) {
                        return self.build(part, length, text);
                    }
                }
                None
            }
            HirKind::Repetition(repeated) => self.repetition(part, repeated, length, text),
            _ => shortest(part, text),
        }
    }

    fn sequence(&mut self, parts: &[Hir], length: usize, text: &mut String) -> Option<()> {
        // For each part, in reverse order: the possible total lengths of all later parts.
        let mut rests = vec![Lengths::of(0)];
        for part in parts.iter().skip(1).rev() {
            let own = self.lengths(part)?;
            let rest = self.plus(&rests[rests.len() - 1], &own.all)?;
            rests.push(rest);
        }
        let mut left = length;
        for (part, rest) in parts.iter().zip(rests.iter().rev()) {
            let own = longest(&self.lengths(part)?.all, rest, left)?;
            self.build(part, own, text)?;
            left -= own;
        }
        Some(())
    }

    fn repetition(
        &mut self,
        part: &Hir,
        repeated: &Repetition,
        length: usize,
        text: &mut String,
    ) -> Option<()> {
        let (sets, of_one) = (self.lengths(part)?, self.lengths(&repeated.sub)?);
        let of_copies = &sets.of_copies;
        let fewest = (repeated.min as usize).min(of_copies.len() - 1);
        let mut copies = (fewest..of_copies.len()).find(|it| of_copies[*it].has(length))?;
        let mut left = length;
        while copies > 0 && left > 0 {
            copies -= 1;
            let own = longest(&of_one.all, &of_copies[copies], left)?;
            self.build(&repeated.sub, own, text)?;
            left -= own;
        }
        Some(())
    }

    /// Adds each length of one set to each length of the other, and returns the sums that are at
    /// most `most`.
    fn plus(&mut self, a: &Lengths, b: &Lengths) -> Option<Lengths> {
        let (few, many) = if a.count() < b.count() {
            (a, b)
        } else {
            (b, a)
        };
        self.shifts_left = self.shifts_left.checked_sub(few.count())?;
        let mut sums = Lengths::none();
        for length in (0..=self.most).filter(|it| few.has(*it)) {
            sums.add_shifted(many, length);
        }
        sums.keep_up_to(self.most);
        Some(sums)
    }
}

/// Returns the longest length in `own` whose difference from `left` is in `rest`.
fn longest(own: &Lengths, rest: &Lengths, left: usize) -> Option<usize> {
    let mut lengths = (0..=left).rev();
    lengths.find(|it| own.has(*it) && rest.has(left - it))
}

/// A set of lengths from 0 to [`CHARS_MAX`], one bit for each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lengths(Vec<u64>);

impl Lengths {
    fn none() -> Self {
        Self(vec![0; CHARS_MAX / 64 + 1])
    }

    /// Returns the set that contains only this length, or an empty set if the length exceeds
    /// [`CHARS_MAX`].
    fn of(length: usize) -> Self {
        let mut set = Self::none();
        if let Some(word) = set.0.get_mut(length / 64) {
            *word = 1 << (length % 64);
        }
        set
    }

    fn has(&self, length: usize) -> bool {
        let word = self.0.get(length / 64).copied().unwrap_or(0);
        (word >> (length % 64)) & 1 == 1
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn add(&mut self, other: &Self) {
        let words = self.0.iter_mut().zip(&other.0);
        words.for_each(|(to, from)| *to |= from);
    }

    /// Adds each length of the other set, increased by `by`.
    fn add_shifted(&mut self, other: &Self, by: usize) {
        let (words, bits) = (by / 64, by % 64);
        for at in words..self.0.len() {
            self.0[at] |= other.0[at - words] << bits;
            if bits > 0 && at > words {
                self.0[at] |= other.0[at - words - 1] >> (64 - bits);
            }
        }
    }

    fn keep_up_to(&mut self, most: usize) {
        let beyond = most + 1;
        if let Some(word) = self.0.get_mut(beyond / 64) {
            *word &= (1 << (beyond % 64)) - 1;
        }
        let further = self.0.iter_mut().skip(beyond / 64 + 1);
        further.for_each(|word| *word = 0);
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
            ("/[^a-z]/[^\\w]", Some("/A/-")),
            ("/(?>a|b)c\\Z", Some("/ac")),
            ("a^b", None),
            ("^[\\w-.]+@[a&&b[^]+$", Some("x@a")),
            ("/[^[\\]]+", Some("/x")),
            ("/[[:digit:]~~-]", Some("/1")),
            ("/a\\sb", Some("/a b")),
            ("/a\\nb", None),
            ("/[а-я]", None),
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
            ("^[a-z0-9_]+$", 3..=9, Some("xxx")),
            ("^[A-Z]{2,4}-?\\d*$", 6..=8, Some("AAAA-1")),
            ("^(ab)+$", 5..=6, Some("ababab")),
            ("^(ab)+$", 5..=5, None),
            ("^(a|b+)c*$", 3..=3, Some("bbb")),
            ("^(a|b{5})$", 3..=9, Some("bbbbb")),
            ("^(abc|d)$", 1..=2, Some("d")),
            ("^([a-z]{900})+$", 901..=9000, None),
            (
                "^(a|(b{0,999}){999}c{2000})+$",
                1001..=1001,
                Some(&*"a".repeat(1001)),
            ),
            (
                "^([a-z]{1,500})+-$",
                1000..=1000,
                Some(&*("x".repeat(999) + "-")),
            ),
            ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 3..=63, Some("xxx")),
            ("^([a-z]+\\.)*[a-z]+$", 3..=3, Some("x.x")),
            ("^([a-z]+\\.)*[a-z]+$", 6..=6, Some("xxxx.x")),
            ("^(\\+[0-9]+ )?[0-9]+$", 3..=3, Some("111")),
            ("^(\\+[0-9]+ )?[0-9]+$", 7..=7, Some("+1111 1")),
            ("^([a-z]+){2}$", 5..=5, Some("xxxxx")),
            ("^([a-z]+){2}$", 6..=6, Some("xxxxxx")),
            ("^(a?){3}$", 2..=2, Some("aa")),
            ("^(a?)*$", 2..=2, Some("aa")),
            ("^a{3}$", 0..=2, None),
            ("^a?$", 2..=2, None),
            ("^https?://", 12..=99, Some("http://xxxxx")),
            ("^/", 3..=3, Some("/xx")),
            ("^[a-z]", 3..=9, Some("xxx")),
            ("a|b$", 2..=2, Some("ax")),
            ("a$|b", 2..=2, Some("bx")),
            ("^(a$|b)", 2..=2, None),
            ("^a\\$", 3..=3, Some("a$x")),
            ("^a\\z", 2..=2, None),
            ("^a\\b", 2..=2, None),
            ("^abc", 0..=2, None),
        ] {
            let sample = sample_of_length(expression, &range);
            assert_eq!(sample.as_deref(), expected, "{expression}");
        }
        let empty = RangeInclusive::new(9, 3);
        assert_eq!(sample_of_length("^[a-z]", &empty), None);
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
