//! Error codes on the wire (RFC 9113 7).

use std::fmt;

/// The reason why a stream or a connection ended, as RST_STREAM and GOAWAY state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(
    /// The number on the wire, which may be one that RFC 9113 does not define.
    pub u32,
);

impl ErrorCode {
    pub const NO_ERROR: Self = Self(0x0);
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// The sender itself failed.
    pub const INTERNAL_ERROR: Self = Self(0x2);
    /// The peer sent more bytes than the window allowed.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// A frame arrived for a stream that had ended.
    pub const STREAM_CLOSED: Self = Self(0x5);
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The request was not processed; it may be sent again.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The sender no longer needs the stream.
    pub const CANCEL: Self = Self(0x8);
    /// A header block could not be decoded.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The peer causes too much work.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);
}

const NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "error code {:#x}", self.0),
        }
    }
}
