//! Computes the values of expressions that are known without running the script: literals,
//! constants, and combinations of them.

use serde_json::{Map, Number, Value as Json};

use super::constants::Constants;
use super::lexer::{Kind, Token, tokens_in};

/// A placeholder for a part of a string that is known only when the script runs.
pub(super) const HOLE: char = '\u{e000}';

const DEPTH_MAX: usize = 64;

/// The maximum size in bytes of a value that `JSON.stringify` returns. Each nested call doubles the
/// number of backslashes.
const STRINGIFIED_BYTES_MAX: usize = 4 << 20;

pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: &'t [Token],
    pub(super) at: usize,
    pub(super) constants: &'t Constants,
    /// The members whose values are known only when the script runs: for each, its key, and then
    /// the keys of the objects around it, from the innermost to the outermost.
    pub(super) unknown: Vec<Vec<String>>,
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
        let unknown_before = self.unknown.len();
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
        let end = self.at;
        let value = self.members(value, unknown_before);
        // A member of an object is known even if others are not.
        let is_scalar = value
            .as_ref()
            .is_none_or(|it| !it.is_object() && !it.is_array());
        if self.at > end && is_scalar {
            self.unknown.truncate(unknown_before);
        }
        value
    }

    /// Applies the accesses that follow a value: `.a`, `['b']`, or a call, whose result is unknown.
    /// `from` is the index of the value's first unknown member.
    fn members(&mut self, mut value: Option<Json>, from: usize) -> Option<Json> {
        loop {
            if self.take(".") || self.take("?.") {
                let name = self.peek();
                self.at += 1;
                self.narrow(from, name);
                value = value.and_then(|value| value.get(name).cloned());
            } else if self.is_sign("[") {
                self.at += 1;
                let key = self.expression();
                self.take("]");
                value = match (value, key) {
                    (Some(value), Some(Json::String(key))) => {
                        self.narrow(from, &key);
                        value.get(&key).cloned()
                    }
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

    /// Keeps only the unknown members that are inside the member with this name.
    fn narrow(&mut self, from: usize, name: &str) {
        let mut inner = self.unknown.split_off(from);
        inner.retain_mut(|keys| keys.pop().is_some_and(|key| key == name) && !keys.is_empty());
        self.unknown.append(&mut inner);
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
            name => self.constant(name),
        }
    }

    fn constant(&mut self, name: &str) -> Option<Json> {
        let constant = self.constants.get(name)?;
        self.unknown.extend_from_slice(&constant.unknown);
        Some(constant.value.clone())
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
            let is_spread = self.take("...");
            match self.expression() {
                Some(Json::Array(spread)) if is_spread => items.extend(spread),
                item => items.push(item.filter(|_| !is_spread).unwrap_or(Json::Null)),
            }
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

    /// Members with unknown values are omitted. A later member replaces an earlier one, even if the
    /// later value is unknown.
    fn object(&mut self) -> Option<Json> {
        let mut members = Map::new();
        while self.at < self.tokens.len() && !self.take("}") {
            let before = self.at;
            if self.take("...") {
                self.spread(&mut members);
            } else if let Some((key, value)) = self.member() {
                match value {
                    Some(value) => members.insert(key, value),
                    None => members.shift_remove(&key),
                };
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

    /// Parses the operand of `...` in an object, and adds its members.
    fn spread(&mut self, members: &mut Map<String, Json>) {
        let name = self.peek();
        let from = self.unknown.len();
        match self.expression() {
            Some(Json::Object(spread)) => {
                for keys in &self.unknown[from..] {
                    if let [key] = keys.as_slice() {
                        members.shift_remove(key);
                    }
                }
                members.extend(spread);
            }
            Some(Json::Null) => {}
            _ => self.unknown.push(vec![format!("...{name}")]),
        }
    }

    /// Parses a member, and returns its key and, if it is known, its value.
    fn member(&mut self) -> Option<(String, Option<Json>)> {
        let token = self.tokens.get(self.at)?.clone();
        let key = match &token.kind {
            Kind::Text(text) => text.clone(),
            Kind::Word | Kind::Number(_) => self.text[token.span.clone()].to_owned(),
            _ => return None,
        };
        self.at += 1;
        let from = self.unknown.len();
        let value = match self.take(":") {
            true => self.expression(),
            // A shorthand member has the name of a constant.
            false => self.constant(&key),
        };
        for keys in &mut self.unknown[from..] {
            keys.push(key.clone());
        }
        let text = value.as_ref().and_then(Json::as_str);
        if value.is_none() || text.is_some_and(|text| text.contains(HOLE)) {
            self.unknown.push(vec![key.clone()]);
        }
        Some((key, value))
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
        constants.declare(0, "base", Some(json!("http://h")), Vec::new());
        constants.declare(0, "o", Some(json!({"a": [1]})), Vec::new());
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
            (
                "{b: 1, a: 2, ...o, ...null, b: 3}",
                Some(json!({"a": [1], "b": 3})),
            ),
            ("{b: 1, ...o, a: f()}", Some(json!({"b": 1}))),
            ("{b: 1, ...{b: f(), c: 2}}", Some(json!({"c": 2}))),
            ("{b: 1, ...{o: {b: f()}}}", Some(json!({"b": 1, "o": {}}))),
            ("{b: 1, ...{o: {b: f()}}.o}", Some(json!({}))),
            ("[0, ...o.a, ...f()]", Some(json!([0, 1, null]))),
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
    fn members_of_a_constant_that_are_unknown_stay_unknown() {
        let unknown = |text: &str| {
            let mut constants = Constants::default();
            let value = json!({"vus": 2, "stages": [{}]});
            let target = ["target", "stages"].map(str::to_owned).to_vec();
            constants.declare(0, "c", Some(value), vec![target]);
            let tokens = tokens(text);
            let mut reader = Reader::new(text, &tokens, 0, &constants);
            reader.expression();
            let keys = reader.unknown.iter().map(|keys| keys[0].clone());
            Vec::from_iter(keys)
        };
        for text in ["c", "{...c}", "{a: c}", "{c}", "{a: c.stages}"] {
            assert_eq!(unknown(text), ["target"], "{text}");
        }
        assert!(unknown("{a: c.vus}").is_empty());
        assert_eq!(unknown("{a: c.x, ...f()}"), ["a", "...f"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(base|o|f|JSON|stringify|http|[0-9+.,:;(){}\\[\\]'`$|?=>\n -]){0,40}") {
            let _ = value(&text);
        }
    }
}
