//! Errors in a peer's bytes.

use thiserror::Error;

/// A peer violated HTTP/1.1, exceeded a limit, or used a feature that is not supported. The
/// connection can no longer be used, because the beginning of the next message is unknown.
///
/// The text describes the error; the caller that reports it names the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// The first line is neither a request line nor a status line (RFC 9112 3, 4).
    #[error("the first line is not an HTTP/1.1 start line")]
    StartLine,
    /// Another major version, a minor version other than 0 and 1 (RFC 9112 2.3), or a status line
    /// without a space after the version.
    #[error("the HTTP version is neither 1.0 nor 1.1")]
    Version,
    /// A status that is not a number of three digits, at least 100 (RFC 9110 15), or a reason
    /// phrase with a control character other than the tab (RFC 9112 4).
    #[error("the status code is not a number from 100 to 999, or the reason phrase is invalid")]
    Status,
    /// CONNECT, whose response turns the connection into a tunnel.
    #[error("the method CONNECT is not supported")]
    Connect,
    /// 101: the peer switched to a protocol that was not requested (RFC 9110 15.2.2).
    #[error("status 101 switches to a protocol that was not requested")]
    SwitchingProtocols,
    #[error("a line of the head ends with LF instead of CRLF")]
    BareLineFeed,
    /// In a head, outside the field values, a CR that is not followed by LF (RFC 9112 2.2), or more
    /// bytes after the version of a request line.
    #[error(
        "a CR in the head is not followed by LF, or the request line has bytes after the version"
    )]
    BareCarriageReturn,
    /// A field name that is not a token; white space before the colon; a folded line (RFC 9112 5).
    #[error("a field name is not a token followed by a colon")]
    FieldName,
    /// A control character other than the tab, CR included, in a field value (RFC 9110 5.5).
    #[error("a field value contains a control character")]
    FieldValue,
    /// The request line alone exceeds [`super::Limits::head_bytes`].
    #[error("the request line exceeds {limit} bytes")]
    TargetTooLong { limit: usize },
    /// The head exceeds [`super::Limits::head_bytes`].
    #[error("the head exceeds {limit} bytes")]
    HeadTooLarge { limit: usize },
    /// The head has more field lines than [`super::Limits::fields`].
    #[error("the head has more than {limit} fields")]
    TooManyFields { limit: usize },
    /// An HTTP/1.1 request without Host (RFC 9112 3.2).
    #[error("an HTTP/1.1 request has no Host field")]
    HostMissing,
    /// More than one Host line (RFC 9112 3.2).
    #[error("the request has more than one Host field")]
    HostRepeated,
    /// A Host value that is not `host[:port]` (RFC 9112 3.2).
    #[error("the value of Host is not a host with an optional port")]
    Host,
    /// A Content-Length, or a list element in it, that is empty, contains characters other than
    /// digits, or exceeds 64 bits (RFC 9112 6.3 item 5).
    #[error("the value of Content-Length is not a 64-bit decimal number")]
    ContentLength,
    /// Content-Length fields with different values (RFC 9112 6.3 item 5).
    #[error("the message has Content-Length fields with different values")]
    ContentLengthsDiffer,
    /// Content-Length together with Transfer-Encoding, as in request smuggling (RFC 9112 6.3 item
    /// 3).
    #[error("the message has both Content-Length and Transfer-Encoding")]
    LengthAndEncoding,
    /// Transfer-Encoding in an HTTP/1.0 message (RFC 9112 6.1).
    #[error("an HTTP/1.0 message has Transfer-Encoding")]
    EncodingInHttp10,
    #[error("Transfer-Encoding has an empty element")]
    Encoding,
    /// A transfer coding other than chunked (RFC 9112 6.1).
    #[error("Transfer-Encoding names a coding other than chunked")]
    EncodingUnsupported,
    /// Another coding, or `chunked` again, follows `chunked` (RFC 9112 6.1, 6.3 item 4).
    #[error("chunked is not the last transfer coding, or appears twice")]
    ChunkedNotLast,
    /// The body exceeds [`super::Limits::body_bytes`].
    #[error("the body exceeds {limit} bytes")]
    BodyTooLarge { limit: u64 },
    /// A chunk size that is not hexadecimal, exceeds 64 bits, or has an invalid line ending (RFC
    /// 9112 7.1).
    #[error("a chunk size is not a 64-bit hexadecimal number followed by CRLF")]
    ChunkSize,
    /// A control character in a chunk extension, or an extension that ends with LF alone (RFC 9112
    /// 7.1.1).
    #[error("a chunk extension contains a control character")]
    ChunkExtension,
    /// The line before a chunk exceeds [`super::Limits::chunk_line_bytes`].
    #[error("the line before a chunk exceeds {limit} bytes")]
    ChunkLineTooLong { limit: usize },
    /// A chunk's data is not followed by CRLF, usually because the stated size is wrong (RFC 9112
    /// 7.1).
    #[error("the data of a chunk is not followed by CRLF")]
    ChunkEnd,
    /// The last chunk is followed by something other than valid field lines and the empty line (RFC
    /// 9112 7.1.2).
    #[error("the last chunk is followed by something other than trailer fields and an empty line")]
    Trailer,
    /// The trailer section exceeds [`super::Limits::trailer_bytes`].
    #[error("the trailer fields exceed {limit} bytes")]
    TrailersTooLarge { limit: usize },
    /// More 1xx responses than [`super::Limits::informational`] came before a final one.
    #[error("more than {limit} informational responses came before the final one")]
    TooManyInformational { limit: u32 },
    /// The peer closed the connection within a head, or after a 1xx response (RFC 9112 8).
    #[error("the connection was closed before a complete head")]
    TruncatedHead,
    /// The peer closed the connection within a body that has a length or is chunked (RFC 9112 8).
    #[error("the connection was closed before the end of the body")]
    TruncatedBody,
}

impl ProtocolError {
    /// The status of the response that a server sends before it closes the connection: 400, 413,
    /// 414, 431, 501 or 505.
    pub fn response_status(&self) -> u16 {
        match self {
            Self::BodyTooLarge { .. } => 413,
            Self::TargetTooLong { .. } => 414,
            Self::HeadTooLarge { .. } | Self::TooManyFields { .. } => 431,
            Self::Connect | Self::EncodingUnsupported => 501,
            Self::Version => 505,
            _ => 400,
        }
    }
}
