//! Tests the engine against HTTP/2 servers that send too much, send false information, or stall.

use std::time::Duration;

use gatebench_engine::ErrorKind::{self, Protocol, Reset, Timeout};
use gatebench_engine::{Load, Protocol as Spoken};

use gatebench_model::Body;

use crate::server::{Connection, Pathology};
use crate::trial::{fails_with, impatient, requests};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;
pub const END_STREAM: u8 = 1;
pub const END_HEADERS: u8 = 4;
/// `:status: 200` in the static table.
pub const OK: &[u8] = b"\x88";

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

impl Connection {
    /// Reads the preface and sends settings. Returns false if the client is gone.
    pub fn greet(&mut self, settings: &[u8]) -> bool {
        self.exactly(24).is_some() && self.write(&frame(SETTINGS, 0, 0, settings))
    }

    /// Returns the stream of the next request.
    pub fn stream(&mut self) -> Option<u32> {
        loop {
            let header = self.exactly(9)?;
            let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
            self.exactly(length as usize)?;
            if header[3] == HEADERS {
                return Some(u32::from_be_bytes(header[5..].try_into().ok()?));
            }
        }
    }

    fn exactly(&mut self, bytes: usize) -> Option<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        std::io::Read::read_exact(&mut self.stream, &mut buffer).ok()?;
        Some(buffer)
    }
}

pub fn over_http2(load: &mut Load) {
    load.groups[0].target.protocol = Spoken::Http2 { streams: 4 };
}

/// After the first request, sends the frames for its stream repeatedly, up to 1 GiB.
fn flood(frames: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> impl Pathology {
    move |it: &mut Connection| {
        if it.greet(b"")
            && let Some(stream) = it.stream()
        {
            it.flood(&frames(stream), 1 << 30);
        }
    }
}

/// Responds to each request with these frames.
pub fn responses(frames: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> impl Pathology {
    move |it: &mut Connection| {
        if !it.greet(b"") {
            return;
        }
        while let Some(stream) = it.stream()
            && it.write(&frames(stream))
        {}
    }
}

fn fails(kinds: &[ErrorKind], pathology: impl Pathology) {
    fails_with(kinds, pathology, over_http2);
}

#[test]
fn endless_frames_without_work() {
    fails(
        &[Protocol],
        flood(|_| frame(SETTINGS, 0, 0, b"\0\x03\0\0\0\x64")),
    );
    fails(&[Protocol], flood(|_| frame(PING, 0, 0, b"12345678")));
    fails(&[Protocol], flood(|_| frame(0xfa, 0, 0, b"unknown")));
    fails(&[Protocol], flood(|it| frame(2, 0, it, b"\0\0\0\0\x10")));
    // The client resets the stream of these frames, but they continue.
    fails(&[Protocol, Reset], flood(|it| frame(DATA, 0, it, b"")));
    let trailers = |it| frame(HEADERS, END_HEADERS | END_STREAM, it, b"\x00\x01a\x01b");
    fails(&[Protocol, Reset], flood(trailers));
}

#[test]
fn a_header_block_without_end() {
    fails(&[Protocol], |it: &mut Connection| {
        if it.greet(b"")
            && let Some(stream) = it.stream()
            && it.write(&frame(HEADERS, 0, stream, OK))
        {
            it.flood(&frame(CONTINUATION, 0, stream, b"\0\x01a\x01b"), 1 << 30);
        }
    });
}

#[test]
fn endless_informational_responses() {
    // `:status: 103` as a literal.
    let hint = |it| frame(HEADERS, END_HEADERS, it, b"\x08\x03103");
    fails(&[Protocol, Reset], flood(hint));
}

/// RFC 7541 does not limit the size to which a few bytes may decode; the limit on the size of a
/// field list bounds it.
#[test]
fn header_bombs() {
    // One field of 4,000 bytes enters the table, and is then referenced 10,000 times.
    let mut block = [OK, b"\x40\x01a\x7f\xa1\x1e"].concat();
    block.extend_from_slice(&[b'v'; 4_000]);
    block.extend_from_slice(&[0xbe; 10_000]);
    fails(
        &[Protocol, Reset],
        responses(move |it| frame(HEADERS, END_HEADERS | END_STREAM, it, &block)),
    );
    // An invalid integer, index and table size.
    for block in [
        &b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"[..],
        b"\x80",
        b"\x3f\xff\xff\xff\xff\x0f",
    ] {
        fails(
            &[Protocol],
            responses(move |it| frame(HEADERS, END_HEADERS | END_STREAM, it, block)),
        );
    }
}

#[test]
fn frames_that_break_the_connection() {
    let oversized = |it: u32| {
        let mut frame = frame(DATA, 0, it, &[0; 100]);
        frame[0] = 0xff;
        frame
    };
    fails(&[Protocol], responses(oversized));
    fails(
        &[Protocol],
        responses(|it| {
            frame(
                PUSH_PROMISE,
                END_HEADERS,
                it,
                b"\0\0\0\x02\x82\x84\x87\x41\x01a",
            )
        }),
    );
    fails(
        &[Protocol],
        responses(|_| frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]).repeat(2)),
    );
    fails(
        &[Protocol],
        responses(|_| frame(WINDOW_UPDATE, 0, 0, &[0; 4])),
    );
    fails(
        &[Protocol],
        responses(|_| frame(SETTINGS, 0, 0, b"\0\x04\xff\xff\xff\xff")),
    );
    fails(
        &[Protocol],
        responses(|_| frame(SETTINGS, 0, 0, b"\0\x05\0\0\0\0")),
    );
    fails(&[Protocol], responses(|_| frame(SETTINGS, 1, 0, b"")));
    fails(&[Protocol], responses(|_| frame(DATA, 0, 0, b"for nobody")));
    fails(
        &[Protocol],
        responses(|_| frame(DATA, 0, 2_000_001, b"for nobody")),
    );
    fails(
        &[Protocol],
        responses(|_| frame(HEADERS, END_HEADERS, 2, OK)),
    );
    fails(
        &[Protocol],
        responses(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec()),
    );
}

