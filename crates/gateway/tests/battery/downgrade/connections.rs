//! Vectors with unusual but valid encodings of frames and header blocks, and with errors, most of
//! which end the connection (RFC 9113 4 to 6, RFC 7541).

use super::{after, data, good, head, mark, refused, refused_late, request, vector};
use crate::frames::{
    self, ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HAS_PRIORITY, HEADERS, PADDED,
    PING, PREFACE, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, STREAM, WINDOW_UPDATE, block,
    frame,
};
use crate::vector::{Expect, HIDDEN, Vector};

fn good_block() -> Vec<u8> {
    block(&[good(), vec![mark()]].concat())
}

fn good_request() -> Vec<u8> {
    request(&[good(), vec![mark()]].concat())
}

fn body() -> Vec<u8> {
    data(b"hello", END_STREAM)
}

/// Splits a header block into a HEADERS frame and at most this many CONTINUATION frames.
fn split(block: &[u8], continuations: usize) -> Vec<u8> {
    let pieces: Vec<&[u8]> = block
        .chunks(block.len().div_ceil(continuations + 1))
        .collect();
    let last = pieces.len() - 1;
    let frames = pieces.iter().enumerate().map(|(at, piece)| {
        let kind = if at == 0 { HEADERS } else { CONTINUATION };
        let flags = if at == last { END_HEADERS } else { 0 };
        frame(kind, flags, STREAM, piece)
    });
    frames.collect::<Vec<_>>().concat()
}

/// Frames that encode the same valid request in different ways, and valid frames before it.
pub fn frames_in_order() -> Vec<Vector> {
    let block = good_block();
    let padded = [&[3_u8][..], &block, &[0; 3]].concat();
    let depends = [&[0_u8, 0, 0, 0, 15][..], &block].concat();
    let itself = [&[0_u8, 0, 0, 1, 15][..], &block].concat();
    let head = |flags: u8, payload: &[u8]| frame(HEADERS, END_HEADERS | flags, STREAM, payload);
    let reserved = frame(HEADERS, END_HEADERS, STREAM | (1 << 31), &block);
    let in_empty = [
        frame(HEADERS, 0, STREAM, b""),
        frame(CONTINUATION, 0, STREAM, b""),
        frame(CONTINUATION, END_HEADERS, STREAM, &block),
    ];
    let settings = [0, 3, 0, 0, 0, 1, 0xab, 0xcd, 0, 0, 0, 0];
    let (passed, either) = (|| Expect::passed("hello"), || Expect::either("hello"));
    let heads = [
        ("a stream with its reserved bit set", reserved, passed()),
        ("HEADERS with unknown flags", head(0x42, &block), passed()),
        ("HEADERS with padding", head(PADDED, &padded), passed()),
        (
            "HEADERS with priority",
            head(HAS_PRIORITY, &depends),
            passed(),
        ),
        (
            "HEADERS that depend on themselves",
            head(HAS_PRIORITY, &itself),
            either(),
        ),
        ("one CONTINUATION frame", split(&block, 1), passed()),
        ("three CONTINUATION frames", split(&block, 3), passed()),
        (
            "a CONTINUATION frame for each byte",
            split(&block, block.len()),
            either(),
        ),
        (
            "empty HEADERS and CONTINUATION frames",
            in_empty.concat(),
            passed(),
        ),
    ];
    let before = [
        (
            "unknown frames",
            frame(0xbb, 0xff, STREAM, b"hello"),
            passed(),
        ),
        (
            "known and unknown settings",
            frame(SETTINGS, 0, 0, &settings),
            passed(),
        ),
        (
            "an acknowledgment of settings",
            frame(SETTINGS, ACK, 0, b""),
            passed(),
        ),
        ("PING", frame(PING, 0, 0, b"12345678"), passed()),
        (
            "PRIORITY on an idle stream",
            frame(PRIORITY, 0, 9, &[0, 0, 0, 7, 1]),
            passed(),
        ),
        (
            "WINDOW_UPDATE",
            frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]),
            passed(),
        ),
        ("GOAWAY", frame(GOAWAY, 0, 0, &[0; 8]), either()),
    ];
    let heads = heads.map(|(name, head, expect)| {
        let frames = [head, body()].concat();
        vector(name, &frames, expect)
    });
    let before = before.map(|(name, frames, expect)| {
        let frames = [frames, good_request()].concat();
        vector(name, &frames, expect)
    });
    heads.into_iter().chain(before).collect()
}

