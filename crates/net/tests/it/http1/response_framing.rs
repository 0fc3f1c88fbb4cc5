//! RFC 9112 6.3 for responses, and 9.3 for both directions.

use super::transcript::{Said, requests, response_to_head, responses};
use gatebench_net::http1::Framing::{Chunked, Length, None as NoBody, UntilClose};
use gatebench_net::http1::ProtocolError::{self, *};
use gatebench_net::http1::{Framing, Limits};

fn response(version: &str, status: u16, fields: &str) -> String {
    format!("HTTP/{version} {status} reason\r\n{fields}\r\n")
}

fn framing_of(version: &str, status: u16, fields: &str) -> Result<Framing, ProtocolError> {
    let transcript = responses(Limits::default(), response(version, status, fields));
    match (transcript.heads().next(), transcript.error) {
        (Some(head), None) => Ok(head.framing),
        (None, Some(error)) => Err(error),
        other => panic!("{status} {fields:?}: {other:?}"),
    }
}

#[test]
fn length_of_a_response_body() {
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    let cases: &[(u16, &str, Result<Framing, ProtocolError>)] = &[
        // 6.3 item 1: no body, regardless of the fields.
        (204, "", Ok(NoBody)),
        (204, "Content-Length: 5\r\n", Ok(NoBody)),
        (304, "Content-Length: 5\r\n", Ok(NoBody)),
        (304, "Transfer-Encoding: chunked\r\n", Ok(NoBody)),
        (304, both, Ok(NoBody)),
        // 6.3 item 3: both fields at once are an error.
        (200, both, Err(LengthAndEncoding)),
        (
            200,
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            Err(LengthAndEncoding),
        ),
        // 6.3 item 4: chunked must be the only coding.
        (200, "Transfer-Encoding: chunked\r\n", Ok(Chunked)),
        (200, "Transfer-Encoding: gzip\r\n", Err(EncodingUnsupported)),
        (
            200,
            "Transfer-Encoding: chunked, gzip\r\n",
            Err(ChunkedNotLast),
        ),
        // 6.3 item 5: differing or invalid lengths are errors.
        (
            200,
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            Err(ContentLengthsDiffer),
        ),
        (200, "Content-Length: x\r\n", Err(ContentLength)),
        // 6.3 item 6: Content-Length states the length.
        (200, "Content-Length: 5\r\n", Ok(Length(5))),
        (205, "Content-Length: 0\r\n", Ok(Length(0))),
        (404, "Content-Length: 5, 5\r\n", Ok(Length(5))),
        (999, "Content-Length: 5\r\n", Ok(Length(5))),
        // 6.3 item 8: otherwise, the body lasts until the close.
        (200, "", Ok(UntilClose)),
        (500, "Server: a\r\n", Ok(UntilClose)),
    ];
    for (status, fields, expected) in cases {
        assert_eq!(
            &framing_of("1.1", *status, fields),
            expected,
            "{status} {fields:?}"
        );
    }
    // 6.1: HTTP/1.0 has no Transfer-Encoding.
    assert_eq!(
        framing_of("1.0", 200, "Transfer-Encoding: chunked\r\n"),
        Err(EncodingInHttp10)
    );
    assert_eq!(
        framing_of("1.0", 200, "Content-Length: 5\r\n"),
        Ok(Length(5))
    );
    assert_eq!(framing_of("1.0", 200, ""), Ok(UntilClose));
}

#[test]
fn the_response_to_head_has_no_body() {
    // RFC 9112 6.3 item 1: the fields do not matter.
    for fields in [
        "",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
    ] {
        let bytes = response("1.1", 200, fields) + &response("1.1", 200, "Content-Length: 1\r\n");
        let transcript = response_to_head(bytes + "x");
        let framings: Vec<_> = transcript.heads().map(|head| head.framing).collect();
        assert_eq!(
            framings,
            [NoBody, Length(1)],
            "HEAD affects only one response: {fields:?}"
        );
        assert_eq!(transcript.bodies(), [b"".to_vec(), b"x".to_vec()]);
    }
}

#[test]
fn informational_responses_are_skipped() {
    // RFC 9110 15.2: the length fields of informational responses have no meaning.
    let bytes = response("1.1", 100, "")
        + &response(
            "1.1",
            103,
            "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n",
        )
        + &response("1.1", 200, "Content-Length: 2\r\n")
        + "ok";
    let transcript = responses(Limits::default(), bytes);
    assert_eq!(
        transcript.said[..2],
        [Said::Informational(100), Said::Informational(103)]
    );
    assert_eq!(
        transcript.said[3..],
        [Said::Body(b"ok".to_vec()), Said::End]
    );
    assert_eq!(transcript.error, None);
    // After an informational response, the final one is still the response to HEAD.
    let length = "Content-Length: 2\r\n";
    let to_head = response_to_head(response("1.1", 100, "") + &response("1.1", 200, length));
    assert_eq!(to_head.heads().next().unwrap().framing, NoBody);
    assert_eq!(to_head.said.last(), Some(&Said::End));
}

#[test]
fn switching_protocols_is_an_error() {
    // RFC 9110 15.2.2, 7.8: the client has not requested an upgrade.
    let bytes = response("1.1", 101, "Upgrade: websocket\r\nConnection: upgrade\r\n");
    assert_eq!(
        responses(Limits::default(), bytes).error,
        Some(SwitchingProtocols)
    );
}

#[test]
fn persistence() {
    // RFC 9112 9.3: `close` takes precedence. Otherwise, HTTP/1.1 persists, and HTTP/1.0 persists
    // only with `keep-alive`.
    let cases = [
        ("1.1", "", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "connection: CLOSE\r\n", false),
        ("1.1", "Connection: x, close\r\n", false),
        ("1.1", "Connection: x\r\nConnection: close\r\n", false),
        ("1.1", "Connection: keep-alive, close\r\n", false),
        ("1.1", "Connection: closed\r\n", true),
        ("1.0", "", false),
        ("1.0", "Connection: keep-alive\r\n", true),
        ("1.0", "Connection: Keep-Alive, x\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
    ];
    for (version, fields, expected) in cases {
        let request = format!("GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
        let response = response(version, 200, &format!("Content-Length: 0\r\n{fields}"));
        let request = requests(Limits::default(), request);
        let response = responses(Limits::default(), response);
        assert_eq!(
            request.heads().next().unwrap().keep_alive,
            expected,
            "{version} {fields:?}"
        );
        assert_eq!(
            response.heads().next().unwrap().keep_alive,
            expected,
            "{version} {fields:?}"
        );
    }
    let until_close = responses(Limits::default(), response("1.1", 200, ""));
    assert!(
        !until_close.heads().next().unwrap().keep_alive,
        "a body as in 6.3 item 8 ends the connection"
    );
}
