//! String literals in other languages.

use std::fmt::Write as _;

/// A JavaScript string in single quotes.
pub(crate) fn js(text: &str) -> String {
    let mut literal = String::from("'");
    for char in text.chars() {
        match char {
            '\'' => literal.push_str("\\'"),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            // Line separators end a line in older JavaScript; control characters are invisible.
            char if char.is_control() || matches!(char, '\u{2028}' | '\u{2029}') => {
                // Writing to a string cannot fail.
                let _ = write!(literal, "\\u{:04x}", u32::from(char));
            }
            char => literal.push(char),
        }
    }
    literal.push('\'');
    literal
}

/// A Lua string in double quotes, for arbitrary bytes.
pub(crate) fn lua(bytes: &[u8]) -> String {
    let mut literal = String::from("\"");
    for byte in bytes {
        match byte {
            b'"' => literal.push_str("\\\""),
            b'\\' => literal.push_str("\\\\"),
            b' '..=b'~' => literal.push(char::from(*byte)),
            byte => {
                let _ = write!(literal, "\\{byte:03}");
            }
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_invisible_characters_are_escaped() {
        assert_eq!(
            js("it's \\ \"x\"\n\u{1}é\u{2028}"),
            "'it\\'s \\\\ \"x\"\\n\\u0001é\\u2028'"
        );
        assert_eq!(
            lua("it's \\ \"x\"\n1é".as_bytes()),
            "\"it's \\\\ \\\"x\\\"\\0101\\195\\169\""
        );
    }
}
