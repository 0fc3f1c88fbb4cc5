//! Tests the engine with bodies that are too long, too short, endless, or not allowed.

use std::io::{Read, Write};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use gatebench_engine::ErrorKind::{ClosedEarly, Protocol, Reset, Timeout};
use gatebench_engine::{Class, Load, Metric};
use gatebench_model::Body;

use crate::server::{Connection, always, once};
use crate::trial::{REQUESTS, all_errors, completes, each_fails_as, errors, fails_as, fails_with};
use crate::trial::{impatient, keep_body, requests, suffer};

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn endless(head: &'static [u8], piece: &'static [u8]) -> impl Fn(&mut Connection) {
    move |it| {
        if it.request() && it.write(head) {
            it.flood(piece, u64::MAX);
        }
    }
}

fn patient_with_bodies(load: &mut Load) {
    impatient(load);
    requests(load, 1, 1);
    keep_body(load);
}

#[test]
fn a_body_without_end_times_out() {
    for (head, piece) in [
        (CHUNKED, &b"1\r\na\r\n"[..]),
        (CHUNKED, b"8000\r\n"),
        (&b"HTTP/1.1 200 OK\r\n\r\n"[..], b"more "),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
            b"more ",
        ),
    ] {
        if piece == b"8000\r\n" {
            // The chunk is invalid, because its 32,768 bytes end within a piece, not before a CRLF.
            fails_with(&[Protocol], endless(head, piece), impatient);
            continue;
        }
        fails_with(&[Timeout], endless(head, piece), impatient);
        fails_with(&[Timeout], endless(head, piece), patient_with_bodies);
    }
}

#[test]
fn invalid_chunks() {
    let bodies: [&[u8]; 8] = [
        b"10000000000000000\r\n",
        b"fffffffffffffffff\r\n",
        b"-1\r\n",
        b"0x1\r\na\r\n0\r\n\r\n",
        b"1\r\nabc\r\n0\r\n\r\n",
        b"\r\n",
        b"1\na\n0\n\n",
        b"0\r\nno trailer\r\n\r\n",
    ];
    each_fails_as(Protocol, &bodies.map(|body| [CHUNKED, body].concat()));
}

#[test]
fn extensions_and_trailers_without_end() {
    for (start, piece) in [
        (&b"1"[..], &b";a=b"[..]),
        (b"1;a=\"", b"aaaa"),
        (b"0\r\n", b"T: 1\r\n"),
        (b"0\r\nT: ", b"tttt"),
        (b"0", b"0000"),
    ] {
        fails_as(&[Protocol], move |it: &mut Connection| {
            if it.request() && it.write(CHUNKED) && it.write(start) {
                it.flood(piece, 1 << 30);
            }
        });
    }
}

#[test]
fn a_body_shorter_than_its_length() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nten bytes.";
    fails_as(&[ClosedEarly], once(head));
    fails_with(&[Timeout], always(head), impatient);
    fails_as(
        &[ClosedEarly],
        once(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"),
    );
}

#[test]
fn a_body_longer_than_its_length() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nten bytes.";
    fails_as(&[Protocol], always(response));
}

/// The kernel may deliver the forbidden body separately from the head, after the response has been
/// counted as complete. The body then makes the connection or its next response fail, but is never
/// taken for a response.
#[test]
fn a_body_where_none_is_allowed() {
    for head in [
        &b"HTTP/1.1 204 No Content\r\n\r\n"[..],
        b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
    ] {
        let response = [head, b"a body."].concat();
        for outcome in suffer(always(response), |_| {}) {
            assert_eq!(errors(&outcome, Protocol), all_errors(&outcome.counts));
            assert!(errors(&outcome, Protocol) > 0);
        }
    }
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\na body.";
    let head = |load: &mut Load| load.groups[0].requests[0].method = "HEAD".into();
    for outcome in suffer(always(response), head) {
        assert_eq!(errors(&outcome, Protocol), all_errors(&outcome.counts));
        assert!(errors(&outcome, Protocol) > 0);
    }
}

#[test]
fn a_response_to_head_with_a_content_length() {
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    completes(always(response), 0, |load| {
        load.groups[0].requests[0].method = "HEAD".into();
    });
}

