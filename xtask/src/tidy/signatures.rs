//! Checks the signatures of functions: public functions of libraries must not return errors as
//! `String`, and parameters must not be tuple patterns.

use super::scan::{Code, words};
use super::{Finding, SourceFile};

/// Crates that are programs. Their public functions are not an interface for other crates.
const PROGRAMS: [&str; 4] = ["bench", "cli", "faulty", "xtask"];

pub(crate) fn check(file: &SourceFile, code: &Code) -> Vec<Finding> {
    if file.is_test() {
        return Vec::new();
    }
    let library = file.crate_name().filter(|name| !PROGRAMS.contains(name));
    let mut findings = Vec::new();
    for (at, _) in words(&code.text).filter(|(_, word)| *word == "fn") {
        let Some(signature) = Signature::at(&code.text, at) else {
            continue;
        };
        let text = library.is_some() && signature.is_public && fails_with_text(signature.result);
        let text = text.then_some("return a typed error (thiserror) instead of a String");
        let tuple = has_tuple_pattern(signature.parameters);
        let tuple = tuple.then_some("use one or several named parameters instead of a pattern");
        let line = || code.text[..at].matches('\n').count() + 1;
        let messages = text.into_iter().chain(tuple);
        findings.extend(messages.map(|message| Finding::new(file, line(), message)));
    }
    findings
}

struct Signature<'c> {
    is_public: bool,
    parameters: &'c str,
    result: &'c str,
}

impl<'c> Signature<'c> {
    /// Returns the signature that begins with the `fn` at this byte; `None` if the `fn` is part of
    /// a type.
    fn at(code: &'c str, at: usize) -> Option<Self> {
        let before = code[..at].rsplit([';', '{', '}', ']']).next()?;
        let named = code[at + 2..].strip_prefix(' ')?;
        let rest = named.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        let generics = rest.starts_with('<').then(|| closing(rest));
        let rest = &rest[generics.unwrap_or(0)..];
        let (parameters, rest) = rest.split_at_checked(closing(rest))?;
        Some(Self {
            is_public: before.split_whitespace().any(|word| word == "pub"),
            parameters: parameters.strip_prefix('(')?.strip_suffix(')')?,
            result: rest.split(['{', ';']).next()?,
        })
    }
}

/// The length of the brackets at the start of `text`, including their contents.
fn closing(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '<' => depth += 1,
            '>' if before == '-' => {}
            ')' | ']' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
        before = c;
    }
    text.len()
}

fn fails_with_text(result: &str) -> bool {
    let result = result.split("where").next().unwrap_or(result);
    let plain: String = result.split_whitespace().collect();
    let plain = plain.replace(",>", ">");
    plain.starts_with("->Result<") && plain.ends_with(",String>")
}

/// Reports whether a parameter begins with a parenthesis, possibly after a reference.
fn has_tuple_pattern(parameters: &str) -> bool {
    let mut rest = parameters.trim_start();
    while !rest.is_empty() {
        if rest.trim_start_matches(['&', ' ']).starts_with('(') {
            return true;
        }
        let mut at = 0;
        while let Some(c) = rest[at..].chars().next().filter(|c| *c != ',') {
            at += match c {
                '(' | '[' | '<' => closing(&rest[at..]),
                c => c.len_utf8(),
            };
        }
        rest = rest[at..].trim_start_matches([',', ' ', '\n']);
    }
    false
}
