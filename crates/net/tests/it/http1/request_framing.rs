//! RFC 9112 6.3 for requests, with the patterns known from request smuggling.

use super::transcript::requests;
use gatebench_net::http1::Framing::{Chunked, Length, None as NoBody};
use gatebench_net::http1::ProtocolError::{self, *};
use gatebench_net::http1::{Framing, Limits};

fn framing_of(version: &str, fields: &str) -> Result<Framing, ProtocolError> {
    let bytes = format!("POST /a HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
    let transcript = requests(Limits::default(), bytes);
    match (transcript.heads().next(), transcript.error) {
        (Some(head), None) => Ok(head.framing),
        (None, Some(error)) => Err(error),
        other => panic!("{fields:?}: {other:?}"),
    }
}

#[test]
#[allow(clippy::too_many_lines)]
fn length_of_a_request_body() {
    let cases: &[(&str, Result<Framing, ProtocolError>)] = &[
        // 6.3 item 7: without either field, there is no body.
        ("", Ok(NoBody)),
        // 6.3 item 6, RFC 9110 8.6: the value consists of digits; white space may surround it.
        ("Content-Length: 0\r\n", Ok(Length(0))),
        ("Content-Length: 5\r\n", Ok(Length(5))),
        ("content-LENGTH:5\r\n", Ok(Length(5))),
        ("Content-Length: \t 5 \t\r\n", Ok(Length(5))),
        ("Content-Length: 007\r\n", Ok(Length(7))),
        (
            "Content-Length: 18446744073709551615\r\n",
            Ok(Length(u64::MAX)),
        ),
        // 6.3 item 5: a list that repeats one value means that value.
        ("Content-Length: 5, 5\r\n", Ok(Length(5))),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", Ok(Length(5))),
        ("Content-Length: 5\r\nContent-Length: 05\r\n", Ok(Length(5))),
        // 6.3 item 5: anything else is an error.
        ("Content-Length: 5, 6\r\n", Err(ContentLengthsDiffer)),
        (
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            Err(ContentLengthsDiffer),
        ),
        (
            "Content-Length: 0\r\nContent-Length: 44\r\n",
            Err(ContentLengthsDiffer),
        ),
        ("Content-Length:\r\n", Err(ContentLength)),
        ("Content-Length: 5,\r\n", Err(ContentLength)),
        ("Content-Length: ,5\r\n", Err(ContentLength)),
        ("Content-Length: +5\r\n", Err(ContentLength)),
        ("Content-Length: -5\r\n", Err(ContentLength)),
        ("Content-Length: 5 5\r\n", Err(ContentLength)),
        ("Content-Length: 5;\r\n", Err(ContentLength)),
        ("Content-Length: 5.0\r\n", Err(ContentLength)),
        ("Content-Length: 5e0\r\n", Err(ContentLength)),
        ("Content-Length: 0x5\r\n", Err(ContentLength)),
        ("Content-Length: 1_0\r\n", Err(ContentLength)),
        ("Content-Length: \u{0665}\r\n", Err(ContentLength)),
        (
            "Content-Length: 18446744073709551616\r\n",
            Err(ContentLength),
        ),
        (
            "Content-Length: 99999999999999999999999\r\n",
            Err(ContentLength),
        ),
        // 6.3 item 4 and section 7: the name `chunked` is case-insensitive.
        ("Transfer-Encoding: chunked\r\n", Ok(Chunked)),
        ("transfer-encoding:\tCHUNKED \r\n", Ok(Chunked)),
        // 6.1: the server responds with 501 to a coding that it does not know.
        (
            "Transfer-Encoding: gzip, chunked\r\n",
            Err(EncodingUnsupported),
        ),
        ("Transfer-Encoding: gzip\r\n", Err(EncodingUnsupported)),
        ("Transfer-Encoding: identity\r\n", Err(EncodingUnsupported)),
        ("Transfer-Encoding: xchunked\r\n", Err(EncodingUnsupported)),
        (
            "Transfer-Encoding: chunked;q=1\r\n",
            Err(EncodingUnsupported),
        ),
        (
            "Transfer-Encoding: \"chunked\"\r\n",
            Err(EncodingUnsupported),
        ),
        (
            "Transfer-Encoding: chunke\u{17f}\r\n",
            Err(EncodingUnsupported),
        ),
        // 6.1: chunked must come last and appear only once.
        ("Transfer-Encoding: chunked, gzip\r\n", Err(ChunkedNotLast)),
        (
            "Transfer-Encoding: chunked, identity\r\n",
            Err(ChunkedNotLast),
        ),
        (
            "Transfer-Encoding: chunked, chunked\r\n",
            Err(ChunkedNotLast),
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            Err(ChunkedNotLast),
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
            Err(ChunkedNotLast),
        ),
        ("Transfer-Encoding:\r\n", Err(Encoding)),
        ("Transfer-Encoding: chunked,\r\n", Err(Encoding)),
        ("Transfer-Encoding: ,chunked\r\n", Err(Encoding)),
        // 6.3 item 3: both fields at once are an error.
        (
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            Err(LengthAndEncoding),
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            Err(LengthAndEncoding),
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            Err(LengthAndEncoding),
        ),
        // 2.2, 5.1: white space before a name or a colon would hide the field from another reader.
        ("Transfer-Encoding : chunked\r\n", Err(FieldName)),
        ("Content-Length\t: 5\r\n", Err(FieldName)),
        (" Content-Length: 5\r\n", Err(FieldName)),
        // 5.2: folded lines are errors.
        ("X: a\r\n Content-Length: 5\r\n", Err(FieldName)),
        ("Transfer-Encoding:\r\n chunked\r\n", Err(FieldName)),
        // RFC 9110 5.5: control characters are errors.
        ("Transfer-Encoding: \x0bchunked\r\n", Err(FieldValue)),
        ("Transfer-Encoding: chunked\0\r\n", Err(FieldValue)),
        ("X: a\rTransfer-Encoding: chunked\r\n", Err(FieldValue)),
        ("X: a\r\r\n", Err(FieldValue)),
        // 2.2: a line ends with CRLF.
        ("X: a\nTransfer-Encoding: chunked\r\n", Err(BareLineFeed)),
        ("X: a\n", Err(BareLineFeed)),
        ("X:\n", Err(BareLineFeed)),
        ("X: \n a\r\n", Err(BareLineFeed)),
        // 5.1: names are tokens.
        ("Transfer-Encoding\0: chunked\r\n", Err(FieldName)),
        ("Content Length: 5\r\n", Err(FieldName)),
        (": 5\r\n", Err(FieldName)),
        ("Content-Length\r\n", Err(FieldName)),
    ];
    for (fields, expected) in cases {
        assert_eq!(&framing_of("1.1", fields), expected, "{fields:?}");
    }
}

#[test]
fn http_1_0_has_no_transfer_encoding() {
    // RFC 9112 6.1: Transfer-Encoding in HTTP/1.0 is an error.
    let chunked = "Transfer-Encoding: chunked\r\n";
    assert_eq!(framing_of("1.0", chunked), Err(EncodingInHttp10));
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    assert_eq!(framing_of("1.0", both), Err(LengthAndEncoding));
    assert_eq!(framing_of("1.0", "Content-Length: 5\r\n"), Ok(Length(5)));
    assert_eq!(framing_of("1.0", ""), Ok(NoBody));
}

#[test]
fn a_body_on_any_method_is_framed_by_its_fields() {
    // RFC 9110 9.3.1: content in GET has no meaning, but it must be read.
    let bytes = b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nGETGET / HTTP/1.1\r\nHost: b\r\n\r\n";
    let transcript = requests(Limits::default(), bytes);
    assert_eq!(transcript.bodies(), [b"GET".to_vec(), Vec::new()]);
    assert_eq!(transcript.error, None);
}

#[test]
fn a_request_has_one_valid_host() {
    // RFC 9112 3.2: HTTP/1.1 requires Host, and no request may repeat it.
    let cases: &[(&str, &str, Option<ProtocolError>)] = &[
        ("1.1", "Host: example.com\r\n", None),
        ("1.1", "HOST:127.0.0.1:8080\r\n", None),
        ("1.1", "Host: [::1]:80\r\n", None),
        ("1.1", "Host:\r\n", None),
        ("1.1", "", Some(HostMissing)),
        ("1.1", "X-Host: a\r\n", Some(HostMissing)),
        ("1.0", "", None),
        ("1.1", "Host: a\r\nHost: a\r\n", Some(HostRepeated)),
        ("1.0", "Host: a\r\nhost: b\r\n", Some(HostRepeated)),
        ("1.1", "Host: a b\r\n", Some(Host)),
        ("1.1", "Host: a/b\r\n", Some(Host)),
        ("1.1", "Host: user@a\r\n", Some(Host)),
        ("1.1", "Host: a\u{e9}\r\n", Some(Host)),
        ("1.1", "Host: a_b-c.d~:\r\n", None),
        ("1.1", "Host: [::ffff:1.2.3.4]\r\n", None),
        ("1.1", "Host: a:b:c\r\n", Some(Host)),
        ("1.1", "Host: a:80:80\r\n", Some(Host)),
        ("1.1", "Host: a:080808\r\n", Some(Host)),
        ("1.1", "Host: a:-1\r\n", Some(Host)),
        ("1.1", "Host: a,b\r\n", Some(Host)),
        ("1.1", "Host: a;b\r\n", Some(Host)),
        ("1.1", "Host: a%00b\r\n", Some(Host)),
        ("1.1", "Host: :80\r\n", Some(Host)),
        ("1.1", "Host: [::1\r\n", Some(Host)),
        ("1.1", "Host: ::1]\r\n", Some(Host)),
        ("1.1", "Host: [::1]a\r\n", Some(Host)),
        ("1.1", "Host: [::1]]\r\n", Some(Host)),
        ("1.1", "Host: [a]\r\n", Some(Host)),
        ("1.1", "Host: []\r\n", Some(Host)),
        ("1.1", "Host: [::1%25lo]\r\n", Some(Host)),
    ];
    for (version, fields, expected) in cases {
        let bytes = format!("GET / HTTP/{version}\r\n{fields}\r\n");
        assert_eq!(
            requests(Limits::default(), bytes).error,
            *expected,
            "{version} {fields:?}"
        );
    }
}

#[test]
fn expect_is_ignored_in_http_1_0() {
    // RFC 9110 10.1.1: the value is case-insensitive, and HTTP/1.0 ignores the field.
    let cases = [
        ("1.1", "Expect: 100-continue\r\n", true),
        ("1.1", "expect: 100-Continue\r\n", true),
        ("1.0", "Expect: 100-continue\r\n", false),
        ("1.1", "Expect: something\r\n", false),
        ("1.1", "", false),
    ];
    for (version, field, expected) in cases {
        let bytes = format!("PUT / HTTP/{version}\r\nHost: a\r\n{field}\r\n");
        let transcript = requests(Limits::default(), bytes);
        assert_eq!(
            transcript.heads().next().unwrap().expects_continue,
            expected,
            "{field:?}"
        );
    }
}