/// Sends ten gibibytes of zeros, compressed into successive members of ten mebibytes (RFC 1952
/// 2.2).
fn bomb(it: &mut Connection) {
    const MEMBERS: usize = 1024;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..160 {
        encoder.write_all(&[0; 65_536]).unwrap();
    }
    let member = encoder.finish().unwrap();
    let length = MEMBERS * member.len();
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n");
    while it.request() && it.write(head.as_bytes()) {
        let _ = (0..MEMBERS).all(|_| it.write(&member));
    }
}

#[test]
fn a_gzip_bomb_is_decoded_as_far_as_bodies_are_kept() {
    completes(bomb, 2, |load| {
        keep_body(load);
        requests(load, 2, 1);
    });
    completes(bomb, 0, |load| requests(load, 2, 1));
}

#[test]
fn invalid_gzip_fails_its_checks() {
    let bodies: [&[u8]; 3] = [b"plain", b"", b"\x1f\x8b\x08\0\0\0\0\0\0\x03broken"];
    for body in bodies {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let response = [head.as_bytes(), body].concat();
        completes(always(response), REQUESTS, keep_body);
    }
}

#[test]
fn a_body_longer_than_is_kept() {
    let pathology = |it: &mut Connection| {
        const BYTES: u64 = 96 << 20;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {BYTES}\r\n\r\n");
        while it.request() && it.write(head.as_bytes()) {
            it.flood(b"0123456789abcdef", BYTES);
        }
    };
    completes(pathology, 1, |load| {
        keep_body(load);
        requests(load, 1, 1);
    });
}

#[test]
fn a_request_that_is_not_read_times_out() {
    let long = |load: &mut Load| {
        impatient(load);
        load.groups[0].requests[0].method = "POST".into();
        load.groups[0].requests[0].body = Some(Body::new("x".repeat(8 << 20)));
    };
    let deaf = |it: &mut Connection| {
        let gone = std::sync::mpsc::channel::<()>();
        // Neither read nor close the connection for longer than the test may take.
        let _ = gone.1.recv_timeout(Duration::from_secs(60));
        it.reset();
    };
    fails_with(&[Timeout], deaf, long);
    // The reset may arrive before the client has read the response.
    let rude = |it: &mut Connection| {
        let _ = it.stream.read(&mut [0]);
        it.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        it.reset();
    };
    for outcome in suffer(rude, long) {
        assert_eq!(errors(&outcome, Reset), all_errors(&outcome.counts));
    }
}

#[test]
fn waiting_ends_with_the_first_byte_and_receiving_with_the_last() {
    // A client on a busy machine may read the head late. The test assumes that the delay is less
    // than half of this pause.
    const PAUSE: Duration = Duration::from_millis(100);
    let split = |it: &mut Connection| {
        while it.request() && it.write(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nab") {
            std::thread::sleep(PAUSE);
            it.write(b"cd");
        }
    };
    for outcome in suffer(split, |_| {}) {
        assert_eq!(outcome.statuses.get(&201), Some(&outcome.counts.completed));
        let of = |metric| &outcome.recordings[&(metric, Class::Success)];
        let (service, waiting) = (of(Metric::Service), of(Metric::Waiting));
        let receiving = of(Metric::Receiving);
        assert_eq!(waiting.histogram.len(), outcome.counts.completed);
        assert_eq!(receiving.histogram.len(), outcome.counts.completed);
        let [shortest, longest] = [receiving.min_ns, receiving.max_ns].map(Duration::from_nanos);
        assert!(shortest >= PAUSE / 2, "received within {shortest:?}");
        assert!(longest >= PAUSE, "received within {longest:?}");
        assert!(service.min_ns >= PAUSE.as_nanos() as u64);
        assert_eq!(waiting.sum_ns + receiving.sum_ns, service.sum_ns);
    }
    let whole = always(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd");
    for outcome in suffer(whole, |_| {}) {
        let of = |metric| &outcome.recordings[&(metric, Class::Success)];
        let (service, waiting) = (of(Metric::Service), of(Metric::Waiting));
        assert_eq!(waiting.histogram, service.histogram);
        assert_eq!(
            (of(Metric::Receiving).sum_ns, waiting.sum_ns),
            (0, service.sum_ns)
        );
    }
}
