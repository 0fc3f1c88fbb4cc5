//! Vectors with bodies whose Content-Length may contradict their DATA frames, with trailers, with
//! CONNECT, and with unexpected frames after the request.

use super::{data, field, good, head, mark, refused, refused_late, request, vector, with, without};
use crate::frames::{END_HEADERS, END_STREAM, HEADERS, PADDED, STREAM, block, frame};
use crate::vector::{Expect, Seen, Vector};

struct Layout {
    name: &'static str,
    body: &'static str,
    /// Empty if the head ends the stream.
    frames: Vec<Vec<u8>>,
}

fn layouts() -> [Layout; 6] {
    let layout = |name, body, frames| Layout { name, body, frames };
    let padded = [&[10_u8][..], b"hello", &[0; 10]].concat();
    [
        layout("no DATA", "", Vec::new()),
        layout("empty DATA", "", vec![data(b"", END_STREAM)]),
        layout("DATA of 5 bytes", "hello", vec![data(b"hello", END_STREAM)]),
        layout(
            "DATA of 3 and 2 bytes",
            "hello",
            vec![data(b"hel", 0), data(b"lo", END_STREAM)],
        ),
        layout(
            "DATA of 5 and 0 bytes",
            "hello",
            vec![data(b"hello", 0), data(b"", END_STREAM)],
        ),
        layout(
            "padded DATA of 5 bytes",
            "hello",
            vec![data(&padded, END_STREAM | PADDED)],
        ),
    ]
}

/// Values of Content-Length; `None` means that the field is absent.
const LENGTHS: &[Option<&str>] = &[
    None,
    Some("0"),
    Some("4"),
    Some("5"),
    Some("6"),
    Some("05"),
    Some("5,5"),
    Some("5, 6"),
    Some(" 5"),
    Some("5 "),
    Some("+5"),
    Some("-5"),
    Some("0x5"),
    Some("5.0"),
    Some("5e0"),
    Some("5\u{a0}"),
    Some(""),
    Some("x"),
    Some("18446744073709551621"),
];

/// Every length with every body, and two Content-Length fields (RFC 9113 8.1.1).
pub fn lengths() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for layout in layouts() {
        for length in LENGTHS {
            let fields = match length {
                Some(length) => with("content-length", *length),
                None => [good(), vec![mark()]].concat(),
            };
            let flags = if layout.frames.is_empty() {
                END_STREAM
            } else {
                0
            };
            let frames = [head(&fields, flags), layout.frames.concat()].concat();
            let is_number = |it: &&str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
            let said: Option<usize> = length.filter(is_number).and_then(|it| it.parse().ok());
            let expect = match (length, said) {
                (None, _) => Expect::passed(layout.body),
                (_, Some(said)) if said == layout.body.len() => Expect::passed(layout.body),
                // A Content-Length of 0 announces that the request ends with its head.
                (_, Some(0)) => Expect::Late(vec![Seen::vector(""), Seen::after()]),
                (Some("5,5"), _) if layout.body.len() == 5 => Expect::either(layout.body),
                _ => refused(),
            };
            let length = length.unwrap_or("none");
            let name = format!("Content-Length {length:?}, {}", layout.name);
            vectors.push(vector(name, &frames, expect));
        }
    }
    for (first, second, passes) in [("5", "5", true), ("5", "6", false), ("6", "5", false)] {
        let lengths = vec![
            field("content-length", first),
            field("content-length", second),
        ];
        let fields = [good(), lengths, vec![mark()]].concat();
        let expect = if passes {
            Expect::either("hello")
        } else {
            refused()
        };
        let name = format!("Content-Length {first} and {second}");
        vectors.push(vector(name, &request(&fields), expect));
    }
    vectors
}

/// Trailer fields (RFC 9113 8.1), mostly after a body without Content-Length.
pub fn trailers() -> Vec<Vector> {
    let begun = [head(&[good(), vec![mark()]].concat(), 0), data(b"hello", 0)].concat();
    let mut vectors = Vec::new();
    for (name, value, expect) in [
        ("x", "y", Expect::passed("hello")),
        ("content-length", "5", Expect::either("hello")),
        ("content-length", "60", Expect::either("hello")),
        ("host", "g", Expect::either("hello")),
        ("authorization", "Bearer x", Expect::either("hello")),
        ("transfer-encoding", "chunked", refused()),
        ("connection", "close", refused()),
        ("X", "y", refused()),
        ("x y", "z", refused()),
        (
            "x",
            "y\r\n0\r\n\r\nGET /hidden HTTP/1.1\r\nv: VVVVV",
            refused(),
        ),
        ("x", "y\0", refused()),
        (":path", "/hidden", refused()),
        (":method", "GET", refused()),
        (":status", "200", refused()),
        (":x", "y", refused()),
    ] {
        let trailers = block(&[(name, value)]);
        let last = frame(HEADERS, END_HEADERS | END_STREAM, STREAM, &trailers);
        let label = format!("the trailer {name}: {value:?}");
        vectors.push(vector(label, &[begun.as_slice(), &last].concat(), expect));
    }
    let unended = frame(HEADERS, END_HEADERS, STREAM, &block(&[("x", "y")]));
    let label = "trailers that do not end the stream";
    let frames = [begun, unended, data(b"", END_STREAM)].concat();
    vectors.push(vector(label, &frames, refused()));
    let counted = [head(&with("content-length", "5"), 0), data(b"hel", 0)].concat();
    let last = frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        STREAM,
        &block(&[("x", "y")]),
    );
    let label = "trailers before the end of the body";
    vectors.push(vector(label, &[counted, last].concat(), refused()));
    vectors
}

/// CONNECT (RFC 9113 8.5, RFC 8441), and frames after the end of the request.
pub fn others() -> Vec<Vector> {
    let connect = |more: &[(&str, &str)]| {
        let fields = more.iter().map(|(name, value)| field(*name, *value));
        let own = vec![field(":method", "CONNECT"), field(":authority", "h:80")];
        let fields = [own, fields.collect(), vec![mark()]].concat();
        head(&fields, END_STREAM)
    };
    let whole = || request(&[good(), vec![mark()]].concat());
    let protocol = [
        (":scheme", "http"),
        (":path", "/v"),
        (":protocol", "websocket"),
    ];
    vec![
        vector("CONNECT", &connect(&[]), refused()),
        vector(
            "CONNECT with a path",
            &connect(&[(":path", "/v")]),
            refused(),
        ),
        vector(
            "CONNECT with a path and a scheme",
            &connect(&protocol[..2]),
            refused(),
        ),
        vector(
            "CONNECT for another protocol",
            &connect(&protocol),
            refused(),
        ),
        vector(
            "CONNECT without an authority",
            &head(&[field(":method", "CONNECT"), mark()], END_STREAM),
            refused(),
        ),
        vector(
            "CONNECT with lines in the authority",
            &head(
                &[
                    field(":method", "CONNECT"),
                    field(
                        ":authority",
                        "h HTTP/1.1\r\n\r\nGET /hidden HTTP/1.1\r\nHost: h",
                    ),
                    mark(),
                ],
                END_STREAM,
            ),
            refused(),
        ),
        vector(
            "DATA after the end",
            &[whole(), data(b"hello", END_STREAM)].concat(),
            refused_late("hello"),
        ),
        vector(
            "a second head after the end",
            &[whole(), head(&without(":authority"), END_STREAM)].concat(),
            refused_late("hello"),
        ),
    ]
}
