//! Limits on input that serves no request.

use super::transcript::{End, Said};
use super::wire::*;
use gatebench_net::http2::{Block, ErrorCode, Flood, Limits, ProtocolError, Server, Settings};

const LIMITS: Limits = Limits {
    streams: 3,
    idle_frames: 10,
    empty_data: 5,
    resets: 4,
    block_bytes: 1 << 16,
    continuations: 16,
    list_bytes: 1 << 16,
    informational: 16,
};

fn server() -> End<Server> {
    let mut server = End::server(Settings::default(), LIMITS);
    server.feed(&client_preface());
    // The client's SETTINGS frame took one unit of the budget for idle frames.
    server.connection.refill_budgets();
    server.take_said();
    server
}

/// Asserts that `frames(n)` may occur `limit` times, but not more often, between two refills of the
/// budgets.
#[track_caller]
fn assert_bounded(flood: Flood, limit: u32, mut frames: impl FnMut(u32) -> Vec<u8>) {
    let mut server = server();
    server.feed(&post(1));
    for at in 0..limit {
        server.feed(&frames(at));
        assert_eq!(server.error, None, "repetition {at}");
    }
    let mut refilled = server;
    refilled.connection.refill_budgets();
    for at in limit..2 * limit {
        refilled.feed(&frames(at));
        assert_eq!(refilled.error, None, "repetition {at}");
    }
    refilled.feed(&frames(2 * limit));
    let error = ProtocolError::Flood { flood, limit };
    assert_eq!(refilled.error, Some(error));
    assert_eq!(error.code(), ErrorCode::ENHANCE_YOUR_CALM);
}

#[test]
fn frames_that_do_no_work_are_limited() {
    for frame in [
        settings(&[]),
        frame(PING, 0, 0, &[0; 8]),
        frame(PING, ACK, 0, &[0; 8]),
        frame(PRIORITY, 0, 1, &[0; 5]),
        frame(0xfa, 0, 0, b""),
        frame(GOAWAY, 0, 0, &[0; 8]),
    ] {
        assert_bounded(Flood::IdleFrames, 10, |_| frame.clone());
    }
}

/// Until a client receives the reset of a stream, it may still send on that stream.
#[test]
fn headers_of_reset_streams_are_limited() {
    let trailers = frame(HEADERS, END_HEADERS | END_STREAM, 3, OK);
    let mut server = server();
    server.feed(&[get(3), window_update(3, 0)].concat());
    for _ in 0..10 {
        server.feed(&trailers);
        assert_eq!(server.error, None);
    }
    server.feed(&trailers);
    let flood = Flood::IdleFrames;
    assert_eq!(
        server.error,
        Some(ProtocolError::Flood { flood, limit: 10 })
    );
}

/// Until a client receives the server's GOAWAY frame, it may still open streams.
#[test]
fn frames_of_streams_after_a_goaway_are_ignored() {
    let mut server = server();
    server.feed(&get(1));
    server.connection.go_away(&mut server.out);
    let data = frame(DATA, 0, 3, b"body");
    let late = [post(3), data, window_update(3, 1)].concat();
    server.feed(&late);
    server.feed(&reset(3, ErrorCode::CANCEL));
    assert_eq!((server.error, server.streams.len()), (None, 1));
    let stream = server.streams[0];
    let block = Block::response(204);
    server
        .connection
        .respond(stream, &block, b"", true, &mut server.out);
    assert_eq!(last_frame(&server.out).0, HEADERS);
}

#[test]
fn streams_after_a_goaway_are_limited() {
    let mut server = server();
    server.feed(&get(1));
    server.connection.go_away(&mut server.out);
    for at in 0..10 {
        server.feed(&get(2 * at + 3));
        assert_eq!(server.error, None, "stream {}", 2 * at + 3);
    }
    server.feed(&get(23));
    let flood = Flood::IdleFrames;
    assert_eq!(
        server.error,
        Some(ProtocolError::Flood { flood, limit: 10 })
    );
}

#[test]
fn empty_data_frames_are_limited() {
    assert_bounded(Flood::EmptyData, 5, |_| frame(DATA, 0, 1, b""));
    assert_bounded(Flood::EmptyData, 5, |_| frame(DATA, PADDED, 1, &[1, 0]));
}

#[test]
fn streams_that_the_client_resets_are_limited() {
    assert_bounded(Flood::Resets, 4, |at| {
        let number = 2 * at + 3;
        [get(number), reset(number, ErrorCode::CANCEL)].concat()
    });
}

/// Errors of the client force the server to reset streams.
#[test]
fn streams_that_the_server_must_reset_are_limited() {
    assert_bounded(Flood::Resets, 4, |at| {
        let number = 2 * at + 3;
        [get(number), window_update(number, 0)].concat()
    });
    assert_bounded(Flood::Resets, 4, |at| {
        frame(HEADERS, END_HEADERS, 2 * at + 3, OK)
    });
}

#[test]
fn streams_beyond_the_limit_are_refused() {
    let mut server = server();
    server.feed(&[get(1), get(3), get(5)].concat());
    server.feed(&get(7));
    let refused = ErrorCode::REFUSED_STREAM.0.to_be_bytes().to_vec();
    assert_eq!(last_frame(&server.out), (RST_STREAM, 7, refused));
    assert_eq!(
        (server.connection.open_count(), server.streams.len()),
        (3, 3)
    );
}

#[test]
fn finished_streams_pay_for_control_frames() {
    let mut server = server();
    for at in 0..100 {
        let number = 2 * at + 1;
        let ping = frame(PING, 0, 0, &[0; 8]);
        server.feed(&[get(number), ping.repeat(4)].concat());
        let stream = *server.streams.last().unwrap();
        let block = Block::response(204);
        server
            .connection
            .respond(stream, &block, b"", true, &mut server.out);
    }
    assert_eq!(server.error, None);
    assert_eq!(server.said.last(), Some(&Said::End(199)));
}
