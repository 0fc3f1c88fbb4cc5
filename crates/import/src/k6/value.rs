//! Computes the values of expressions that are known without running the script: literals,
//! constants, and combinations of them.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value as Json};

use super::lexer::{Kind, Token, tokens_in};

/// A placeholder for a part of a string that is known only when the script runs.
pub(super) const HOLE: char = '\u{e000}';

const DEPTH_MAX: usize = 64;

/// The maximum memory in bytes for copies of constants. Each constant may be twice as large as the
/// one that it refers to, as in `b = a + a`.
const COPIES_BYTES_MAX: usize = 64 << 20;

/// The memory in bytes for a value besides its text.
const VALUE_BYTES: usize = 72;

/// The maximum size in bytes of a value that `JSON.stringify` returns. Each nested call doubles the
/// number of backslashes.
const STRINGIFIED_BYTES_MAX: usize = 4 << 20;

#[derive(Default)]
pub(super) struct Constants {
    /// The values, each with the memory for a copy in bytes.
    values: BTreeMap<String, (Json, usize)>,
    copied_bytes: Cell<usize>,
    is_exhausted: Cell<bool>,
}

impl Constants {
    pub(super) fn insert(&mut self, name: String, value: Json) {
        let text = value.to_string();
        let values = text.matches(['[', '{', ',']).count();
        self.values
            .insert(name, (value, text.len() + values * VALUE_BYTES));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// Reports whether a copy was refused because of the maximum.
    pub(super) fn is_exhausted(&self) -> bool {
        self.is_exhausted.get()
    }

    /// Copies a value. Returns `None` if no constant has the name, or if the copies would exceed
    /// the maximum.
    fn get(&self, name: &str) -> Option<Json> {
        let (value, bytes) = self.values.get(name)?;
        let copied = self.copied_bytes.get() + bytes;
        if copied > COPIES_BYTES_MAX {
            self.is_exhausted.set(true);
            return None;
        }
        self.copied_bytes.set(copied);
        Some(value.clone())
    }
}

pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: &'t [Token],
    pub(super) at: usize,
    pub(super) constants: &'t Constants,
    /// The keys of members whose values are known only when the script runs.
    pub(super) unknown: Vec<String>,
    depth: usize,
}

impl<'t> Reader<'t> {
    pub(super) fn new(
        text: &'t str,
        tokens: &'t [Token],
        at: usize,
        constants: &'t Constants,
    ) -> Self {
        Self {
            text,
            tokens,
            at,
            constants,
            unknown: Vec::new(),
            depth: 0,
        }
    }

