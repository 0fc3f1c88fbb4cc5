//! Writes messages to bytes.
//!
//! The caller is responsible for names and values: they must be valid (no CR, LF or NUL), as those
//! from a [`super::Decoder`] are.

/// The way in which a message indicates the end of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// No framing field: a request without a body, a response that cannot have one (204, 304), or
    /// a response that ends when the connection is closed.
    None,
    Length(u64),
    /// `Transfer-Encoding: chunked`; [`write_chunk`] and [`write_last_chunk`] follow.
    Chunked,
}

/// Appends the head of a request. The framing field comes last and is derived from `body`, so it
/// must not be among `fields`; the caller provides `Host`.
pub fn write_request_head<'h, N: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    method: &str,
    target: &str,
    fields: impl IntoIterator<Item = (N, &'h [u8])>,
    body: BodyLength,
) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\n");
    write_fields(out, fields, body);
}

/// Appends the head of a response, with the reason phrase of `status` if this crate knows one, and
/// otherwise with an empty one. The framing field comes last and is derived from `body`, so it must
/// not be among `fields`.
pub fn write_response_head<'h, N: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    status: u16,
    fields: impl IntoIterator<Item = (N, &'h [u8])>,
    body: BodyLength,
) {
    out.extend_from_slice(b"HTTP/1.1 ");
    write_decimal(out, u64::from(status));
    out.push(b' ');
    out.extend_from_slice(reason(status).as_bytes());
    out.extend_from_slice(b"\r\n");
    write_fields(out, fields, body);
}

/// Appends one chunk; nothing if `bytes` is empty, because an empty chunk would end the body.
pub fn write_chunk(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    write_hexadecimal(out, bytes.len() as u64);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends the end of a chunked body, without trailer fields.
pub fn write_last_chunk(out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n\r\n");
}

fn write_fields<'h, N: AsRef<[u8]>>(
    out: &mut Vec<u8>,
    fields: impl IntoIterator<Item = (N, &'h [u8])>,
    body: BodyLength,
) {
    for (name, value) in fields {
        debug_assert!(
            !value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)),
            "the value of {} would break the head",
            name.as_ref().escape_ascii()
        );
        out.extend_from_slice(name.as_ref());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
    }
    match body {
        BodyLength::None => {}
        BodyLength::Length(length) => {
            out.extend_from_slice(b"Content-Length: ");
            write_decimal(out, length);
            out.extend_from_slice(b"\r\n");
        }
        BodyLength::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
    out.extend_from_slice(b"\r\n");
}

fn write_decimal(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

fn write_hexadecimal(out: &mut Vec<u8>, number: u64) {
    let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(number >> (4 * digit)) as usize & 15]);
    }
}

/// Returns the reason phrase from RFC 9110 15 (except those of 101 and 305), RFC 6585 or RFC 8297;
/// empty for any other status.
fn reason(status: u16) -> &'static str {
    match status {
        100 => "Continue",
        103 => "Early Hints",
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        203 => "Non-Authoritative Information",
        204 => "No Content",
        205 => "Reset Content",
        206 => "Partial Content",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        407 => "Proxy Authentication Required",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        411 => "Length Required",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        426 => "Upgrade Required",
        428 => "Precondition Required",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        511 => "Network Authentication Required",
        _ => "",
    }
}
