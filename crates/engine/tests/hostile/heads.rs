//! Heads that are too long, too many, or no heads.

use gatebench_engine::ErrorKind::Protocol;
use gatebench_model::Check;

use crate::server::{Connection, always};
use crate::trial::{completes, each_fails_as, fails_as, suffer};

const GIB: u64 = 1 << 30;

/// A head that begins like this and goes on like that, for 1 GiB.
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
fn empty_lines_for_ever() {
    bomb(b"\r\n", b"\r\n");
}

#[test]
fn informational_answers_for_ever() {
    bomb(
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    );
}

#[test]
fn a_few_informational_answers_are_passed_over() {
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(16);
    let answer = hint + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    completes(always(answer), 0, |_| {});
}

#[test]
fn more_fields_than_a_head_may_have() {
    let mut answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n".to_owned();
    answer.extend((0..200).map(|it| format!("X-{it}: 1\r\n")));
    fails_as(&[Protocol], always(answer + "\r\n"));
}

#[test]
fn what_could_be_read_in_two_ways() {
    let heads: [&[u8]; 17] = [
        // Two lengths.
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        // Lengths that are none.
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0x2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        // Codings nobody asked for.
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        // Lines within lines.
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
fn what_is_not_http_1() {
    let answers: [&[u8]; 8] = [
        b"<html>This is HTTP/0.9</html>\r\n",
        b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.9 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n",
        b"ICY 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: you\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS record, and no answer",
    ];
    each_fails_as(Protocol, &answers);
}

#[test]
fn an_answer_of_http_1_0_ends_with_its_connection() {
    let pathology = |it: &mut Connection| {
        let _ = it.request() && it.write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end");
    };
    completes(pathology, 0, |load| {
        let whole = Check::BodyEquals("until the end".into());
        load.groups[0].requests[0].checks.push(whole);
    });
}

#[test]
fn a_status_of_no_class_is_an_answer_that_fails_its_check() {
    let answer = b"HTTP/1.1 999 Whatever\r\nContent-Length: 0\r\n\r\n";
    for outcome in suffer(always(answer), |_| {}) {
        let counts = outcome.counts;
        assert_eq!(counts.completed, counts.sent, "{counts:?}");
        assert_eq!(counts.answers_failing_checks, counts.completed);
    }
}

#[test]
fn times_that_are_another_requests_or_absurd_are_not_believed() {
    let answers = [
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\ngatebench-times: \
         ffffffffffffffff-ffffffffffffffff-ffffffffffffffff\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\ngatebench-times: now\r\n\r\n",
    ];
    for answer in answers {
        for outcome in suffer(always(answer), |load| load.trace_tag = Some(7)) {
            let counts = outcome.counts;
            assert_eq!(counts.completed, counts.sent, "{counts:?}");
            assert_eq!(
                (counts.traced, counts.foreign + counts.untimed),
                (0, counts.completed)
            );
        }
    }
}