    /// Returns the source text of the next token, which is empty at the end.
    pub(super) fn peek(&self) -> &'t str {
        let token = self.tokens.get(self.at);
        token.map_or("", |token| &self.text[token.span.clone()])
    }

    fn is_sign(&self, sign: &str) -> bool {
        let token = self.tokens.get(self.at);
        token.is_some_and(|it| it.kind == Kind::Sign) && self.peek() == sign
    }

    /// Consumes a sign if it comes next, and reports whether it did.
    pub(super) fn take(&mut self, sign: &str) -> bool {
        let is_it = self.is_sign(sign);
        self.at += usize::from(is_it);
        is_it
    }

    /// Parses an expression up to a comma, a colon, a semicolon, a closing bracket or the next
    /// statement. If its value is known only when the script runs, skips the expression and returns
    /// `None`.
    pub(super) fn expression(&mut self) -> Option<Json> {
        let start = self.at;
        let value = self.nested(Self::sum);
        let mut ends = [",", ")", "]", "}", ";", ":"].iter();
        let is_over = self.at >= self.tokens.len() || ends.any(|sign| self.is_sign(sign));
        // Without a semicolon, the next statement begins on another line.
        if is_over || self.begins_line() {
            return value;
        }
        self.at = start;
        self.skip();
        None
    }

    /// Parses a part of an expression, unless it is nested too deeply.
    fn nested(&mut self, parse: fn(&mut Self) -> Option<Json>) -> Option<Json> {
        if self.depth >= DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let value = parse(self);
        self.depth -= 1;
        value
    }

    fn begins_line(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let (Some(before), Some(next)) = (before, self.tokens.get(self.at)) else {
            return true;
        };
        let is_word = next.kind == Kind::Word;
        is_word && self.text[before.span.end..next.span.start].contains('\n')
    }

    fn skip(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.tokens.len() {
            if self.tokens[self.at].kind == Kind::Sign {
                match self.peek() {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" if depth == 0 => return,
                    ")" | "]" | "}" => depth -= 1,
                    "," | ";" if depth == 0 => return,
                    _ => {}
                }
            }
            self.at += 1;
        }
    }

    /// Parses operands joined by `+` or `*`, or returns the first known alternative of `||` and
    /// `??`.
    fn sum(&mut self) -> Option<Json> {
        let mut sum = self.operand();
        loop {
            if self.take("+") {
                let right = self.operand();
                sum = joined(sum, right);
            } else if self.take("||") || self.take("??") {
                let right = self.nested(Self::sum);
                sum = sum.or(right);
            } else if self.take("*") {
                sum = match (sum?.as_f64(), self.operand()?.as_f64()) {
                    (Some(left), Some(right)) => number(left * right),
                    _ => None,
                };
            } else {
                return sum;
            }
        }
    }

    fn operand(&mut self) -> Option<Json> {
        let token = self.tokens.get(self.at)?.clone();
        self.at += 1;
        let value = match &token.kind {
            Kind::Text(text) => Some(Json::from(text.as_str())),
            Kind::Number(value) => number(*value),
            Kind::Template(texts, expressions) => Some(self.template(texts, expressions)),
            Kind::Regex => None,
            Kind::Word => self.word(&self.text[token.span.clone()]),
            Kind::Sign => match &self.text[token.span.clone()] {
                "{" => self.object(),
                "[" => self.array(),
                "(" => {
                    let value = self.expression();
                    self.take(")");
                    value
                }
                "-" => number(-self.nested(Self::operand)?.as_f64()?),
                _ => None,
            },
        };
        self.members(value)
    }

    /// Applies the accesses that follow a value: `.a`, `['b']`, or a call, whose result is unknown.
    fn members(&mut self, mut value: Option<Json>) -> Option<Json> {
        loop {
            if self.take(".") || self.take("?.") {
                let name = self.peek();
                self.at += 1;
                value = value.and_then(|value| value.get(name).cloned());
            } else if self.is_sign("[") {
                self.at += 1;
                let key = self.expression();
                self.take("]");
                value = match (value, key) {
                    (Some(value), Some(Json::String(key))) => value.get(&key).cloned(),
                    (Some(value), Some(Json::Number(index))) => {
                        let item = index.as_u64().and_then(|it| value.get(it as usize));
                        item.cloned()
                    }
                    _ => None,
                };
            } else if self.is_sign("(") {
                self.at += 1;
                while self.at < self.tokens.len() && !self.take(")") {
                    self.skip();
                    self.take(",");
                    if self.is_sign("]") || self.is_sign("}") || self.is_sign(";") {
                        return None;
                    }
                }
                value = None;
            } else {
                return value;
            }
        }
    }

    fn word(&mut self, word: &str) -> Option<Json> {
        match word {
            "true" => Some(Json::Bool(true)),
            "false" => Some(Json::Bool(false)),
            "null" | "undefined" => Some(Json::Null),
            "JSON" if self.peek() == "." => self.stringify(),
            // An `http.url` template is a URL whose requests k6 reports under one name.
            "http" if self.peek() == "." => {
                let template = self.tokens.get(self.at + 2)?.clone();
                let Kind::Template(texts, expressions) = &template.kind else {
                    return None;
                };
                self.at += 3;
                Some(self.template(texts, expressions))
            }
            name => self.constants.get(name),
        }
    }

    /// Parses `.stringify(VALUE)` after `JSON`.
    fn stringify(&mut self) -> Option<Json> {
        self.at += 1;
        if self.peek() != "stringify" {
            return None;
        }
        self.at += 1;
        if !self.take("(") {
            return None;
        }
        let value = self.expression();
        while self.at < self.tokens.len() && !self.take(")") {
            self.at += 1;
        }
        let text = value?.to_string();
        (text.len() <= STRINGIFIED_BYTES_MAX).then(|| Json::from(text))
    }

    fn template(&self, texts: &[String], expressions: &[std::ops::Range<usize>]) -> Json {
        let mut text = String::new();
        for (number, part) in texts.iter().enumerate() {
            text.push_str(part);
            if let Some(range) = expressions.get(number) {
                let tokens = tokens_in(self.text, range.clone());
                let mut inner = Reader::new(self.text, &tokens, 0, self.constants);
                inner.depth = self.depth + 1;
                text.push_str(&plain(inner.expression().as_ref()));
            }
        }
        Json::from(text)
    }

    fn array(&mut self) -> Option<Json> {
        let mut items = Vec::new();
        while self.at < self.tokens.len() && !self.take("]") {
            items.push(self.expression().unwrap_or(Json::Null));
            if !self.take(",") && !self.is_sign("]") {
                self.skip();
            }
            // Neither an item nor `skip` consumes these signs, so the array is not closed.
            if [")", "}", ";"].iter().any(|sign| self.is_sign(sign)) {
                return None;
            }
        }
        Some(Json::Array(items))
    }

    /// Members with unknown values are omitted.
    fn object(&mut self) -> Option<Json> {
        let mut members = Map::new();
        while self.at < self.tokens.len() && !self.take("}") {
            let before = self.at;
            if let Some((key, value)) = self.member() {
                members.insert(key, value);
            }
            if !self.take(",") && !self.is_sign("}") {
                self.skip();
                self.take(",");
            }
            if self.at == before {
                self.at += 1;
            }
        }
        Some(Json::Object(members))
    }

    fn member(&mut self) -> Option<(String, Json)> {
        let token = self.tokens.get(self.at)?.clone();
        if self.take("...") {
            self.unknown.push(format!("...{}", self.peek()));
            self.expression();
            return None;
        }
        let key = match &token.kind {
            Kind::Text(text) => text.clone(),
            Kind::Word | Kind::Number(_) => self.text[token.span.clone()].to_owned(),
            _ => return None,
        };
        self.at += 1;
        let value = match self.take(":") {
            true => self.expression(),
            // A shorthand member has the name of a constant.
            false => self.constants.get(&key),
        };
        let text = value.as_ref().and_then(Json::as_str);
        if value.is_none() || text.is_some_and(|text| text.contains(HOLE)) {
            self.unknown.push(key.clone());
        }
        value.map(|value| (key, value))
    }
}

