//! Replaces comments and literals in Rust code with spaces, so that rules about code see only code,
//! and finds the strings, for rules about prose.

use std::ops::Range;

#[derive(Debug)]
pub(crate) struct Code {
    /// The text with every comment, string and character literal replaced by spaces. Each byte of
    /// code and each line break has the same position as in the source.
    pub text: String,
    /// The positions of the contents of string literals, except byte strings and C strings.
    pub strings: Vec<Range<usize>>,
}

impl Code {
    pub fn of(source: &str) -> Self {
        let mut text = String::with_capacity(source.len());
        let mut strings = Vec::new();
        let mut at = 0;
        let mut previous = ' ';
        while let Some(c) = source[at..].chars().next() {
            let word_begins = !previous.is_alphanumeric() && previous != '_';
            match quoted_length(&source[at..], word_begins) {
                0 => {
                    text.push(c);
                    previous = c;
                    at += c.len_utf8();
                }
                length => {
                    let quoted = &source[at..at + length];
                    text.extend(quoted.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
                    let inside = contents(quoted);
                    strings.extend(inside.map(|inside| at + inside.start..at + inside.end));
                    previous = ' ';
                    at += length;
                }
            }
        }
        Self { text, strings }
    }

    /// Lines with their numbers, from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }
}

/// Words of code with their byte positions.
pub(crate) fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.split(move |c| !is_word(c))
        .filter(|word| !word.is_empty())
        .map(move |word| (word.as_ptr() as usize - code.as_ptr() as usize, word))
}

/// Returns the position of the contents in a string literal; `None` for comments, characters, byte
/// strings and C strings.
fn contents(quoted: &str) -> Option<Range<usize>> {
    let inside = quoted.trim_start_matches(['r', '#']).strip_prefix('"')?;
    let begin = quoted.len() - inside.len();
    let inside = inside.trim_end_matches('#').strip_suffix('"')?;
    Some(begin..begin + inside.len())
}

/// The length in bytes of the comment or literal that `rest` begins with; 0 if it begins with code.
fn quoted_length(rest: &str, word_begins: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if let Some(inside) = rest.strip_prefix('"') {
        return 1 + string_length(inside);
    }
    if rest.starts_with('\'') {
        return character_length(rest);
    }
    if word_begins {
        prefixed_length(rest)
    } else {
        0
    }
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The number of bytes up to and including the closing quote.
fn string_length(inside: &str) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    inside.len()
}

/// The length of a character literal, such as `'x'` or `'\n'`; 0 for a lifetime, such as `'a`.
fn character_length(rest: &str) -> usize {
    let inside = &rest[1..];
    if let Some(escape) = inside.strip_prefix('\\') {
        return escape
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '\'')
            .map_or(0, |(at, _)| 1 + 1 + at + 1);
    }
    let mut chars = inside.chars();
    match (chars.next(), chars.next()) {
        (Some(c), Some('\'')) => 1 + c.len_utf8() + 1,
        _ => 0,
    }
}

/// The length of a literal with a prefix, such as `b"…"`, `r#"…"#` or `b'x'`; 0 if there is none.
fn prefixed_length(rest: &str) -> usize {
    let prefix = rest.find(|c| !matches!(c, 'b' | 'c' | 'r')).unwrap_or(0);
    if prefix == 0 || prefix > 2 {
        return 0;
    }
    let after = &rest[prefix..];
    if !rest[..prefix].contains('r') {
        return match after.chars().next() {
            Some('"') => prefix + 1 + string_length(&after[1..]),
            Some('\'') => match character_length(after) {
                0 => 0,
                length => prefix + length,
            },
            _ => 0,
        };
    }
    let hashes = after.find(|c| c != '#').unwrap_or(0);
    if !after[hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = &after[hashes + 1..];
    prefix + hashes + 1 + inside.find(&end).map_or(inside.len(), |at| at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_not_code() {
        let source = "let a = \"fn // x\"; // fn\n/* fn /* } */ fn */ let b = r#\"\"fn\"#; let c = b'{'; let d = '\\'';\n";
        let code = Code::of(source);
        assert_eq!(
            code.text.matches('\n').count(),
            source.matches('\n').count()
        );
        assert!(
            !code.text.contains("fn") && !code.text.contains('{') && !code.text.contains('}'),
            "{}",
            code.text
        );
        assert!(
            code.text.contains("let b =")
                && code.text.contains("let c =")
                && code.text.contains("let d =")
        );
    }

    #[test]
    fn the_contents_of_strings_are_found_at_their_positions() {
        let source = "f(\"é \\\"a\", r#\"b#\"#, \"\", b\"c\", c\"d\", '\"', g); // \"e\"\n";
        let code = Code::of(source);
        let strings: Vec<&str> = code.strings.iter().map(|it| &source[it.clone()]).collect();
        assert_eq!(strings, ["é \\\"a", "b#", ""]);
        assert_eq!(code.text.find('g'), source.find('g'));
        assert_eq!(code.text.len(), source.len());
    }

    #[test]
    fn lifetimes_are_code() {
        let code = Code::of("fn f<'a>(x: &'a str) -> &'a str { x }");
        assert_eq!(code.text, "fn f<'a>(x: &'a str) -> &'a str { x }");
    }
}
