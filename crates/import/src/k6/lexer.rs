//! Splits k6 scripts into the tokens of the JavaScript subset that they use.

use std::ops::Range;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word,
    Number(f64),
    /// A string without expressions.
    Text(String),
    /// A template: its literal strings, and the position of each expression between them.
    Template(Vec<String>, Vec<Range<usize>>),
    /// An operator, a bracket or other punctuation.
    Sign,
    Regex,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

/// Multi-character operators, longest first.
const SIGNS: [&str; 21] = [
    "===", "!==", "...", "||=", "&&=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.",
    "+=", "-=", "*=", "/=", "++", "--",
];

/// Keywords after which a slash begins a regular expression.
const BEFORE_REGEX: [&str; 5] = ["return", "typeof", "case", "in", "of"];

/// Splits a string into tokens. An unclosed string, template or comment extends to the end of the
/// input, and an unclosed regular expression to the end of its line.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    tokens_in(text, 0..text.len())
}

/// Like [`tokens`], but for a range of `text`; the spans are relative to `text`.
pub(super) fn tokens_in(text: &str, range: Range<usize>) -> Vec<Token> {
    let mut lexer = Lexer {
        text: &text[..range.end],
        at: range.start,
        tokens: Vec::new(),
    };
    while lexer.step() {}
    lexer.tokens
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_while(&mut self, is_part: impl Fn(char) -> bool) {
        self.at = self.text.len() - self.rest().trim_start_matches(is_part).len();
    }

    fn push(&mut self, kind: Kind, start: usize) {
        let span = start..self.at;
        self.tokens.push(Token { kind, span });
    }

    /// Consumes a token, a comment or a white-space character. Returns false at the end of the
    /// text.
    fn step(&mut self) -> bool {
        let Some(c) = self.peek() else {
            return false;
        };
        let start = self.at;
        if c.is_whitespace() || c == '\u{feff}' {
            self.at += c.len_utf8();
        } else if self.rest().starts_with("//") {
            self.skip_while(|c| c != '\n');
        } else if self.rest().starts_with("/*") {
            let end = self.rest().find("*/").map(|end| end + 2);
            self.at += end.unwrap_or(self.rest().len());
        } else if c == '"' || c == '\'' {
            let text = self.quoted(c);
            self.push(Kind::Text(text), start);
        } else if c == '`' {
            self.template();
        } else if c.is_ascii_digit() {
            self.number();
        } else if c == '/' && self.begins_regex() {
            self.regex();
            self.push(Kind::Regex, start);
        } else if is_word(c) {
            self.skip_while(is_word);
            self.push(Kind::Word, start);
        } else {
            let sign = SIGNS.iter().find(|sign| self.rest().starts_with(**sign));
            self.at += sign.map_or(c.len_utf8(), |sign| sign.len());
            self.push(Kind::Sign, start);
        }
        true
    }

    /// Reports whether a slash here begins a regular expression rather than a division.
    fn begins_regex(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return true;
        };
        let text = &self.text[last.span.clone()];
        match last.kind {
            Kind::Word => BEFORE_REGEX.contains(&text),
            Kind::Sign => !matches!(text, ")" | "]" | "}"),
            _ => false,
        }
    }

    fn regex(&mut self) {
        self.at += 1;
        let (mut is_escaped, mut in_class) = (false, false);
        while let Some(c) = self.peek() {
            if c == '\n' {
                return;
            }
            self.at += c.len_utf8();
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => return,
                _ => {}
            }
        }
    }

    fn number(&mut self) {
        let start = self.at;
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        self.skip_while(is_part);
        let is_decimal = radix(&self.text[start..self.at]).is_none();
        let ends_in_e = self.text[start..self.at].ends_with(['e', 'E']);
        if is_decimal && ends_in_e && matches!(self.peek(), Some('+' | '-')) {
            self.at += 1;
            self.skip_while(is_part);
        }
        let text = self.text[start..self.at].replace('_', "");
        let number = match radix(&text) {
            Some(radix) => u64::from_str_radix(&text[2..], radix)
                .ok()
                .map(|it| it as f64),
            None => text.parse().ok(),
        };
        self.push(Kind::Number(number.unwrap_or(f64::NAN)), start);
    }

    fn quoted(&mut self, quote: char) -> String {
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                c if c == quote => break,
                '\\' => self.escape(&mut text),
                c => text.push(c),
            }
        }
        text
    }

    fn escape(&mut self, text: &mut String) {
        let Some(c) = self.peek() else {
            return;
        };
        self.at += c.len_utf8();
        match c {
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '0' => text.push('\0'),
            '\n' => {}
            'u' | 'x' => self.code(c, text),
            c => text.push(c),
        }
    }

    /// Parses an escape such as `\u00e9`, `\u{e9}` or `\xe9`.
    fn code(&mut self, kind: char, text: &mut String) {
        let braced = self.rest().strip_prefix('{').filter(|_| kind == 'u');
        let braced = braced.and_then(|rest| rest.split_once('}'));
        let (digits, length) = match braced {
            Some((digits, _)) => (digits.to_owned(), digits.len() + 2),
            None => {
                let count = if kind == 'u' { 4 } else { 2 };
                let digits: String = self.rest().chars().take(count).collect();
                let length = digits.len();
                (digits, length)
            }
        };
        self.at += length;
        let code = u32::from_str_radix(&digits, 16).ok();
        text.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
    }

    fn template(&mut self) {
        let start = self.at;
        self.at += 1;
        let (mut texts, mut expressions) = (Vec::new(), Vec::new());
        let mut text = String::new();
        while let Some(c) = self.peek() {
            if self.rest().starts_with("${") {
                self.at += 2;
                let from = self.at;
                self.skip_expression();
                expressions.push(from..self.at);
                self.at = (self.at + 1).min(self.text.len());
                texts.push(std::mem::take(&mut text));
                continue;
            }
            self.at += c.len_utf8();
            match c {
                '`' => break,
                '\\' => self.escape(&mut text),
                c => text.push(c),
            }
        }
        texts.push(text);
        self.push(Kind::Template(texts, expressions), start);
    }

    /// Skips to the brace that ends an expression in a template.
    fn skip_expression(&mut self) {
        let mut depth = 0;
        while let Some(c) = self.peek() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => return,
                '}' => depth -= 1,
                _ => {}
            }
            self.at += c.len_utf8();
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || "_$#".contains(c)
}

