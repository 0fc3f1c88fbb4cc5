//! String literals in other languages.

/// Returns a JavaScript string literal in single quotes.
pub(crate) fn js(text: &str) -> String {
    let escaped = |c: char| match c {
        '\'' | '\\' => format!("\\{c}"),
        '\n' => "\\n".into(),
        '\r' => "\\r".into(),
        '\t' => "\\t".into(),
        // Line separators end a line in older JavaScript, and control characters are invisible.
        c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
            format!("\\u{:04x}", u32::from(c))
        }
        c => c.into(),
    };
    format!("'{}'", text.chars().map(escaped).collect::<String>())
}

/// Returns a Lua string literal in double quotes, for arbitrary bytes.
pub(crate) fn lua(bytes: impl AsRef<[u8]>) -> String {
    let escaped = |byte: &u8| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        byte => format!("\\{byte:03}"),
    };
    let escaped: String = bytes.as_ref().iter().map(escaped).collect();
    format!("\"{escaped}\"")
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
            lua("it's \\ \"x\"\n1é"),
            "\"it's \\\\ \\\"x\\\"\\0101\\195\\169\""
        );
    }
}
