//! Errors in a peer's bytes: errors of the connection, of one stream, and of one message.

use thiserror::Error;

use super::ErrorCode;
use super::frame::FrameType;
use super::hpack::HpackError;
use super::limits::Flood;

/// A peer violated HTTP/2 or exceeded a limit in a way that ends the connection (RFC 9113 5.4.1).
/// GOAWAY has already been written.
///
/// The text describes the error; the caller that reports it names the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// The client's first bytes are not the preface (RFC 9113 3.4).
    #[error("the connection does not begin with the HTTP/2 preface")]
    Preface,
    #[error("the response is HTTP/1, so the server does not speak HTTP/2 on this port")]
    Http1Response,
    /// The first frame is not SETTINGS (RFC 9113 3.4).
    #[error("the first frame is {frame} instead of SETTINGS")]
    FirstFrame { frame: FrameType },
    /// A frame is longer than [`super::Settings::frame_bytes`] (RFC 9113 4.2).
    #[error("a {frame} frame has {bytes} bytes, but at most {limit} are allowed")]
    FrameTooLarge {
        frame: FrameType,
        bytes: u32,
        limit: u32,
    },
    /// A frame has a length that its type does not allow (RFC 9113 6).
    #[error("a {frame} frame has {bytes} bytes, which its type does not allow")]
    FrameLength { frame: FrameType, bytes: u32 },
    /// A frame whose type belongs to streams names no stream, or a frame whose type belongs to the
    /// connection names a stream (RFC 9113 6).
    #[error("a {frame} frame names stream {stream}, which its type does not allow")]
    FrameStream { frame: FrameType, stream: u32 },
    /// The padding does not fit in the frame (RFC 9113 6.1).
    #[error("the padding of a {frame} frame does not fit in the frame")]
    Padding { frame: FrameType },
    /// A header block is interrupted by another frame (RFC 9113 6.10).
    #[error("a {frame} frame interrupts a header block")]
    BlockInterrupted { frame: FrameType },
    /// CONTINUATION without a block to continue (RFC 9113 6.10).
    #[error("a CONTINUATION frame does not follow an unfinished header block")]
    ContinuationUnexpected,
    /// A header block has more CONTINUATION frames than [`super::Limits::continuations`].
    #[error("a header block has more than {limit} CONTINUATION frames")]
    TooManyContinuations { limit: u32 },
    /// A header block exceeds [`super::Limits::block_bytes`] before decoding.
    #[error("a header block exceeds {limit} bytes")]
    BlockTooLarge { limit: usize },
    /// A header block cannot be decoded (RFC 9113 4.3).
    #[error(transparent)]
    Compression(#[from] HpackError),
    /// A frame for a stream that was not opened (RFC 9113 5.1).
    #[error("a {frame} frame arrived for stream {stream}, which is not open yet")]
    StreamIdle { frame: FrameType, stream: u32 },
    /// A frame for a stream that the peer itself had ended (RFC 9113 5.1).
    #[error("a {frame} frame arrived for stream {stream}, which has ended")]
    StreamEnded { frame: FrameType, stream: u32 },
    /// A new stream whose number is even, or not higher than all previous ones (RFC 9113 5.1.1).
    #[error(
        "stream {stream} was opened after stream {last}, but stream numbers must be odd and rising"
    )]
    StreamNumber { stream: u32, last: u32 },
    /// PUSH_PROMISE, which clients may not send and which we disabled for servers (RFC 9113 8.4).
    #[error("a PUSH_PROMISE frame arrived although push is disabled")]
    Push,
    /// A stream that depends on itself (RFC 7540 5.3.1). All other priorities are ignored
    /// (RFC 9113 5.3.2).
    #[error("stream {stream} depends on itself")]
    DependsOnItself { stream: u32 },
    /// A setting has an invalid value (RFC 9113 6.5.2).
    #[error("setting {id:#x} has the invalid value {value}")]
    SettingValue { id: u16, value: u32 },
    /// An acknowledgment of settings that were not sent, or that were already acknowledged.
    #[error("the peer acknowledged settings more often than they were sent")]
    AckUnexpected,
    /// A WINDOW_UPDATE of 0 bytes for the connection (RFC 9113 6.9).
    #[error("a WINDOW_UPDATE for the connection adds nothing")]
    WindowIncrementZero,
    /// The connection's send window exceeds 2³¹−1, or a stream's does because of a new initial size
    /// (RFC 9113 6.9.1, 6.9.2).
    #[error("a WINDOW_UPDATE or setting raises a window above 2^31-1")]
    WindowOverflow,
    /// More DATA than the connection's window allows (RFC 9113 6.9.1).
    #[error("more DATA arrived than the connection's window allows")]
    WindowExceeded,
    /// Too much input that causes work on this side but serves no request. `limit` is the value of
    /// the field of [`super::Limits`] that bounds it.
    #[error("too many {flood}: they exceed the budget of {limit}, which finished requests refill")]
    Flood { flood: Flood, limit: u32 },
}

