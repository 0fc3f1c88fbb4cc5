//! The response that a route chooses when the request's head is known, and the serialization of its
//! head.

use gatebench_net::http1::{BodyLength, write_response_head};
use gatebench_net::trace::{TIMES_BYTES, TIMES_HEADER};

pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
pub(crate) const JSON: &str = "application/json";
pub(crate) const XML: &str = "application/xml";
pub(crate) const REGION_HEADER: &str = "X-Soap-Region";
pub(crate) const BINARY: &str = "application/octet-stream";

/// A response, which is sent once the request is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Body,
    /// The value of `Allow`, for 405.
    pub(crate) allow: Option<&'static str>,
    pub(crate) encoding: Option<&'static str>,
    pub(crate) region: Option<&'static str>,
    /// The delay after the request's last byte, in nanoseconds.
    pub(crate) delay_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Static(&'static [u8]),
    /// The time of day as JSON, which is deliberately invalid unless `valid` is true.
    Time {
        valid: bool,
    },
    /// The bytes that the route wrote into the scratch buffer.
    Scratch,
    Text(u64),
    Noise(u64),
    /// The request's body. Its content type is in the scratch buffer.
    Echo,
    /// The lines in the scratch buffer, which are streamed without a stated length, except over
    /// HTTP/1.0.
    Lines,
    /// The whole request as JSON (httpbin's `/anything`).
    Anything(AnythingParts),
    /// The result of the operation in the message (the calculator's `/ws`).
    Calculation(Calculation),
}

/// The members of `/anything` that are known from the head. They are written to the scratch buffer
/// one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnythingParts {
    /// The position where the value of `args` ends.
    pub(crate) args_end: usize,
    /// The position where the value of `headers` ends. `method`, `origin`, `url` and the closing
    /// brace follow.
    pub(crate) headers_end: usize,
    pub(crate) is_form: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calculation {
    /// True if the client accepts gzip, in which case the response is compressed.
    pub(crate) is_compressed: bool,
    /// True if the request's body is compressed, which is not supported.
    pub(crate) is_unreadable: bool,
}

/// A 404 response, which applies until a route has chosen another.
impl Default for Response {
    fn default() -> Self {
        Self::not_found()
    }
}

impl Response {
    pub(crate) fn ok(content_type: &'static str, body: Body) -> Self {
        Self {
            status: 200,
            content_type,
            body,
            allow: None,
            encoding: None,
            region: None,
            delay_ns: 0,
        }
    }

    pub(crate) fn error(status: u16, words: &'static str) -> Self {
        Self {
            status,
            ..Self::ok(TEXT, Body::Static(words.as_bytes()))
        }
    }

    pub(crate) fn not_found() -> Self {
        Self::error(404, "upstream: no such path\n")
    }

    pub(crate) fn not_allowed(allow: &'static str) -> Self {
        Self {
            allow: Some(allow),
            ..Self::error(405, "upstream: the path does not allow this method\n")
        }
    }

    /// Reports whether the request's body must be kept until the request is complete.
    pub(crate) fn needs_request_body(&self) -> bool {
        matches!(
            self.body,
            Body::Echo | Body::Anything(_) | Body::Calculation(_)
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeadOptions<'a> {
    pub(crate) status: u16,
    pub(crate) content_type: &'a [u8],
    /// The size of the body, in bytes; `None` if the head does not state it.
    pub(crate) length: Option<u64>,
    pub(crate) allow: Option<&'static str>,
    pub(crate) encoding: Option<&'static str>,
    pub(crate) region: Option<&'static str>,
    /// True if the head has room for the times.
    pub(crate) times: bool,
    /// The Connection field, only for HTTP/1.1.
    pub(crate) connection: Option<&'static str>,
}

impl HeadOptions<'static> {
    /// Returns the head of a response, with a length of 0 and without room for times.
    pub(crate) fn of(response: &Response) -> Self {
        Self {
            status: response.status,
            content_type: response.content_type.as_bytes(),
            length: Some(0),
            allow: response.allow,
            encoding: response.encoding,
            region: response.region,
            times: false,
            connection: None,
        }
    }
}

impl HeadOptions<'_> {
    /// Returns the length that the head states. By RFC 9110 8.6, a 204 response must not state a
    /// length, and a 304 response may state only that of the corresponding 200 response.
    pub(crate) fn body_length(&self) -> BodyLength {
        match (self.status, self.length) {
            (204 | 304, _) => BodyLength::None,
            (_, Some(length)) => BodyLength::Length(length),
            (_, None) => BodyLength::Chunked,
        }
    }
}

/// The placeholder for the times, which are filled in when the response is sent.
pub(crate) const NO_TIMES: &[u8; TIMES_BYTES] = &[b'0'; TIMES_BYTES];

/// Writes an HTTP/1.1 head. If the head has room for the times, returns the position of the value
/// of [`TIMES_HEADER`], which is filled in just before the head is sent.
pub(crate) fn write_head(out: &mut Vec<u8>, head: &HeadOptions<'_>) -> Option<usize> {
    let start = out.len();
    let fields = [
        head.times.then_some((TIMES_HEADER, &NO_TIMES[..])),
        (!head.content_type.is_empty()).then_some(("Content-Type", head.content_type)),
        head.allow.map(|allow| ("Allow", allow.as_bytes())),
        head.encoding
            .map(|encoding| ("Content-Encoding", encoding.as_bytes())),
        head.region.map(|region| (REGION_HEADER, region.as_bytes())),
        head.connection
            .map(|connection| ("Connection", connection.as_bytes())),
    ];
    let fields = fields.into_iter().flatten();
    write_response_head(out, head.status, fields, head.body_length());
    if !head.times {
        return None;
    }
    let status_line_bytes = out[start..].iter().position(|&byte| byte == b'\n')? + 1;
    Some(start + status_line_bytes + TIMES_HEADER.len() + ": ".len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(status: u16) -> HeadOptions<'static> {
        HeadOptions {
            status,
            length: Some(2),
            ..HeadOptions::of(&Response::ok("text/plain", Body::Static(b"")))
        }
    }

    #[test]
    fn a_head_has_the_exact_bytes() {
        let mut out = b"before".to_vec();
        assert_eq!(write_head(&mut out, &plain(200)), None);
        let expected =
            "beforeHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn room_is_left_for_the_times() {
        let mut out = Vec::new();
        let at = write_head(
            &mut out,
            &HeadOptions {
                times: true,
                ..plain(418)
            },
        )
        .unwrap();
        assert!(out.starts_with(b"HTTP/1.1 418 \r\n"));
        assert_eq!(&out[at - 17..at], b"gatebench-times: ");
        assert_eq!(&out[at..at + TIMES_BYTES], [b'0'; TIMES_BYTES]);
        assert!(out[at + TIMES_BYTES..].starts_with(b"\r\nContent-Type"));
    }

    #[test]
    fn a_head_with_204_states_no_length() {
        let mut out = Vec::new();
        let head = HeadOptions {
            content_type: b"",
            connection: Some("close"),
            ..plain(204)
        };
        write_head(&mut out, &head);
        assert_eq!(out, b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    }
}
