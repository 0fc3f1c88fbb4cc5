//! Vectors in which the fields that frame a body contain misplaced bytes, are misspelled or
//! duplicated, or contradict each other.

use super::{Fate, post, shown};
use crate::vector::{HIDDEN, Vector};

/// Bytes at the limits of the ranges allowed in names and values, and bytes that some parsers trim.
const ODD: [u8; 24] = [
    0x00, 0x01, 0x08, b'\t', b'\n', 0x0b, 0x0c, b'\r', 0x0e, 0x1b, 0x1f, b' ', b'"', b'\'', b',',
    b'-', b':', b';', b'_', 0x7f, 0x80, 0x85, 0xa0, 0xff,
];

type Rule = fn(u8) -> Fate;

/// The verdict on a byte inserted into a name: the result is a different name, or not a name.
fn in_name(byte: u8) -> Fate {
    if byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte) {
        Fate::Passed
    } else {
        Fate::Refused
    }
}

/// The verdict on a byte in a value (RFC 9110 5.5), where bytes outside ASCII are obsolete but
/// allowed.
fn in_value(byte: u8) -> Fate {
    match byte {
        b'\t' | b' '..=b'~' => Fate::Passed,
        0x80.. => Fate::Either,
        _ => Fate::Refused,
    }
}

/// The verdict on a byte that is not the first of a name, so a colon may end the name.
fn within_name(byte: u8) -> Fate {
    if byte == b':' {
        Fate::Passed
    } else {
        in_name(byte)
    }
}

fn never(_: u8) -> Fate {
    Fate::Refused
}

/// Field lines in which `@` marks the place of an inserted byte, each with the rule for that byte.
/// The positions are those of smuggler's mutations.
const PLACES: [(&str, Rule); 10] = [
    ("NAME:@VALUE", never),
    ("NAME@: VALUE", in_name),
    ("@NAME: VALUE", in_name),
    ("NAME: VALUE@", never),
    ("X: X@NAME: VALUE", in_value),
    ("NAME: VALUE@X: X", never),
    ("X: X\r@NAME: VALUE", never),
    ("X: X@\nNAME: VALUE", never),
    ("NAME: VALUE\r@X: X", never),
    ("NAME: VALUE@\nX: X", never),
];

/// Positions of a byte in a field that does not frame a body.
const INNER: [(&str, Rule); 2] = [("X@Y: a", within_name), ("X: a@b", in_value)];

fn line(place: &str, name: &str, value: &str, byte: u8) -> Vec<u8> {
    let written = place.replace("NAME", name).replace("VALUE", value);
    let parts: Vec<&[u8]> = written.as_bytes().split(|&it| it == b'@').collect();
    parts.join(&byte)
}

/// Messages with a valid Content-Length and a mutated Transfer-Encoding, or the reverse. If a
/// reader still recognizes the mutated field, the message contradicts itself.
pub fn mutations() -> Vec<Vector> {
    let mut vectors = Vec::new();
    let hidden = format!("0\r\n\r\n{HIDDEN}");
    let length = format!("Content-Length: {}\r\n", hidden.len());
    let chunked = "5\r\nhello\r\n0\r\n\r\n";
    for (place, rule) in PLACES {
        for byte in ODD {
            let fate = rule(byte);
            let mutated = line(place, "Transfer-Encoding", "chunked", byte);
            let name = format!("{place} of Transfer-Encoding with {byte:#04x}");
            let lines = [length.as_bytes(), &mutated].concat();
            let body = hidden.as_bytes();
            vectors.push(post(name, &lines, body, fate.with(body)));
            let mutated = line(place, "Content-Length", "5", byte);
            let name = format!("{place} of Content-Length with {byte:#04x}");
            let lines = [&b"Transfer-Encoding: chunked\r\n"[..], &mutated].concat();
            vectors.push(post(name, &lines, chunked.as_bytes(), fate.with(b"hello")));
        }
    }
    vectors
}

const CODINGS: &[&str] = &[
    "chunked",
    "Chunked",
    "CHUNKED",
    "  chunked\t",
    "",
    "identity",
    "gzip",
    "gzip, chunked",
    "chunked, gzip",
    "chunked, identity",
    "identity, chunked",
    "chunked, chunked",
    "chunked,",
    ",chunked",
    "chunked;q=1",
    "chunked; a=\"b\"",
    "\"chunked\"",
    "'chunked'",
    "xchunked",
    "chunkedx",
    "chun ked",
    "chunked chunked",
    "chunk",
    "chun\u{212a}ed",
    "\u{feff}chunked",
    "chunked\u{a0}",
    "chunked\r\n ",
    "\r\n chunked",
];

