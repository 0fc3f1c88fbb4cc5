//! The states of a connection: between messages, reusable, closed early, and after its last
//! message.

use super::transcript::Transcript;
use gatebench_net::http1::ProtocolError::*;
use gatebench_net::http1::{Decoder, Limits, ProtocolError, Role};

#[test]
fn the_end_of_the_stream() {
    // RFC 9112 8: an incomplete message is an error.
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let cases: &[(&str, Result<bool, ProtocolError>)] = &[
        ("", Ok(false)),
        (&format!("{length}ab"), Ok(false)),
        (&format!("{chunked}0\r\n\r\n"), Ok(false)),
        ("HTTP/1.1 204 No Content\r\n\r\n", Ok(false)),
        ("HTTP/1.1 200 OK\r\n\r\n", Ok(true)),
        ("HTTP/1.1 200 OK\r\n\r\nsome", Ok(true)),
        ("H", Err(TruncatedHead)),
        ("HTTP/1.1 200 OK\r\n\r", Err(TruncatedHead)),
        ("HTTP/1.1 100 Continue\r\n\r\n", Err(TruncatedHead)),
        (length, Err(TruncatedBody)),
        (&format!("{length}a"), Err(TruncatedBody)),
        (chunked, Err(TruncatedBody)),
        (&format!("{chunked}2\r\nab\r\n"), Err(TruncatedBody)),
        (&format!("{chunked}0\r\n"), Err(TruncatedBody)),
        ("SSH", Err(StartLine)),
    ];
    for (bytes, expected) in cases {
        let mut decoder = Decoder::responses(Limits::default());
        Transcript::of(&mut decoder, [bytes.as_bytes()]);
        assert_eq!(&decoder.end_of_stream(), expected, "{bytes:?}");
        let after = expected.map(|_| false);
        assert_eq!(decoder.end_of_stream(), after, "a second time: {bytes:?}");
    }
}

#[test]
fn idle_is_between_messages() {
    let mut decoder = Decoder::requests(Limits::default());
    let mut transcript = Transcript::default();
    assert!(decoder.is_idle() && decoder.keep_alive());
    let steps: [(&[u8], bool); 6] = [
        (b"\r\n", true),
        (b"P", false),
        (
            b"UT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n",
            false,
        ),
        (b"a", false),
        (b"b", true),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
    ];
    for (bytes, idle) in steps {
        transcript.feed(&mut decoder, bytes).unwrap();
        assert_eq!(
            decoder.is_idle(),
            idle,
            "after {:?}",
            bytes.escape_ascii().to_string()
        );
    }
}

#[test]
fn a_client_that_saw_an_informational_response_is_not_idle() {
    let mut decoder = Decoder::responses(Limits::default());
    let mut transcript = Transcript::default();
    transcript
        .feed(&mut decoder, b"HTTP/1.1 100 Continue\r\n\r\n")
        .unwrap();
    assert!(!decoder.is_idle());
    transcript
        .feed(&mut decoder, b"HTTP/1.1 204 No Content\r\n\r\n")
        .unwrap();
    assert!(decoder.is_idle() && decoder.keep_alive());
}

#[test]
fn nothing_is_read_after_the_last_message() {
    // RFC 9112 9.6: bytes after the last message are ignored.
    let mut decoder = Decoder::requests(Limits::default());
    let bytes = b"GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\n\r\n";
    let transcript = Transcript::of(&mut decoder, [&bytes[..], b"\0"]);
    assert_eq!((transcript.heads().count(), transcript.error), (1, None));
    assert!(!decoder.keep_alive() && decoder.is_idle());
    assert_eq!(decoder.end_of_stream(), Ok(false));
}

#[test]
fn a_decoder_can_be_reset_for_another_connection() {
    let mut decoder = Decoder::responses(Limits::default());
    assert_eq!(decoder.role(), Role::Response);
    for _ in 0..2 {
        decoder.expect(true);
        let cut = Transcript::of(&mut decoder, [&b"HTTP/1.1 200 OK\r\nContent-"[..]]);
        assert_eq!(cut, Transcript::default());
        assert_eq!(decoder.end_of_stream(), Err(TruncatedHead));
        decoder.reset();
        assert!(decoder.is_idle() && decoder.keep_alive());
        let response = &b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"[..];
        assert_eq!(Transcript::of(&mut decoder, [response]).bodies(), [b"a"]);
        decoder.reset();
    }
}
