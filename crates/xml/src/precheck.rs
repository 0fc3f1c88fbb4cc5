//! Checks a document before it is parsed, because the parser itself would take too long to reject
//! some documents.

use std::borrow::Cow;

use crate::errors::Complaints;
use crate::limits::Limits;

/// The size up to which even the parser's worst case is fast.
const SMALL_BYTES: usize = 16 << 10;

/// Prefixes of the names of encodings in which markup characters are encoded as in ASCII.
const ENCODINGS: [&str; 6] = [
    "utf-8",
    "utf8",
    "us-ascii",
    "ascii",
    "iso-8859-",
    "windows-125",
];

/// The declared encodings under which the parser keeps using UTF-16 if the document's first bytes
/// indicate it.
const WIDE_ENCODINGS: [&str; 6] = ["utf-16", "utf16", "utf-16le", "utf-16be", "utf-8", "utf8"];

/// The maximum number of names that the document type of a definition may list for one attribute.
const TOKENS_MAX: usize = 256;

/// libxml2's error code for a document whose parsing was stopped.
pub(crate) const REFUSED: i32 = 111;

/// Rejects messages that are too large. Above [`SMALL_BYTES`], also rejects messages that could
/// hide markup in a rare encoding, or that have a start tag with too many attributes. The parser
/// compares each attribute with every other, which may take seconds.
pub(crate) fn message(bytes: &[u8], limits: &Limits) -> Result<(), Complaints> {
    look(bytes, limits).map(drop)
}

/// Rejects a definition for the same reasons as [`message`] rejects a message, or if an enumeration
/// in its document type would take the parser equally long.
pub(crate) fn definition(bytes: &[u8], limits: &Limits) -> Result<(), Complaints> {
    if look(bytes, limits)?.is_some_and(|text| most_tokens(&text) > TOKENS_MAX) {
        let message =
            format!("An enumeration of the document type has more than {TOKENS_MAX} tokens");
        return Err(Complaints::own(REFUSED, message));
    }
    Ok(())
}

/// Performs the checks that messages and definitions have in common. Returns the characters for
/// further checks, unless there are too few to matter.
fn look<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Option<Cow<'a, [u8]>>, Complaints> {
    if bytes.len() > limits.document_bytes {
        let message = format!(
            "The document has {} bytes; the limit is {}",
            bytes.len(),
            limits.document_bytes
        );
        return Err(Complaints::own(REFUSED, message));
    }
    if bytes.len() <= SMALL_BYTES {
        return Ok(None);
    }
    let text = characters(bytes)?;
    let is_wide = matches!(text, Cow::Owned(_));
    if let Some(encoding) = declared_encoding(&text) {
        let is_known = match is_wide {
            true => WIDE_ENCODINGS.contains(&&*encoding),
            // The parser itself rejects single-byte characters if UTF-16 is declared.
            false => {
                matches!(&*encoding, "utf-16" | "utf16")
                    || ENCODINGS.iter().any(|known| encoding.starts_with(known))
            }
        };
        if !is_known {
            return Err(unsupported(&encoding));
        }
    }
    if most_attributes(&text) > usize::from(limits.attributes) {
        let message = format!("An element has more than {} attributes", limits.attributes);
        return Err(Complaints::own(REFUSED, message));
    }
    Ok(Some(text))
}

fn unsupported(encoding: &str) -> Complaints {
    let message = format!("The encoding {encoding} is not supported");
    Complaints::own(REFUSED, message)
}

/// `<?xm` in EBCDIC, which libxml2 recognizes by these four bytes.
const EBCDIC: &[u8] = b"\x4c\x6f\xa7\x94";

