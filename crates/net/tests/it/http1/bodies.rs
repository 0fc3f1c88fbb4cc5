//! Bodies of each framing.

use super::transcript::{Said, Transcript, requests, responses};
use gatebench_net::http1::ProtocolError::{self, *};
use gatebench_net::http1::{Decoder, Limits};

const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunked(body: &str) -> Transcript {
    requests(Limits::default(), format!("{CHUNKED}{body}"))
}

#[test]
fn well_formed_chunks() {
    // RFC 9112 7.1: the data of the chunks is joined.
    let cases: &[(&str, &str)] = &[
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"),
        ("A\r\n0123456789\r\n000\r\n\r\n", "0123456789"),
        ("00a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"),
        // 7.1.1: extensions are ignored, and white space before them is tolerated.
        ("2;a=b\r\nok\r\n0;c\r\n\r\n", "ok"),
        ("2;a=\"b;c\"\r\nok\r\n0\r\n\r\n", "ok"),
        ("2 ;\ta\r\nok\r\n0 \r\n\r\n", "ok"),
        // 7.1.2: trailer fields are ignored.
        ("2\r\nok\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n", "ok"),
    ];
    for (body, decoded) in cases {
        let transcript = chunked(body);
        assert_eq!(transcript.error, None, "{body:?}");
        assert_eq!(transcript.bodies(), [decoded.as_bytes()], "{body:?}");
    }
}

#[test]
fn malformed_chunks() {
    let cases: &[(&str, ProtocolError)] = &[
        // RFC 9112 7.1: a size has at least one hexadecimal digit and at most 64 bits.
        ("\r\n", ChunkSize),
        (";a\r\n", ChunkSize),
        ("g\r\n", ChunkSize),
        ("-1\r\n", ChunkSize),
        ("+1\r\n", ChunkSize),
        ("0x1\r\n", ChunkSize),
        (" 1\r\n", ChunkSize),
        ("1 1\r\n", ChunkSize),
        ("1_0\r\n", ChunkSize),
        ("10000000000000000\r\n", ChunkSize),
        ("ffffffffffffffffffff\r\n", ChunkSize),
        // 2.2: a line ends with CRLF.
        ("1\na\r\n", ChunkSize),
        ("1\ra\r\n", ChunkSize),
        // 7.1.1: an extension contains no control character; some readers would end it at LF.
        ("2;\nxx\r\n4c\r\n0\r\n\r\n", ChunkExtension),
        ("2;a\0\r\n", ChunkExtension),
        // 7.1: CRLF follows as many bytes of data as the size states.
        ("2\r\nabc\r\n", ChunkEnd),
        ("2\r\nab\n", ChunkEnd),
        ("2\r\nab\rx", ChunkEnd),
        // 7.1.2: only field lines and the empty line may follow the last chunk.
        ("0\r\nGET / HTTP/1.1\r\n", Trailer),
        ("0\r\n X: folded\r\n\r\n", Trailer),
        ("0\r\n: empty\r\n\r\n", Trailer),
        ("0\r\nX : a\r\n\r\n", Trailer),
        ("0\r\nX: a\n\r\n", Trailer),
        ("0\r\nX: a\rb\r\n\r\n", Trailer),
        ("0\r\n\n", Trailer),
        ("0\r\n\rX", Trailer),
    ];
    for (body, error) in cases {
        assert_eq!(chunked(body).error, Some(*error), "{body:?}");
    }
}

#[test]
fn the_largest_chunk_size_is_accepted() {
    let transcript = chunked("ffffffffffffffff\r\nabc");
    assert_eq!(transcript.error, None);
    assert_eq!(transcript.said.last(), Some(&Said::Body(b"abc".to_vec())));
}

#[test]
fn sizes_of_chunks_add_up_without_overflow() {
    let limits = Limits {
        body_bytes: u64::MAX,
        ..Limits::default()
    };
    let bytes = format!("{CHUNKED}1\r\na\r\nffffffffffffffff\r\n");
    assert_eq!(
        requests(limits, bytes).error,
        Some(BodyTooLarge { limit: u64::MAX })
    );
}

#[test]
fn pipelined_messages_follow_each_other() {
    let bytes = format!(
        "{CHUNKED}2\r\nab\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n\
         PUT /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\r\n{CHUNKED}0\r\n\r\n"
    );
    let transcript = requests(Limits::default(), bytes);
    assert_eq!(transcript.error, None);
    let targets: Vec<_> = transcript
        .heads()
        .map(|head| head.target.as_str())
        .collect();
    assert_eq!(targets, ["/", "/2", "/3", "/"]);
    assert_eq!(transcript.bodies(), [&b"ab"[..], b"", b"abc", b""]);
}

#[test]
fn a_body_of_known_length_ends_there() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 204 No Content\r\n\r\n";
    let transcript = responses(Limits::default(), bytes);
    assert_eq!(transcript.bodies(), [&b"abc"[..], b""]);
    assert_eq!(transcript.error, None);
}

#[test]
fn a_body_until_the_close_includes_everything() {
    let mut decoder = Decoder::responses(Limits::default());
    let pieces: [&[u8]; 2] = [b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 ", b"500 x\r\n\r\n"];
    let transcript = Transcript::of(&mut decoder, pieces);
    let body = Said::Body(b"HTTP/1.1 500 x\r\n\r\n".to_vec());
    assert_eq!(transcript.said[1..], [body]);
    assert_eq!(decoder.end_of_stream(), Ok(true));
}
