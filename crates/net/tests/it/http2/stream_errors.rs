//! Errors that end one stream and do not affect the connection, and frames that are ignored.

use super::transcript::{End, Said};
use super::wire::*;
use gatebench_net::http2::{
    Block, Client, ErrorCode, Limits, Malformed, Server, Settings, StreamError,
};

/// A server that has a low limit for fields and a small stream window, and has received the
/// client's preface.
fn server() -> End<Server> {
    let limits = Limits {
        list_bytes: 400,
        ..Limits::default()
    };
    let settings = Settings {
        stream_window_bytes: 100_000,
        ..Settings::default()
    };
    let mut server = End::server(settings, limits);
    server.feed(&client_preface());
    server.take_said();
    server.take_out();
    server
}

/// A client that has low limits for fields and informational responses, and has sent a request with
/// `method` on stream 1.
fn client(method: &str) -> End<Client> {
    let limits = Limits {
        list_bytes: 400,
        informational: 2,
        ..Limits::default()
    };
    let mut client = End::client(Settings::default(), limits);
    client.feed(&settings(&[]));
    let block = Block::request(method, "http", "host", "/");
    client
        .connection
        .request(&block, b"", &mut client.out)
        .unwrap();
    client.take_said();
    client.take_out();
    client
}

/// Asserts that the connection is still open, and that the last frame it wrote is RST_STREAM for
/// stream 1.
#[track_caller]
fn assert_reset<C>(end: &End<C>, code: ErrorCode) {
    assert_eq!(end.error, None);
    let expected = (RST_STREAM, 1, code.0.to_be_bytes().to_vec());
    assert_eq!(last_frame(&end.out), expected);
}

#[track_caller]
fn client_resets(method: &str, frames: &[Vec<u8>], error: StreamError) {
    let mut client = client(method);
    client.feed(&frames.concat());
    assert_reset(&client, error.code());
    let reset = Said::Reset(1, error.code(), Some(error));
    assert_eq!(client.said.last(), Some(&reset));
    assert_eq!(client.connection.open_count(), 0);
    // Late frames are ignored.
    client.feed(&frame(DATA, END_STREAM, 1, b"late"));
    assert_eq!((client.error, client.said.last()), (None, Some(&reset)));
}

/// Asserts that a server refuses a malformed request and reports no event.
#[track_caller]
fn server_refuses(block: &[u8], code: ErrorCode) {
    let mut server = server();
    server.feed(&frame(HEADERS, END_HEADERS | END_STREAM, 1, block));
    assert_reset(&server, code);
    assert_eq!(server.said, []);
    assert_eq!(server.connection.open_count(), 0);
}

#[test]
fn requests_have_their_pseudo_fields_once_and_first() {
    let and = |more: &[u8]| [GET, more].concat();
    for block in [
        vec![0x84, 0x86],
        vec![0x82, 0x86],
        vec![0x82, 0x84],
        [&[0x82, 0x86][..], &literal(":path", "")].concat(),
        and(&[0x82]),
        and(&[0x88]),
        and(&literal(":protocol", "websocket")),
        [&literal("accept", "x"), GET].concat(),
        [&literal(":method", "CONNECT")[..], &[0x84, 0x86]].concat(),
    ] {
        server_refuses(&block, ErrorCode::PROTOCOL_ERROR);
    }
}