#[test]
fn more_data_than_the_window_allows() {
    let endless = |it: &mut Connection| {
        if it.greet(b"")
            && let Some(stream) = it.stream()
            && it.write(&frame(HEADERS, END_HEADERS, stream, OK))
        {
            it.flood(&frame(DATA, 0, stream, &[b'x'; 16_384]), u64::MAX);
        }
    };
    // The client consumes the body as it arrives, so the windows may never be exhausted, in which
    // case the body never ends.
    fails_with(&[Timeout, Protocol, Reset], endless, |load| {
        impatient(load);
        over_http2(load);
    });
}

#[test]
fn a_window_that_never_opens() {
    let stall = |it: &mut Connection| {
        it.greet(b"\0\x04\0\0\0\0");
        it.fall_silent();
    };
    fails_with(&[Timeout], stall, |load| {
        impatient(load);
        over_http2(load);
        load.groups[0].requests[0].method = "POST".into();
        load.groups[0].requests[0].body = Some(Body::new("x".repeat(1 << 20)));
    });
}

#[test]
fn a_window_that_opens_a_byte_at_a_time() {
    let drip = |it: &mut Connection| {
        if !it.greet(b"\0\x04\0\0\0\0") {
            return;
        }
        let Some(stream) = it.stream() else { return };
        while it.write(&frame(WINDOW_UPDATE, 0, stream, b"\0\0\0\x01")) {
            std::thread::sleep(Duration::from_micros(100));
        }
    };
    fails_with(&[Timeout], drip, |load| {
        impatient(load);
        over_http2(load);
        requests(load, 1, 1);
        load.groups[0].requests[0].method = "POST".into();
        load.groups[0].requests[0].body = Some(Body::new("x".repeat(1 << 20)));
    });
}
