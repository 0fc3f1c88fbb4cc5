//! Tests that each document, whether or not it is in the declared encoding, is either read as
//! xmllint reads it or rejected.

use std::io::Write as _;
use std::process::{Command, Stdio};

use gatebench_xml::{Document, Limits};

/// The encodings of the bytes, by iconv's names, each with true if the text begins with U+FEFF.
const WRITTEN: [(&str, bool); 16] = [
    ("UTF-8", false),
    ("UTF-8", true),
    ("UTF-16LE", false),
    ("UTF-16LE", true),
    ("UTF-16BE", false),
    ("UTF-16BE", true),
    ("UTF-32LE", true),
    ("UTF-32BE", false),
    ("ISO-8859-1", false),
    ("WINDOWS-1252", false),
    ("IBM037", false),
    ("IBM1047", false),
    ("UTF-7", false),
    ("SHIFT_JIS", false),
    ("ISO-2022-JP", false),
    ("GB18030", false),
];

/// The declared encodings; empty for no declaration.
const DECLARED: [&str; 14] = [
    "",
    "UTF-8",
    "utf-16",
    "UTF-16LE",
    "UTF-32",
    "UCS-4",
    "ISO-8859-1",
    "windows-1252",
    "IBM037",
    "UTF-7",
    "Shift_JIS",
    "ISO-2022-JP",
    "GB18030",
    "no-such",
];

/// Encodes text. Returns `None` if the encoding cannot represent it.
fn encoded(text: &str, encoding: &str) -> Option<Vec<u8>> {
    let mut child = Command::new("iconv")
        .args(["-f", "UTF-8", "-t", encoding])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    output.status.success().then_some(output.stdout)
}

/// Returns xmllint's canonical form of the document, or `None` if the document is not well-formed.
fn by_xmllint(folder: &std::path::Path, bytes: &[u8]) -> Option<Vec<u8>> {
    let file = folder.join("document.xml");
    std::fs::write(&file, bytes).unwrap();
    let output = Command::new("xmllint")
        .args(["--nonet", "--c14n"])
        .arg(&file)
        .output()
        .unwrap();
    output.status.success().then_some(output.stdout)
}

fn by_us(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let document = Document::parse(bytes, &Limits::default()).map_err(|why| why.to_string())?;
    let mut text = Vec::new();
    document
        .write_canonical(&mut text, &Limits::default())
        .map_err(|why| why.to_string())?;
    Ok(text)
}

#[test]
fn documents_in_any_encoding_are_read_in_the_same_way_as_by_xmllint() {
    let folder = tempfile::tempdir().unwrap();
    let (mut read, mut refused, mut unsupported) = (0, 0, 0);
    for (encoding, has_mark) in WRITTEN {
        for declared in DECLARED {
            for (padding, word) in [(0, "\u{e9}"), (0, "e"), (20_000, "\u{e9}"), (20_000, "e")] {
                let declaration = match declared {
                    "" => String::new(),
                    name => format!("<?xml version=\"1.0\" encoding=\"{name}\"?>"),
                };
                let mark = if has_mark { "\u{feff}" } else { "" };
                let blanks = " ".repeat(padding);
                let text = format!("{mark}{declaration}<a b=\"{word}\">&lt;{word}{blanks}</a>");
                let Some(bytes) = encoded(&text, encoding) else {
                    continue;
                };
                let case = format!("{encoding} {has_mark} as {declared:?}, {padding} more, {word}");
                match (by_us(&bytes), by_xmllint(folder.path(), &bytes)) {
                    (Ok(ours), Some(theirs)) => {
                        assert_eq!(ours, theirs, "{case}");
                        read += 1;
                    }
                    (Ok(_), None) => panic!("{case}: xmllint refuses it, but we read it"),
                    (Err(_), None) => refused += 1,
                    (Err(why), Some(_)) => {
                        // Large documents are checked before they are parsed, and the check
                        // supports fewer encodings.
                        assert!(
                            padding > 0 && why.contains("is not supported"),
                            "{case}: {why}"
                        );
                        unsupported += 1;
                    }
                }
            }
        }
    }
    assert!(
        read > 100 && refused > 100 && unsupported > 5,
        "{read} {refused} {unsupported}"
    );
}
