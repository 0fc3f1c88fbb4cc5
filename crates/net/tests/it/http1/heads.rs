//! Start lines and fields.

use super::transcript::{Transcript, requests, responses};
use gatebench_net::http1::ProtocolError::{self, *};
use gatebench_net::http1::{Decoder, Event, Limits};

#[test]
fn a_request_head_is_read_as_it_was_written() {
    let bytes = b"PATCH /a/b?c=d&e=%20 HTTP/1.1\r\nHost: h:1\r\nX-Two:  a  b \r\nx-two: second\r\nEmpty:\r\nLatin: \xe9\r\n\r\n";
    let transcript = requests(Limits::default(), bytes);
    let head = transcript.heads().next().unwrap();
    assert_eq!(
        (head.method.as_str(), head.target.as_str()),
        ("PATCH", "/a/b?c=d&e=%20")
    );
    assert_eq!((head.status, head.version_minor), (0, 1));
    assert_eq!(head.bytes, bytes);
    let fields: Vec<_> = head
        .fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_slice()))
        .collect();
    let expected: [(&str, &[u8]); 5] = [
        ("Host", b"h:1"),
        ("X-Two", b"a  b"),
        ("x-two", b"second"),
        ("Empty", b""),
        ("Latin", b"\xe9"),
    ];
    assert_eq!(fields, expected);
}

#[test]
fn a_response_head_is_read_as_it_was_written() {
    let bytes = b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let transcript = responses(Limits::default(), bytes);
    let head = transcript.heads().next().unwrap();
    assert_eq!((head.method.as_str(), head.target.as_str()), ("", ""));
    assert_eq!((head.status, head.version_minor), (404, 0));
    assert_eq!(head.bytes, bytes);
}

#[test]
fn field_finds_the_first_of_a_name_in_any_case() {
    let mut decoder = Decoder::requests(Limits::default());
    let mut input = &b"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\n\r\n"[..];
    let Some(Event::Head(head)) = decoder.next(&mut input).unwrap() else {
        panic!("a head")
    };
    assert_eq!(head.field("x-A"), Some(&b"1"[..]));
    assert_eq!(head.field("x-"), None);
    assert_eq!(head.fields().len(), 3);
    assert!(format!("{head:?}").contains("X-A: 1"));
}

#[test]
fn a_head_in_one_input_is_not_copied() {
    let bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
    let mut decoder = Decoder::requests(Limits::default());
    let mut input = &bytes[..];
    let Some(Event::Head(head)) = decoder.next(&mut input).unwrap() else {
        panic!("a head")
    };
    assert_eq!(head.bytes().as_ptr(), bytes.as_ptr());
}

#[test]
fn start_lines() {
    let host = "Host: a\r\n\r\n";
    let cases: &[(&str, Option<ProtocolError>)] = &[
        // RFC 9112 3.2: the four forms of a target.
        ("GET /where?q=now HTTP/1.1\r\n", None),
        ("GET http://example.com/ HTTP/1.1\r\n", None),
        ("OPTIONS * HTTP/1.1\r\n", None),
        ("CONNECT example.com:80 HTTP/1.1\r\n", Some(Connect)),
        // RFC 9110 9.1: a method is any token, and its case matters.
        ("M-SEARCH / HTTP/1.1\r\n", None),
        ("connect / HTTP/1.1\r\n", None),
        // RFC 9112 2.2: empty lines before a request line are ignored, but they must end with CRLF.
        ("\r\nGET / HTTP/1.1\r\n", None),
        ("\r\n\r\n\r\nGET / HTTP/1.1\r\n", None),
        ("\nGET / HTTP/1.1\r\n", Some(StartLine)),
        ("\rGET / HTTP/1.1\r\n", Some(StartLine)),
        // RFC 9112 3: single spaces separate the parts, no part may be missing, each must be valid,
        // and the line ends with CRLF.
        ("GET  / HTTP/1.1\r\n", Some(StartLine)),
        ("GET /  HTTP/1.1\r\n", Some(StartLine)),
        ("GET / HTTP/1.1 \r\n", Some(BareCarriageReturn)),
        ("GET /a b HTTP/1.1\r\n", Some(StartLine)),
        ("GET /\r\n", Some(StartLine)),
        ("GET HTTP/1.1\r\n", Some(StartLine)),
        (" GET / HTTP/1.1\r\n", Some(StartLine)),
        ("G(T / HTTP/1.1\r\n", Some(StartLine)),
        ("GET /\x7f HTTP/1.1\r\n", Some(StartLine)),
        ("GET / http/1.1\r\n", Some(StartLine)),
        ("GET / HTTP/1.1\n", Some(BareLineFeed)),
        // RFC 9112 2.3: other versions are refused.
        ("GET / HTTP/2.0\r\n", Some(Version)),
        ("GET / HTTP/1.2\r\n", Some(Version)),
        ("GET / HTTP/0.9\r\n", Some(Version)),
        // Messages of other protocols are refused.
        ("\x16\x03\x01\x02\x00", Some(StartLine)),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Some(Version)),
    ];
    for (line, expected) in cases {
        let bytes = format!("{line}{host}");
        assert_eq!(
            requests(Limits::default(), bytes).error,
            *expected,
            "{line:?}"
        );
    }
}

