//! Fits plain text into a fixed number of columns. Text from files and gateways is not trusted:
//! apart from newlines, tabs and colors, nothing that controls the terminal reaches it, and long
//! lines are wrapped or truncated.

use std::iter::Peekable;
use std::str::Chars;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Units, which must stay on the same line as the number before them.
const UNITS: [&str; 9] = ["ns", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "%"];

const TAB: &str = "    ";
const NO_BREAK_SPACE: char = '\u{a0}';
const WORD_JOINER: char = '\u{2060}';

/// Cleans the text like [`clean_lines`], but puts it on one line: newlines and tabs become spaces.
pub fn clean(text: &str) -> String {
    for_terminal(text, false).replace(['\n', '\t'], " ")
}

/// Removes everything that controls a terminal: escape sequences with their parameters (ECMA-48),
/// other control characters, and characters that change the writing direction. Newlines remain;
/// tabs and lone carriage returns become spaces.
pub fn clean_lines(text: &str) -> String {
    for_terminal(text, false).replace('\t', TAB)
}

/// Makes the text safe for a terminal like [`clean_lines`], but keeps tabs and, if the terminal
/// shows them, colors.
pub fn for_terminal(text: &str, has_colors: bool) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\n' | '\t' => kept.push(character),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => kept.push(' '),
            '\u{1b}' => match rest.next_if(|next| matches!(next, ' '..='~')) {
                Some('[') => {
                    let parameters = skip_control_sequence(&mut rest);
                    if has_colors && let Some(parameters) = parameters {
                        kept.push_str(&format!("\u{1b}[{parameters}m"));
                    }
                }
                Some(']' | 'P' | 'X' | '^' | '_') => skip_string(&mut rest),
                // More intermediate characters may precede the final one.
                Some(' '..='/') => {
                    while rest.next_if(|next| matches!(next, ' '..='/')).is_some() {}
                    rest.next_if(|next| matches!(next, '0'..='~'));
                }
                _ => {}
            },
            '\u{9b}' => drop(skip_control_sequence(&mut rest)),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            c if c.is_control() || is_direction(c) => {}
            c => kept.push(c),
        }
    }
    kept
}

/// Skips the parameters and the final character of a control sequence. Returns the parameters if
/// the sequence sets colors.
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut parameters = String::new();
    while let Some(parameter) = rest.next_if(|next| matches!(next, ' '..='?')) {
        parameters.push(parameter);
    }
    let last = rest.next_if(|next| matches!(next, '@'..='~'))?;
    let sets_colors = parameters.chars().all(|c| c.is_ascii_digit() || c == ';');
    (last == 'm' && sets_colors).then_some(parameters)
}

/// Skips a command string, such as a window title. An unterminated string ends with its line, so
/// that it does not hide the lines after it.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    while let Some(character) = rest.next_if(|next| *next != '\n') {
        match character {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                rest.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Returns the number of columns that the text takes up on a terminal.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Shortens text that is wider than `columns`, and ends it with an ellipsis.
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

/// Replaces the middle of text that is wider than `columns` with an ellipsis. This suits paths,
/// which often differ only at their ends.
pub fn without_middle(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.into();
    }
    let begin = truncate(text, columns / 2);
    let room = columns.saturating_sub(width(&begin));
    let mut end = text;
    while width(end) > room {
        let mut characters = end.chars();
        characters.next();
        end = characters.as_str();
    }
    format!("{begin}{end}")
}

pub fn pad_end(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

pub fn pad_start(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Wraps text to at most `columns`. Lines are broken between words, and words that are too long are
/// split. The first line begins with `first`, and the others are indented by its width. The text
/// gets at least 8 columns, even if `columns` is smaller.
pub fn wrap(text: &str, first: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(width(first));
    let room = columns.saturating_sub(width(first)).max(8);
    let mut lines = Vec::new();
    let mut line = String::new();
    let words = words(&clean(text));
    for word in words.iter().flat_map(|word| pieces(word, room)) {
        if !line.is_empty() && width(&line) + 1 + width(&word) > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
    }
    lines.push(line);
    let leads = std::iter::once(first).chain(std::iter::repeat(&*indent));
    let lines = leads.zip(lines);
    lines.map(|(lead, line)| format!("{lead}{line}")).collect()
}

/// Prevents line breaks between a number and its unit and after the dash of a range of numbers.
pub fn with_units_kept(text: &str) -> String {
    let mut words = text.split(' ');
    let mut kept = words.next().unwrap_or_default().to_owned();
    for word in words {
        let is_kept = is_unit_after(&kept, word);
        kept.push(if is_kept { NO_BREAK_SPACE } else { ' ' });
        kept.push_str(word);
    }
    for digit in '0'..='9' {
        kept = kept.replace(&format!("{digit}–"), &format!("{digit}–{WORD_JOINER}"));
    }
    kept
}

/// Reports whether a word is the unit of the number at the end of the text before it.
fn is_unit_after(before: &str, word: &str) -> bool {
    let unit = word.trim_end_matches(['.', ',', ';', ':', ')']);
    UNITS.contains(&unit) && before.ends_with(|c: char| c.is_ascii_digit())
}

/// Splits text into words; a unit stays with its number.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if is_unit_after(last, word) => {
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

/// Reports whether the character reorders the text after it (Unicode bidirectional formatting).
pub fn is_direction(character: char) -> bool {
    matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_does_not_separate_a_number_from_its_unit() {
        let kept = with_units_kept(" 20 % less (14–38 %), 3 µs; – 5 requests/s of % ");
        assert_eq!(
            kept,
            " 20\u{a0}% less (14–\u{2060}38\u{a0}%), 3\u{a0}µs; – 5 requests/s of % "
        );
        assert_eq!(with_units_kept(""), "");
    }

    #[test]
    fn the_middle_is_cut() {
        assert_eq!(without_middle("GET /orders/17", 14), "GET /orders/17");
        assert_eq!(without_middle("GET /orders/17", 10), "GET …rs/17");
        assert_eq!(without_middle("日本語日本語", 7), "日…本語");
        assert_eq!(without_middle("abc", 0), "…");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        for (text, cleaned) in [
            ("a\u{1b}[31mb\u{202e}\nc\u{9b}", "ab\nc"),
            ("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\b", "ab"),
            ("\u{1b}[2J\u{1b}[1;1Ha\u{9b}2Kb\u{9d}0;t\u{9c}c", "abc"),
            ("\u{1b}Pq#0\u{1b}\\a\u{1b}(Bb\u{1b}cc\u{1b}7", "abc"),
            ("open \u{1b}]0;it\nseen", "open \nseen"),
            ("10 %\r20 %\r\n\ta\u{8}b\u{7f}\u{85}", "10 % 20 %\n    ab"),
            ("a\u{2066}b\u{61c}c\u{200f}", "abc"),
            ("網\u{1b}網\u{1b}\u{1b}[m", "網網"),
            ("\u{1b}[31", ""),
        ] {
            assert_eq!(clean_lines(text), cleaned, "{text:?}");
            assert_eq!(for_terminal(text, false).replace('\t', TAB), cleaned);
            assert_eq!(clean(text), cleaned.replace('\n', " ").replace(TAB, " "));
        }
    }

    #[test]
    fn only_colors_reach_a_terminal_that_shows_them() {
        let text =
            "\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}[?25l\u{1b}[>4m\u{1b}]0;x\u{7}\u{9b}31m";
        assert_eq!(for_terminal(text, true), "\u{1b}[1;31mred\u{1b}[0m ");
        assert_eq!(for_terminal(text, false), "red ");
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
