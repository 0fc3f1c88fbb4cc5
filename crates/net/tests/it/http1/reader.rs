//! Tests the reader of one response from a blocking stream.

use std::io::{self, Read};

use gatebench_net::http1::ResponseReader;
use proptest::prelude::*;

fn body(head: &str, body: &[u8]) -> io::Result<String> {
    let bytes = [head.as_bytes(), b"\r\n\r\n", body].concat();
    let mut text = String::new();
    let mut response = ResponseReader::new(bytes.as_slice(), false);
    response.read_to_string(&mut text).map(|_| text)
}

/// Returns one byte per read, and is interrupted before each.
struct Slow<'b> {
    bytes: &'b [u8],
    is_interrupted: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.is_interrupted = !self.is_interrupted;
        if self.is_interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = buffer.len().min(1);
        self.bytes.read(&mut buffer[..most])
    }
}

#[test]
fn the_framing_determines_the_end_of_a_body() {
    let counted = "HTTP/1.1 200 OK\r\nContent-Length: 2";
    assert_eq!(body(counted, b"abc").unwrap(), "ab");
    assert_eq!(body("HTTP/1.1 200 OK", b"abc").unwrap(), "abc");
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked";
    let chunks = b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n";
    assert_eq!(body(chunked, chunks).unwrap(), "abc");
    let kind = |head, bytes| body(head, bytes).unwrap_err().kind();
    assert_eq!(kind(counted, b"a"), io::ErrorKind::UnexpectedEof, "cut off");
    assert_eq!(kind(chunked, b"x\r\n"), io::ErrorKind::InvalidData);
}

#[test]
fn a_head_is_known_before_its_body() {
    let head = "HTTP/1.1 404 No\r\ncontent-length: 7\r\n\r\n";
    let mut response = ResponseReader::new(head.as_bytes(), false);
    response.read_head().unwrap();
    assert_eq!((response.status(), response.head()), (404, head.as_bytes()));
    let cut_off = response.advance().unwrap_err();
    assert_eq!(cut_off.kind(), io::ErrorKind::InvalidData);

    let mut to_head = ResponseReader::new(head.as_bytes(), true);
    assert!(
        to_head.advance().unwrap(),
        "the response to HEAD has no body"
    );
    assert!(to_head.advance().unwrap() && to_head.take_piece().is_empty());
}

#[test]
fn a_stream_may_be_slow_and_interrupted() {
    let bytes = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
    let mut response = ResponseReader::new(
        Slow {
            bytes,
            is_interrupted: false,
        },
        false,
    );
    response.read_head().unwrap();
    let mut text = String::new();
    response.read_to_string(&mut text).unwrap();
    assert_eq!((response.status(), text.as_str()), (200, "abc"));
    assert!(response.stream().bytes.is_empty());
}

#[test]
fn empty_or_foreign_input_is_an_error() {
    let kind = |bytes: &[u8]| {
        ResponseReader::new(bytes, false)
            .read_head()
            .unwrap_err()
            .kind()
    };
    assert_eq!(kind(b""), io::ErrorKind::UnexpectedEof);
    assert_eq!(kind(b"SSH-2.0-x\r\n"), io::ErrorKind::InvalidData);
    assert_eq!(kind(b"HTTP/1.1 200 OK\r\n"), io::ErrorKind::InvalidData);
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_panic(bytes: Vec<u8>) {
        let _ = ResponseReader::new(bytes.as_slice(), false).read_to_end(&mut Vec::new());
        let chunked = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", &*bytes].concat();
        let _ = ResponseReader::new(chunked.as_slice(), false).read_to_end(&mut Vec::new());
    }
}
