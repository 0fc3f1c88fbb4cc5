//! Errors that end the connection, and their codes.

use super::transcript::End;
use super::wire::*;
use gatebench_net::http2::{
    Block, Client, ErrorCode, FrameType, HpackError, Limits, ProtocolError, Server, Settings,
};

/// A server that has received the client's preface.
fn server() -> End<Server> {
    let mut server = End::server(Settings::default(), Limits::default());
    server.feed(&client_preface());
    server
}

/// A client that has received the server's settings and has sent a request on stream 1.
fn client() -> End<Client> {
    let mut client = End::client(Settings::default(), Limits::default());
    client.feed(&settings(&[]));
    let block = Block::request("GET", "http", "host", "/");
    client
        .connection
        .request(&block, b"", &mut client.out)
        .unwrap();
    client
}

/// Returns the error that ended the connection, and asserts that GOAWAY carries its code.
fn error_of<C>(end: &End<C>) -> ProtocolError {
    let error = end.error.unwrap();
    let (kind, stream, payload) = last_frame(&end.out);
    assert_eq!((kind, stream), (GOAWAY, 0));
    assert_eq!(payload[4..], error.code().0.to_be_bytes());
    error
}

#[track_caller]
fn server_fails(frames: &[Vec<u8>], error: ProtocolError, code: ErrorCode) {
    let mut server = server();
    server.take_out();
    server.feed(&frames.concat());
    assert_eq!(error_of(&server), error);
    assert_eq!(error.code(), code);
}

#[track_caller]
fn client_fails(frames: &[Vec<u8>], error: ProtocolError, code: ErrorCode) {
    let mut client = client();
    client.take_out();
    client.feed(&frames.concat());
    assert_eq!(error_of(&client), error);
    assert_eq!(error.code(), code);
    assert_eq!(client.connection.can_open(), 0);
    assert!(client.connection.is_closing());
}

fn named(kind: u8) -> FrameType {
    FrameType(kind)
}

#[test]
fn the_first_bytes_are_the_preface() {
    let mut server = End::server(Settings::default(), Limits::default());
    server.feed(b"GET / HTTP/1.1\r\n");
    assert_eq!(server.error, Some(ProtocolError::Preface));
    let mut server = End::server(Settings::default(), Limits::default());
    server.feed(&client_preface()[..24]);
    server.feed(&get(1));
    let frame = named(HEADERS);
    assert_eq!(server.error, Some(ProtocolError::FirstFrame { frame }));
}

#[test]
fn a_server_recognizes_a_client_by_its_first_bytes() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for seen in 0..preface.len() {
        assert_eq!(Server::recognizes(&preface[..seen]), None);
        let other = [&preface[..seen], b"?"].concat();
        assert_eq!(Server::recognizes(&other), Some(false));
    }
    assert_eq!(Server::recognizes(preface), Some(true));
    assert_eq!(
        Server::recognizes(&[preface, &b"more"[..]].concat()),
        Some(true)
    );
    assert_eq!(Server::recognizes(b"POST / HTTP/1.1\r\n"), Some(false));
}