/// Returns the document with one byte per markup character. As in libxml2, the first bytes identify
/// UTF-16, which is narrowed, with 0x80 for units above 0xFF.
fn characters(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Complaints> {
    let narrow = |unit: fn([u8; 2]) -> u16| {
        let (units, _) = bytes.as_chunks::<2>();
        let narrowed = units
            .iter()
            .map(|&two| u8::try_from(unit(two)).unwrap_or(0x80));
        Cow::Owned(narrowed.collect())
    };
    match bytes {
        [0xff, 0xfe, ..] | [b'<', 0, b'?', 0, ..] => Ok(narrow(u16::from_le_bytes)),
        [0xfe, 0xff, ..] | [0, b'<', 0, b'?', ..] => Ok(narrow(u16::from_be_bytes)),
        _ if bytes.starts_with(EBCDIC) => Err(unsupported("EBCDIC")),
        // The document has four bytes per character or an unknown encoding.
        [0, ..] | [_, 0, ..] | [_, _, 0, ..] | [_, _, _, 0, ..] => {
            Err(unsupported("indicated by the first bytes"))
        }
        _ => Ok(Cow::Borrowed(bytes)),
    }
}

/// Returns the encoding in the XML declaration at the beginning, in lowercase, or `None` if there
/// is none.
fn declared_encoding(text: &[u8]) -> Option<String> {
    // Skip the byte order mark of UTF-8, or that of UTF-16, which has become one character.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let text = text.strip_prefix(b"\x80").unwrap_or(text);
    let declaration = text.strip_prefix(b"<?xml")?;
    let end = declaration.windows(2).position(|two| two == b"?>");
    let declaration = String::from_utf8_lossy(&declaration[..end.unwrap_or(declaration.len())]);
    let (_, rest) = declaration.split_once("encoding")?;
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let (name, _) = rest[1..].split_once(quote)?;
    Some(name.to_ascii_lowercase())
}

/// Returns the largest number of attributes in a start tag.
///
/// Each `<` before a name counts as a tag, even in comments and entities. The parser continues
/// after a mistake and then finds tags where a well-formed document has none. A tag ends at the
/// first `>` outside quotes, or at the next `<`.
fn most_attributes(text: &[u8]) -> usize {
    let tags = text.split(|&byte| byte == b'<').skip(1);
    let named = tags.filter(|tag| !matches!(tag.first(), Some(b'!' | b'?' | b'/')));
    named.map(attributes).max().unwrap_or(0)
}

/// Returns the largest number of names between parentheses in an attribute list of a document type.
/// The parser compares each name with every other.
fn most_tokens(text: &[u8]) -> usize {
    let parts = text.split(|&byte| byte == b'<');
    let lists = parts.filter(|part| part.starts_with(b"!ATTLIST"));
    let enumerations = lists.flat_map(|list| list.split(|&byte| byte == b'('));
    let bars = |text: &[u8]| text.iter().filter(|&&byte| byte == b'|').count();
    enumerations.map(|names| bars(names) + 1).max().unwrap_or(0)
}

/// Returns the number of attributes of the tag that `text` begins in: quoted values after a `=`.
fn attributes(text: &[u8]) -> usize {
    let mut count = 0;
    let mut quote = None;
    let mut before = 0;
    for &byte in text {
        match quote {
            Some(open) if byte == open => quote = None,
            Some(_) => continue,
            None if matches!(byte, b'"' | b'\'') => {
                count += usize::from(before == b'=');
                quote = Some(byte);
            }
            None if byte == b'>' => break,
            None => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large(text: &str) -> Vec<u8> {
        format!("{text}{}", " ".repeat(SMALL_BYTES)).into_bytes()
    }

    #[test]
    fn attributes_are_counted_per_tag_and_outside_of_values() {
        assert_eq!(most_attributes(b"<a b='>= =' c=\"[\"><d e = ''/></a>"), 2);
        assert_eq!(
            most_attributes(b"<a><!-- a b='' c='' d='' --><![CDATA[a b='']]><?p a='' ?></a b=''>"),
            0
        );
        assert_eq!(most_attributes(b"<a b='1' c='2' d="), 2);
        assert_eq!(most_attributes(b"<a>b='' c='' d=''</a>"), 0);
    }

    /// Each of these beginnings, except the empty one, would hide the tag after it from a reader
    /// that takes the beginning literally, but libxml2 continues after all of them.
    #[test]
    fn attributes_cannot_be_hidden() {
        let limits = Limits::default();
        let few: String = (0..3_000).map(|n| format!(" a{n}=\"\"")).collect();
        let tag = format!("<a{few}/>");
        for before in [
            "",
            "<!DOCTYPE a [<!-- ' -->]>",
            "<!DOCTYPE a [<!ENTITY e '<!--'>]>",
            "<!DOCTYPE a [<!ENTITY e \"<b c='\">]>",
            "<r><!--><![CDATA[ -->",
            "<r><![CDATA[\u{1}",
            "<r><!--\u{1}",
            "<r><? ",
            "<r b=\"",
            "<r b='\u{2200}'>",
            "<r b='\u{2700}' c=''>",
        ] {
            let text = format!("{before}{tag}");
            let wide = |to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
                let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
                units.flat_map(to_bytes).collect()
            };
            let all = [
                text.clone().into_bytes(),
                wide(u16::to_le_bytes),
                wide(u16::to_be_bytes),
            ];
            for bytes in all {
                let refused = message(&bytes, &limits).unwrap_err().to_string();
                assert!(refused.contains("more than 256 attributes"), "{before}");
            }
        }
    }

    #[test]
    fn enumerations_are_counted_one_by_one() {
        let with = |count: usize| {
            let names: Vec<String> = (0..count).map(|n| format!("n{n}")).collect();
            let list = names.join(" | ");
            large(&format!(
                "<!DOCTYPE a [<!ATTLIST a b ({list}) #IMPLIED c NOTATION ({list}) 'n1'>]><a/>"
            ))
        };
        let limits = Limits::DEFINITIONS;
        assert_eq!(definition(&with(TOKENS_MAX), &limits), Ok(()));
        let refused = definition(&with(TOKENS_MAX + 1), &limits).unwrap_err();
        assert!(refused.to_string().contains("more than 256 tokens"));
    }

    #[test]
    fn text_like_a_declaration_is_not_one_elsewhere() {
        for text in [
            "<a encoding=\"base64\">",
            "<a>encoding=\u{e9}",
            "<a>encoding=",
            " <?xml encoding='UTF-7'?>",
            "<?xml encoding=\u{e9}?>",
        ] {
            assert_eq!(message(&large(text), &Limits::default()), Ok(()), "{text}");
        }
    }

    #[test]
    fn rare_encodings_are_refused_by_name() {
        let limits = Limits::default();
        let refused = message(
            &large("<?xml version='1.0' encoding='UTF-7'?><a/>"),
            &limits,
        );
        assert_eq!(
            refused.unwrap_err().to_string(),
            "Error code: 111, Line: 0, Message: The encoding utf-7 is not supported"
        );
        let blanks = " ".repeat(1_000);
        let declared = |name: &str| format!("<?xml version='1.0'{blanks}encoding = '{name}'?><a/>");
        let wide = |text: &str| -> Vec<u8> {
            let text = format!("\u{feff}{text}{}", " ".repeat(SMALL_BYTES));
            text.encode_utf16().flat_map(u16::to_le_bytes).collect()
        };
        let first = |bytes: &[u8]| {
            let mut all = bytes.to_vec();
            all.resize(2 * SMALL_BYTES, 0x40);
            all
        };
        for hidden in [
            large(&declared("IBM037")),
            large(&declared("UTF-16LE")),
            wide(&declared("IBM037")),
            first(EBCDIC),
            first(b"<\0\0\0"),
            first(b"\0\0\0<"),
        ] {
            assert!(message(&hidden, &limits).is_err(), "{:?}", &hidden[..40]);
        }
        assert_eq!(message(&wide(&declared("utf-16")), &limits), Ok(()));
        assert_eq!(message(&wide("<a/>"), &limits), Ok(()));
        for known in ["UTF-8", "ISO-8859-15", "windows-1252", "us-ascii"] {
            let text = large(&format!("<?xml version='1.0' encoding=\"{known}\" ?><a/>"));
            assert_eq!(message(&text, &limits), Ok(()));
        }
        assert_eq!(message(&large("\u{feff}<a/>"), &limits), Ok(()));
    }

    #[test]
    fn size_is_the_first_limit() {
        let limits = Limits {
            document_bytes: 3,
            ..Limits::default()
        };
        let refused = message(b"<a/>", &limits).unwrap_err().to_string();
        assert_eq!(
            refused,
            "Error code: 111, Line: 0, Message: The document has 4 bytes; the limit is 3"
        );
    }
}
