//! Parses the headers of frames, and writes frames (RFC 9113 4.1 and 6). Our own SETTINGS are
//! written in `settings.rs`.

use std::fmt;

use super::{ErrorCode, ProtocolError};

pub(super) const HEADER_BYTES: usize = 9;

/// The smallest value of SETTINGS_MAX_FRAME_SIZE.
pub(super) const FRAME_BYTES_MIN: u32 = 16_384;

/// The largest window (RFC 9113 6.9.1), and the highest stream number (5.1.1).
pub(super) const WINDOW_BYTES_MAX: u32 = (1 << 31) - 1;

/// The bytes that a client sends first (RFC 9113 3.4).
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const END_STREAM: u8 = 0x1;
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITY: u8 = 0x20;

/// The type of a frame (RFC 9113 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameType(
    /// The number on the wire, which may be one that RFC 9113 does not define.
    pub u8,
);

impl FrameType {
    pub(super) const DATA: Self = Self(0x0);
    pub(super) const HEADERS: Self = Self(0x1);
    pub(super) const PRIORITY: Self = Self(0x2);
    pub(super) const RST_STREAM: Self = Self(0x3);
    pub(super) const SETTINGS: Self = Self(0x4);
    pub(super) const PUSH_PROMISE: Self = Self(0x5);
    pub(super) const PING: Self = Self(0x6);
    pub(super) const GOAWAY: Self = Self(0x7);
    pub(super) const WINDOW_UPDATE: Self = Self(0x8);
    pub(super) const CONTINUATION: Self = Self(0x9);
}

const NAMES: [&str; 10] = [
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
];

impl fmt::Display for FrameType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "type-{:#x}", self.0),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: u32,
    pub(super) frame: FrameType,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    #[inline]
    pub(super) fn parse(bytes: &[u8; HEADER_BYTES]) -> Self {
        let [l0, l1, l2, frame, flags, s0, s1, s2, s3] = *bytes;
        Self {
            length: u32::from_be_bytes([0, l0, l1, l2]),
            frame: FrameType(frame),
            flags,
            stream: u32::from_be_bytes([s0, s1, s2, s3]) & WINDOW_BYTES_MAX,
        }
    }

    #[inline]
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The error for a payload whose length the type of the frame does not allow.
    pub(super) fn wrong_length(&self) -> ProtocolError {
        ProtocolError::FrameLength {
            frame: self.frame,
            bytes: self.length,
        }
    }

    /// Checks that the frame names a stream if `must` is true, and names none otherwise.
    #[inline]
    pub(super) fn names_stream(&self, must: bool) -> Result<(), ProtocolError> {
        if (self.stream != 0) == must {
            return Ok(());
        }
        Err(ProtocolError::FrameStream {
            frame: self.frame,
            stream: self.stream,
        })
    }
}

/// Removes the padding from a payload: its length at the beginning and the padding itself at the
/// end (RFC 9113 6.1, 6.2).
pub(super) fn without_padding<'p>(
    header: &FrameHeader,
    payload: &'p [u8],
) -> Result<&'p [u8], ProtocolError> {
    if !header.has(PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload.split_first().ok_or(header.wrong_length())?;
    let kept = rest.len().checked_sub(padding as usize);
    kept.map(|kept| &rest[..kept])
        .ok_or(ProtocolError::Padding {
            frame: header.frame,
        })
}

#[inline]
pub(super) fn write_header(
    out: &mut Vec<u8>,
    length: usize,
    frame: FrameType,
    flags: u8,
    stream: u32,
) {
    let [_, l0, l1, l2] = (length as u32).to_be_bytes();
    let [s0, s1, s2, s3] = stream.to_be_bytes();
    out.extend_from_slice(&[l0, l1, l2, frame.0, flags, s0, s1, s2, s3]);
}

/// Writes a header block in as many frames as it needs, with at most `frame_bytes` of it in each.
pub(super) fn write_block(
    out: &mut Vec<u8>,
    stream: u32,
    block: &[u8],
    end_stream: bool,
    frame_bytes: usize,
) {
    let end_stream = if end_stream { END_STREAM } else { 0 };
    if block.len() <= frame_bytes {
        let flags = END_HEADERS | end_stream;
        write_header(out, block.len(), FrameType::HEADERS, flags, stream);
        out.extend_from_slice(block);
        return;
    }
    let (first, mut rest) = block.split_at(frame_bytes);
    write_header(out, first.len(), FrameType::HEADERS, end_stream, stream);
    out.extend_from_slice(first);
    while !rest.is_empty() {
        let (next, after) = rest.split_at(rest.len().min(frame_bytes));
        let flags = if after.is_empty() { END_HEADERS } else { 0 };
        write_header(out, next.len(), FrameType::CONTINUATION, flags, stream);
        out.extend_from_slice(next);
        rest = after;
    }
}

pub(super) fn write_data(out: &mut Vec<u8>, stream: u32, data: &[u8], end_stream: bool) {
    let flags = if end_stream { END_STREAM } else { 0 };
    write_header(out, data.len(), FrameType::DATA, flags, stream);
    out.extend_from_slice(data);
}

pub(super) fn write_settings_ack(out: &mut Vec<u8>) {
    write_header(out, 0, FrameType::SETTINGS, ACK, 0);
}

pub(super) fn write_ping_ack(out: &mut Vec<u8>, payload: [u8; 8]) {
    write_header(out, payload.len(), FrameType::PING, ACK, 0);
    out.extend_from_slice(&payload);
}

pub(super) fn write_window_update(out: &mut Vec<u8>, stream: u32, increment: u32) {
    write_header(out, 4, FrameType::WINDOW_UPDATE, 0, stream);
    out.extend_from_slice(&increment.to_be_bytes());
}

pub(super) fn write_reset(out: &mut Vec<u8>, stream: u32, code: ErrorCode) {
    write_header(out, 4, FrameType::RST_STREAM, 0, stream);
    out.extend_from_slice(&code.0.to_be_bytes());
}

pub(super) fn write_go_away(out: &mut Vec<u8>, last_stream: u32, code: ErrorCode) {
    write_header(out, 8, FrameType::GOAWAY, 0, 0);
    out.extend_from_slice(&last_stream.to_be_bytes());
    out.extend_from_slice(&code.0.to_be_bytes());
}
