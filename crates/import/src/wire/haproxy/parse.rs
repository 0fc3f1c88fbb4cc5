//! Parses HAProxy configurations into sections of lines, with their positions.

use std::ops::Range;

use crate::wire::Word;

/// A keyword, with the number of its arguments.
pub(super) type Keyword = (&'static str, usize);

const SECTIONS: [&str; 15] = [
    "global",
    "defaults",
    "frontend",
    "backend",
    "listen",
    "peers",
    "resolvers",
    "userlist",
    "mailers",
    "cache",
    "program",
    "http-errors",
    "ring",
    "log-forward",
    "crt-store",
];

#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) words: Vec<Word>,
    /// The whole line, without its line ending.
    pub(super) span: Range<usize>,
}

impl Line {
    pub(super) fn name(&self) -> &str {
        self.word(0)
    }

    pub(super) fn word(&self, index: usize) -> &str {
        self.words.get(index).map_or("", |word| word.text.as_str())
    }

    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|it| it.text == word)
    }

    pub(super) fn from(&self, index: usize) -> &[Word] {
        self.words.get(index..).unwrap_or_default()
    }

    /// Finds these keywords among the words from this index on. Returns each with the byte range of
    /// the keyword and its arguments.
    pub(super) fn keywords(&self, index: usize, all: &[Keyword]) -> Vec<(Keyword, Range<usize>)> {
        let mut found = Vec::new();
        let mut words = self.from(index);
        while let [word, rest @ ..] = words {
            words = rest;
            if let Some(keyword) = all.iter().find(|(name, _)| *name == word.text) {
                let count = keyword.1;
                let last = count.checked_sub(1).and_then(|at| rest.get(at));
                let end = last.unwrap_or(word).span.end;
                found.push((*keyword, word.span.start..end));
                words = rest.get(count..).unwrap_or_default();
            }
        }
        found
    }
}

/// A section: the line that begins it, and the lines after it.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) head: Line,
    pub(super) lines: Vec<Line>,
}

impl Section {
    pub(super) fn kind(&self) -> &str {
        self.head.name()
    }

    pub(super) fn name(&self) -> &str {
        self.head.word(1)
    }

    pub(super) fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Line> {
        self.lines.iter().filter(move |line| line.name() == name)
    }
}

/// Parses a document, without the lines before the first section.
pub(super) fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut at = 0;
    for whole in text.split_inclusive('\n') {
        let line = whole.trim_end_matches(['\n', '\r']);
        let line = Line {
            words: words(line, at),
            span: at..at + line.len(),
        };
        at += whole.len();
        if line.words.is_empty() {
            continue;
        }
        if SECTIONS.contains(&line.name()) {
            let lines = Vec::new();
            sections.push(Section { head: line, lines });
        } else if let Some(section) = sections.last_mut() {
            section.lines.push(line);
        }
    }
    sections
}

/// `base` is the position of the line's first byte.
fn words(line: &str, base: usize) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<(usize, String)> = None;
    let mut quote: Option<char> = None;
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        let is_blank = c.is_whitespace() && quote.is_none() && !is_escaped;
        if is_blank || (c == '#' && quote.is_none() && !is_escaped) {
            if let Some((start, text)) = word.take() {
                let span = base + start..base + at;
                words.push(Word { text, span });
            }
            if c == '#' {
                return words;
            }
            continue;
        }
        let (_, text) = word.get_or_insert_with(|| (at, String::new()));
        match (quote, c) {
            _ if is_escaped => {
                text.push(c);
                is_escaped = false;
            }
            (None | Some('"'), '\\') => is_escaped = true,
            (Some(open), c) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            _ => text.push(c),
        }
    }
    if let Some((start, text)) = word {
        let span = base + start..base + line.len();
        words.push(Word { text, span });
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_have_their_positions() {
        let text = "x\nfrontend a\n  acl b hdr(host) 'c d' e\\ f # g\n";
        let sections = parse(text);
        let line = &sections[0].lines[0];
        let words: Vec<&str> = line.words.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(words, ["acl", "b", "hdr(host)", "c d", "e f"]);
        assert_eq!(&text[line.words[3].span.clone()], "'c d'");
        assert_eq!((sections[0].kind(), sections[0].name()), ("frontend", "a"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(listen |frontend |[a-z#'\"\\\\ \n]){0,30}") {
            for section in parse(&text) {
                for word in section.lines.iter().flat_map(|line| &line.words) {
                    prop_assert!(text.get(word.span.clone()).is_some());
                }
            }
        }
    }
}
