//! The input of an HTTP/1.1 connection: its decoder, the bytes that wait to be read, and the
//! response to input that violates the protocol.

use gatebench_net::http1::{Decoder, Limits, ProtocolError};
use gatebench_net::{ConnId, Io};

use crate::BODY_BYTES_MAX;
use crate::response::{HeadOptions, Response, write_head};

pub(crate) fn request_decoder() -> Decoder {
    Decoder::requests(Limits {
        body_bytes: BODY_BYTES_MAX,
        ..Limits::default()
    })
}

/// Writes the response to a client that broke the protocol or exceeded a limit, which is the last
/// response on the connection.
pub(crate) fn write_refusal(out: &mut Vec<u8>, error: &ProtocolError) {
    let head = HeadOptions {
        connection: Some("close"),
        ..HeadOptions::of(&Response::error(error.response_status(), ""))
    };
    write_head(out, &head);
}

/// The bytes that were received but have not been read yet. When further bytes arrive that may not
/// be read yet, receiving is paused, so later bytes stay in the kernel.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    is_paused: bool,
}

impl Inbox {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Keeps bytes that may not be read yet, and stops receiving.
    pub(crate) fn hold<I: Io>(&mut self, io: &mut I, conn: ConnId, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if !self.is_paused {
            self.is_paused = true;
            io.pause(conn);
        }
    }

    /// Keeps the received bytes that follow those that have been read.
    pub(crate) fn put_back(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    pub(crate) fn resume<I: Io>(&mut self, io: &mut I, conn: ConnId) {
        if self.is_empty() && std::mem::take(&mut self.is_paused) {
            io.resume(conn);
        }
    }

    /// Drops the bytes, because nothing more will be read, and resumes receiving.
    pub(crate) fn discard<I: Io>(&mut self, io: &mut I, conn: ConnId) {
        self.bytes = Vec::new();
        self.resume(io, conn);
    }
}
