//! Tests the limits that docs/evidence/ROBUSTNESS.md states for the XML policies. Input at the
//! limit must pass, and input beyond it must be rejected with a message that names the limit.

use std::io::Write as _;

use crate::common::calculator::*;
use crate::common::processor::cpu_of;
use flate2::Compression;
use flate2::write::GzEncoder;
use gatebench_xml::soap::{Options, Request};
use gatebench_xml::{
    Budget, Document, Limits, NoFiles, Parameters, Schema, Spent, Stylesheet, XPath,
};

/// A limit on a number, such as a number of bytes or of elements.
struct Case {
    /// Makes a document in which the number has this value.
    document: fn(usize) -> String,
    /// The largest permitted number.
    max: usize,
    /// The distance from `max` to the next number that a document can have.
    step: usize,
    /// A part of the error message for a document with this next number.
    words: &'static str,
}

/// Returns a document of this size with two text nodes, because libxml2 allows no text node of more
/// than 10 MB.
fn long(bytes: usize) -> String {
    let half = "x".repeat(bytes / 2);
    let rest = "x".repeat(bytes - bytes / 2 - "<a><b/></a>".len());
    format!("<a>{half}<b/>{rest}</a>")
}

fn namespaces(count: usize) -> String {
    let outer = numbered(count / 2, |n| format!(" xmlns:b{n}='urn:x'"));
    let inner = numbered(count - count / 2, |n| format!(" xmlns:b{n}='urn:y'"));
    format!("<a{outer}><c{inner}/></a>")
}

fn enumeration(count: usize) -> String {
    let names = numbered(count - 1, |n| format!("b{n}|"));
    format!("<!DOCTYPE a [<!ATTLIST a b ({names}c) #IMPLIED>]><a/>")
}

fn numbered(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

const OF_MESSAGES: [Case; 10] = [
    Case {
        document: long,
        max: 8 << 20,
        step: 1,
        words: "the limit is 8388608",
    },
    Case {
        document: |depth| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth)),
        max: 200,
        step: 1,
        words: "Elements are nested deeper than 200",
    },
    Case {
        document: |nodes| format!("<a>{}</a>", "<b/>".repeat(nodes - 1)),
        max: 50_000,
        step: 1,
        words: "more than 50000 elements, attributes",
    },
    Case {
        document: |nodes| format!("<a>{}</a>", "<b c=''/>".repeat(nodes / 2) + "<!---->"),
        max: 49_998,
        step: 2,
        words: "more than 50000 elements, attributes",
    },
    Case {
        document: |nodes| format!("<a>{}</a>", "<!---->".repeat(nodes - 1)),
        max: 50_000,
        step: 1,
        words: "comments and processing instructions",
    },
    Case {
        document: |nodes| format!("<a>{}</a>", "<?b?>".repeat(nodes - 1)),
        max: 50_000,
        step: 1,
        words: "comments and processing instructions",
    },
    Case {
        document: |count| format!("<a{}/>", numbered(count, |n| format!(" b{n}=''"))),
        max: 256,
        step: 1,
        words: "An element has more than 256 attributes",
    },
    Case {
        document: |bytes| format!("<a b='{}'/>", "x".repeat(bytes)),
        max: 1 << 20,
        step: 1,
        words: "An attribute is longer than 1048576 bytes",
    },
    Case {
        document: namespaces,
        max: 64,
        step: 1,
        words: "More than 64 namespaces are in scope",
    },
    Case {
        document: |bytes| format!("<a xmlns='urn:{}'/>", "x".repeat(bytes - 4)),
        max: 512,
        step: 1,
        words: "The name of a namespace is longer than 512 bytes",
    },
];

#[test]
fn messages_pass_at_their_limits_and_not_beyond() {
    for (at, case) in OF_MESSAGES.iter().enumerate() {
        let parse = |number| {
            let text = (case.document)(number);
            Document::parse(text.as_bytes(), &Limits::default())
        };
        let passed = parse(case.max);
        assert!(passed.is_ok(), "{at}: {passed:?}");
        let why = parse(case.max + case.step).unwrap_err().to_string();
        assert!(why.contains(case.words), "{at}: {why}");
    }
}

