//! Messages that are unusual as a whole: methods with bodies, pipelined requests, other protocols,
//! and requests that end too early.

use super::post;
use crate::vector::{AFTER, Expect, HIDDEN, Seen, Vector};

fn request(method: &str, target: &str, line: &str, body: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n{line}\r\n{body}")
}

/// A body in each framing, as the framing field and the bytes on the wire.
fn framings(body: &str) -> [(String, String); 2] {
    let chunk = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    [
        (format!("Content-Length: {}\r\n", body.len()), body.into()),
        ("Transfer-Encoding: chunked\r\n".into(), chunk),
    ]
}

/// Requests with these methods may have a body, even if it has no meaning; the framing is the same
/// (RFC 9112 6). A body that looks like a request is still a body (the attacks known as CL.0 and
/// 0.CL use such bodies).
pub fn framed() -> Vec<Vector> {
    let methods = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "X-OTHER",
    ];
    let mut vectors = Vec::new();
    for method in methods {
        let none = request(method, "/v", "", "");
        vectors.push(Vector::new(
            format!("{method} without a body"),
            none + AFTER,
            Expect::passed(""),
        ));
        for body in ["hello", HIDDEN, "0\r\n\r\n", "\r\n\r\n"] {
            for (line, sent) in framings(body) {
                let name = format!("{method} with {line:?} and {body:?}");
                let bytes = request(method, "/v", &line, &sent) + AFTER;
                vectors.push(Vector::new(name, bytes, Expect::passed(body)));
            }
        }
        let zero = request(method, "/v", "Content-Length: 0\r\n", "");
        vectors.push(Vector::new(
            format!("{method} with an empty body"),
            zero + AFTER,
            Expect::passed(""),
        ));
    }
    vectors
}

/// `count` consecutive requests, with and without bodies, and the requests that the origin must
/// read.
fn pipeline(count: usize) -> (String, Vec<Seen>) {
    let mut bytes = String::new();
    let mut seen = Vec::new();
    for number in 0..count {
        let target = format!("/{number}");
        let body = format!("body {number}, which is no\r\n\r\nGET /hidden HTTP/1.1\r\n\r\n");
        let [(length, counted), (coding, chunked)] = framings(&body);
        let (sent, body) = match number % 4 {
            0 => (request("GET", &target, "", ""), String::new()),
            1 => (request("POST", &target, &length, &counted), body),
            2 => (request("POST", &target, &coding, &chunked), body),
            _ => (request("HEAD", &target, "", ""), String::new()),
        };
        bytes += &sent;
        seen.push(Seen::new(&target, body));
    }
    (bytes, seen)
}

pub fn pipelines() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for count in [2, 5, 40] {
        let (bytes, mut seen) = pipeline(count);
        for broken in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            "Content-Length : 5\r\n",
            "X: a\n",
        ] {
            let last = request("POST", "/v", broken, "0\r\n\r\n");
            let name = format!("{count} requests and one with {broken:?}");
            let bytes = format!("{bytes}{last}{HIDDEN}");
            vectors.push(Vector::new(name, bytes, Expect::Refused(seen.clone())));
        }
        seen.push(Seen::after());
        let name = format!("{count} requests at once");
        vectors.push(Vector::new(name, bytes + AFTER, Expect::Passed(seen)));
    }
    vectors
}

/// Bytes that are not an HTTP/1.1 request.
pub fn strangers() -> Vec<Vector> {
    let texts: [(&str, &[u8]); 12] = [
        ("HTTP/0.9", b"GET /v\r\n\r\n"),
        ("HTTP/0.9 with a host", b"GET http://h/v\r\n\r\n"),
        (
            "a response",
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            "half of the HTTP/2 preface",
            b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
        ),
        (
            "a preface that continues differently",
            b"PRI * HTTP/2.0\r\nHost: h\r\n\r\n",
        ),
        (
            "a ClientHello",
            b"\x16\x03\x01\x00\x2e\x01\x00\x00\x2a\x03\x03\r\n\r\n",
        ),
        ("PROXY protocol", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n"),
        (
            "PROXY protocol 2",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\0\r\n\r\n",
        ),
        ("SMTP", b"EHLO h\r\nMAIL FROM:<a@h>\r\n\r\n"),
        ("Redis", b"*1\r\n$4\r\nPING\r\n\r\n"),
        ("zeros", &[0; 64]),
        ("bytes with all bits set", &[0xff; 64]),
    ];
    texts
        .into_iter()
        .map(|(name, text)| {
            let bytes = [text, HIDDEN.as_bytes(), AFTER.as_bytes()].concat();
            Vector::new(name, bytes, Expect::refused())
        })
        .collect()
}

/// Requests that never end. Nothing after them may be read as a request.
pub fn unfinished() -> Vec<Vector> {
    let refused = |name: &str, bytes: String| Vector::new(name, bytes, Expect::refused());
    let lengths = [
        "Content-Length: 4294967301",
        "Content-Length: 9223372036854775807",
        "Content-Length: 18446744073709551615",
    ];
    let chunked = "Transfer-Encoding: chunked\r\n";
    let sizes = ["100000005\r\nhello", "FFFFFFFFFFFFFFFF\r\nhello", "5;a"];
    let mut vectors: Vec<Vector> = lengths
        .into_iter()
        .map(|line| post(line, line.as_bytes(), b"hello", Expect::refused()))
        .collect();
    vectors.extend(sizes.map(|size| refused(size, request("POST", "/v", chunked, size))));
    vectors.extend([
        refused(
            "a body that stops early",
            request("POST", "/v", "Content-Length: 100\r\n", "hello"),
        ),
        refused(
            "chunks that stop early",
            request("POST", "/v", chunked, "5\r\nhello\r\n"),
        ),
        refused(
            "trailers that stop early",
            request("POST", "/v", chunked, "5\r\nhello\r\n0\r\nX: y\r\n"),
        ),
        refused(
            "a head that stops early",
            "POST /v HTTP/1.1\r\nHost: h\r\nV: VVVVV\r\n".into(),
        ),
        refused("a first line that stops early", "POST /v HT".into()),
        refused(
            "a body that the client does not send yet",
            request(
                "POST",
                "/v",
                "Expect: 100-continue\r\nContent-Length: 5\r\n",
                "",
            ),
        ),
    ]);
    vectors.into_iter().map(Vector::waiting).collect()
}
