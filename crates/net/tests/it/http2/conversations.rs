//! Conversations between a client and a server.

use super::transcript::{End, Said, carry};
use super::wire::{GOAWAY, last_frame, reset, window_update};
use gatebench_net::http2::{Block, Client, ErrorCode, Limits, Server, Settings, StreamId};

/// Both ends after the exchange of their settings.
fn pair(settings: Settings, limits: Limits) -> (End<Client>, End<Server>) {
    let mut client = End::client(settings, limits);
    let mut server = End::server(settings, limits);
    carry(&mut client, &mut server, |all| all);
    assert_eq!(client.take_said(), [Said::Settings]);
    assert_eq!(server.take_said(), [Said::Settings]);
    (client, server)
}

fn usual() -> (End<Client>, End<Server>) {
    pair(Settings::default(), Limits::default())
}

fn body_of(said: &[Said], number: u32) -> Vec<u8> {
    let bodies = said.iter().filter_map(|said| match said {
        Said::Body(stream, bytes) if *stream == number => Some(&bytes[..]),
        _ => None,
    });
    bodies.collect::<Vec<_>>().concat()
}

fn request(client: &mut End<Client>, block: &Block, body: &[u8]) -> StreamId {
    let stream = client.connection.request(block, body, &mut client.out);
    stream.unwrap()
}

#[test]
fn a_request_gets_a_response() {
    let (mut client, mut server) = usual();
    let mut block = Block::request("POST", "http", "host:80", "/a?b=c");
    let number = block.field("Accept", b"*/*").variable("number", b"0000");
    block.set(&number, b"0042");
    let stream = request(&mut client, &block, b"question");
    carry(&mut client, &mut server, |all| all);
    let said = server.take_said();
    let [Said::Head(1, head), Said::Body(1, body), Said::End(1)] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!(
        (&head.method[..], &head.scheme[..]),
        (&b"POST"[..], &b"http"[..])
    );
    assert_eq!(
        (&head.authority[..], &head.path[..]),
        (&b"host:80"[..], &b"/a?b=c"[..])
    );
    let expected = [
        ("accept".to_owned(), b"*/*".to_vec()),
        ("number".to_owned(), b"0042".to_vec()),
    ];
    assert_eq!(head.fields, expected);
    assert_eq!(body, b"question");

    let mut block = Block::response(200);
    block.huffman(false).field("content-length", b"6");
    let at_server = server.streams[0];
    server
        .connection
        .respond(at_server, &block, b"answer", true, &mut server.out);
    assert_eq!(server.connection.open_count(), 0);
    carry(&mut client, &mut server, |all| all);
    let said = client.take_said();
    let [Said::Head(1, head), Said::Body(1, body), Said::End(1)] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!((head.status, &body[..]), (200, &b"answer"[..]));
    assert_eq!(client.connection.open_count(), 0);
    assert_eq!(stream.slot(), 0);
}

