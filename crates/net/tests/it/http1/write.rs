//! The exact bytes of written messages.

use gatebench_net::http1::{
    BodyLength, write_chunk, write_last_chunk, write_request_head, write_response_head,
};

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = b"before|".to_vec();
    write(&mut out);
    String::from_utf8(out)
        .unwrap()
        .strip_prefix("before|")
        .unwrap()
        .to_owned()
}

const NO_FIELDS: [(&str, &[u8]); 0] = [];

#[test]
fn heads() {
    let host = [("Host", &b"a:1"[..]), ("X", b"")];
    let request = text(|out| write_request_head(out, "GET", "/x?y", host, BodyLength::None));
    assert_eq!(request, "GET /x?y HTTP/1.1\r\nHost: a:1\r\nX: \r\n\r\n");
    let request =
        text(|out| write_request_head(out, "PUT", "/", NO_FIELDS, BodyLength::Length(10)));
    assert_eq!(request, "PUT / HTTP/1.1\r\nContent-Length: 10\r\n\r\n");
    let response =
        text(|out| write_response_head(out, 200, NO_FIELDS, BodyLength::Length(u64::MAX)));
    assert_eq!(
        response,
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n"
    );
    let response = text(|out| write_response_head(out, 404, NO_FIELDS, BodyLength::Chunked));
    assert_eq!(
        response,
        "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let response = text(|out| write_response_head(out, 299, NO_FIELDS, BodyLength::None));
    assert_eq!(response, "HTTP/1.1 299 \r\n\r\n");
    let empty = text(|out| write_response_head(out, 200, NO_FIELDS, BodyLength::Length(0)));
    assert_eq!(empty, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

#[test]
fn chunks() {
    let cases = [
        (0, "".to_owned()),
        (1, "1\r\nx\r\n".to_owned()),
        (15, format!("f\r\n{}\r\n", "x".repeat(15))),
        (16, format!("10\r\n{}\r\n", "x".repeat(16))),
        (4096, format!("1000\r\n{}\r\n", "x".repeat(4096))),
    ];
    for (length, expected) in cases {
        let body = "x".repeat(length);
        assert_eq!(text(|out| write_chunk(out, body.as_bytes())), expected);
    }
    assert_eq!(text(write_last_chunk), "0\r\n\r\n");
}
