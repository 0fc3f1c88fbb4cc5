//! HTTP/2: however the bytes are split, a connection must report the same events and send the same
//! bytes. A client must not send more bytes than its requests and the received bytes can cause.

use gatebench_net::http2::{
    Block, Client, Event, Limits, ProtocolError, Server, Settings, StreamId,
};

use crate::cuts::Directions;

/// Limits small enough that inputs reach them.
const TIGHT: Limits = Limits {
    streams: 4,
    block_bytes: 256,
    continuations: 2,
    list_bytes: 512,
    informational: 1,
    idle_frames: 20,
    empty_data: 2,
    resets: 3,
};

/// An upper bound on the number of bytes that a client sends for each received byte: a frame has at
/// least 9 bytes, and the frame sent in response has at most 17. Bodies that a larger window
/// releases are counted as `asked`.
const ANSWER_FACTOR: usize = 3;

/// Parses bytes as the input of a client with requests in flight. The choices are: 0, the server's
/// settings have already arrived; 1, the limits are tight; 2, the bodies of two requests are longer
/// than a window.
pub fn client(data: &[u8]) {
    let Some((directions, bytes)) = Directions::take(data) else {
        return;
    };
    let whole = client_told(&directions, &[bytes]);
    let cut = client_told(&directions, &directions.cut(bytes));
    assert_eq!(whole, cut);
    assert!(whole.out.len() <= whole.asked + ANSWER_FACTOR * bytes.len() + 100);
}

/// Parses bytes as the input of a server. The choices are: 0, the preface and settings have already
/// arrived; 1, the limits are tight; 2, each request gets a response when it ends.
pub fn server(data: &[u8]) {
    let Some((directions, bytes)) = Directions::take(data) else {
        return;
    };
    let whole = server_told(&directions, &[bytes]);
    assert_eq!(whole, server_told(&directions, &directions.cut(bytes)));
}

#[derive(Debug, PartialEq, Eq)]
struct Told {
    /// The events, with the pieces of one body joined.
    said: Vec<String>,
    error: Option<ProtocolError>,
    out: Vec<u8>,
    /// The number of bytes that a client's requests could cause it to send; 0 for a server.
    asked: usize,
}

fn limits(directions: &Directions) -> Limits {
    if directions.flag(1) {
        TIGHT
    } else {
        Limits::default()
    }
}

fn client_told(directions: &Directions, pieces: &[&[u8]]) -> Told {
    let mut client = Client::new(Settings::default(), limits(directions));
    let mut out = Vec::new();
    client.preface(&mut out);
    let mut log = Log::default();
    if directions.flag(0) {
        let mut settings = &[0, 0, 0, 4, 0, 0, 0, 0, 0][..];
        while let Ok(Some(event)) = client.next(&mut settings, &mut out) {
            log.note(Some(event));
        }
    }
    let body = vec![b'x'; if directions.flag(2) { 70_000 } else { 20 }];
    let mut asked = out.len();
    for method in ["GET", "HEAD", "POST", "PUT"] {
        let block = Block::request(method, "http", "host", "/");
        let has_body = matches!(method, "POST" | "PUT");
        let body = if has_body { &body[..] } else { b"" };
        if client.request(&block, body, &mut out).is_some() {
            asked += 200 + body.len() + body.len() / 100;
        }
    }
    let error = log.feed_all(pieces, |input, log| {
        let event = client.next(input, &mut out)?;
        let is_over = event.is_none();
        log.note(event);
        Ok(is_over)
    });
    assert!(client.open_count() <= 4);
    Told {
        said: log.finish(),
        error,
        out,
        asked,
    }
}

fn server_told(directions: &Directions, pieces: &[&[u8]]) -> Told {
    let mut server = Server::new(Settings::default(), limits(directions));
    let mut out = Vec::new();
    server.preface(&mut out);
    let mut log = Log::default();
    let greeting = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let mut all: Vec<&[u8]> = Vec::new();
    if directions.flag(0) {
        all.push(greeting);
    }
    all.extend(pieces);
    let response = Block::response(200);
    let mut ended: Option<StreamId> = None;
    let error = log.feed_all(&all, |input, log| {
        if let Some(stream) = ended.take() {
            server.respond(stream, &response, b"answer", true, &mut out);
        }
        let event = server.next(input, &mut out)?;
        if directions.flag(2)
            && let Some(Event::End { stream }) = event
        {
            ended = Some(stream);
        }
        let is_over = event.is_none();
        log.note(event);
        Ok(is_over)
    });
    Told {
        said: log.finish(),
        error,
        out,
        asked: 0,
    }
}

#[derive(Default)]
struct Log {
    said: Vec<String>,
    body: Option<(StreamId, Vec<u8>)>,
}

impl Log {
    fn feed_all(
        &mut self,
        pieces: &[&[u8]],
        mut next: impl FnMut(&mut &[u8], &mut Self) -> Result<bool, ProtocolError>,
    ) -> Option<ProtocolError> {
        let mut fed = pieces.iter().map(|piece| self.feed(piece, &mut next));
        fed.find_map(Result::err)
    }

    fn feed(
        &mut self,
        mut input: &[u8],
        mut next: impl FnMut(&mut &[u8], &mut Self) -> Result<bool, ProtocolError>,
    ) -> Result<(), ProtocolError> {
        while !next(&mut input, self)? {}
        assert!(input.is_empty(), "None means that the input was consumed");
        Ok(())
    }

    fn note(&mut self, event: Option<Event<'_>>) {
        let Some(event) = event else { return };
        if let Event::Body { stream, bytes } = event {
            assert!(!bytes.is_empty());
            match &mut self.body {
                Some((last, body)) if *last == stream => body.extend_from_slice(bytes),
                _ => {
                    self.end_body();
                    self.body = Some((stream, bytes.to_vec()));
                }
            }
            return;
        }
        self.end_body();
        self.said.push(format!("{event:?}"));
    }

    fn end_body(&mut self) {
        if let Some((stream, body)) = self.body.take() {
            self.said.push(format!("{stream:?} {body:?}"));
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.end_body();
        self.said
    }
}
