//! Messages of up to a megabyte that are as expensive to process as possible. Most of them are
//! well-formed.

use super::{BODY_BYTES, Body, End, Shape, Way, each, full, soap};

const OWN: &str = "own";
/// CWE-407, Inefficient Algorithmic Complexity.
const CWE_407: &str = "CWE-407";
/// CWE-770, Allocation of Resources Without Limits or Throttling.
const CWE_770: &str = "CWE-770";
/// WS-Attacks.org: coercive parsing, oversized payload, attribute count, namespaces, XML flooding.
const WS_ATTACKS: &str = "WS-Attacks.org";

const fn ends(name: &'static str, source: &'static str, way: Way, body: fn() -> String) -> Shape {
    Shape {
        name,
        source,
        way,
        body: Body::Built(body),
        end: End::Either,
    }
}

const fn refused(name: &'static str, way: Way, body: fn() -> String, words: &'static str) -> Shape {
    Shape {
        name,
        source: WS_ATTACKS,
        way,
        body: Body::Built(body),
        end: End::Refused(words),
    }
}

/// The number of elements that a message may have, less some for the envelope.
const ELEMENTS: usize = 49_900;

fn elements(unit: &str, nodes_each: usize) -> String {
    soap(&unit.repeat((ELEMENTS / nodes_each).min((BODY_BYTES - 400) / unit.len())))
}

fn empty_elements() -> String {
    elements("<i/>", 1)
}

fn keyed_elements() -> String {
    let items = each(16_000, |n| format!("<i k='{n}'>{}</i>", n * 7919 % 10_007));
    soap(&items)
}

fn same_keys() -> String {
    elements("<i k='1'>a</i>", 2)
}

/// Returns a message with as many declarations as may be in scope, around `inside`. `prefix` and
/// `name` return the prefix and the namespace name of each declaration.
fn in_scope(prefix: fn(usize) -> String, name: fn(usize) -> String, inside: &str) -> String {
    // The envelope declares one more.
    let all = each(63, |n| format!(" xmlns:{}='{}'", prefix(n), name(n)));
    soap(&format!("<a{all}>{inside}</a>"))
}

fn short(n: usize) -> String {
    format!("p{n}")
}

fn urn(n: usize) -> String {
    format!("urn:{n}")
}

/// The prefixes of different numbers differ only at their ends.
fn long_prefix(n: usize) -> String {
    format!("{}{n}", "p".repeat(2_000))
}

fn long_name(n: usize) -> String {
    format!("urn:{}{n:03}", "x".repeat(500))
}

fn many_namespaces() -> String {
    in_scope(short, urn, &"<i/>".repeat(40_000))
}

fn attributes(count: usize, name: impl Fn(usize) -> String) -> String {
    let one = format!("<i{}/>", each(count, |n| format!(" {}=''", name(n))));
    elements(&one, count + 1)
}

/// Returns nested elements with many leaves at the bottom. Each of the 60 outer elements adds a
/// declaration.
fn deep_namespaces() -> String {
    let open = each(60, |n| format!("<d xmlns:p{n}='urn:{n}'>"));
    let more = "<d>".repeat(120);
    let leaves = "<i/>".repeat(40_000);
    soap(&format!("{open}{more}{leaves}{}", "</d>".repeat(180)))
}

/// Returns a message with the elements in an order for which a Shell sort with halved gaps compares
/// each with every other. The order is first every second element, then the rest.
fn unfortunate(count: usize) -> String {
    let mut order: Vec<usize> = (0..count).collect();
    let mut width = count;
    while width > 2 {
        let row = order.clone();
        let (even, odd) = (row.iter().step_by(2), row.iter().skip(1).step_by(2));
        order = even.chain(odd).copied().collect();
        width /= 2;
    }
    let items: String = order
        .iter()
        .map(|n| format!("<i k='1'>{n:06}</i>"))
        .collect();
    soap(&items)
}