impl ProtocolError {
    /// The error code that GOAWAY carries.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::FrameTooLarge { .. } | Self::FrameLength { .. } => ErrorCode::FRAME_SIZE_ERROR,
            Self::TooManyContinuations { .. } | Self::BlockTooLarge { .. } | Self::Flood { .. } => {
                ErrorCode::ENHANCE_YOUR_CALM
            }
            Self::Compression(_) => ErrorCode::COMPRESSION_ERROR,
            Self::StreamEnded { .. } => ErrorCode::STREAM_CLOSED,
            Self::SettingValue { id, .. } if *id == super::settings::INITIAL_WINDOW_SIZE => {
                ErrorCode::FLOW_CONTROL_ERROR
            }
            Self::WindowOverflow | Self::WindowExceeded => ErrorCode::FLOW_CONTROL_ERROR,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }
}

/// A peer violated HTTP/2 or exceeded a limit on one stream, which is then reset (RFC 9113 5.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum StreamError {
    /// The message is malformed (RFC 9113 8.1.1).
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("DATA arrived before the head of the message")]
    DataBeforeHead,
    /// HEADERS or DATA arrived after the end of the message (RFC 9113 5.1).
    #[error("a frame arrived after the end of the message")]
    Ended,
    /// A response ended with an informational head.
    #[error("the message ended before its head")]
    HeadMissing,
    /// HEADERS arrived after the head, but not as trailers at the end (RFC 9113 8.1).
    #[error("trailer fields do not end the message")]
    TrailersWithoutEnd,
    /// The length of the body differs from Content-Length, or a response that cannot have a body
    /// has one (RFC 9113 8.1.1).
    #[error(
        "the length of the body differs from Content-Length, or the response must not have a body"
    )]
    ContentLength,
    /// The fields of a head or of trailers exceed [`super::Limits::list_bytes`].
    #[error("the fields exceed {limit} bytes")]
    FieldsTooLarge { limit: usize },
    /// More 1xx responses than [`super::Limits::informational`] came before a final one.
    #[error("more than {limit} informational responses came before the final one")]
    TooManyInformational { limit: u32 },
    /// More DATA than the stream's window allows (RFC 9113 6.9.1).
    #[error("more DATA arrived than the stream's window allows")]
    WindowExceeded,
    /// A WINDOW_UPDATE of 0 bytes for the stream (RFC 9113 6.9).
    #[error("a WINDOW_UPDATE for the stream adds nothing")]
    WindowIncrementZero,
    /// The stream's send window exceeds 2³¹−1 (RFC 9113 6.9.1).
    #[error("a WINDOW_UPDATE raises the stream's window above 2^31-1")]
    WindowOverflow,
    /// A PRIORITY frame whose length is not five bytes (RFC 9113 6.3).
    #[error("the length of a PRIORITY frame is not five bytes")]
    PriorityLength,
}

impl StreamError {
    /// The error code that RST_STREAM carries.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Ended => ErrorCode::STREAM_CLOSED,
            Self::FieldsTooLarge { .. } | Self::TooManyInformational { .. } => {
                ErrorCode::ENHANCE_YOUR_CALM
            }
            Self::WindowExceeded | Self::WindowOverflow => ErrorCode::FLOW_CONTROL_ERROR,
            Self::PriorityLength => ErrorCode::FRAME_SIZE_ERROR,
            _ => ErrorCode::PROTOCOL_ERROR,
        }
    }
}

/// The fields of a block do not form a message (RFC 9113 8.1.1, 8.2, 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// A name that is not a token in lower case (RFC 9113 8.2.1).
    #[error("a field name is not a lower-case token")]
    FieldName,
    /// A value with NUL, CR or LF, or with white space around it (RFC 9113 8.2.1).
    #[error("a field value contains NUL, CR or LF, or has white space around it")]
    FieldValue,
    /// A field that is specific to HTTP/1.1 connections (RFC 9113 8.2.2).
    #[error(
        "the message has a field of HTTP/1.1 connections (Connection, Transfer-Encoding or the like)"
    )]
    ConnectionField,
    /// TE with a value other than `trailers` (RFC 9113 8.2.2).
    #[error("TE has a value other than trailers")]
    Te,
    /// A pseudo-header field that is not defined (RFC 9113 8.3).
    #[error("the message has an unknown pseudo-header field")]
    UnknownPseudoField,
    /// A duplicate pseudo-header field (RFC 9113 8.3).
    #[error("a pseudo-header field appears twice")]
    PseudoFieldRepeated,
    /// A pseudo-header field after a regular one (RFC 9113 8.3).
    #[error("a pseudo-header field follows a regular field")]
    PseudoFieldLate,
    /// A pseudo-header field of requests in a response, one of responses in a request, or any in
    /// trailers (RFC 9113 8.3).
    #[error("a pseudo-header field is not allowed in this kind of message")]
    PseudoFieldMisplaced,
    /// A pseudo-header field is missing, `:path` is empty, or CONNECT has `:scheme` or `:path` (RFC
    /// 9113 8.3.1, 8.3.2, 8.5).
    #[error("a pseudo-header field is missing or empty, or CONNECT has :scheme or :path")]
    PseudoFieldMissing,
    /// A status that is not a number of three digits, at least 100 (RFC 9113 8.3.2).
    #[error("the status code is not a number from 100 to 999")]
    Status,
    /// Status 101, which HTTP/2 does not support (RFC 9113 8.6).
    #[error("status 101 does not exist in HTTP/2")]
    SwitchingProtocols,
    /// A Content-Length that is not a number, or several that differ (RFC 9110 8.6).
    #[error("Content-Length is not one 64-bit decimal number")]
    ContentLength,
}
