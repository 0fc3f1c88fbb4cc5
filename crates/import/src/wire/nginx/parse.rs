//! Parses nginx directives, with their positions.

use std::ops::Range;

use gatebench_config::Problem;

use crate::wire::Word;

const DEPTH_MAX: usize = 32;

#[derive(Clone, Debug)]
pub(super) struct Directive {
    pub(super) words: Vec<Word>,
    /// The bytes from the name to the semicolon or closing brace.
    pub(super) span: Range<usize>,
    /// The block, and the position after its opening brace.
    pub(super) block: Option<(usize, Vec<Directive>)>,
}

impl Directive {
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", |word| word.text.as_str())
    }

    pub(super) fn args(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(super) fn arg(&self, index: usize) -> &str {
        self.args().get(index).map_or("", |word| word.text.as_str())
    }

    pub(super) fn has_arg(&self, word: &str) -> bool {
        self.args().iter().any(|it| it.text == word)
    }

    pub(super) fn children(&self) -> &[Directive] {
        self.block.as_ref().map_or(&[], |(_, children)| children)
    }

    /// Returns the directives with this name that are directly in the block.
    pub(super) fn named<'d>(&'d self, name: &'d str) -> impl Iterator<Item = &'d Directive> {
        self.children().iter().filter(move |it| it.name() == name)
    }
}

pub(super) fn parse(text: &str) -> (Vec<Directive>, Vec<Problem>) {
    let mut parser = Parser {
        text,
        at: 0,
        problems: Vec::new(),
    };
    let mut all = Vec::new();
    loop {
        all.append(&mut parser.block(0));
        if parser.peek() != Some('}') {
            return (all, parser.problems);
        }
        let help = "remove it, or add the `{` that it closes";
        parser.problem(parser.at..parser.at + 1, "this `}` closes nothing", help);
        parser.at += 1;
    }
}

enum Token {
    Word(Word),
    Semicolon(usize),
    Open(usize),
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    problems: Vec<Problem>,
}