/// Frames that end the connection. They are sent before the request.
fn wrong_frames() -> Vec<(&'static str, Vec<u8>)> {
    let head =
        |flags: u8, stream, payload: &[u8]| frame(HEADERS, END_HEADERS | flags, stream, payload);
    let window = |stream, payload: &[u8]| frame(WINDOW_UPDATE, 0, stream, payload);
    let set = |payload: &[u8]| frame(SETTINGS, 0, 0, payload);
    let block = good_block();
    vec![
        ("DATA on stream 0", frame(DATA, END_STREAM, 0, b"hello")),
        (
            "DATA on an idle stream",
            frame(DATA, END_STREAM, 9, b"hello"),
        ),
        ("padded DATA without a payload", frame(DATA, PADDED, 9, b"")),
        ("HEADERS on stream 0", head(0, 0, &block)),
        ("HEADERS on an even stream", head(0, 2, &block)),
        (
            "HEADERS padded beyond their end",
            head(PADDED, STREAM, &[200, 0x82]),
        ),
        (
            "HEADERS too short for a priority",
            head(HAS_PRIORITY, STREAM, &[0; 4]),
        ),
        ("PRIORITY on stream 0", frame(PRIORITY, 0, 0, &[0; 5])),
        ("RST_STREAM on stream 0", frame(RST_STREAM, 0, 0, &[0; 4])),
        (
            "RST_STREAM on an idle stream",
            frame(RST_STREAM, 0, 9, &[0; 4]),
        ),
        (
            "RST_STREAM of three bytes",
            frame(RST_STREAM, 0, 9, &[0; 3]),
        ),
        ("SETTINGS on a stream", frame(SETTINGS, 0, STREAM, b"")),
        ("SETTINGS of five bytes", set(&[0; 5])),
        (
            "an acknowledgment with settings",
            frame(SETTINGS, ACK, 0, &[0, 3, 0, 0, 0, 1]),
        ),
        (
            "two acknowledgments",
            frame(SETTINGS, ACK, 0, b"").repeat(2),
        ),
        ("ENABLE_PUSH of 2", set(&[0, 2, 0, 0, 0, 2])),
        ("a window of 2 GiB", set(&[0, 4, 0x80, 0, 0, 0])),
        ("frames of one byte", set(&[0, 5, 0, 0, 0, 1])),
        ("frames of 16 MiB", set(&[0, 5, 1, 0, 0, 0])),
        (
            "PUSH_PROMISE",
            frame(PUSH_PROMISE, END_HEADERS, STREAM, &[0, 0, 0, 2, 0x82]),
        ),
        ("PING of seven bytes", frame(PING, 0, 0, &[0; 7])),
        ("PING on a stream", frame(PING, 0, STREAM, &[0; 8])),
        ("GOAWAY of seven bytes", frame(GOAWAY, 0, 0, &[0; 7])),
        ("GOAWAY on a stream", frame(GOAWAY, 0, STREAM, &[0; 8])),
        ("WINDOW_UPDATE of three bytes", window(0, &[0; 3])),
        ("WINDOW_UPDATE of zero", window(0, &[0; 4])),
        ("WINDOW_UPDATE on an idle stream", window(9, &[0, 0, 0, 1])),
        (
            "WINDOW_UPDATE beyond 2 GiB",
            window(0, &[0x7f, 0xff, 0xff, 0xff]),
        ),
        ("a frame beyond 16 KiB", frame(0xbb, 0, 0, &[0; 16_385])),
        (
            "CONTINUATION on an idle stream",
            frame(CONTINUATION, END_HEADERS, STREAM, b""),
        ),
    ]
}

