//! Frames that a peer may write, valid or invalid.

use gatebench_net::http2::ErrorCode;

pub(super) const DATA: u8 = 0x0;
pub(super) const HEADERS: u8 = 0x1;
pub(super) const PRIORITY: u8 = 0x2;
pub(super) const RST_STREAM: u8 = 0x3;
pub(super) const SETTINGS: u8 = 0x4;
pub(super) const PUSH_PROMISE: u8 = 0x5;
pub(super) const PING: u8 = 0x6;
pub(super) const GOAWAY: u8 = 0x7;
pub(super) const WINDOW_UPDATE: u8 = 0x8;
pub(super) const CONTINUATION: u8 = 0x9;

pub(super) const END_STREAM: u8 = 0x1;
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const WITH_PRIORITY: u8 = 0x20;

/// `GET / HTTP/2` over http, from the static table, without `:authority`.
pub(super) const GET: &[u8] = &[0x82, 0x84, 0x86];
/// Status 200.
pub(super) const OK: &[u8] = &[0x88];

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

pub(super) fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let pairs = all.iter().map(|(id, value)| {
        let (id, value) = (id.to_be_bytes(), value.to_be_bytes());
        [&id[..], &value].concat()
    });
    frame(SETTINGS, 0, 0, &pairs.collect::<Vec<_>>().concat())
}

pub(super) fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

pub(super) fn reset(stream: u32, code: ErrorCode) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.0.to_be_bytes())
}

/// A request without a body.
pub(super) fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, GET)
}

/// A request whose body follows.
pub(super) fn post(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &[0x83, 0x84, 0x86])
}

/// A literal field without indexing or Huffman coding.
pub(super) fn literal(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| u8::try_from(text.len()).unwrap();
    let mut bytes = vec![0, length(name)];
    bytes.extend(name.bytes());
    bytes.push(length(value));
    bytes.extend(value.bytes());
    bytes
}

/// The first bytes sent by a client.
pub(super) fn client_preface() -> Vec<u8> {
    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &settings(&[])].concat()
}

/// Returns the type, stream and payload of the last frame in `bytes`, which must consist of
/// complete frames.
pub(super) fn last_frame(mut bytes: &[u8]) -> (u8, u32, Vec<u8>) {
    let mut last = None;
    while !bytes.is_empty() {
        let length = usize::from(bytes[1]) << 8 | usize::from(bytes[2]);
        let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]);
        last = Some((bytes[3], stream, bytes[9..9 + length].to_vec()));
        bytes = &bytes[9 + length..];
    }
    last.unwrap()
}