#[test]
fn fields_are_in_lower_case_and_not_of_http1() {
    for (name, value) in [
        ("Accept", "x"),
        ("", "x"),
        ("a b", "x"),
        ("a", "x\r\ny"),
        ("a", "x\0"),
        ("a", " x"),
        ("a", "x\t"),
        ("connection", "close"),
        ("keep-alive", "1"),
        ("proxy-connection", "x"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("te", "gzip"),
        ("content-length", "1x"),
        ("content-length", "99999999999999999999"),
    ] {
        let block = [GET, &literal(name, value)].concat();
        server_refuses(&block, ErrorCode::PROTOCOL_ERROR);
    }
    let twice = [
        literal("content-length", "0"),
        literal("content-length", "1"),
    ]
    .concat();
    server_refuses(&[GET, &twice].concat(), ErrorCode::PROTOCOL_ERROR);
    server_refuses(
        &[GET, &literal("content-length", "1")].concat(),
        ErrorCode::PROTOCOL_ERROR,
    );
    let long = literal("a", &"x".repeat(120));
    server_refuses(&[GET, &long, &long].concat(), ErrorCode::ENHANCE_YOUR_CALM);
}

#[test]
fn unusual_but_valid_heads_are_accepted() {
    let mut server = server();
    for (stream, block) in (1..).step_by(2).zip([
        [GET, &literal("te", "trailers")].concat(),
        [GET, &literal("empty", "")].concat(),
        [
            literal(":method", "CONNECT"),
            literal(":authority", "host:1"),
        ]
        .concat(),
        [
            GET,
            &literal("content-length", "0"),
            &literal("content-length", "0"),
        ]
        .concat(),
    ]) {
        server.feed(&frame(HEADERS, END_HEADERS | END_STREAM, stream, &block));
    }
    let priority = [&[0, 0, 0, 99, 1][..], GET].concat();
    let padded = [&[3][..], &priority, &[0; 3]].concat();
    let flags = END_HEADERS | END_STREAM | PADDED | WITH_PRIORITY;
    server.feed(&frame(HEADERS, flags, 9, &padded));
    server.feed(&frame(PRIORITY, 0, 101, &[0; 5]));
    server.feed(&frame(0xfa, 0xff, 7, b"unknown"));
    server.feed(&settings(&[(0xfafa, 7)]));
    assert_eq!((server.error, server.streams.len()), (None, 5));
}

#[test]
fn a_ping_gets_a_reply() {
    let mut server = server();
    server.feed(&frame(PING, 0, 0, b"12345678"));
    assert_eq!(last_frame(&server.out), (PING, 0, b"12345678".to_vec()));
    server.take_out();
    server.feed(&frame(PING, ACK, 0, b"12345678"));
    assert!(server.out.is_empty());
}

#[test]
fn trailers_end_a_message() {
    let mut server = server();
    let trailer = literal("checksum", "1");
    let flags = END_HEADERS | END_STREAM;
    server.feed(
        &[
            post(1),
            frame(DATA, 0, 1, b"x"),
            frame(HEADERS, flags, 1, &trailer),
        ]
        .concat(),
    );
    let trailers = Said::Trailers(1, vec![("checksum".to_owned(), b"1".to_vec())]);
    assert_eq!(
        server.said[1..],
        [Said::Body(1, b"x".to_vec()), trailers, Said::End(1)]
    );
    for (flags, block, error) in [
        (END_HEADERS, trailer, StreamError::TrailersWithoutEnd),
        (flags, GET.to_vec(), Malformed::PseudoFieldMisplaced.into()),
    ] {
        let head = frame(HEADERS, END_HEADERS, 1, OK);
        client_resets("GET", &[head, frame(HEADERS, flags, 1, &block)], error);
    }
}

#[test]
fn responses_have_a_status() {
    for (block, malformed) in [
        (vec![], Malformed::PseudoFieldMissing),
        (GET.to_vec(), Malformed::PseudoFieldMisplaced),
        (vec![0x88, 0x88], Malformed::PseudoFieldRepeated),
        (literal(":status", "20"), Malformed::Status),
        (literal(":status", "099"), Malformed::Status),
        (literal(":status", "2x0"), Malformed::Status),
        (literal(":status", "101"), Malformed::SwitchingProtocols),
        (
            [literal("a", "b"), OK.to_vec()].concat(),
            Malformed::PseudoFieldLate,
        ),
    ] {
        client_resets(
            "GET",
            &[frame(HEADERS, END_HEADERS, 1, &block)],
            malformed.into(),
        );
    }
}

#[test]
fn informational_heads_are_bounded_and_not_the_last() {
    let early = literal(":status", "103");
    let hint = frame(HEADERS, END_HEADERS, 1, &early);
    let error = StreamError::TooManyInformational { limit: 2 };
    client_resets("GET", &[hint.clone(), hint.clone(), hint], error);
    let last = frame(HEADERS, END_HEADERS | END_STREAM, 1, &early);
    client_resets("GET", &[last], StreamError::HeadMissing);
}

#[test]
fn bodies_have_their_announced_length() {
    let length_2 = [OK, &literal("content-length", "2")].concat();
    let head = frame(HEADERS, END_HEADERS, 1, &length_2);
    let end = frame(HEADERS, END_HEADERS | END_STREAM, 1, &length_2);
    let no_body = frame(HEADERS, END_HEADERS, 1, &[0x89]);
    let wrong = StreamError::ContentLength;
    client_resets("GET", &[head.clone(), frame(DATA, 0, 1, b"xxx")], wrong);
    client_resets(
        "GET",
        &[head.clone(), frame(DATA, END_STREAM, 1, b"x")],
        wrong,
    );
    client_resets("GET", &[end], wrong);
    client_resets("GET", &[no_body, frame(DATA, 0, 1, b"x")], wrong);
    client_resets("HEAD", &[head, frame(DATA, 0, 1, b"x")], wrong);
    let data = frame(DATA, 0, 1, b"x");
    client_resets("GET", &[data], StreamError::DataBeforeHead);
}

#[test]
fn other_errors_reset_only_their_stream() {
    let most = (1 << 31) - 1;
    let half_closed = [get(1), frame(DATA, 0, 1, b"x")];
    let overflow = [post(1), window_update(1, most)];
    let nothing = [post(1), window_update(1, 0)];
    let priority = [post(1), frame(PRIORITY, 0, 1, &[0; 4])];
    for (frames, error) in [
        (half_closed, StreamError::Ended),
        (overflow, StreamError::WindowOverflow),
        (nothing, StreamError::WindowIncrementZero),
        (priority, StreamError::PriorityLength),
    ] {
        let mut server = server();
        server.feed(&frames.concat());
        assert_reset(&server, error.code());
        assert_eq!(
            server.said.last(),
            Some(&Said::Reset(1, error.code(), Some(error)))
        );
    }
}

#[test]
fn the_window_of_a_stream_is_enforced_and_topped_up() {
    let mut server = server();
    server.feed(&post(1));
    let data = frame(DATA, 0, 1, &[0; 10_000]);
    server.feed(&data.repeat(4));
    assert!(server.out.is_empty());
    server.feed(&data);
    let topped_up = 50_000_u32.to_be_bytes().to_vec();
    assert_eq!(last_frame(&server.out), (WINDOW_UPDATE, 1, topped_up));
    assert_eq!(server.error, None);

    let settings = Settings {
        stream_window_bytes: 10,
        ..Settings::default()
    };
    let mut server = End::server(settings, Limits::default());
    server.feed(&[client_preface(), post(1)].concat());
    // Until it acknowledges our settings, the client uses the initial window.
    server.feed(&frame(DATA, 0, 1, &[0; 11]));
    assert_eq!(server.said.last(), Some(&Said::Body(1, vec![0; 11])));
    server.feed(&frame(SETTINGS, ACK, 0, b""));
    server.feed(&frame(DATA, 0, 1, &[0; 11]));
    assert_reset(&server, ErrorCode::FLOW_CONTROL_ERROR);
}

#[test]
fn padding_uses_the_window_and_is_not_body() {
    let mut server = server();
    server.feed(&post(1));
    let padded = [&[255][..], b"data", &[0; 255]].concat();
    server.feed(&frame(DATA, PADDED, 1, &padded).repeat(192));
    assert_eq!(
        server.said.last(),
        Some(&Said::Body(1, b"data".repeat(192)))
    );
    // It takes 193 frames of 260 bytes to use half of the window.
    assert!(server.out.is_empty());
    server.feed(&frame(DATA, PADDED, 1, &padded));
    assert_eq!(last_frame(&server.out).0, WINDOW_UPDATE);
}

#[test]
fn a_change_of_the_initial_window_changes_open_streams() {
    let mut server = server();
    server.feed(&[settings(&[(4, 5)]), get(1)].concat());
    let stream = server.streams[0];
    server.take_out();
    server.connection.respond(
        stream,
        &Block::response(200),
        b"12345678",
        true,
        &mut server.out,
    );
    assert_eq!(last_frame(&server.out), (DATA, 1, b"12345".to_vec()));
    // The window is below zero and must become positive first.
    server.feed(&settings(&[(4, 2)]));
    server.feed(&window_update(1, 3));
    assert_eq!(server.connection.unsent_bytes(stream), 3);
    server.feed(&settings(&[(4, 3)]));
    assert_eq!(server.connection.unsent_bytes(stream), 2);
    server.feed(&window_update(1, 2));
    assert_eq!(last_frame(&server.out), (DATA, 1, b"78".to_vec()));
    assert_eq!(server.connection.open_count(), 0);
}
