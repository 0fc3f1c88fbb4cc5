//! Text that is not XML or is in an unknown encoding, and a few documents that look odd but are
//! valid.

use super::{Body, End, Shape, Way, full, soap};

/// W3C XML Conformance Test Suite, `not-wf`.
const NOT_WF: &str = "W3C xmlconf not-wf";
/// W3C XML Conformance Test Suite, `valid`.
const VALID: &str = "W3C xmlconf valid";
const OWN: &str = "own";

const fn refused(name: &'static str, text: &'static str, words: &'static str) -> Shape {
    Shape {
        name,
        source: NOT_WF,
        way: Way::Identity,
        body: Body::Text(text),
        end: End::Refused(words),
    }
}

const fn bytes(name: &'static str, bytes: &'static [u8], words: &'static str) -> Shape {
    Shape {
        name,
        source: OWN,
        way: Way::Envelope,
        body: Body::Bytes(bytes),
        end: End::Refused(words),
    }
}

const fn passes(name: &'static str, source: &'static str, body: Body) -> Shape {
    Shape {
        name,
        source,
        way: Way::Identity,
        body,
        end: End::Passes,
    }
}

/// Returns a shape whose text is as large as a body may be and contains a single kind of mistake.
const fn flood(name: &'static str, body: fn() -> String) -> Shape {
    Shape {
        name,
        source: OWN,
        way: Way::Identity,
        body: Body::Built(body),
        end: End::Refused("Error code: "),
    }
}

pub const SHAPES: &[Shape] = &[
    refused("an empty document", "", "Document is empty"),
    refused("no markup", "doc", "Start tag expected"),
    refused("no end tag", "<doc>", "Premature end of data"),
    refused(
        "another end",
        "<doc></a>",
        "Opening and ending tag mismatch",
    ),
    refused("two roots", "<doc/><doc/>", "Extra content"),
    refused("text after the root", "<doc/>x", "Extra content"),
    refused("a duplicate attribute", "<doc a='1' a='1'/>", "redefined"),
    refused("an attribute without quotes", "<doc a=v/>", "AttValue"),
    refused("an attribute without a value", "<doc a/>", "mandates value"),
    refused("a tag in an attribute", "<doc a='<foo>'/>", "attributes"),
    refused("an ampersand", "<doc>A & B</doc>", "xmlParseEntityRef"),
    refused("an unknown entity", "<doc>&foo;</doc>", "not defined"),
    refused(
        "a reference to no character",
        "<doc>&#0;</doc>",
        "xmlParseCharRef",
    ),
    refused(
        "a reference to a surrogate",
        "<doc>&#xD800;</doc>",
        "xmlParseCharRef",
    ),
    refused(
        "two hyphens in a comment",
        "<doc><!-- a -- b --></doc>",
        "hyphen",
    ),
    refused(
        "the end of CDATA in text",
        "<doc>]]></doc>",
        "not allowed in content",
    ),
    refused(
        "a declaration in the middle",
        "<doc><?xml version='1.0'?></doc>",
        "XML declaration allowed only",
    ),
    refused(
        "a prefix bound twice",
        "<b:doc xmlns:b='urn:b' xmlns:b='urn:c'/>",
        "redefined",
    ),
    bytes("a zero byte", b"<doc>\0</doc>", "Error code: "),
    bytes("not UTF-8", b"<doc>\xff\xfe</doc>", "not proper UTF-8"),
    bytes("overlong UTF-8", b"<doc>\xc0\x80</doc>", "not proper UTF-8"),
    bytes("truncated UTF-16", b"\xff\xfe<\0d\0o\0", "Error code: "),
    bytes(
        "an unknown encoding",
        b"<?xml version='1.0' encoding='none'?><doc>\xe9</doc>",
        "Error code: ",
    ),
    bytes(
        "a different encoding than declared",
        b"<?xml version='1.0' encoding='UTF-8'?><doc>\xe9</doc>",
        "not proper UTF-8",
    ),
    flood("ampersands", || soap(&full("&", 400))),
    flood("the end of CDATA", || soap(&full("]]>", 400))),
    flood("references to no character", || soap(&full("&#0;", 400))),
    flood("unknown entities", || soap(&full("&x;", 400))),
    flood("opening brackets", || soap(&full("<", 400))),
    flood("control characters", || soap(&full("\u{1}", 400))),
    flood("hyphens in a comment", || {
        soap(&format!("<!--{}-->", full("- -- ", 400)))
    }),
    flood("hyphens in a comment before the root", || {
        format!("<!--{}--><a/>", full("--", 400))
    }),
    flood("ampersands in an attribute", || {
        soap(&format!("<a b='{}'/>", full("& ", 400)))
    }),
    flood("declarations in the middle", || soap(&full("<?xml?>", 400))),
    flood("ends of elements", || soap(&full("</a>", 400))),
    flood("attributes without values", || soap(&full("<a b/>", 400))),
    passes("an empty body", VALID, Body::Built(|| soap(""))),
    passes(
        "a comment, an instruction and CDATA",
        VALID,
        Body::Built(|| soap("<a><!--b--><?c d?><![CDATA[<e>&f;]]></a>")),
    ),
    passes(
        "references",
        VALID,
        Body::Built(|| soap("<a b='&#x9;&#10;&lt;'>&amp;&gt;&quot;&apos;&#x10FFFF;</a>")),
    ),
    passes(
        "line ends of all kinds",
        VALID,
        Body::Built(|| soap("<a>\r\n\r\n</a>")),
    ),
    passes(
        "names in other scripts",
        VALID,
        Body::Built(|| {
            soap("<\u{e9}l\u{e9}ment xml:lang='fr'>\u{4e2d}\u{6587}</\u{e9}l\u{e9}ment>")
        }),
    ),
    passes(
        "a megabyte of text",
        OWN,
        Body::Built(|| soap(&format!("<a>{}</a>", full("x", 400)))),
    ),
    passes(
        "a megabyte of base64 in lines",
        OWN,
        Body::Built(|| {
            soap(&format!(
                "<a>{}</a>",
                full(&("QUJD".repeat(19) + "\n"), 400)
            ))
        }),
    ),
    passes(
        "a list of two thousand items",
        OWN,
        Body::Built(|| {
            soap(&format!(
                "<a>{}</a>",
                "<i k='1'><j>text</j></i>".repeat(2_000)
            ))
        }),
    ),
];