impl Parser<'_> {
    fn problem(&mut self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Problem::new(span, message, help));
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek() {
            if c == '#' {
                let rest = &self.text[self.at..];
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if c.is_whitespace() || c == '\u{feff}' {
                self.at += c.len_utf8();
            } else {
                break;
            }
        }
    }

    /// Parses directives up to a closing brace, which is not consumed, or to the end.
    fn block(&mut self, depth: usize) -> Vec<Directive> {
        let mut all = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('}') => return all,
                Some(_) => all.extend(self.directive(depth)),
            }
        }
    }

    fn directive(&mut self, depth: usize) -> Option<Directive> {
        let start = self.at;
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.skip_blanks();
            match self.token() {
                Some(Token::Word(word)) => words.push(word),
                Some(Token::Semicolon(end)) => {
                    let span = start..end;
                    return (!words.is_empty()).then_some(Directive {
                        words,
                        span,
                        block: None,
                    });
                }
                Some(Token::Open(open)) => return Some(self.opened(start, open, words, depth)),
                None => {
                    // The text ends here, or the closing brace of the enclosing block follows.
                    let first = words.into_iter().next();
                    let (name, span) = first
                        .map_or_else(|| (String::new(), start..self.at), |it| (it.text, it.span));
                    self.problem(
                        span,
                        format!("`{name}` is not terminated"),
                        "add `;` at its end",
                    );
                    return None;
                }
            }
        }
    }

    fn opened(&mut self, start: usize, open: usize, words: Vec<Word>, depth: usize) -> Directive {
        let is_code = |word: &Word| word.text.ends_with("_by_lua_block");
        let is_code = words.first().is_some_and(is_code);
        let mut children = Vec::new();
        if is_code {
            self.skip_code();
        } else if depth >= DEPTH_MAX {
            let message = format!("blocks are nested more than {DEPTH_MAX} levels deep");
            self.problem(open - 1..open, message, "check the braces");
            self.at = self.text.len();
        } else {
            children = self.block(depth + 1);
        }
        if self.peek() == Some('}') {
            self.at += 1;
        } else if self.problems.is_empty() {
            let help = "add a `}` where the block ends";
            self.problem(open - 1..open, "this block is not closed", help);
        }
        Directive {
            words,
            span: start..self.at,
            block: Some((open, children)),
        }
    }

    /// Skips code in braces, up to the closing brace.
    fn skip_code(&mut self) {
        let mut depth = 0;
        let mut quote: Option<char> = None;
        let mut is_escaped = false;
        for (offset, c) in self.text[self.at..].char_indices() {
            match (quote, c) {
                _ if is_escaped => is_escaped = false,
                (Some(_), '\\') => is_escaped = true,
                (Some(open), c) if open == c || c == '\n' => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, '{') => depth += 1,
                (None, '}') if depth == 0 => {
                    self.at += offset;
                    return;
                }
                (None, '}') => depth -= 1,
                _ => {}
            }
        }
        self.at = self.text.len();
    }

    /// Returns the next token, or `None` at the end, at a closing brace and after an unclosed
    /// string.
    fn token(&mut self) -> Option<Token> {
        let start = self.at;
        match self.peek()? {
            '}' => None,
            ';' => {
                self.at += 1;
                Some(Token::Semicolon(self.at))
            }
            '{' => {
                self.at += 1;
                Some(Token::Open(self.at))
            }
            quote @ ('"' | '\'') => self.quoted(quote),
            _ => {
                let mut text = String::new();
                let mut previous = ' ';
                while let Some(c) = self.peek() {
                    let is_variable = c == '{' && previous == '$';
                    if c.is_whitespace() || c == ';' || (c == '{' && !is_variable) {
                        break;
                    }
                    self.at += c.len_utf8();
                    text.push(c);
                    if is_variable {
                        self.take_until('}', &mut text);
                    } else if c == '\\' {
                        let escaped = self.peek();
                        self.at += escaped.map_or(0, char::len_utf8);
                        text.extend(escaped);
                    }
                    previous = c;
                }
                Some(Token::Word(Word {
                    text,
                    span: start..self.at,
                }))
            }
        }
    }

    fn take_until(&mut self, end: char, text: &mut String) {
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            text.push(c);
            if c == end {
                break;
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Option<Token> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            if c == quote {
                let span = start..self.at;
                return Some(Token::Word(Word { text, span }));
            }
            if c == '\\' {
                let escaped = self.peek();
                self.at += escaped.map_or(0, char::len_utf8);
                if escaped != Some(quote) {
                    text.push(c);
                }
                text.extend(escaped);
            } else {
                text.push(c);
            }
        }
        let help = format!("add the `{quote}` that ends it");
        self.problem(start..start + 1, "this string is not closed", help);
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn directives_have_their_positions() {
        let text =
            "a 'b;c' \"d\\\"\"; # e {\nf {\n g ${h}i \\;;\n}\nx_by_lua_block { y = \"}\" {} }\n";
        let (all, problems) = parse(text);
        assert!(problems.is_empty(), "{problems:?}");
        let words = |it: &Directive| {
            it.words
                .iter()
                .map(|it| it.text.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&all[0]), ["a", "b;c", "d\""]);
        assert_eq!(&text[all[0].words[1].span.clone()], "'b;c'");
        assert_eq!(words(&all[1].children()[0]), ["g", "${h}i", "\\;"]);
        assert_eq!(
            &text[all[2].span.clone()],
            "x_by_lua_block { y = \"}\" {} }"
        );
    }

    #[test]
    fn every_mistake_is_found() {
        let (_, problems) = parse("a 1\n}\nb {\n c d;\n");
        let messages: Vec<&str> = problems.iter().map(|it| it.message.as_str()).collect();
        assert_eq!(
            messages[..2],
            ["`a` is not terminated", "this `}` closes nothing"]
        );
        assert_eq!(parse("b { c d; ").1[0].message, "this block is not closed");
        assert_eq!(parse("a 'b").1[0].message, "this string is not closed");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z{};#'\"\\\\$ \n]{0,60}") {
            let (all, _) = parse(&text);
            for directive in all {
                prop_assert!(text.get(directive.span).is_some());
            }
        }
    }
}
