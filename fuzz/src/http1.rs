//! HTTP/1.1: however the bytes are split, the events must be the same.

use gatebench_net::http1::{Decoder, Event, Limits, ProtocolError};

use crate::cuts::Directions;

/// Limits small enough that inputs reach them.
const TIGHT: Limits = Limits {
    head_bytes: 96,
    fields: 4,
    body_bytes: 40,
    chunk_line_bytes: 8,
    trailer_bytes: 16,
    informational: 2,
};

/// An event that owns its data; pieces of one body are joined.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Informational(u16),
    Head(String),
    Body(Vec<u8>),
    End,
}

#[derive(Debug, PartialEq, Eq)]
struct Told {
    said: Vec<Said>,
    error: Option<ProtocolError>,
    at_close: Result<bool, ProtocolError>,
    keeps_alive: bool,
}

/// Parses bytes as the input of a client. The choices are: 0, the client has sent a HEAD request;
/// 1, the limits are tight.
pub fn responses(data: &[u8]) {
    differ(data, |directions| {
        let mut decoder = Decoder::responses(limits(directions));
        decoder.expect(directions.flag(0));
        decoder
    });
}

/// Parses bytes as the input of a server. Choice 1 makes the limits tight.
pub fn requests(data: &[u8]) {
    differ(data, |directions| Decoder::requests(limits(directions)));
}

/// Parses bytes as a chunked body after a valid head, so that the fuzzer need not find one. The
/// decoded body must not be larger than the bytes received.
pub fn chunked(data: &[u8]) {
    let Some((directions, body)) = Directions::take(data) else {
        return;
    };
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let bytes = [&head[..], body].concat();
    let decoder = || Decoder::responses(limits(&directions));
    let whole = read_all(decoder(), &[&bytes]);
    let cut = read_all(decoder(), &directions.cut(&bytes));
    assert_eq!(whole, cut);
    let decoded = whole.said.iter().map(|it| match it {
        Said::Body(bytes) => bytes.len(),
        _ => 0,
    });
    assert!(decoded.sum::<usize>() <= body.len());
}

fn limits(directions: &Directions) -> Limits {
    if directions.flag(1) {
        TIGHT
    } else {
        Limits::default()
    }
}

fn differ(data: &[u8], decoder: impl Fn(&Directions) -> Decoder) {
    let Some((directions, bytes)) = Directions::take(data) else {
        return;
    };
    let whole = read_all(decoder(&directions), &[bytes]);
    assert_eq!(
        whole,
        read_all(decoder(&directions), &directions.cut(bytes))
    );
    let each: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(whole, read_all(decoder(&directions), &each));
}

fn read_all(mut decoder: Decoder, pieces: &[&[u8]]) -> Told {
    let mut said = Vec::new();
    let mut error = None;
    for piece in pieces {
        if let Err(found) = feed(&mut decoder, piece, &mut said) {
            error = Some(found);
            break;
        }
    }
    Told {
        said,
        error,
        at_close: decoder.end_of_stream(),
        keeps_alive: decoder.keep_alive(),
    }
}

fn feed(
    decoder: &mut Decoder,
    mut input: &[u8],
    said: &mut Vec<Said>,
) -> Result<(), ProtocolError> {
    while let Some(event) = decoder.next(&mut input)? {
        match event {
            Event::Informational(status) => said.push(Said::Informational(status)),
            Event::Head(head) => said.push(Said::Head(format!("{head:?}"))),
            Event::Body(bytes) => {
                assert!(!bytes.is_empty());
                match said.last_mut() {
                    Some(Said::Body(body)) => body.extend_from_slice(bytes),
                    _ => said.push(Said::Body(bytes.to_vec())),
                }
            }
            Event::End => said.push(Said::End),
        }
    }
    assert!(input.is_empty(), "None means that the input was consumed");
    Ok(())
}
