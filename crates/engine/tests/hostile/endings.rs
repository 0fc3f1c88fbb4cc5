//! Tests the engine with connections that end too early, too late, or before they begin.

use std::time::Duration;

use gatebench_engine::ErrorKind::{ClosedEarly, Connect, Reset, Timeout};
use gatebench_engine::Load;
use gatebench_model::Shape;
use gatebench_model::load::Open;

use crate::server::Connection;
use crate::trial::{all_errors, completes, errors, fails_as, fails_with, impatient, suffer};

#[test]
fn closed_without_a_response() {
    fails_as(&[ClosedEarly], |it: &mut Connection| {
        it.request();
    });
    fails_as(&[ClosedEarly], |it: &mut Connection| {
        let _ = it.request() && it.write(b"HTTP/1.1 200 OK\r\nContent-");
    });
}

#[test]
fn reset_in_the_middle() {
    for part in [
        "",
        "HTTP/1.1 200 OK\r\nConte",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour",
    ] {
        fails_as(&[Reset], move |it: &mut Connection| {
            it.request();
            it.write(part.as_bytes());
            it.reset();
        });
    }
}

#[test]
fn no_response() {
    fails_with(
        &[Timeout],
        |it: &mut Connection| it.fall_silent(),
        impatient,
    );
}

#[test]
fn a_response_a_byte_at_a_time() {
    let loris = |it: &mut Connection| {
        it.request();
        let response = b"HTTP/1.1 200 OK\r\nX-Slow: "
            .iter()
            .chain(b"slow ".iter().cycle());
        for byte in response {
            if !it.write(&[*byte]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    fails_with(&[Timeout], loris, impatient);
}

/// Bytes that arrive before a request are not a response to it, so the connection is closed. If the
/// bytes arrive only after the request was sent, no client can distinguish them from a response.
#[test]
fn a_response_before_the_request() {
    let eager = |it: &mut Connection| {
        it.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        it.fall_silent();
    };
    for outcome in suffer(eager, impatient) {
        assert_eq!(
            errors(&outcome, Timeout) + errors(&outcome, Reset),
            all_errors(&outcome.counts)
        );
    }
}

/// At a fixed rate, connections wait between requests.
#[test]
fn connections_that_die_while_they_wait() {
    let fickle = |it: &mut Connection| {
        while it.request() && it.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") {
            if it.number.is_multiple_of(2) {
                return;
            }
        }
    };
    let rate = |load: &mut Load| {
        load.measure = Duration::from_millis(300);
        load.groups[0].shape = Shape::Open(Open {
            connections_max: 4,
            ..Open::new(500.0)
        });
    };
    for outcome in suffer(fickle, rate) {
        let counts = &outcome.counts;
        assert_eq!(counts.intended, 150, "{counts:?}");
        assert!(counts.completed > 0);
        assert_eq!(
            all_errors(counts),
            errors(&outcome, ClosedEarly) + errors(&outcome, Reset)
        );
    }
}

#[test]
fn responses_that_never_keep_a_connection() {
    let close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok and more";
    for outcome in suffer(crate::server::once(close), |_| {}) {
        // Bytes after the last response on a connection are ignored (RFC 9112 9.6), but bytes that
        // arrive together with that response are excess.
        assert!(outcome.counts.connections_opened >= outcome.counts.sent);
    }
    let silent = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
    completes(crate::server::always(silent), 0, |_| {});
}

#[test]
fn a_server_that_goes_away() {
    let _alone = crate::trial::alone();
    for backend in crate::common::backends() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let accepted: Vec<_> = listener.incoming().take(3).collect();
            drop(listener);
            for (stream, number) in accepted.into_iter().flatten().zip(0..) {
                let mut connection = Connection { stream, number };
                connection.request();
                connection
                    .write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            }
        });
        let mut load = crate::trial::load(address);
        load.backend = Some(backend);
        load.measure = Duration::from_millis(300);
        let outcome = crate::trial::watched(&load);
        assert_eq!((outcome.counts.sent, outcome.counts.completed), (3, 3));
        crate::trial::only_unconnected_by(&outcome, Connect);
    }
}
