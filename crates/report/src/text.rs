//! Plain text in a fixed number of columns. Names come from files and from gateways, so nothing
//! here trusts them: control characters cannot reach the terminal and nothing is wider than asked.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What must not be parted from the number before it at the end of a line.
const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "%"];

/// The text without control and direction characters; line breaks and tabs become blanks.
pub fn clean(text: &str) -> String {
    text.chars()
        .filter_map(|character| match character {
            '\n' | '\t' | '\r' => Some(' '),
            c if c.is_control() || is_direction(c) => None,
            c => Some(c),
        })
        .collect()
}

/// Columns that the text takes on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text, cut with an ellipsis where it is wider than `columns`.
pub fn truncate(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.into();
    }
    let mut short = String::new();
    let mut used = 0;
    for character in text.chars() {
        let next = character.width().unwrap_or(0);
        if used + next + 1 > columns {
            break;
        }
        used += next;
        short.push(character);
    }
    short.push('…');
    short
}

/// The text padded with blanks on the right.
pub fn pad_end(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text padded with blanks on the left.
pub fn pad_start(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Lines of at most `columns`, broken between words; a word that is wider is broken inside. The
/// first line begins with `first`, the others with as many blanks.
pub fn wrap(text: &str, first: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(width(first));
    let room = columns.saturating_sub(width(first)).max(8);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(&clean(text))
        .iter()
        .flat_map(|word| pieces(word, room))
    {
        if !line.is_empty() && width(&line) + 1 + width(&word) > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    let lead = |index: usize| if index == 0 { first } else { &indent };
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{}{line}", lead(index)))
        .collect()
}

/// The words of a text; a unit stays with its number.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
        match words.last_mut() {
            Some(last) if unit && last.ends_with(|c: char| c.is_ascii_digit()) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

fn pieces(word: &str, room: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for character in word.chars() {
        let next = character.width().unwrap_or(0);
        if used + next > room {
            pieces.push(String::new());
            used = 0;
        }
        used += next;
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
}

/// Characters that reorder what follows them (Unicode bidirectional formatting).
pub fn is_direction(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(clean("a\u{1b}[31mb\u{202e}\nc\u{9b}"), "a[31mb c");
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(truncate("網關網關", 5), "網關…");
        assert_eq!(width(&pad_end("網", 4)), 4);
    }

    #[test]
    fn wrapping_keeps_the_width_and_the_indent() {
        let lines = wrap("one two threefourfivesix", "• ", 10);
        assert_eq!(lines, ["• one two", "  threefou", "  rfivesix"]);
        assert_eq!(
            wrap("takes up 19 µs, no", "", 12),
            ["takes up", "19 µs, no"]
        );
    }
}