#[test]
fn status_lines() {
    let cases: &[(&str, Option<ProtocolError>)] = &[
        ("HTTP/1.1 200 OK\r\n", None),
        ("HTTP/1.1 200 \r\n", None),
        // RFC 9112 4: the reason may be empty; some servers omit the space too.
        ("HTTP/1.1 200\r\n", None),
        ("HTTP/1.1 200 caf\u{e9}\r\n", None),
        ("HTTP/1.1 099 x\r\n", Some(Status)),
        ("HTTP/1.1 20 x\r\n", Some(Status)),
        ("HTTP/1.1 2000 x\r\n", Some(Status)),
        ("HTTP/1.1  200 x\r\n", Some(Status)),
        ("HTTP/1.1 -20 x\r\n", Some(Status)),
        ("HTTP/1.1 200 a\rb\r\n", Some(Status)),
        ("HTTP/1.2 200 OK\r\n", Some(Version)),
        ("HTTP/2 200\r\n", Some(Version)),
        ("HTTP/1.1\r\n", Some(Version)),
        ("HTTP/\r\n", Some(Version)),
        ("http/1.1 200 OK\r\n", Some(StartLine)),
        ("\r\nHTTP/1.1 200 OK\r\n", Some(StartLine)),
        ("SSH-2.0-OpenSSH_9.6\r\n", Some(StartLine)),
        ("\x15\x03\x03", Some(StartLine)),
    ];
    for (line, expected) in cases {
        let bytes = format!("{line}Content-Length: 0\r\n\r\n");
        assert_eq!(
            responses(Limits::default(), bytes).error,
            *expected,
            "{line:?}"
        );
    }
}

#[test]
fn another_protocol_is_detected_before_a_head_is_full() {
    let transcript =
        |bytes: &[u8]| Transcript::of(&mut Decoder::responses(Limits::default()), [bytes]);
    assert_eq!(transcript(b"SSH-").error, Some(StartLine));
    assert_eq!(transcript(b"HTTP/2").error, Some(Version));
    assert_eq!(transcript(b"HTTP/").error, None);
}

#[test]
fn errors_have_response_statuses() {
    let cases = [
        (FieldName, 400),
        (LengthAndEncoding, 400),
        (HostMissing, 400),
        (BodyTooLarge { limit: 1 }, 413),
        (TargetTooLong { limit: 1 }, 414),
        (HeadTooLarge { limit: 1 }, 431),
        (TooManyFields { limit: 1 }, 431),
        (EncodingUnsupported, 501),
        (Connect, 501),
        (Version, 505),
    ];
    for (error, status) in cases {
        assert_eq!(error.response_status(), status, "{error}");
    }
}