/// Repeated fields. Some readers use the first one, and others the last.
const CODING_LINES: &[&str] = &[
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
    "Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding:\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding:",
    "Transfer-Encoding: chunked\r\nX: y\r\ntransfer-encoding: CHUNKED",
];

/// Each coding alone, before Content-Length and after it, over HTTP/1.1 and HTTP/1.0.
pub fn transfer_encodings() -> Vec<Vector> {
    // The body ends at the same place in both framings, so only the verdict shows which one was
    // used.
    let body = b"5\r\nhello\r\n0\r\n\r\n";
    let length = "Content-Length: 15";
    let mut vectors = Vec::new();
    for coding in CODINGS {
        let is_chunked = coding
            .trim_matches([' ', '\t'])
            .eq_ignore_ascii_case("chunked");
        let field = format!("Transfer-Encoding: {coding}");
        let both = [
            (field.clone(), is_chunked),
            (format!("{length}\r\n{field}"), false),
            (format!("{field}\r\n{length}"), false),
        ];
        for (lines, passes) in both {
            let fate = if passes { Fate::Passed } else { Fate::Refused };
            let name = shown(lines.as_bytes());
            let vector = post(&name, lines.as_bytes(), body, fate.with(b"hello"));
            // HTTP/1.0 does not define Transfer-Encoding (RFC 9112 6.1).
            let old = String::from_utf8(vector.bytes.clone()).unwrap();
            let old = old.replacen("HTTP/1.1", "HTTP/1.0", 1);
            let expect = Fate::Refused.with(b"");
            vectors.push(vector);
            vectors.push(Vector::new(format!("HTTP/1.0, {name}"), old, expect));
        }
    }
    for lines in CODING_LINES {
        let fate = Fate::Refused.with(b"");
        vectors.push(post(shown(lines.as_bytes()), lines.as_bytes(), body, fate));
    }
    vectors
}

/// Values of Content-Length for a body of five bytes (RFC 9110 8.6).
const LENGTHS: &[(&str, Fate)] = &[
    ("5", Fate::Passed),
    ("05", Fate::Passed),
    (" \t5\t ", Fate::Passed),
    ("0000000000000000000000000005", Fate::Either),
    ("5,5", Fate::Either),
    ("5, 5", Fate::Either),
    ("5 , 5", Fate::Either),
    ("5,5,5", Fate::Either),
    ("5,6", Fate::Refused),
    ("6,5", Fate::Refused),
    ("5,", Fate::Refused),
    (",5", Fate::Refused),
    ("5,,5", Fate::Refused),
    (",", Fate::Refused),
    ("", Fate::Refused),
    ("+5", Fate::Refused),
    ("-5", Fate::Refused),
    ("--5", Fate::Refused),
    ("5 5", Fate::Refused),
    ("5\t5", Fate::Refused),
    ("0x5", Fate::Refused),
    ("0X5", Fate::Refused),
    ("0b101", Fate::Refused),
    ("0o5", Fate::Refused),
    ("5.0", Fate::Refused),
    ("5.", Fate::Refused),
    (".5", Fate::Refused),
    ("5e0", Fate::Refused),
    ("5E0", Fate::Refused),
    ("5;", Fate::Refused),
    ("5;a=b", Fate::Refused),
    ("5_0", Fate::Refused),
    ("5'000", Fate::Refused),
    ("\"5\"", Fate::Refused),
    ("'5'", Fate::Refused),
    ("(5)", Fate::Refused),
    ("5L", Fate::Refused),
    ("5 bytes", Fate::Refused),
    ("five", Fate::Refused),
    ("NaN", Fate::Refused),
    ("Infinity", Fate::Refused),
    ("\u{665}", Fate::Refused),
    ("\u{ff15}", Fate::Refused),
    ("5\u{a0}", Fate::Refused),
    ("\r\n 5", Fate::Refused),
    ("5\r\n ", Fate::Refused),
    ("18446744073709551621", Fate::Refused),
    ("340282366920938463463374607431768211461", Fate::Refused),
];

/// Values of Content-Length that are combined in pairs.
const PAIRED: [&str; 10] = ["5", "05", "6", "0", "4", "5,5", "+5", "", "-1", "x"];

