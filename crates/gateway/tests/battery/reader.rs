//! A reader of requests that shares no code with the gateway, not even the library that reads
//! heads. It accepts only messages of RFC 9112 that all readers interpret in the same way.

use crate::vector::{MARK, position};

#[derive(Clone, Debug, Default)]
pub struct Request {
    pub method: String,
    pub target: String,
    /// The names, in lowercase, and the values.
    pub fields: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_slice())
    }

    pub fn number(&self) -> Option<usize> {
        number(self.field("v")?)
    }

    fn count(&self, name: &str) -> usize {
        self.fields
            .iter()
            .filter(|(other, _)| other == name)
            .count()
    }
}

enum Framing {
    Length(usize),
    Chunked,
}

/// Reads the request at the front. Returns it with its length, or `None` if its end has not
/// arrived.
pub fn read(bytes: &[u8]) -> Result<Option<(Request, usize)>, String> {
    let Some(end) = position(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let mut request = head(&bytes[..end])?;
    let framing = framing(&request)?;
    let rest = &bytes[end + 4..];
    let taken = match framing {
        Framing::Length(length) => rest.get(..length).map(|body| (body.to_vec(), length)),
        Framing::Chunked => chunks(rest)?,
    };
    Ok(taken.map(|(body, length)| {
        request.body = body;
        (request, end + 4 + length)
    }))
}

/// Returns the number in the field that identifies a vector, even if the request cannot be read.
pub fn number_in(bytes: &[u8]) -> Option<usize> {
    let start = position(&bytes.to_ascii_lowercase(), b"\r\nv: ")? + 5;
    number(bytes.get(start..start + MARK.len())?)
}

fn number(digits: &[u8]) -> Option<usize> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn head(bytes: &[u8]) -> Result<Request, String> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    while let Some(end) = position(rest, b"\r\n") {
        lines.push(&rest[..end]);
        rest = &rest[end + 2..];
    }
    lines.push(rest);
    let is_broken = |line: &&&[u8]| line.contains(&b'\r') || line.contains(&b'\n');
    if let Some(line) = lines.iter().find(is_broken) {
        return Err(format!("a bare CR or LF in {:?}", text(line)));
    }
    let mut request = first_line(lines[0])?;
    for line in &lines[1..] {
        request.fields.push(field(line)?);
    }
    Ok(request)
}

/// Parses the request line. The target must be visible ASCII in origin form (RFC 9112 3.2.1).
fn first_line(line: &[u8]) -> Result<Request, String> {
    let wrong = || format!("the first line {:?}", text(line));
    let parts: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let [method, target, version] = parts[..] else {
        return Err(wrong());
    };
    let is_target = target.starts_with(b"/") && target.iter().all(u8::is_ascii_graphic);
    if !is_token(method) || !is_target || version != b"HTTP/1.1" {
        return Err(wrong());
    }
    Ok(Request {
        method: text(method),
        target: text(target),
        ..Request::default()
    })
}

fn field(line: &[u8]) -> Result<(String, Vec<u8>), String> {
    let wrong = || format!("the field {:?}", text(line));
    let colon = line
        .iter()
        .position(|&byte| byte == b':')
        .ok_or_else(wrong)?;
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    let is_in_value = |&byte: &u8| byte == b'\t' || byte >= b' ' && byte != 0x7f;
    if !is_token(name) || !value.iter().all(is_in_value) {
        return Err(wrong());
    }
    let name = text(name).to_ascii_lowercase();
    Ok((name, value.trim_ascii().to_vec()))
}

