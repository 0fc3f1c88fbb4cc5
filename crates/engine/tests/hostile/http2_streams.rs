//! Tests the engine with HTTP/2 streams that are refused, reset, or continue after their end.

use std::time::Duration;

use gatebench_engine::ErrorKind::{ClosedEarly, Protocol, Reset, Timeout};
use gatebench_engine::Load;

use crate::http2::{
    DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, OK, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame,
    over_http2, responses,
};
use crate::server::Connection;
use crate::trial::{
    all_errors, completes, errors, fails_with, impatient, requests, suffer, turned_away,
};

fn refused(last_stream: u32) -> Vec<u8> {
    frame(
        GOAWAY,
        0,
        0,
        &[&last_stream.to_be_bytes()[..], &[0; 4]].concat(),
    )
}

/// Makes the load use HTTP/2 and shortens it to 300 ms, because it may make no progress.
fn brief(load: &mut Load) {
    over_http2(load);
    load.measure = Duration::from_millis(300);
}

#[test]
fn every_stream_is_reset() {
    fails_with(
        &[Reset],
        responses(|it| frame(RST_STREAM, 0, it, b"\0\0\0\x07")),
        over_http2,
    );
    let late = |it| {
        let mut out = frame(HEADERS, END_HEADERS, it, OK);
        out.extend(frame(DATA, 0, it, b"half an answer"));
        out.extend(frame(RST_STREAM, 0, it, b"\0\0\0\x02"));
        out
    };
    fails_with(&[Reset], responses(late), over_http2);
    // This server resets the stream again and again, long after the stream has ended.
    let flood = |it: &mut Connection| {
        it.greet(b"");
        if let Some(stream) = it.stream() {
            it.flood(&frame(RST_STREAM, 0, stream, b"\0\0\0\x07"), 1 << 24);
        }
        it.fall_silent();
    };
    fails_with(&[Reset, Timeout, Protocol], flood, |load| {
        impatient(load);
        over_http2(load);
    });
}

#[test]
fn a_stream_whose_window_overflows() {
    let overflow = |it| frame(WINDOW_UPDATE, 0, it, &[0x7f, 0xff, 0xff, 0xff]).repeat(2);
    fails_with(&[Reset], responses(overflow), over_http2);
}

/// On the connections that replace the first ones, the server immediately announces that it accepts
/// no requests.
#[test]
fn going_away_at_once_and_again_and_again() {
    let unwilling = |it: &mut Connection| {
        if it.number < 3 {
            it.greet(b"");
            it.stream();
        } else {
            it.greet(b"");
            it.write(&refused(0));
            it.fall_silent();
        }
    };
    let many = |load: &mut Load| {
        brief(load);
        requests(load, 1_000, 3);
    };
    for outcome in suffer(unwilling, many) {
        let counts = &outcome.counts;
        assert_eq!(counts.completed, 0);
        let unconnected: u64 = counts.connections_failed.iter().sum();
        assert!(unconnected > 0, "{counts:?}");
        assert_eq!(all_errors(counts), counts.sent, "{counts:?}");
    }
}

#[test]
fn going_away_before_the_first_request_is_an_error() {
    let mut unwilling = frame(SETTINGS, 0, 0, b"");
    unwilling.extend(refused(0));
    let reason = turned_away(over_http2, move |it: &mut Connection| {
        it.write(&unwilling);
        it.fall_silent();
    });
    assert!(reason.contains("GOAWAY"), "{reason}");
}

#[test]
fn requests_refused_by_going_away() {
    let fails = |it| refused(it - 1);
    let many = |load: &mut Load| {
        over_http2(load);
        requests(load, 36, 3);
    };
    for outcome in suffer(responses(fails), many) {
        let counts = &outcome.counts;
        assert_eq!((counts.sent, counts.completed), (36, 0));
        assert_eq!(errors(&outcome, Reset), all_errors(counts), "{counts:?}");
        assert!(counts.connections_opened > 3, "{counts:?}");
    }
}

#[test]
fn going_away_after_each_response_loses_none() {
    let last = |it: &mut Connection| {
        it.greet(b"");
        let Some(stream) = it.stream() else { return };
        it.write(&refused(stream));
        it.write(&frame(HEADERS, END_HEADERS | END_STREAM, stream, OK));
        it.fall_silent();
    };
    for outcome in suffer(last, over_http2) {
        assert!(outcome.counts.completed > 0);
        assert_eq!(errors(&outcome, Reset), all_errors(&outcome.counts));
    }
}

#[test]
fn closed_after_settings() {
    let shy = |it: &mut Connection| {
        it.greet(b"");
        it.stream();
    };
    fails_with(&[ClosedEarly, Reset], shy, over_http2);
}

#[test]
fn no_stream_is_allowed() {
    let closed_shop = |it: &mut Connection| {
        it.greet(b"\0\x03\0\0\0\0");
        it.fall_silent();
    };
    for outcome in suffer(closed_shop, brief) {
        assert_eq!((outcome.counts.sent, outcome.counts.completed), (0, 0));
    }
}

#[test]
fn streams_that_continue_after_their_end() {
    let whole = |it| frame(HEADERS, END_HEADERS | END_STREAM, it, OK);
    let afterward: [fn(u32) -> Vec<u8>; 4] = [
        |it| frame(DATA, 0, it, b"and another thing"),
        |it| frame(HEADERS, END_HEADERS, it, OK),
        |it| frame(WINDOW_UPDATE, 0, it, b"\0\0\0\x01"),
        |it| frame(RST_STREAM, 0, it, b"\0\0\0\0"),
    ];
    for (number, more) in afterward.into_iter().enumerate() {
        let response = move |it| [whole(it), more(it)].concat();
        if number >= 2 {
            // These frames may simply be late (RFC 9113 5.1).
            completes(responses(response), 0, over_http2);
            continue;
        }
        for outcome in suffer(responses(response), over_http2) {
            assert!(outcome.counts.completed > 0);
            assert_eq!(errors(&outcome, Protocol), all_errors(&outcome.counts));
        }
    }
}

#[test]
fn malformed_responses_fail_alone() {
    let blocks: [&[u8]; 4] = [
        // No status; a status that is not a number; a name in uppercase; a field of HTTP/1.1
        // connections.
        b"\x00\x01a\x01b",
        b"\x08\x03abc",
        b"\x88\x00\x01A\x01b",
        b"\x88\x00\x0aconnection\x05close",
    ];
    for block in blocks {
        fails_with(
            &[Reset],
            responses(move |it| frame(HEADERS, END_HEADERS | END_STREAM, it, block)),
            over_http2,
        );
    }
    // A length that does not match the body.
    let liar = |it| {
        let mut out = frame(HEADERS, END_HEADERS, it, b"\x88\x0f\x0d\x0220");
        out.extend(frame(DATA, END_STREAM, it, b"short"));
        out
    };
    fails_with(&[Reset], responses(liar), over_http2);
}