#[test]
fn slots_are_dense_and_numbers_are_new() {
    let (mut client, mut server) = usual();
    let block = Block::request("GET", "http", "host", "/");
    let first: Vec<StreamId> = (0..3).map(|_| request(&mut client, &block, b"")).collect();
    assert_eq!(
        first.iter().map(|id| id.number()).collect::<Vec<_>>(),
        [1, 3, 5]
    );
    assert_eq!(
        first.iter().map(|id| id.slot()).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    carry(&mut client, &mut server, |all| all);
    let second = server.streams[1];
    server
        .connection
        .respond(second, &Block::response(204), b"", true, &mut server.out);
    carry(&mut client, &mut server, |all| all);
    let next = request(&mut client, &block, b"");
    assert_eq!((next.number(), next.slot()), (7, 1));
}

#[test]
fn bodies_wait_for_windows_both_ways() {
    let settings = Settings {
        stream_window_bytes: 1000,
        connection_window_bytes: 65_535,
        ..Settings::default()
    };
    let (mut client, mut server) = pair(settings, Limits::default());
    let long: Vec<u8> = (0..300_000_u32).map(|at| at as u8).collect();
    let block = Block::request("POST", "http", "host", "/");
    request(&mut client, &block, &long);
    request(&mut client, &block, &long[1..]);
    carry(&mut client, &mut server, |all| all);
    assert_eq!(body_of(&server.said, 1), long);
    assert_eq!(body_of(&server.said, 3), long[1..]);
    assert_eq!(
        server
            .said
            .iter()
            .filter(|said| matches!(said, Said::End(_)))
            .count(),
        2
    );

    let at_server = server.streams[0];
    server.connection.respond(
        at_server,
        &Block::response(200),
        &long[..70_000],
        false,
        &mut server.out,
    );
    assert_eq!(server.connection.unsent_bytes(at_server), 69_000);
    server
        .connection
        .send(at_server, &long[70_000..], false, &mut server.out);
    carry(&mut client, &mut server, |all| all);
    assert_eq!(server.connection.unsent_bytes(at_server), 0);
    server
        .connection
        .send(at_server, b"", true, &mut server.out);
    carry(&mut client, &mut server, |all| all);
    assert_eq!(body_of(&client.said, 1), long);
    assert_eq!(client.said.last(), Some(&Said::End(1)));
}

#[test]
fn bytes_that_wait_for_windows_are_counted_until_sent_or_dropped() {
    let settings = Settings {
        stream_window_bytes: 1000,
        ..Settings::default()
    };
    let (mut client, mut server) = pair(settings, Limits::default());
    let block = Block::request("GET", "http", "host", "/");
    for _ in 0..4 {
        request(&mut client, &block, b"");
    }
    let out = client.take_out();
    server.feed(&out);
    for (stream, bytes) in server
        .streams
        .clone()
        .into_iter()
        .zip([2000, 3000, 4000, 5000])
    {
        let response = Block::response(200);
        server
            .connection
            .respond(stream, &response, &vec![7_u8; bytes], true, &mut server.out);
    }
    let waiting = |server: &End<Server>| {
        let connection = &server.connection;
        let all = connection.unsent_bytes_of_all();
        (all, connection.oldest_unsent(), connection.sent_bytes())
    };
    assert_eq!(waiting(&server), (10_000, Some(1), 4000));
    server.feed(&window_update(1, 400));
    assert_eq!(waiting(&server), (9600, Some(1), 4400));
    server.feed(&window_update(1, 600));
    assert_eq!(waiting(&server), (9000, Some(3), 5000));
    let second = server.streams[1];
    server
        .connection
        .reset(second, ErrorCode::CANCEL, &mut server.out);
    assert_eq!(waiting(&server), (7000, Some(5), 5000));
    server.feed(&reset(5, ErrorCode::CANCEL));
    assert_eq!(waiting(&server), (4000, Some(7), 5000));
    server
        .connection
        .give_up(ErrorCode::ENHANCE_YOUR_CALM, &mut server.out);
    assert_eq!(waiting(&server), (0, None, 5000));
    assert_eq!(server.connection.open_count(), 0);
    let why = vec![0, 0, 0, 7, 0, 0, 0, 11];
    assert_eq!(last_frame(&server.out), (GOAWAY, 0, why));
}

#[test]
fn an_early_response_ends_the_request() {
    let settings = Settings {
        stream_window_bytes: 1000,
        ..Settings::default()
    };
    let (mut client, mut server) = pair(settings, Limits::default());
    let block = Block::request("POST", "http", "host", "/");
    request(&mut client, &block, &[7; 5000]);
    let out = client.take_out();
    server.feed(&out);
    let at_server = server.streams[0];
    server
        .connection
        .respond(at_server, &Block::response(413), b"", true, &mut server.out);
    assert_eq!(server.connection.open_count(), 0);
    carry(&mut client, &mut server, |all| all);
    let said = client.take_said();
    assert!(
        matches!(said[..], [Said::Head(1, _), Said::End(1)]),
        "{said:?}"
    );
    assert_eq!(client.connection.open_count(), 0);
    assert_eq!((client.error, server.error), (None, None));
}

#[test]
fn a_server_announces_its_stream_limit() {
    let limits = Limits {
        streams: 2,
        ..Limits::default()
    };
    let mut client = End::client(Settings::default(), Limits::default());
    let mut server = End::server(Settings::default(), limits);
    let block = Block::request("GET", "http", "host", "/");
    // These requests are sent before the limit is known.
    for _ in 0..3 {
        request(&mut client, &block, b"");
    }
    assert!(!client.connection.is_ready());
    carry(&mut client, &mut server, |all| all);
    assert!(client.connection.is_ready());
    let refused = Said::Reset(5, ErrorCode::REFUSED_STREAM, None);
    assert_eq!(client.take_said(), [Said::Settings, refused]);
    assert_eq!(client.connection.can_open(), 0);
    assert!(
        client
            .connection
            .request(&block, b"", &mut client.out)
            .is_none()
    );
    assert!(client.out.is_empty());
}

#[test]
fn a_client_can_give_up() {
    let (mut client, mut server) = usual();
    let block = Block::request("GET", "http", "host", "/");
    let stream = request(&mut client, &block, b"");
    carry(&mut client, &mut server, |all| all);
    client
        .connection
        .reset(stream, ErrorCode::CANCEL, &mut client.out);
    let at_server = server.streams[0];
    // The response and the reset cross in transit.
    server.connection.respond(
        at_server,
        &Block::response(200),
        b"late",
        false,
        &mut server.out,
    );
    carry(&mut client, &mut server, |all| all);
    assert_eq!(client.take_said(), []);
    assert_eq!(
        server.said.last(),
        Some(&Said::Reset(1, ErrorCode::CANCEL, None))
    );
    server
        .connection
        .send(at_server, b"later", true, &mut server.out);
    assert!(server.out.is_empty());
    assert_eq!((client.error, server.error), (None, None));
}

#[test]
fn a_server_can_go_away() {
    let (mut client, mut server) = usual();
    let block = Block::request("GET", "http", "host", "/");
    request(&mut client, &block, b"");
    carry(&mut client, &mut server, |all| all);
    request(&mut client, &block, b"");
    server.connection.go_away(&mut server.out);
    carry(&mut client, &mut server, |all| all);
    let gone = Said::GoAway(1, ErrorCode::NO_ERROR);
    let refused = Said::Reset(3, ErrorCode::REFUSED_STREAM, None);
    assert_eq!(client.take_said(), [gone, refused]);
    assert!(client.connection.is_closing());
    assert_eq!(client.connection.can_open(), 0);
    let at_server = server.streams[0];
    server
        .connection
        .respond(at_server, &Block::response(200), b"", true, &mut server.out);
    carry(&mut client, &mut server, |all| all);
    assert_eq!(client.said.last(), Some(&Said::End(1)));
    assert_eq!(server.streams.len(), 1);
}

#[test]
fn interim_responses_come_before_the_final_one() {
    let (mut client, mut server) = usual();
    request(
        &mut client,
        &Block::request("GET", "http", "host", "/"),
        b"",
    );
    carry(&mut client, &mut server, |all| all);
    let at_server = server.streams[0];
    server
        .connection
        .inform(at_server, &Block::response(103), &mut server.out);
    server
        .connection
        .respond(at_server, &Block::response(200), b"", true, &mut server.out);
    carry(&mut client, &mut server, |all| all);
    let said = client.take_said();
    assert!(
        matches!(
            said[..],
            [Said::Informational(1, 103), Said::Head(1, _), Said::End(1)]
        ),
        "{said:?}"
    );
}

#[test]
fn responses_to_head_have_a_length_and_no_body() {
    let (mut client, mut server) = usual();
    request(
        &mut client,
        &Block::request("HEAD", "http", "host", "/"),
        b"",
    );
    carry(&mut client, &mut server, |all| all);
    let mut block = Block::response(200);
    block.field("content-length", b"100");
    server
        .connection
        .respond(server.streams[0], &block, b"", true, &mut server.out);
    carry(&mut client, &mut server, |all| all);
    assert_eq!(client.said.last(), Some(&Said::End(1)));
}

#[test]
fn long_blocks_are_continued() {
    let limits = Limits {
        block_bytes: 1 << 20,
        list_bytes: 1 << 20,
        ..Limits::default()
    };
    let (mut client, mut server) = pair(Settings::default(), limits);
    let mut block = Block::request("GET", "http", "host", "/");
    block.field("long", &[b'\\'; 100_000]).field("last", b"1");
    request(&mut client, &block, b"");
    carry(&mut client, &mut server, |all| all);
    let said = server.take_said();
    let [Said::Head(1, head), Said::End(1)] = &said[..] else {
        panic!("{:?}", server.error);
    };
    assert_eq!(head.fields[0].1.len(), 100_000);
    assert_eq!(head.fields[1].1, b"1");
}

/// A decoder that lowered its table size requires the encoder to confirm the new size.
#[test]
fn a_lowered_table_is_confirmed() {
    let settings = Settings {
        header_table_bytes: 0,
        ..Settings::default()
    };
    let (mut client, mut server) = pair(settings, Limits::default());
    for _ in 0..2 {
        request(
            &mut client,
            &Block::request("GET", "http", "host", "/"),
            b"",
        );
    }
    carry(&mut client, &mut server, |all| all);
    assert_eq!((server.error, server.streams.len()), (None, 2));
    server.connection.respond(
        server.streams[1],
        &Block::response(200),
        b"",
        true,
        &mut server.out,
    );
    carry(&mut client, &mut server, |all| all);
    assert_eq!(client.error, None);
}
