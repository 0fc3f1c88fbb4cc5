//! Chunked bodies (RFC 9112 7.1) with unusual sizes, line endings, or bytes after the data or after
//! the last chunk.

use super::{Fate, post, shown};
use crate::vector::Vector;

const CHUNKED: &[u8] = b"Transfer-Encoding: chunked";

/// Sizes of a five-byte chunk: correct and wrong ones, some with extensions.
const SIZES: &[(&str, Fate)] = &[
    ("5", Fate::Passed),
    ("05", Fate::Passed),
    ("0000000000000005", Fate::Passed),
    ("00000000000000000000000000000000005", Fate::Either),
    ("5 ", Fate::Either),
    ("5\t", Fate::Either),
    ("5;a", Fate::Passed),
    ("5;a=b", Fate::Passed),
    ("5;a=\"b\"", Fate::Passed),
    ("5;a=\"b;c\"", Fate::Passed),
    ("5;a;b=c", Fate::Passed),
    ("5 ; a = b", Fate::Either),
    ("5;", Fate::Either),
    ("5;;", Fate::Either),
    ("5;=", Fate::Either),
    ("5;a=\"b", Fate::Either),
    ("5;\u{85}", Fate::Either),
    ("5;a\0", Fate::Refused),
    ("5;a\u{7f}", Fate::Refused),
    ("5;a\nb", Fate::Refused),
    ("5;a\rb", Fate::Refused),
    ("5;a=\"\n\"", Fate::Refused),
    ("", Fate::Refused),
    (" 5", Fate::Refused),
    ("\t5", Fate::Refused),
    ("+5", Fate::Refused),
    ("-5", Fate::Refused),
    ("0x5", Fate::Refused),
    ("5h", Fate::Refused),
    ("5.0", Fate::Refused),
    ("5,", Fate::Refused),
    ("5, 5", Fate::Refused),
    ("5 5", Fate::Refused),
    ("5_0", Fate::Refused),
    ("\"5\"", Fate::Refused),
    ("5\0", Fate::Refused),
    ("\u{665}", Fate::Refused),
    ("\u{ff15}", Fate::Refused),
    ("5\u{a0}", Fate::Refused),
    ("\u{feff}5", Fate::Refused),
    ("10000000000000005", Fate::Refused),
    ("FFFFFFFFFFFFFFFF5", Fate::Refused),
    ("1", Fate::Refused),
    ("4", Fate::Refused),
    ("6", Fate::Refused),
    ("7", Fate::Refused),
    ("a", Fate::Refused),
    ("c", Fate::Refused),
    ("f", Fate::Refused),
];

/// Line endings after a chunk size. Only the first one is valid.
const LINE_ENDS: [&str; 5] = ["\r\n", "\n", "\r", "\r\r\n", "\n\r"];

pub fn sizes() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (size, fate) in SIZES {
        for end in LINE_ENDS {
            let fate = if end == "\r\n" { *fate } else { Fate::Refused };
            let body = format!("{size}{end}hello\r\n0\r\n\r\n");
            let name = format!("chunks {}", shown(body.as_bytes()));
            let expect = fate.with(b"hello");
            vectors.push(post(name, CHUNKED, body.as_bytes(), expect));
        }
    }
    let long = format!("5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(4000));
    let expect = Fate::Either.with(b"hello");
    let name = "a chunk extension of 4,000 bytes";
    vectors.push(post(name, CHUNKED, long.as_bytes(), expect));
    let ended = b"0\r\nhello\r\n0\r\n\r\n";
    let name = "data after the last chunk";
    vectors.push(post(name, CHUNKED, ended, Fate::Refused.with(b"")));
    vectors
}

/// Bytes that follow `5`, CRLF and `hello`.
const TAILS: &[(&str, Fate)] = &[
    ("\r\n0\r\n\r\n", Fate::Passed),
    ("\r\n00\r\n\r\n", Fate::Either),
    ("\r\n000000000000000000000000\r\n\r\n", Fate::Either),
    ("\r\n0;a=b\r\n\r\n", Fate::Passed),
    ("\r\n0 \r\n\r\n", Fate::Either),
    ("\n0\r\n\r\n", Fate::Refused),
    ("\r0\r\n\r\n", Fate::Refused),
    ("0\r\n\r\n", Fate::Refused),
    (" \r\n0\r\n\r\n", Fate::Refused),
    ("\r\n\r\n0\r\n\r\n", Fate::Refused),
    ("\r\r\n0\r\n\r\n", Fate::Refused),
    ("\r\n0\n\r\n", Fate::Refused),
    ("\r\n0\r\n\n", Fate::Refused),
    ("\r\n0\n\n", Fate::Refused),
    ("\r\n0\r\r", Fate::Refused),
    ("\r\n0\r\r\n\r\n", Fate::Refused),
    ("\r\n0\r\n\r\r\n", Fate::Refused),
    ("\r\n0\r\n", Fate::Refused),
    ("\r\n-0\r\n\r\n", Fate::Refused),
    ("\r\n+0\r\n\r\n", Fate::Refused),
    ("\r\n0x0\r\n\r\n", Fate::Refused),
    ("\r\n\r\n", Fate::Refused),
    ("\r\n", Fate::Refused),
    ("", Fate::Refused),
    ("\r\n0\r\nX: y\r\n\r\n", Fate::Passed),
    ("\r\n0\r\nX:y\r\nZ: \r\n\r\n", Fate::Passed),
    ("\r\n0\r\nContent-Length: 60\r\n\r\n", Fate::Either),
    ("\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n", Fate::Either),
    ("\r\n0\r\nHost: g\r\n\r\n", Fate::Either),
    ("\r\n0\r\nAuthorization: Bearer x\r\n\r\n", Fate::Either),
    ("\r\n0\r\nX: \u{85}\r\n\r\n", Fate::Either),
    ("\r\n0\r\nX : y\r\n\r\n", Fate::Refused),
    ("\r\n0\r\n X: y\r\n\r\n", Fate::Refused),
    ("\r\n0\r\nX: y\r\n z\r\n\r\n", Fate::Refused),
    ("\r\n0\r\nX\r\n\r\n", Fate::Refused),
    ("\r\n0\r\n: y\r\n\r\n", Fate::Refused),
    ("\r\n0\r\nX: y\n\r\n", Fate::Refused),
    ("\r\n0\r\nX: y\rz\r\n\r\n", Fate::Refused),
    ("\r\n0\r\nX: y\0\r\n\r\n", Fate::Refused),
    ("\r\n0\r\nX\0: y\r\n\r\n", Fate::Refused),
    (
        "\r\n0\r\nGET /hidden HTTP/1.1\r\nV: VVVVV\r\n\r\n",
        Fate::Refused,
    ),
];

/// Each tail, alone and after a chunk whose data looks like the last chunk and another request.
pub fn tails() -> Vec<Vector> {
    let bait = "0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n\r\n";
    let whole = format!("{bait}hello");
    let mut vectors = Vec::new();
    for (tail, fate) in TAILS {
        let plain = format!("5\r\nhello{tail}");
        let baited = format!("{:X}\r\n{bait}\r\n{plain}", bait.len());
        for (body, expected) in [(plain, "hello"), (baited, whole.as_str())] {
            let name = format!("chunks {}", shown(body.as_bytes()));
            let expect = fate.with(expected.as_bytes());
            vectors.push(post(name, CHUNKED, body.as_bytes(), expect));
        }
    }
    vectors
}
