//! Tests that both ways of reading a document have the same result: small UTF-8 documents are read
//! in place, and all others are read through the parser's buffer.

use gatebench_xml::{Document, Limits};

/// The number of spaces that are added after a document. They have no meaning, but make the
/// document too large to be read in place.
const PADDING: usize = 9 << 10;

/// Returns the canonical form of a document and the lines of its elements, or the error.
fn read(bytes: &[u8]) -> Result<(String, Vec<u32>), String> {
    let document =
        Document::parse(bytes, &Limits::default()).map_err(|complaints| complaints.to_string())?;
    let mut text = Vec::new();
    document
        .write_canonical(&mut text, &Limits::default())
        .map_err(|complaints| complaints.to_string())?;
    let mut lines = Vec::new();
    let mut open: Vec<_> = document.root().into_iter().collect();
    while let Some(node) = open.pop() {
        lines.push(node.line());
        open.extend(node.elements());
    }
    Ok((String::from_utf8(text).unwrap(), lines))
}

fn assert_same(bytes: &[u8]) {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len() + PADDING, b' ');
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(read(bytes), read(&padded), "{shown}");
}

const ROOTS: [&[u8]; 20] = [
    b"<a/>",
    b"<a b='1'  c=\"x\ny\"><b/>t<!-- c --><?p i?></a>",
    b"<a>\n<b>\r\n<c/>\r</b>\n\n<d/></a>",
    b"<a>&#65;&lt;&amp;&#x20AC;</a>",
    b"<!DOCTYPE a [<!ENTITY e \"f<g/>ive\"><!ATTLIST a z CDATA 'q'>]><a>&e;&e;&#65;&lt;</a>",
    b"<!DOCTYPE a SYSTEM 'http://x.test/a.dtd'><a/>",
    b"<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>",
    b"<a><![CDATA[<&]]]]>x<![CDATA[y]]></a>",
    b"<p:a xmlns:p='u' xmlns='v'><b p:c='1' xmlns=''/></p:a>",
    b"<p:a/>",
    b"<a>caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80</a>",
    b"<a>caf\xe9</a>",
    b"<a>\xc3</a>",
    b"<a>\xed\xa0\x80</a>",
    b"<a>&amp</a>",
    b"<a b='<'/>",
    b"<a b='1' b='2'/>",
    b"<a></b>",
    b"<a/><b/>",
    b"<a>\x01</a>",
];

const HEADS: [&[u8]; 14] = [
    b"",
    b"\n",
    b"\xef\xbb\xbf",
    b"<!-- first -->",
    b"<?first of all?>",
    b"<?xml version='1.0'?>",
    b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
    b"<?xml version='1.0' encoding='utf-8' standalone='yes'?>\n",
    b"<?xml version='1.0' encoding = 'utf-8'?>",
    b"<?xml version='1.0' encoding='UTF8'?>",
    b"<?xml version='1.0' encoding='utf-8\"?>",
    b"<?xml version='1.0' encoding='iso-8859-1'?>",
    b"<?xml version='1.0' encoding='utf-16'?>",
    b"<?xml version='1.0' encoding='utf-80'?>",
];

#[test]
fn every_way_of_reading_yields_the_same_document() {
    for head in HEADS {
        for root in ROOTS {
            assert_same(&[head, root].concat());
        }
    }
}

#[test]
fn a_zero_byte_does_not_end_a_document() {
    for bytes in [
        &b"<a/>\0<b/>"[..],
        b"<a>\0</a>",
        b"<?xml version='1.0'?>\0<a/>",
        b"<\0a\0/\0>\0",
    ] {
        assert_same(bytes);
    }
    assert!(read(b"<a>\0</a>").is_err());
}

/// The parser looks ahead by 250 bytes at a time.
#[test]
fn documents_as_long_as_two_lookaheads_are_read_whole() {
    for length in 0..600 {
        let text = "\u{e9}x\u{20ac}".repeat(length / 6) + &"y".repeat(length % 6);
        assert_same(format!("<a b='{text}'><b>{text}</b>{text}</a>").as_bytes());
    }
}

/// Tests sizes around the largest one that is read in place.
#[test]
fn documents_of_about_the_size_of_a_buffer_are_read_whole() {
    for length in (8 << 10) - 20..(8 << 10) + 20 {
        let text = "x".repeat(length - 7);
        let (read, _) = read(format!("<a>{text}</a>").as_bytes()).unwrap();
        assert_eq!(read.len(), length);
    }
}