/// Returns the base that a prefix such as `0x` gives a number; `None` for a decimal number.
fn radix(number: &str) -> Option<u32> {
    match number.get(..2)? {
        "0x" | "0X" => Some(16),
        "0o" | "0O" => Some(8),
        "0b" | "0B" => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_script_is_split_into_tokens() {
        let text = "a.b('c\\n', `d${e.f({})}g`) // h\n/* i */ === 1_0.5; x = /[/]'/g; y / 2";
        let tokens = tokens(text);
        let words: Vec<&str> = tokens.iter().map(|it| &text[it.span.clone()]).collect();
        let expected = "a . b ( 'c\\n' , `d${e.f({})}g` ) === 1_0.5 ; x = /[/]'/ g ; y / 2";
        assert_eq!(words.join(" "), expected);
        assert_eq!(tokens[4].kind, Kind::Text("c\n".into()));
        assert_eq!(tokens[9].kind, Kind::Number(10.5));
        let template = &tokens[6].kind;
        let Kind::Template(texts, expressions) = template else {
            panic!("{template:?}");
        };
        assert_eq!((texts.len(), &text[expressions[0].clone()]), (2, "e.f({})"));
    }

    #[test]
    fn numbers_of_every_form_are_read() {
        let number = |text: &str| match &tokens(text)[..] {
            [token] => token.kind.clone(),
            all => panic!("{text}: {} tokens", all.len()),
        };
        for (text, value) in [
            ("1e-3", 0.001),
            ("2.5E+2", 250.0),
            ("0xe", 14.0),
            ("0B101", 5.0),
            ("0o17", 15.0),
        ] {
            assert_eq!(number(text), Kind::Number(value));
        }
        assert_eq!(tokens("0xe-1").len(), 3);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z0-9/*'\"`${}()\\\\ué\n =]{0,50}") {
            for token in tokens(&text) {
                prop_assert!(text.get(token.span).is_some());
            }
        }
    }
}