const OF_DEFINITIONS: [Case; 7] = [
    Case {
        document: long,
        max: 16 << 20,
        step: 1,
        words: "the limit is 16777216",
    },
    Case {
        document: |count| {
            let each = numbered(count, |n| format!("<!ENTITY b{n} 'c'>"));
            format!("<!DOCTYPE a [{each}]><a/>")
        },
        max: 1_000,
        step: 1,
        words: "more than 1000 declarations",
    },
    Case {
        document: |count| {
            let list = numbered(count - 3, |n| format!(" b{n} CDATA #IMPLIED"));
            let others = "<!ELEMENT d ANY><!NOTATION e SYSTEM 'f'><!ENTITY % g 'h'>";
            format!("<!DOCTYPE a [<!ATTLIST a{list}>{others}]><a/>")
        },
        max: 1_000,
        step: 1,
        words: "more than 1000 declarations",
    },
    Case {
        document: enumeration,
        max: 256,
        step: 1,
        words: "more than 256 tokens",
    },
    Case {
        document: |count| enumeration(count) + &" ".repeat(20_000),
        max: 256,
        step: 1,
        words: "more than 256 tokens",
    },
    Case {
        document: |bytes| {
            let half = "x".repeat(bytes / 2);
            let rest = "y".repeat(bytes % 2);
            format!("<!DOCTYPE a [<!ENTITY b '{half}'><!ENTITY c '{rest}'>]><a>&b;&b;&c;</a>")
        },
        max: 64 << 10,
        step: 1,
        words: "Entities expand to more than is allowed",
    },
    Case {
        document: namespaces,
        max: 256,
        step: 1,
        words: "More than 256 namespaces are in scope",
    },
];

#[test]
fn definitions_pass_at_their_limits_and_not_beyond() {
    for (at, case) in OF_DEFINITIONS.iter().enumerate() {
        let parse = |number| {
            let text = (case.document)(number);
            Document::parse_definition(text.as_bytes(), &Limits::DEFINITIONS, None)
        };
        let passed = parse(case.max);
        assert!(passed.is_ok(), "{at}: {passed:?}");
        let why = parse(case.max + case.step).unwrap_err().to_string();
        assert!(why.contains(case.words), "{at}: {why}");
    }
}

#[test]
fn unpacked_gzip_is_limited_to_the_size_of_a_body() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(ADD.as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    for (body_bytes, passes) in [(ADD.len(), true), (ADD.len() - 1, false)] {
        let policy = policy(Options {
            limits: Limits {
                body_bytes,
                ..Limits::default()
            },
            ..verbose()
        });
        let passed = policy.request(&Request {
            content_encoding: Some("gzip"),
            body: &packed,
            ..soap("")
        });
        assert_eq!(passed.is_ok(), passes);
        if let Err(fault) = passed {
            let words = format!("it unpacks to more than {body_bytes} bytes");
            assert!(message(&fault).contains(&words));
        }
    }
}

fn sheet(templates: &str) -> String {
    format!(
        "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\">{templates}</xsl:stylesheet>"
    )
}

fn made(templates: &str, message: &str, limits: &Limits) -> Result<Document, String> {
    let text = sheet(templates);
    let style = Stylesheet::parse(text.as_bytes(), None, &NoFiles, &Limits::DEFINITIONS).unwrap();
    let mut input = Document::parse(message.as_bytes(), limits).unwrap();
    style
        .apply(&mut input, &Parameters::default(), limits)
        .map_err(|why| why.to_string())
}

fn children(count: usize) -> String {
    format!("<a>{}</a>", "<b/>".repeat(count))
}

#[test]
fn sorting_is_limited() {
    let limits = Limits::default();
    let sort = "<xsl:sort select=\"position()\" data-type=\"number\" order=\"descending\"/>";
    let templates = [
        format!(
            "<xsl:template match=\"/a\"><c><xsl:for-each select=\"b\">{sort}<d/></xsl:for-each></c></xsl:template>"
        ),
        format!(
            "<xsl:template match=\"/a\"><c><xsl:apply-templates select=\"b\">{sort}</xsl:apply-templates></c></xsl:template>"
        ),
    ];
    for templates in templates {
        assert!(made(&templates, &children(4_000), &limits).is_ok());
        let why = made(&templates, &children(4_001), &limits).unwrap_err();
        assert!(why.contains("xsl:sort : more than 4000 nodes"), "{why}");
    }
}

