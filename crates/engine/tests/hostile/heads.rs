//! Tests the engine with response heads that are too long, have too many fields, or are not heads
//! at all.

use gatebench_engine::ErrorKind::Protocol;
use gatebench_model::Check;

use crate::server::{Connection, always};
use crate::trial::{completes, each_fails_as, fails_as, suffer};

const GIB: u64 = 1 << 30;

/// Sends a head that begins with `start` and repeats `piece` for 1 GiB, and asserts that every
/// request fails with a protocol error.
fn bomb(start: &'static [u8], piece: &'static [u8]) {
    fails_as(&[Protocol], move |it: &mut Connection| {
        if it.request() && it.write(start) {
            it.flood(piece, GIB);
        }
    });
}

#[test]
fn a_gibibyte_of_header_lines() {
    bomb(b"HTTP/1.1 200 OK\r\n", b"X-Filler: 0123456789abcdef\r\n");
}

#[test]
fn a_line_that_never_ends() {
    bomb(b"HTTP/1.1 200 OK\r\nX-Filler: ", b"0123456789abcdef");
}

#[test]
fn a_reason_that_never_ends() {
    bomb(b"HTTP/1.1 200 ", b"OK");
}

#[test]
fn a_name_that_never_ends() {
    bomb(b"HTTP/1.1 200 OK\r\n", b"X-");
}

#[test]
fn endless_empty_lines() {
    bomb(b"\r\n", b"\r\n");
}

#[test]
fn endless_informational_responses() {
    bomb(
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    );
}

#[test]
fn a_few_informational_responses_are_skipped() {
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(16);
    let response = hint + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    completes(always(response), 0, |_| {});
}

#[test]
fn more_fields_than_a_head_may_have() {
    let mut response = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n".to_owned();
    response.extend((0..200).map(|it| format!("X-{it}: 1\r\n")));
    fails_as(&[Protocol], always(response + "\r\n"));
}

#[test]
fn ambiguous_framing() {
    let heads: [&[u8]; 17] = [
        // Conflicting framing.
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        // Invalid lengths.
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        // Invalid uses of Transfer-Encoding.
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        // Malformed lines, and a switch of protocols that was not requested.
        b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
    ];
    each_fails_as(Protocol, &heads);
}

#[test]
fn responses_other_than_http_1() {
    let responses: [&[u8]; 8] = [
        b"<html>This is HTTP/0.9</html>\r\n",
        b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.9 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n",
        b"ICY 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: you\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS record, and no answer",
    ];
    each_fails_as(Protocol, &responses);
}

#[test]
fn a_response_of_http_1_0_ends_with_its_connection() {
    let pathology = |it: &mut Connection| {
        let _ = it.request() && it.write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end");
    };
    completes(pathology, 0, |load| {
        let whole = Check::BodyEquals("until the end".into());
        load.groups[0].requests[0].checks.push(whole);
    });
}

#[test]
fn a_status_of_no_class_is_a_response_that_fails_its_check() {
    let response = b"HTTP/1.1 999 Whatever\r\nContent-Length: 0\r\n\r\n";
    for outcome in suffer(always(response), |_| {}) {
        let counts = outcome.counts;
        assert_eq!(counts.completed, counts.sent, "{counts:?}");
        assert_eq!(counts.responses_failing_checks, counts.completed);
    }
}

#[test]
fn foreign_and_absurd_times_are_ignored() {
    let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\ngatebench-times: \
         ffffffffffffffff-ffffffffffffffff-ffffffffffffffff\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\ngatebench-times: now\r\n\r\n",
    ];
    for response in responses {
        for outcome in suffer(always(response), |load| load.trace_tag = Some(7)) {
            let counts = outcome.counts;
            assert_eq!(counts.completed, counts.sent, "{counts:?}");
            assert_eq!(
                (counts.traced, counts.foreign + counts.untimed),
                (0, counts.completed)
            );
        }
    }
}
