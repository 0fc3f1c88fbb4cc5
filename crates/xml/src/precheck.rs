//! What must be known before a parser sees a document, because the parser itself would take too long.

use crate::errors::Complaints;
use crate::limits::Limits;

/// Below this size even the parser's worst case is short.
const SMALL_BYTES: usize = 16 << 10;

/// Encodings in which the characters of markup are the bytes of ASCII.
const ENCODINGS: [&str; 6] = [
    "utf-8",
    "utf8",
    "us-ascii",
    "ascii",
    "iso-8859-",
    "windows-125",
];

/// libxml2's code for a document it was told to stop at.
const REFUSED: i32 = 111;

/// Refuses what is too large, what hides its markup in a rare encoding, and start tags with so many
/// attributes that comparing each with each (as the parser does) takes seconds.
pub(crate) fn check(bytes: &[u8], limits: &Limits) -> Result<(), Complaints> {
    if bytes.len() > limits.document_bytes {
        let message = format!(
            "The document has {} bytes and may have {}",
            bytes.len(),
            limits.document_bytes
        );
        return Err(Complaints::own(REFUSED, message));
    }
    if bytes.len() <= SMALL_BYTES {
        return Ok(());
    }
    // Two bytes per character: the same bytes, with zeros between.
    let is_wide =
        bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes[..4].contains(&0);
    if !is_wide && let Some(encoding) = declared_encoding(bytes) {
        let encoding = encoding.to_ascii_lowercase();
        if !ENCODINGS.iter().any(|known| encoding.starts_with(known))
            && !encoding.starts_with("utf-16")
        {
            let message = format!("The encoding {encoding} is not supported");
            return Err(Complaints::own(REFUSED, message));
        }
    }
    if most_attributes(bytes) > usize::from(limits.attributes) {
        let message = format!("An element has more than {} attributes", limits.attributes);
        return Err(Complaints::own(REFUSED, message));
    }
    Ok(())
}

/// `<?xm` in EBCDIC, which libxml2 recognizes by these four bytes.
const EBCDIC: &[u8] = b"\x4c\x6f\xa7\x94";

/// Of the XML declaration.
fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(200)];
    if head.starts_with(EBCDIC) {
        return Some("EBCDIC".to_owned());
    }
    let head = String::from_utf8_lossy(head);
    let declaration = head.split_once("?>").map_or(&*head, |(before, _)| before);
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next()?;
    rest[1..].split(quote).next().map(str::to_owned)
}

/// The most `=` in one start tag, those within values left out.
fn most_attributes(bytes: &[u8]) -> usize {
    let mut most = 0;
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte == b'<') {
        rest = &rest[at + 1..];
        let end = if rest.starts_with(b"!--") {
            after(rest, b"-->")
        } else if rest.starts_with(b"![CDATA[") {
            after(rest, b"]]>")
        } else if rest.starts_with(b"?") {
            after(rest, b"?>")
        } else {
            let (count, length) = tag(rest);
            most = most.max(count);
            length
        };
        rest = &rest[end..];
    }
    most
}

fn after(bytes: &[u8], end: &[u8]) -> usize {
    bytes
        .windows(end.len())
        .position(|window| window == end)
        .map_or(bytes.len(), |at| at + end.len())
}

/// Attributes of the tag that `bytes` begin in, and its length.
fn tag(bytes: &[u8]) -> (usize, usize) {
    let mut count = 0;
    let mut quote = None;
    for (at, &byte) in bytes.iter().enumerate() {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None => match byte {
                b'"' | b'\'' => quote = Some(byte),
                b'=' => count += 1,
                b'>' => return (count, at + 1),
                _ => {}
            },
        }
    }
    (count, bytes.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn large(text: &str) -> Vec<u8> {
        format!("{text}{}", " ".repeat(SMALL_BYTES)).into_bytes()
    }

    #[test]
    fn attributes_are_counted_per_tag_and_outside_of_values() {
        assert_eq!(most_attributes(b"<a b='>= =' c=\"<\"><d e=''/></a>"), 2);
        assert_eq!(
            most_attributes(b"<a><!-- <a b= c= d= --><![CDATA[<a b=]]><?p <= ?></a>"),
            0
        );
        assert_eq!(most_attributes(b"<a b='1' c='2' d="), 3);
    }

    #[test]
    fn rare_encodings_are_refused_by_name() {
        let limits = Limits::default();
        let refused = check(
            &large("<?xml version='1.0' encoding='UTF-7'?><a/>"),
            &limits,
        );
        assert_eq!(
            refused.unwrap_err().to_string(),
            "Error code: 111, Line: 0, Message: The encoding utf-7 is not supported"
        );
        let mut ebcdic = EBCDIC.to_vec();
        ebcdic.resize(2 * SMALL_BYTES, 0x40);
        assert!(check(&ebcdic, &limits).is_err());
        for known in ["UTF-8", "ISO-8859-15", "windows-1252", "us-ascii"] {
            let text = large(&format!("<?xml version='1.0' encoding=\"{known}\" ?><a/>"));
            assert_eq!(check(&text, &limits), Ok(()));
        }
        assert_eq!(check(&large("\u{feff}<a/>"), &limits), Ok(()));
    }

    #[test]
    fn size_is_the_first_limit() {
        let limits = Limits {
            document_bytes: 3,
            ..Limits::default()
        };
        let refused = check(b"<a/>", &limits).unwrap_err().to_string();
        assert_eq!(
            refused,
            "Error code: 111, Line: 0, Message: The document has 4 bytes and may have 3"
        );
    }
}