#[test]
fn ordering_of_nodes_without_elements_between_is_limited() {
    let limits = Limits::default();
    let all =
        "<xsl:template match=\"/\"><a><xsl:copy-of select=\"a/node()|a/@*\"/></a></xsl:template>";
    let xpath = XPath::compile("//text()", &[]).unwrap();
    let in_rows = |count: usize, behind: &str| {
        let row = "x<!---->".repeat(count) + behind;
        let text = format!(
            "<a>{}</a>",
            format!("{row}<b/>").repeat(4_000_000 / 4 / count / count)
        );
        let document = Document::parse(text.as_bytes(), &limits).unwrap();
        [
            made(all, &text, &limits).map(drop),
            xpath
                .first_text(&document, &limits)
                .map(drop)
                .map_err(|why| why.to_string()),
        ]
    };
    for count in [1_000, 100] {
        for passed in in_rows(count, "") {
            assert_eq!(passed, Ok(()));
        }
        for refused in in_rows(count, "x") {
            let why = refused.unwrap_err();
            let words = "Too many comments and processing instructions follow each other";
            assert!(why.contains(words), "{why}");
        }
    }
}

/// Bisects for the largest number that passes, assuming that all smaller numbers pass and no larger
/// ones do.
fn greatest(beyond: usize, passes: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, beyond);
    assert!(passes(low) && !passes(high));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if passes(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[test]
fn instructions_are_nested_to_the_limit() {
    let limits = Limits {
        transform_depth: 100,
        ..Limits::default()
    };
    let nested = |depth: usize| {
        let templates = format!(
            "<xsl:template match=\"/\"><xsl:call-template name=\"t\"/></xsl:template>\
             <xsl:template name=\"t\"><xsl:param name=\"n\" select=\"{depth}\"/><a><xsl:if test=\"$n &gt; 0\">\
             <xsl:call-template name=\"t\"><xsl:with-param name=\"n\" select=\"$n - 1\"/></xsl:call-template>\
             </xsl:if></a></xsl:template>"
        );
        made(&templates, "<a/>", &limits)
    };
    let depth = greatest(200, |depth| nested(depth).is_ok());
    assert!((30..=100).contains(&depth), "{depth}");
    let why = nested(depth + 1).unwrap_err();
    assert!(why.contains("infinite template recursion"), "{why}");
}

#[test]
fn steps_are_counted_to_the_limit() {
    let limits = Limits {
        operations: 10_000,
        ..Limits::default()
    };
    let template =
        "<xsl:template match=\"/\"><c><xsl:value-of select=\"count(//b)\"/></c></xsl:template>";
    let count = greatest(20_000, |count| {
        made(template, &children(count), &limits).is_ok()
    });
    assert!((2_000..=10_000).contains(&count), "{count}");

    let xpath = XPath::compile("//b", &[]).unwrap();
    let find = |count: usize| {
        let document = Document::parse(children(count).as_bytes(), &limits).unwrap();
        xpath.first_text(&document, &limits)
    };
    let count = greatest(20_000, |count| find(count).is_ok());
    assert!((2_000..=10_000).contains(&count), "{count}");
    assert!(
        find(count + 1)
            .unwrap_err()
            .to_string()
            .contains("limit exceeded")
    );
}

#[test]
fn expressions_are_as_long_and_as_deep_as_the_limit() {
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(XPath::compile(&nested(100), &[]).is_ok());
    let why = XPath::compile(&nested(101), &[]).unwrap_err().to_string();
    assert!(why.contains("nested deeper than 100"), "{why}");
    let long = |bytes: usize| format!("'{}'", "x".repeat(bytes - 2));
    assert!(XPath::compile(&long(8 << 10), &[]).is_ok());
    let why = XPath::compile(&long((8 << 10) + 1), &[])
        .unwrap_err()
        .to_string();
    assert!(why.contains("longer than 8192 bytes"), "{why}");
}

#[test]
fn memory_may_be_held_up_to_the_limit() {
    let limits = Limits {
        held_bytes: 4 << 20,
        time_ms: None,
        ..Limits::default()
    };
    let spent = |bytes: usize| {
        let text = format!("<a>{}</a>", "x".repeat(bytes));
        let budget = Budget::begin(&limits);
        let parsed = Document::parse(text.as_bytes(), &limits);
        (budget.end(), parsed.is_ok())
    };
    let bytes = greatest(4 << 20, |bytes| spent(bytes) == (None, true));
    // While reading a text node, libxml2 holds the bytes and a buffer that doubles as it grows.
    assert!(bytes > limits.held_bytes / 5, "{bytes}");
    assert_eq!(spent(bytes + 1).0, Some(Spent::Memory));
    // Memory that another message has held and released does not count.
    for _ in 0..20 {
        assert_eq!(spent(bytes / 2), (None, true));
    }
}

/// A template that evaluates one short expression for each pair of nodes.
const PAIRS: &str = "<xsl:template match=\"/a\"><c><xsl:for-each select=\"b\"><xsl:for-each select=\"../b\">\
<xsl:value-of select=\"generate-id()\"/></xsl:for-each></xsl:for-each></c></xsl:template>";

#[test]
fn cpu_time_may_be_used_up_to_the_limit() {
    if cfg!(feature = "plain-memory") {
        // Times under Valgrind are meaningless.
        return;
    }
    let limits = Limits {
        operations: u32::MAX,
        held_bytes: 1 << 30,
        time_ms: Some(50),
        ..Limits::default()
    };
    let spent = |count: usize| {
        let budget = Budget::begin(&limits);
        let result = made(PAIRS, &children(count), &limits);
        (budget.end(), result.is_ok())
    };
    assert_eq!(spent(10), (None, true));
    assert_eq!(spent(20_000), (Some(Spent::Time), false));
    let policy = policy(Options {
        xslt_before: text(sheet(PAIRS)),
        limits,
        ..verbose()
    });
    let fault = policy.request(&soap(&children(20_000))).unwrap_err();
    let why = message(&fault);
    assert!(why.contains("takes more than 50 ms of CPU time"), "{why}");
}

/// libxml2 has no function to stop a validation, so the shim stops it by temporarily removing the
/// rest of the tree.
#[test]
fn a_validation_ends_at_the_time_limit_and_leaves_the_document_unchanged() {
    const COUNT: usize = 40_000;
    if cfg!(feature = "plain-memory") {
        return;
    }
    let text = "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\"><xs:element name=\"a\"><xs:complexType>\
                <xs:sequence><xs:element name=\"b\" type=\"list\" maxOccurs=\"unbounded\"/></xs:sequence>\
                </xs:complexType></xs:element>\
                <xs:simpleType name=\"list\"><xs:list itemType=\"xs:int\"/></xs:simpleType></xs:schema>";
    let limits = Limits {
        time_ms: Some(2),
        ..Limits::default()
    };
    let schema = Schema::parse(text.as_bytes(), None, &NoFiles, &Limits::DEFINITIONS).unwrap();
    for (value, is_valid) in [("1", true), ("x", false)] {
        let item = format!("<b>{}{value}</b>", "1 ".repeat(80));
        let text = format!("<a>{}</a>", item.repeat(COUNT));
        let document = Document::parse(text.as_bytes(), &limits).unwrap();
        let whole = cpu_of(|| assert_eq!(schema.validate(&document).is_ok(), is_valid));
        let cut = cpu_of(|| {
            let budget = Budget::begin(&limits);
            let _ = schema.validate(&document);
            assert_eq!(budget.end(), Some(Spent::Time), "{value}: {whole:?}");
        });
        assert!(cut < whole / 2, "{cut:?} of {whole:?}");
        assert_eq!(document.root().unwrap().elements().count(), COUNT);
        assert_eq!(schema.validate(&document).is_ok(), is_valid);
    }
}