pub const SHAPES: &[Shape] = &[
    refused(
        "a quarter of a million elements",
        Way::Envelope,
        || soap(&full("<i/>", 400)),
        "more than 50000 elements",
    ),
    refused(
        "elements nested a hundred thousand deep",
        Way::Identity,
        || "<a>".repeat(100_000),
        "nested deeper than 200",
    ),
    refused(
        "pairs of elements, deeply nested",
        Way::Transformed,
        || "<a><b>".repeat(80_000),
        "nested deeper than 200",
    ),
    refused(
        "twenty thousand attributes",
        Way::Envelope,
        || soap(&format!("<a{}/>", each(20_000, |n| format!(" a{n}=''")))),
        "more than 256 attributes",
    ),
    refused(
        "twenty thousand attributes after an open quote",
        Way::Envelope,
        || {
            soap(&format!(
                "<b c='<a{}/>",
                each(20_000, |n| format!(" a{n}=\"\""))
            ))
        },
        "more than 256 attributes",
    ),
    refused(
        "one attribute twenty thousand times",
        Way::Envelope,
        || soap(&format!("<a{}/>", " a=''".repeat(20_000))),
        "more than 256 attributes",
    ),
    refused(
        "two hundred and fifty namespaces and children",
        Way::Identity,
        || {
            let all = each(250, |n| format!(" xmlns:p{n}='urn:{n}'"));
            soap(&format!("<a{all}>{}</a>", "<i/>".repeat(24_000)))
        },
        "More than 64 namespaces are in scope",
    ),
    refused(
        "namespaces that add up",
        Way::Envelope,
        || {
            let open = each(150, |n| {
                format!("<a xmlns:p{n}='urn:{n}' xmlns:q{n}='urn:{n}'>")
            });
            soap(&open)
        },
        "More than 64 namespaces are in scope",
    ),
    refused(
        "a namespace name of a megabyte",
        Way::Envelope,
        || soap(&format!("<a xmlns='urn:{}'/>", full("x", 400))),
        "The name of a namespace is longer than 512 bytes",
    ),
    refused(
        "a hundred and fifty thousand comments",
        Way::Identity,
        || soap(&full("<!---->", 400)),
        "more than 50000 elements",
    ),
    refused(
        "two hundred thousand instructions",
        Way::Identity,
        || soap(&full("<?p?>", 400)),
        "more than 50000 elements",
    ),
    refused(
        "too many to sort",
        Way::Sorted,
        keyed_elements,
        "xsl:sort : more than 4000 nodes",
    ),
    ends(
        "elements, validated",
        WS_ATTACKS,
        Way::Envelope,
        empty_elements,
    ),
    ends(
        "elements, copied",
        WS_ATTACKS,
        Way::Identity,
        empty_elements,
    ),
    ends(
        "elements, copied as a whole",
        WS_ATTACKS,
        Way::CopyOf,
        empty_elements,
    ),
    ends(
        "elements, wrapped",
        WS_ATTACKS,
        Way::Wrapped,
        empty_elements,
    ),
    ends(
        "elements, in a response",
        WS_ATTACKS,
        Way::Response,
        empty_elements,
    ),
    ends(
        "elements, transformed",
        WS_ATTACKS,
        Way::Transformed,
        empty_elements,
    ),
    ends("elements, routed", WS_ATTACKS, Way::Routed, empty_elements),
    ends("elements, by paths", CWE_407, Way::Paths, empty_elements),
    ends("different keys", CWE_407, Way::Keyed, keyed_elements),
    ends("the same key", CWE_407, Way::Keyed, same_keys),
    ends("keys, by paths", CWE_407, Way::Paths, keyed_elements),
    ends("keys, routed", CWE_407, Way::Routed, keyed_elements),
    ends("an order that sorts badly", CWE_407, Way::Sorted, || {
        unfortunate(3_900)
    }),
    ends("equal sort keys", CWE_407, Way::Sorted, || {
        soap(&"<i k='1'>a</i>".repeat(3_900))
    }),
    ends("long texts as sort keys", CWE_407, Way::Sorted, || {
        let same = "x".repeat(240);
        soap(&each(3_900, |n| {
            format!("<i>{same}{}</i>", n * 7919 % 10_007)
        }))
    }),
    ends(
        "namespaces and children, copied",
        CWE_407,
        Way::Identity,
        many_namespaces,
    ),
    ends(
        "namespaces and children, copied as a whole",
        CWE_407,
        Way::CopyOf,
        many_namespaces,
    ),
    ends(
        "namespaces and children, wrapped",
        CWE_407,
        Way::Wrapped,
        many_namespaces,
    ),
    ends(
        "namespaces and children, in a response",
        CWE_407,
        Way::Response,
        many_namespaces,
    ),
    ends(
        "namespaces and children, transformed",
        CWE_407,
        Way::Transformed,
        many_namespaces,
    ),
    ends("namespaces and texts", CWE_407, Way::Identity, || {
        in_scope(short, urn, &"<i>x</i>".repeat(40_000))
    }),
    ends(
        "namespaces with long prefixes",
        CWE_407,
        Way::Identity,
        || {
            let last = long_prefix(62);
            in_scope(long_prefix, urn, &format!("<{last}:i/>").repeat(400))
        },
    ),
    ends(
        "namespaces with long names, and attributes in all of them",
        CWE_407,
        Way::Identity,
        || {
            let of_each = each(63, |n| format!(" p{n}:a=''"));
            in_scope(short, long_name, &format!("<i{of_each}/>").repeat(770))
        },
    ),
    ends(
        "attributes in all namespaces, copied as a whole",
        CWE_407,
        Way::CopyOf,
        || {
            let of_each = each(63, |n| format!(" p{n}:a=''"));
            in_scope(short, long_name, &format!("<i{of_each}/>").repeat(770))
        },
    ),
    ends(
        "a declaration at each element",
        CWE_407,
        Way::Identity,
        || elements("<i xmlns:p='urn:a'><j xmlns:p='urn:b'/></i>", 4),
    ),
    ends(
        "a default namespace on and off",
        CWE_407,
        Way::Identity,
        || elements("<a xmlns='urn:a'><b xmlns=''/></a>", 4),
    ),
    ends(
        "namespaces step by step",
        CWE_407,
        Way::Identity,
        deep_namespaces,
    ),
    ends(
        "namespaces step by step, as a whole",
        CWE_407,
        Way::CopyOf,
        deep_namespaces,
    ),
    ends(
        "sixty-four declarations at each element",
        CWE_407,
        Way::Wrapped,
        || {
            let all = each(60, |n| format!(" xmlns:p{n}='urn:{n}'"));
            elements(&format!("<i{all}/>"), 61)
        },
    ),
    ends("attributes, copied", CWE_407, Way::Identity, || {
        attributes(256, |n| format!("a{n:03}"))
    }),
    ends(
        "attributes, copied as a whole",
        CWE_407,
        Way::CopyOf,
        || attributes(256, |n| format!("a{n:03}")),
    ),
    ends("attributes, validated", CWE_407, Way::Envelope, || {
        attributes(256, |n| format!("a{n:03}"))
    }),
    ends("attributes with long names", CWE_407, Way::Identity, || {
        attributes(256, |n| format!("{}{n:03}", "a".repeat(120)))
    }),
    ends("attributes in a response", CWE_407, Way::Response, || {
        attributes(256, |n| format!("z{}", 999 - n))
    }),
    ends("references to characters", CWE_407, Way::Identity, || {
        soap(&format!("<a>{}</a>", full("&#65;", 400)))
    }),
    ends(
        "references to large characters",
        CWE_407,
        Way::Identity,
        || soap(&format!("<a>{}</a>", full("&#x10FFFF;", 400))),
    ),
    ends(
        "references to the five predefined entities",
        CWE_407,
        Way::Identity,
        || soap(&format!("<a>{}</a>", full("&lt;", 400))),
    ),
    ends("references in an attribute", CWE_407, Way::Identity, || {
        soap(&format!("<a b='{}'/>", full("&#65;", 400)))
    }),
    ends("blanks in an attribute", CWE_407, Way::Identity, || {
        soap(&format!("<a b='{}'/>", full("\t\n", 400)))
    }),
    ends("CDATA of one character", CWE_407, Way::Identity, || {
        soap(&format!("<a>{}</a>", full("<![CDATA[x]]>", 400)))
    }),
    ends("empty CDATA", CWE_407, Way::Identity, || {
        soap(&format!("<a>{}</a>", full("<![CDATA[]]>", 400)))
    }),
    ends("comments between texts", CWE_407, Way::Identity, || {
        elements("x<!---->", 1)
    }),
    ends("instructions between texts", CWE_407, Way::CopyOf, || {
        elements("x<?p?>", 1)
    }),
    ends("elements between texts", CWE_407, Way::Envelope, || {
        elements("xxxxxxxxxxxx<i/>", 1)
    }),
    ends("one comment", CWE_770, Way::Identity, || {
        soap(&format!("<!--{}-->", full("x", 400)))
    }),
    ends("one instruction", CWE_770, Way::Identity, || {
        soap(&format!("<?p {}?>", full("x", 400)))
    }),
    ends("one attribute", CWE_770, Way::Identity, || {
        soap(&format!("<a b='{}'/>", full("x", 400)))
    }),
    ends("many long names", CWE_770, Way::Identity, || {
        elements(&format!("<{}/>", "n".repeat(40_000)), 1)
    }),
    ends("different names", CWE_770, Way::Identity, || {
        soap(&each(49_000, |n| format!("<e{n}/>")))
    }),
    ends(
        "brackets that are escaped in the result",
        CWE_770,
        Way::Identity,
        || soap(&format!("<a>{}</a>", full("&gt;", 400))),
    ),
    ends(
        "line ends that are escaped in the result",
        CWE_770,
        Way::Identity,
        || soap(&format!("<a>{}</a>", full("&#13;", 400))),
    ),
    ends("depth, again and again", WS_ATTACKS, Way::Identity, || {
        let (open, close) = ("<a>".repeat(190), "</a>".repeat(190));
        elements(&format!("{open}{close}"), 190)
    }),
    ends("depth, by paths", CWE_407, Way::Paths, || {
        let (open, close) = ("<i>".repeat(190), "</i>".repeat(190));
        elements(&format!("{open}{close}"), 190)
    }),
    ends("lines", OWN, Way::Envelope, || {
        soap(&format!("<a>{}</a>", full("\n", 400)))
    }),
    ends("unbound prefixes", CWE_407, Way::Envelope, || {
        elements("<p:i/>", 1)
    }),
    ends(
        "attributes with unbound prefixes",
        CWE_407,
        Way::Envelope,
        || elements("<i p:a='' q:b=''/>", 3),
    ),
    ends("relative namespace names", CWE_407, Way::Envelope, || {
        elements("<i xmlns='x'/>", 2)
    }),
    ends(
        "namespace names that are not URIs",
        CWE_407,
        Way::Envelope,
        || elements("<i xmlns='{x}'/>", 2),
    ),
    ends(
        "attributes with the prefix xml",
        CWE_407,
        Way::Envelope,
        || elements("<i xml:space='x' xml:lang='?'/>", 3),
    ),
    ends("the same ID", CWE_407, Way::Envelope, || {
        elements("<i xml:id='a'/>", 2)
    }),
    ends("different IDs", CWE_407, Way::Envelope, || {
        soap(&each(24_000, |n| format!("<i xml:id='a{n}'/>")))
    }),
    ends("texts split into parts", CWE_407, Way::Texts, || {
        soap(&format!("<a>{}</a>", full("x,", 400)))
    }),
    ends(
        "texts split into parts, with blanks",
        CWE_407,
        Way::Texts,
        || soap(&format!("<a>{}</a>", full("x , ", 400))),
    ),
    ends(
        "texts split into a few long parts",
        CWE_407,
        Way::Texts,
        || soap(&format!("<a>{}</a>", full(&("x".repeat(1_000) + ","), 400))),
    ),
    Shape {
        name: "elements in gzip",
        source: WS_ATTACKS,
        way: Way::Identity,
        body: Body::Packed(empty_elements),
        end: End::Either,
    },
    Shape {
        name: "a gzip bomb",
        source: WS_ATTACKS,
        way: Way::Envelope,
        body: Body::Packed(|| " ".repeat(4 << 20)),
        end: End::Refused("it unpacks to more than 1048576 bytes"),
    },
    Shape {
        name: "a megabyte of UTF-16",
        source: OWN,
        way: Way::Identity,
        body: Body::BuiltBytes(|| {
            let text = soap(&"<i>\u{e9}</i>".repeat(40_000));
            let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
            units.flat_map(u16::to_le_bytes).collect()
        }),
        end: End::Either,
    },
    Shape {
        name: "a megabyte of another encoding",
        source: OWN,
        way: Way::Identity,
        body: Body::BuiltBytes(|| {
            let head = b"<?xml version='1.0' encoding='ISO-8859-1'?>";
            let text = soap("<a>TEXT</a>").into_bytes();
            let at = text.windows(4).position(|four| four == b"TEXT").unwrap();
            let accents = vec![0xe9_u8; 1_000_000];
            [&head[..], &text[..at], &accents[..], &text[at + 4..]].concat()
        }),
        end: End::Either,
    },
];
