//! Prepares the texts that are sent to helpers.

use std::borrow::Cow;

use crate::document::Document;
use crate::errors::Complaints;
use crate::limits::Limits;
use crate::precheck;

/// Returns the JSON with which helper.py compiles a stylesheet.
pub(super) fn compile_order(text: &str, parameters: &[(String, String)]) -> String {
    let pairs = parameters.iter();
    let pairs = pairs.map(|(name, value)| (json_escaped(name), json_escaped(value)));
    let pairs: Vec<_> = pairs
        .map(|(name, value)| format!("[\"{name}\",\"{value}\"]"))
        .collect();
    let text = json_escaped(text);
    format!(
        "{{\"text\":\"{text}\",\"parameters\":[{}]}}",
        pairs.join(",")
    )
}

pub(crate) fn json_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Returns the text for Saxon to parse: XML in UTF-8 without a document type, or JSON as the text
/// of an element.
///
/// Text that declares a document type or another encoding first goes through this crate's parser,
/// which rejects document types.
pub(super) fn input<'a>(text: &'a [u8], limits: &Limits) -> Result<Cow<'a, [u8]>, Complaints> {
    // Saxon would treat a byte order mark as text before the first element.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let is_json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    if is_json && std::str::from_utf8(text).is_ok() {
        return Ok(Cow::Owned(element_of(text)));
    }
    if is_plain(text) {
        precheck::message(text, limits)?;
        return Ok(Cow::Borrowed(text));
    }
    let tree = Document::parse(text, limits)?;
    let mut out = Vec::with_capacity(text.len());
    tree.write_canonical(&mut out, limits)?;
    Ok(Cow::Owned(out))
}

/// Wraps text in an element. The result is well-formed unless the text has control characters,
/// which JSON contains only escaped.
fn element_of(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 64);
    out.extend_from_slice(b"<json>");
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| b"<>&\r".contains(byte)) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(match rest[at] {
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            _ => b"&#13;",
        });
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(b"</json>");
    out
}

/// Reports whether a document is in UTF-8, declares UTF-8 or no encoding, and has no document type.
/// The XML declaration and the document type come before the first element.
fn is_plain(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    // The last two are line endings in XML 1.1.
    let is_blank = |c: char| c.is_ascii_whitespace() || matches!(c, '\u{85}' | '\u{2028}');
    let mut rest = text.trim_start_matches(is_blank);
    while let Some(inside) = rest
        .strip_prefix("<?")
        .or_else(|| rest.strip_prefix("<!--"))
    {
        let end = if rest.starts_with("<?") { "?>" } else { "-->" };
        let Some((inside, after)) = inside.split_once(end) else {
            return true;
        };
        let names_encoding = inside.starts_with("xml") && inside.contains("encoding");
        if names_encoding && !inside.to_ascii_lowercase().contains("utf-8") {
            return false;
        }
        rest = after.trim_start_matches(is_blank);
    }
    !rest.starts_with("<!")
}

/// Joins the lines of Saxon's message. Spaces within a line are kept, as in Kong's plug-in.
pub(super) fn one_line(words: &str) -> String {
    let lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> String {
        let input = input(text.as_bytes(), &Limits::default()).unwrap();
        String::from_utf8(input.into_owned()).unwrap()
    }

    #[test]
    fn xml_is_sent_unchanged_and_json_as_text() {
        assert_eq!(
            made("<?xml version='1.0'?><!-- < --><a/>"),
            "<?xml version='1.0'?><!-- < --><a/>"
        );
        assert_eq!(
            made("{\"a\": \"<&\"}"),
            "<json>{\"a\": \"&lt;&amp;\"}</json>"
        );
    }

    #[test]
    fn types_are_refused_and_other_encodings_read_by_our_parser() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe4</a>";
        assert_eq!(
            &*input(latin, &Limits::default()).unwrap(),
            "<a>ä</a>".as_bytes()
        );
        for typed in [
            "<!DOCTYPE a><a/>",
            "<!DOCTYPE a SYSTEM 'a.dtd'><a/>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<?xml version='1.1'?>\u{85}<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        ] {
            assert!(
                input(typed.as_bytes(), &Limits::default()).is_err(),
                "{typed}"
            );
        }
        assert!(!is_plain(b"<?xml\tversion='1.0'\tencoding='UTF-7'?><a/>"));
    }

    #[test]
    fn orders_are_json() {
        let parameters = [("p".to_owned(), "q\"\n".to_owned())];
        assert_eq!(
            compile_order("<a b=\"\\\"/>", &parameters),
            r#"{"text":"<a b=\"\\\"/>","parameters":[["p","q\"\n"]]}"#
        );
    }
}