/// Returns the framing of the body. Fails if a reader could mistake it for another framing, or if
/// the request has fields that the gateway must not forward.
fn framing(request: &Request) -> Result<Framing, String> {
    const OF_CONNECTIONS: [&str; 5] =
        ["te", "upgrade", "keep-alive", "proxy-connection", "trailer"];
    // The fields that frame the body, and the field in which the gateway names the consumer.
    const OWN: [&str; 3] = ["content-length", "transfer-encoding", "x-consumer"];
    for (name, value) in &request.fields {
        // CGI and similar interfaces treat names with `_` and with `-` as the same field (RFC 3875
        // 4.1.18).
        let is_twin = name.contains('_') && OWN.contains(&name.replace('_', "-").as_str());
        let is_option = name == "connection" && !value.eq_ignore_ascii_case(b"close");
        if is_twin || is_option || OF_CONNECTIONS.contains(&name.as_str()) {
            return Err(format!("the field {name}: {:?} was forwarded", text(value)));
        }
    }
    if request.count("host") != 1 || request.count("x-consumer") > 1 {
        return Err(
            "the request has no Host field, several Host fields, or several X-Consumer fields"
                .into(),
        );
    }
    let counts = (
        request.count("content-length"),
        request.count("transfer-encoding"),
    );
    match counts {
        (0, 0) => Ok(Framing::Length(0)),
        (1, 0) => {
            let value = request.field("content-length").unwrap_or_default();
            let digits = text(value);
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let length = digits.parse::<usize>().ok().filter(|_| is_number);
            let length = length.ok_or_else(|| format!("Content-Length: {digits:?}"))?;
            Ok(Framing::Length(length))
        }
        (0, 1) if request.field("transfer-encoding") == Some(b"chunked") => Ok(Framing::Chunked),
        _ => Err(format!("{counts:?} fields that frame the body")),
    }
}

/// Reads chunks without extensions or trailers, which no proxy needs to send.
fn chunks(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, String> {
    let mut rest = bytes;
    let mut body = Vec::new();
    loop {
        let Some(end) = position(rest, b"\r\n") else {
            return Ok(None);
        };
        let digits = text(&rest[..end]);
        let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let size = usize::from_str_radix(&digits, 16)
            .ok()
            .filter(|_| is_number);
        let size = size.ok_or_else(|| format!("the chunk size {digits:?}"))?;
        let Some((data, after)) = rest[end + 2..].split_at_checked(size) else {
            return Ok(None);
        };
        let Some((line_end, after)) = after.split_at_checked(2) else {
            return Ok(None);
        };
        if line_end != b"\r\n" {
            return Err(format!("{:?} after a chunk", text(line_end)));
        }
        body.extend_from_slice(data);
        rest = after;
        if size == 0 {
            return Ok(Some((body, bytes.len() - rest.len())));
        }
    }
}

fn is_token(bytes: &[u8]) -> bool {
    let is_in_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(is_in_token)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_reader_accepts_only_unambiguous_messages() {
    let head = "POST /v HTTP/1.1\r\nHost: h\r\nV: 00012\r\n";
    let taken = |rest: &str| read(format!("{head}{rest}").as_bytes());
    let body = |rest: &str| taken(rest).unwrap().map(|(request, _)| request.body);
    assert_eq!(body("\r\n"), Some(Vec::new()));
    assert_eq!(body("Content-Length: 2\r\n\r\nabc"), Some(b"ab".to_vec()));
    let chunked = "Transfer-Encoding: chunked\r\n\r\n";
    let whole = format!("{chunked}2\r\nab\r\n1\r\nc\r\n0\r\n\r\nrest");
    let (request, length) = taken(&whole).unwrap().unwrap();
    assert_eq!(
        (request.number(), request.body.as_slice()),
        (Some(12), &b"abc"[..])
    );
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/v")
    );
    assert_eq!(length, head.len() + whole.len() - 4);
    assert_eq!(number_in(head.as_bytes()), Some(12));
    for cut in ["Content-Length: 2\r\n\r\na", "Content-Length: 2\r\n"] {
        assert!(taken(cut).unwrap().is_none(), "{cut:?}");
    }
    for wrong in [
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        "Content-Length: 2\r\nContent-Length: 2\r\n\r\n",
        "Content-Length: +2\r\n\r\n",
        "Content_Length: 2\r\n\r\n",
        "Transfer-Encoding: Chunked\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n",
        "Upgrade: h2c\r\n\r\n",
        "Host: g\r\n\r\n",
        "X: a\nb\r\n\r\n",
        "X: a\0b\r\n\r\n",
        " X: folded\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2;a\r\nab\r\n",
        "Transfer-Encoding: chunked\r\n\r\n+2\r\nab\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n",
    ] {
        assert!(taken(wrong).is_err(), "{wrong:?}");
    }
    for line in [
        "GET  / HTTP/1.1",
        "GET /\u{e4} HTTP/1.1",
        "GET * HTTP/1.1",
        "GET / HTTP/1.0",
    ] {
        assert!(
            read(format!("{line}\r\nHost: h\r\n\r\n").as_bytes()).is_err(),
            "{line}"
        );
    }
}
