//! Every limit: input within it and input that exceeds it.

use super::transcript::{Said, requests, responses};
use gatebench_net::http1::Limits;
use gatebench_net::http1::ProtocolError::*;

const SMALL: Limits = Limits {
    head_bytes: 64,
    fields: 3,
    body_bytes: 8,
    chunk_line_bytes: 6,
    trailer_bytes: 10,
    informational: 2,
};

fn request(target_len: usize, fields: &str) -> String {
    format!(
        "GET {} HTTP/1.1\r\nHost: a\r\n{fields}\r\n",
        "/".repeat(target_len)
    )
}

#[test]
fn the_size_of_a_head_is_limited() {
    let overhead = request(0, "").len();
    let fits = request(64 - overhead, "");
    assert_eq!(fits.len(), 64);
    assert_eq!(requests(SMALL, fits).error, None);
    let over = request(65 - overhead, "");
    assert_eq!(
        requests(SMALL, over).error,
        Some(HeadTooLarge { limit: 64 })
    );
    let line = request(64, "");
    assert_eq!(
        requests(SMALL, line).error,
        Some(TargetTooLong { limit: 64 })
    );
    let response = format!("HTTP/1.1 200 {}", "a".repeat(64));
    assert_eq!(
        responses(SMALL, response).error,
        Some(HeadTooLarge { limit: 64 })
    );
}

#[test]
fn the_limit_of_a_head_does_not_apply_to_its_body() {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nX: aaaaaaaa\r\nContent-Length: 8\r\n\r\n";
    assert!(head.len() <= 64 && head.len() + 8 > 64);
    let transcript = requests(SMALL, format!("{head}12345678"));
    assert_eq!(transcript.bodies(), [b"12345678"]);
}

#[test]
fn the_number_of_fields_is_limited() {
    assert_eq!(requests(SMALL, request(1, "A: 1\r\nB: 2\r\n")).error, None);
    let over = requests(SMALL, request(1, "A: 1\r\nB: 2\r\nC: 3\r\n"));
    assert_eq!(over.error, Some(TooManyFields { limit: 3 }));
}

#[test]
fn the_limit_of_fields_has_a_maximum() {
    let limits = Limits {
        fields: usize::MAX,
        ..Limits::default()
    };
    let fields = |count: usize| request(1, &"A: 1\r\n".repeat(count - 1));
    assert_eq!(requests(limits, fields(Limits::FIELDS_MAX)).error, None);
    let over = requests(limits, fields(Limits::FIELDS_MAX + 1));
    assert_eq!(
        over.error,
        Some(TooManyFields {
            limit: Limits::FIELDS_MAX
        })
    );
}

#[test]
fn the_size_of_a_body_is_limited() {
    let limits = Limits {
        head_bytes: 1024,
        ..SMALL
    };
    let error = Some(BodyTooLarge { limit: 8 });
    let with_length = |length: u32| request(1, &format!("Content-Length: {length}\r\n"));
    assert_eq!(requests(limits, with_length(8)).error, None);
    assert_eq!(requests(limits, with_length(9)).error, error);
    let chunks = |chunks: &str| request(1, "Transfer-Encoding: chunked\r\n") + chunks;
    assert_eq!(
        requests(limits, chunks("4\r\nabcd\r\n4\r\nabcd\r\n0\r\n\r\n")).error,
        None
    );
    let over = requests(limits, chunks("4\r\nabcd\r\n5\r\nabcde\r\n0\r\n\r\n"));
    assert_eq!(
        (over.said.last(), over.error),
        (Some(&Said::Body(b"abcd".to_vec())), error)
    );
    assert_eq!(
        responses(limits, "HTTP/1.1 200 OK\r\n\r\n12345678").error,
        None
    );
    let over = responses(limits, "HTTP/1.1 200 OK\r\n\r\n123456789");
    assert_eq!(
        (over.said.last(), over.error),
        (Some(&Said::Body(b"12345678".to_vec())), error)
    );
}

#[test]
fn chunk_lines_and_trailers_are_limited() {
    let limits = Limits {
        head_bytes: 1024,
        ..SMALL
    };
    let chunked =
        |rest: &str| requests(limits, request(1, "Transfer-Encoding: chunked\r\n") + rest).error;
    assert_eq!(chunked("000001\r\na\r\n1;abcd\r\nb\r\n0\r\n\r\n"), None);
    assert_eq!(chunked("0000001\r\n"), Some(ChunkLineTooLong { limit: 6 }));
    assert_eq!(chunked("1;abcde\r\n"), Some(ChunkLineTooLong { limit: 6 }));
    assert_eq!(chunked("0\r\nA: 4567\r\n\r\n"), None);
    assert_eq!(
        chunked("0\r\nA: 45678901\r\n\r\n"),
        Some(TrailersTooLarge { limit: 10 })
    );
    assert_eq!(
        chunked("0\r\nA:1\r\nA:1\r\nA:1\r\n\r\n"),
        Some(TrailersTooLarge { limit: 10 })
    );
}

#[test]
fn the_number_of_informational_responses_is_limited() {
    let response = |count: usize| {
        "HTTP/1.1 103 \r\n\r\n".repeat(count) + "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"
    };
    let twice = responses(SMALL, response(2) + &response(2));
    assert_eq!(
        (twice.heads().count(), twice.error),
        (2, None),
        "the limit applies to each final response separately"
    );
    assert_eq!(
        responses(SMALL, response(3)).error,
        Some(TooManyInformational { limit: 2 })
    );
}