/// Frames that interrupt a header block.
fn interruptions() -> [(&'static str, Vec<u8>); 6] {
    let block = good_block();
    [
        ("PING", frame(PING, 0, 0, &[0; 8])),
        ("SETTINGS", frame(SETTINGS, 0, 0, b"")),
        ("DATA", frame(DATA, END_STREAM, STREAM, b"hello")),
        ("HEADERS", frame(HEADERS, END_HEADERS, 3, &block)),
        ("an unknown frame", frame(0xbb, 0, STREAM, b"")),
        (
            "CONTINUATION on another stream",
            frame(CONTINUATION, END_HEADERS, 3, b""),
        ),
    ]
}

pub fn frames_out_of_order() -> Vec<Vector> {
    let wrong = wrong_frames().into_iter().map(|(name, frames)| {
        let frames = [frames, good_request()].concat();
        vector(name, &frames, Expect::refused())
    });
    let interrupted = interruptions().into_iter().map(|(name, frames)| {
        let begun = frame(HEADERS, 0, STREAM, &good_block());
        let frames = [begun, frames, good_request()].concat();
        let name = format!("{name} within a header block");
        vector(name, &frames, Expect::refused())
    });
    let mut vectors: Vec<Vector> = wrong.chain(interrupted).collect();
    // Stream numbers must be used in ascending order, and only once.
    let lower = [after(5), good_request()].concat();
    vectors.push(vector(
        "a stream number below the last one",
        &lower,
        Expect::declined(),
    ));
    let twice = [
        good_request(),
        head(&[good(), vec![mark()]].concat(), END_STREAM),
    ]
    .concat();
    vectors.push(vector(
        "a stream that is opened twice",
        &twice,
        refused_late("hello"),
    ));
    let bare = &PREFACE[..24];
    for (name, first) in [
        (
            "a first frame that is not SETTINGS",
            frame(PING, 0, 0, &[0; 8]),
        ),
        ("no SETTINGS", good_request()),
        ("a first acknowledgment", frame(SETTINGS, ACK, 0, b"")),
        ("HTTP/1.1 after the preface", HIDDEN.into()),
    ] {
        let bytes = [bare, &first, &good_request()].concat();
        vectors.push(Vector::new(name, bytes, Expect::refused()));
    }
    vectors
}

/// Converts bits written as digits to bytes; the last byte is padded with ones.
fn bits(digits: &str) -> Vec<u8> {
    let mut digits = digits.replace(' ', "");
    while !digits.len().is_multiple_of(8) {
        digits.push('1');
    }
    let bytes = digits.as_bytes().chunks(8);
    let byte = |bits: &[u8]| bits.iter().fold(0, |byte, bit| byte << 1 | (bit - b'0'));
    bytes.map(byte).collect()
}

/// A literal whose name and value are Huffman-coded (RFC 7541 5.2).
fn coded(name: &str, value: &str) -> Vec<u8> {
    let (name, value) = (bits(name), bits(value));
    let length = |bytes: &[u8]| 0x80 | bytes.len() as u8;
    [&[0, length(&name)][..], &name, &[length(&value)], &value].concat()
}

/// Unusual header blocks. Those that cannot be decoded end the connection (RFC 9113 4.3).
pub fn blocks() -> Vec<Vector> {
    let block = good_block();
    let also = |more: &[u8]| [more, &block].concat();
    let behind = |more: &[u8]| [&block[..], more].concat();
    // Codes of RFC 7541 appendix B.
    let (x, upper, zero) = ("1111001", "11111100", "00000");
    let cr = "111111111111111111111111111101";
    let lf = "111111111111111111111111111100";
    let (nul, colon) = ("1111111111000", "1011100");
    let broken: [(&str, Vec<u8>); 16] = [
        ("index 0", also(&[0x80])),
        ("an index beyond both tables", also(&[0xc6])),
        ("a name beyond both tables", also(&[0x0f, 0x40, 1, b'x'])),
        ("an index of many bytes", also(&[0xff; 12])),
        ("an index without an end", behind(&[0xff, 0x80])),
        ("a truncated name", behind(&[0, 5, b'x'])),
        ("a truncated value", behind(&[0, 1, b'x', 5, b'y'])),
        ("a truncated field", behind(&[0])),
        (
            "a length of many bytes",
            behind(&[0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ),
        ("a table size beyond its limit", also(&[0x3f, 0xe2, 0x1f])),
        ("a table size that changes late", behind(&[0x20])),
        ("zeros as padding", behind(&[0, 0x81, 0b1111_0010, 0])),
        (
            "eight ones as padding",
            behind(&[0, 0x82, 0b1111_0011, 0xff, 0]),
        ),
        (
            "the code EOS",
            behind(&[0, 0x84, 0xff, 0xff, 0xff, 0xff, 0]),
        ),
        ("a truncated code", behind(&[0, 0x81, 0b1111_1110, 0])),
        ("a truncated Huffman name", behind(&[0, 0x85, 0xf3])),
    ];
    let broken = broken.map(|(name, block)| (name, block, Expect::refused()));
    let table = also(&[0x20, 0x3f, 0xe1, 0x1f]);
    let indexed = behind(&[0x40, 1, b'x', 1, b'y', 0x80 | 62]);
    let path = b"\x83\x86\x44\x02/v\xbe";
    let twice = [&path[..], &frames::field(b":authority", b"h")].concat();
    let huffman = |name: &[&str], value: &[&str]| behind(&coded(&name.concat(), &value.concat()));
    let read = [
        (
            "a table that shrinks and grows",
            table,
            Expect::passed("hello"),
        ),
        ("a field from the table", indexed, Expect::passed("hello")),
        ("a path that is repeated from the table", twice, refused()),
        (
            "a Huffman name",
            huffman(&[x], &[zero]),
            Expect::passed("hello"),
        ),
        (
            "a Huffman name in upper case",
            huffman(&[upper], &[zero]),
            refused(),
        ),
        (
            "a Huffman name with a colon",
            huffman(&[x, colon], &[zero]),
            refused(),
        ),
        (
            "a Huffman value with CRLF",
            huffman(&[x], &[zero, cr, lf, zero]),
            refused(),
        ),
        (
            "a Huffman value with LF",
            huffman(&[x], &[zero, lf, zero]),
            refused(),
        ),
        (
            "a Huffman value with NUL",
            huffman(&[x], &[zero, nul, zero]),
            refused(),
        ),
    ];
    let all = broken.into_iter().chain(read);
    let vectors = all.map(|(name, block, expect)| {
        let head = frame(HEADERS, END_HEADERS, STREAM, &block);
        let frames = [head, body()].concat();
        vector(format!("a header block with {name}"), &frames, expect)
    });
    vectors.collect()
}