pub fn content_lengths() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (value, fate) in LENGTHS {
        let line = format!("Content-Length: {value}");
        let name = shown(line.as_bytes());
        vectors.push(post(name, line.as_bytes(), b"hello", fate.with(b"hello")));
    }
    for name in ["content-length", "CONTENT-LENGTH", "cONTENT-lENGTH"] {
        let line = format!("{name}:5");
        let expect = Fate::Passed.with(b"hello");
        vectors.push(post(&line, line.as_bytes(), b"hello", expect));
    }
    for first in PAIRED {
        for second in PAIRED {
            let lines = format!("Content-Length: {first}\r\nContent-Length: {second}");
            let name = shown(lines.as_bytes());
            let body: &[u8] = b"hello!";
            let (body, fate) = match agreed([first, second]) {
                Some(length) => (&body[..length], Fate::Either),
                None => (&body[..5], Fate::Refused),
            };
            vectors.push(post(name, lines.as_bytes(), body, fate.with(body)));
        }
    }
    vectors
}

/// Returns the length if all elements of both lists are the same number (RFC 9110 8.6).
fn agreed(values: [&str; 2]) -> Option<usize> {
    let elements = values.iter().flat_map(|value| value.split(','));
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let lengths = elements.map(|it| is_number(it).then(|| it.parse().ok()).flatten());
    let lengths: Option<Vec<usize>> = lengths.collect();
    let lengths = lengths?;
    lengths
        .iter()
        .all(|it| *it == lengths[0])
        .then(|| lengths[0])
}

/// Lookalikes of the framing fields, which CGI and similar interfaces treat as the fields
/// themselves.
const TWINS: &[&str] = &[
    "Content_Length: 60",
    "content_length: 0",
    "CONTENT_LENGTH: 5",
    "Transfer_Encoding: chunked",
    "transfer_encoding: identity",
    "TRANSFER_ENCODING: Chunked",
    "Content_Length: 60\r\nTransfer_Encoding: chunked",
    "Connection_: close\r\nContent_Length: 1",
];

/// Fields that do not frame the body and must not be treated as framing.
const HARMLESS: &[&str] = &[
    "Connection: Content-Length",
    "Connection: content-length, close-not",
    "Connection: Host",
    "Connection: V-Not, X",
    "Keep-Alive: timeout=5",
    "TE: trailers, chunked",
    "Trailer: Content-Length",
    "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
    "Connection: Upgrade\r\nUpgrade: websocket",
    "Proxy-Connection: keep-alive",
];

pub fn others() -> Vec<Vector> {
    let mut vectors = Vec::new();
    let twins = TWINS.iter().map(|lines| (lines, Fate::Either));
    let harmless = HARMLESS.iter().map(|lines| (lines, Fate::Passed));
    for (lines, fate) in twins.chain(harmless) {
        let counted = format!("{lines}\r\nContent-Length: 5");
        let name = shown(counted.as_bytes());
        let expect = fate.with(b"hello");
        vectors.push(post(name, counted.as_bytes(), b"hello", expect.clone()));
        let chunked = format!("Transfer-Encoding: chunked\r\n{lines}");
        let (name, body) = (shown(chunked.as_bytes()), b"5\r\nhello\r\n0\r\n\r\n");
        vectors.push(post(name, chunked.as_bytes(), body, expect));
    }
    for byte in ODD.into_iter().chain(*b"()<>@/[\\]{}?=`|~") {
        for (place, rule) in INNER {
            let line = [line(place, "", "", byte), b"\r\nContent-Length: 5".to_vec()].concat();
            let name = format!("{place} with {byte:#04x}");
            vectors.push(post(name, &line, b"hello", rule(byte).with(b"hello")));
        }
    }
    for (line, fate) in [
        (": a", Fate::Refused),
        ("X", Fate::Refused),
        ("X Y", Fate::Refused),
        ("X:", Fate::Passed),
        ("X:\t", Fate::Passed),
        (" X: a", Fate::Refused),
        ("\tX: a", Fate::Refused),
        ("X: a\r\n b", Fate::Refused),
        ("X: a\r\n\tContent-Length: 60", Fate::Refused),
        ("X:\r\n Transfer-Encoding: chunked", Fate::Refused),
        ("Expect: 100-continue", Fate::Passed),
        ("Expect: 100-Continue", Fate::Passed),
        ("Expect: x 100-continue", Fate::Either),
        ("Expect: 100-continue, x", Fate::Either),
        ("Expect:", Fate::Either),
        ("Expect:\x0b100-continue", Fate::Refused),
    ] {
        let lines = format!("{line}\r\nContent-Length: 5");
        let name = shown(lines.as_bytes());
        vectors.push(post(name, lines.as_bytes(), b"hello", fate.with(b"hello")));
    }
    vectors
}