/// Converts a string, number or boolean to text for a template, and any other or unknown value to a
/// placeholder.
fn plain(value: Option<&Json>) -> String {
    match value {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(number)) => number.to_string(),
        Some(Json::Bool(flag)) => flag.to_string(),
        _ => HOLE.to_string(),
    }
}

fn number(value: f64) -> Option<Json> {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return Some(Json::from(value as i64));
    }
    Number::from_f64(value).map(Json::Number)
}

/// Adds two numbers, or concatenates other operands as text. Returns `None` if both are unknown.
fn joined(left: Option<Json>, right: Option<Json>) -> Option<Json> {
    if left.is_none() && right.is_none() {
        return None;
    }
    let numbers = |left: &Option<Json>, right: &Option<Json>| {
        Some((left.as_ref()?.as_f64()?, right.as_ref()?.as_f64()?))
    };
    match (numbers(&left, &right), left) {
        (Some((left, right)), _) => number(left + right),
        (None, Some(Json::String(left))) => Some(Json::from(left + &plain(right.as_ref()))),
        (None, left) => Some(Json::from(plain(left.as_ref()) + &plain(right.as_ref()))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::k6::lexer::tokens;

    fn value(text: &str) -> Option<Json> {
        let mut constants = Constants::default();
        constants.insert("base".to_owned(), json!("http://h"));
        constants.insert("o".to_owned(), json!({"a": [1]}));
        let tokens = tokens(text);
        Reader::new(text, &tokens, 0, &constants).expression()
    }

    #[test]
    fn expressions_are_evaluated_as_far_as_they_are_known() {
        for (text, expected) in [
            ("'a' + \"b\" + 1", Some(json!("ab1"))),
            (
                "`${base}/x/${id()}`",
                Some(json!(format!("http://h/x/{HOLE}"))),
            ),
            ("base + '/y'", Some(json!("http://h/y"))),
            ("__ENV.HOST || 'http://d'", Some(json!("http://d"))),
            (
                "{a: 1, 'b': [true, null], c: f(1), base}",
                Some(json!({"a": 1, "b": [true, null], "base": "http://h"})),
            ),
            ("JSON.stringify({a: 'x'})", Some(json!("{\"a\":\"x\"}"))),
            ("o.a[0]", Some(json!(1))),
            ("60 * 2", Some(json!(120))),
            ("-1.5", Some(json!(-1.5))),
            ("f(x)", None),
            ("x => x.y", None),
            ("a ? b : c", None),
            ("[1;f", None),
            ("[;f", None),
            ("[)f", None),
            ("{a: [;f", Some(json!({}))),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        for deep in ["- ", "x||"] {
            assert_eq!(value(&deep.repeat(100_000)), None, "{deep}");
        }
        let quoted = "JSON.stringify(".repeat(40) + "'\"'";
        assert_eq!(value(&quoted), None);
    }

    #[test]
    fn constants_that_double_become_unknown() {
        let mut constants = Constants::default();
        constants.insert("x0".to_owned(), json!("x".repeat(1024)));
        let doubled = |constants: &Constants, number: usize| {
            let text = format!("x{number} + x{number}");
            Reader::new(&text, &tokens(&text), 0, constants).expression()
        };
        let mut number = 0;
        while let Some(value) = doubled(&constants, number) {
            assert!(value.as_str().unwrap().len() <= COPIES_BYTES_MAX);
            number += 1;
            constants.insert(format!("x{number}"), value);
        }
        assert_eq!(number, 15);
        assert!(constants.is_exhausted());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(base|o|f|JSON|stringify|http|[0-9+.,:;(){}\\[\\]'`$|?=>\n -]){0,40}") {
            let _ = value(&text);
        }
    }
}