#[test]
fn an_http1_server_is_recognized() {
    let mut client = End::client(Settings::default(), Limits::default());
    client.feed(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert_eq!(client.error, Some(ProtocolError::Http1Response));
    let mut client = End::client(Settings::default(), Limits::default());
    client.feed(&frame(SETTINGS, ACK, 0, b""));
    let frame = named(SETTINGS);
    assert_eq!(client.error, Some(ProtocolError::FirstFrame { frame }));
}

#[test]
fn frames_have_the_length_of_their_type() {
    let long = vec![0; 16_385];
    let too_large = ProtocolError::FrameTooLarge {
        frame: named(DATA),
        bytes: 16_385,
        limit: 16_384,
    };
    let code = ErrorCode::FRAME_SIZE_ERROR;
    server_fails(&[post(1), frame(DATA, 0, 1, &long)], too_large, code);
    for (kind, flags, stream, length) in [
        (SETTINGS, 0, 0, 5),
        (SETTINGS, ACK, 0, 6),
        (PING, 0, 0, 7),
        (RST_STREAM, 0, 1, 3),
        (WINDOW_UPDATE, 0, 1, 5),
        (GOAWAY, 0, 0, 7),
        (PRIORITY, 0, 9, 4),
        (DATA, PADDED, 1, 0),
        (HEADERS, PADDED | END_HEADERS, 3, 0),
        (HEADERS, WITH_PRIORITY | END_HEADERS, 3, 4),
    ] {
        let error = ProtocolError::FrameLength {
            frame: named(kind),
            bytes: length,
        };
        let payload = vec![0; length as usize];
        server_fails(
            &[post(1), frame(kind, flags, stream, &payload)],
            error,
            code,
        );
    }
}

#[test]
fn stream_numbers_are_required() {
    let code = ErrorCode::PROTOCOL_ERROR;
    for (kind, stream, length) in [
        (DATA, 0, 1),
        (HEADERS, 0, 1),
        (PRIORITY, 0, 5),
        (RST_STREAM, 0, 4),
        (SETTINGS, 1, 0),
        (PING, 1, 8),
        (GOAWAY, 1, 8),
    ] {
        let error = ProtocolError::FrameStream {
            frame: named(kind),
            stream,
        };
        server_fails(
            &[get(1), frame(kind, 0, stream, &vec![0; length])],
            error,
            code,
        );
    }
}

#[test]
fn idle_streams_get_no_frames() {
    for (frame, kind) in [
        (frame(DATA, 0, 5, b"x"), DATA),
        (reset(5, ErrorCode::CANCEL), RST_STREAM),
        (window_update(5, 1), WINDOW_UPDATE),
    ] {
        let frame_type = named(kind);
        let error = ProtocolError::StreamIdle {
            frame: frame_type,
            stream: 5,
        };
        server_fails(&[get(1), frame.clone()], error, ErrorCode::PROTOCOL_ERROR);
        client_fails(&[frame], error, ErrorCode::PROTOCOL_ERROR);
    }
    let response = frame(HEADERS, END_HEADERS, 2, OK);
    let error = ProtocolError::StreamIdle {
        frame: named(HEADERS),
        stream: 2,
    };
    client_fails(&[response], error, ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn ended_streams_get_no_frames() {
    let ended = [frame(HEADERS, END_HEADERS | END_STREAM, 1, OK)];
    for kind in [HEADERS, DATA] {
        let late = frame(kind, END_HEADERS, 1, OK);
        let error = ProtocolError::StreamEnded {
            frame: named(kind),
            stream: 1,
        };
        let code = ErrorCode::STREAM_CLOSED;
        client_fails(&[ended[0].clone(), late.clone()], error, code);
        server_fails(&[post(1), reset(1, ErrorCode::CANCEL), late], error, code);
    }
}

#[test]
fn stream_numbers_are_odd_and_ascending() {
    let code = ErrorCode::PROTOCOL_ERROR;
    let error = |stream, last| ProtocolError::StreamNumber { stream, last };
    server_fails(&[get(2)], error(2, 0), code);
    server_fails(&[get(5), get(3)], error(3, 5), code);
}

#[test]
fn header_blocks_are_in_one_piece() {
    let begun = frame(HEADERS, 0, 1, &GET[..1]);
    let code = ErrorCode::PROTOCOL_ERROR;
    let interrupted = |kind| ProtocolError::BlockInterrupted { frame: named(kind) };
    let ping = frame(PING, 0, 0, &[0; 8]);
    server_fails(&[begun.clone(), ping], interrupted(PING), code);
    let of_another = frame(CONTINUATION, END_HEADERS, 3, &GET[1..]);
    server_fails(&[begun, of_another], interrupted(CONTINUATION), code);
    let of_none = frame(CONTINUATION, END_HEADERS, 1, GET);
    server_fails(&[of_none], ProtocolError::ContinuationUnexpected, code);
}

#[test]
fn header_blocks_are_bounded() {
    let limits = Limits::default();
    let calm = ErrorCode::ENHANCE_YOUR_CALM;
    let limit = limits.continuations;
    let mut frames = vec![frame(HEADERS, 0, 1, GET)];
    frames.resize(limit as usize + 2, frame(CONTINUATION, 0, 1, b""));
    server_fails(&frames, ProtocolError::TooManyContinuations { limit }, calm);
    let limit = limits.block_bytes;
    let mut frames = vec![frame(HEADERS, 0, 1, GET)];
    frames.resize(limit / 16_384 + 1, frame(CONTINUATION, 0, 1, &[0; 16_384]));
    server_fails(&frames, ProtocolError::BlockTooLarge { limit }, calm);
}

#[test]
fn undecodable_blocks_end_the_connection() {
    let error = HpackError::Index { index: 62 };
    let block = frame(HEADERS, END_HEADERS, 1, &[0xbe]);
    let code = ErrorCode::COMPRESSION_ERROR;
    server_fails(std::slice::from_ref(&block), error.into(), code);
    client_fails(&[block], error.into(), code);
}

#[test]
fn settings_out_of_range_are_errors() {
    for (id, value, code) in [
        (0x2, 2, ErrorCode::PROTOCOL_ERROR),
        (0x4, 1 << 31, ErrorCode::FLOW_CONTROL_ERROR),
        (0x5, 16_383, ErrorCode::PROTOCOL_ERROR),
        (0x5, 1 << 24, ErrorCode::PROTOCOL_ERROR),
    ] {
        let error = ProtocolError::SettingValue { id, value };
        server_fails(&[settings(&[(id, value)])], error, code);
    }
    let error = ProtocolError::SettingValue { id: 2, value: 1 };
    client_fails(&[settings(&[(2, 1)])], error, ErrorCode::PROTOCOL_ERROR);
    let ack = frame(SETTINGS, ACK, 0, b"");
    let error = ProtocolError::AckUnexpected;
    server_fails(&[ack.clone(), ack], error, ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn windows_are_limited() {
    let code = ErrorCode::FLOW_CONTROL_ERROR;
    let most = (1 << 31) - 1;
    let frames = [window_update(0, most)];
    server_fails(&frames, ProtocolError::WindowOverflow, code);
    let frames = [get(1), window_update(1, 100), settings(&[(4, most)])];
    server_fails(&frames, ProtocolError::WindowOverflow, code);
    let nothing = ProtocolError::WindowIncrementZero;
    server_fails(&[window_update(0, 0)], nothing, ErrorCode::PROTOCOL_ERROR);
}

#[test]
fn the_connection_window_is_enforced() {
    let settings = Settings {
        connection_window_bytes: 65_535,
        frame_bytes: 1 << 20,
        ..Settings::default()
    };
    let mut server = End::server(settings, Limits::default());
    server.feed(&[client_preface(), post(1)].concat());
    for _ in 0..8 {
        server.feed(&frame(DATA, 0, 1, &[0; 65_535]));
        assert_eq!(server.error, None);
    }
    // The announced length of a frame is checked before the frame has arrived.
    let announced = &frame(DATA, 0, 1, &[0; 65_536])[..9];
    server.feed(announced);
    assert_eq!(error_of(&server), ProtocolError::WindowExceeded);
}

#[test]
fn padding_fits_into_its_frame() {
    for kind in [DATA, HEADERS] {
        let padded = frame(kind, PADDED | END_HEADERS, 1, &[2, 0]);
        let error = ProtocolError::Padding { frame: named(kind) };
        server_fails(&[post(1), padded], error, ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn pushing_is_an_error() {
    let push = frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82]);
    let code = ErrorCode::PROTOCOL_ERROR;
    client_fails(std::slice::from_ref(&push), ProtocolError::Push, code);
    server_fails(&[get(1), push], ProtocolError::Push, code);
}

#[test]
fn no_stream_depends_on_itself() {
    let error = ProtocolError::DependsOnItself { stream: 3 };
    let priority = [0x80, 0, 0, 3, 16];
    let code = ErrorCode::PROTOCOL_ERROR;
    server_fails(&[frame(PRIORITY, 0, 3, &priority)], error, code);
    let block = [&priority, GET].concat();
    let head = frame(HEADERS, WITH_PRIORITY | END_HEADERS, 3, &block);
    server_fails(&[head], error, code);
}
