//! HPACK: header blocks as received by a server, whole and split into CONTINUATION frames.

use gatebench_net::http2::{Block, Event, Limits, ProtocolError, Server, Settings};

use crate::cuts::Directions;

/// Longer blocks are cut to this size, because they would not fit into one frame.
const BLOCK_BYTES_MAX: usize = 16_000;

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// First parses the bytes as the header blocks of consecutive streams on one connection, so that
/// the blocks share its dynamic table. The events must be the same whether the blocks are whole or
/// split. Then parses the bytes as fields, which encoding and decoding must not change.
pub fn blocks(data: &[u8]) {
    let Some((directions, bytes)) = Directions::take(data) else {
        return;
    };
    let blocks: Vec<&[u8]> = directions.cut(bytes);
    let whole = read(&blocks, usize::MAX);
    for at in [1, 3] {
        assert_eq!(
            whole,
            read(&blocks, at),
            "the first frame has {at} bytes of the block"
        );
    }
    come_back(bytes, directions.flag(0));
}

/// Returns the events of a server that reads up to 200 blocks, and the error that ended the
/// connection, if any. The first frame of each block contains at most `first` bytes of the block.
fn read(blocks: &[&[u8]], first: usize) -> (Vec<String>, Option<ProtocolError>) {
    let mut server = greeted();
    let (mut said, mut out) = (Vec::new(), Vec::new());
    for (number, block) in blocks.iter().take(200).enumerate() {
        let block = &block[..block.len().min(BLOCK_BYTES_MAX)];
        let frames = frames(2 * number as u32 + 1, block, first);
        let mut input = &frames[..];
        loop {
            match server.next(&mut input, &mut out) {
                Ok(None) => break,
                Ok(Some(event)) => said.push(format!("{event:?}")),
                Err(error) => return (said, Some(error)),
            }
        }
    }
    (said, None)
}

/// Parses the bytes as alternating names and values, each a length followed by its bytes, and
/// checks that the fields are the same after encoding and decoding.
fn come_back(mut bytes: &[u8], huffman: bool) {
    let mut take = || {
        let (length, rest) = bytes.split_first()?;
        let (piece, rest) = rest.split_at(usize::from(*length % 40).min(rest.len()));
        bytes = rest;
        Some(piece)
    };
    let mut block = Block::request("GET", "http", "host", "/");
    block.huffman(huffman);
    let mut fields = Fields::new();
    while let (Some(name), Some(value)) = (take(), take()) {
        let letters = name.iter().map(|it| char::from(b'a' + it % 26));
        let name = format!("x-{}", letters.collect::<String>());
        let printable: Vec<u8> = value.iter().map(|it| b'!' + it % 90).collect();
        block.field(&name, &printable);
        fields.push((name.into_bytes(), printable));
    }
    fields.truncate(100);
    if fields.len() == 100 {
        return;
    }
    let mut client = gatebench_net::http2::Client::new(Settings::default(), Limits::default());
    let mut frames = Vec::new();
    assert!(client.request(&block, b"", &mut frames).is_some());
    let mut server = greeted();
    let (mut input, mut out) = (&frames[..], Vec::new());
    let event = server.next(&mut input, &mut out);
    let Ok(Some(Event::Head { head, .. })) = event else {
        panic!("{event:?} of {fields:?}");
    };
    let own = head
        .fields()
        .map(|it| (it.name.as_bytes().to_vec(), it.value.to_vec()));
    assert_eq!(own.collect::<Fields>(), fields);
}

fn greeted() -> Server {
    let mut server = Server::new(Settings::default(), Limits::default());
    let mut out = Vec::new();
    let mut greeting = &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"[..];
    while let Ok(Some(_)) = server.next(&mut greeting, &mut out) {}
    server
}

/// Returns HEADERS with END_STREAM, and a CONTINUATION if the block is longer than `first` bytes.
fn frames(stream: u32, block: &[u8], first: usize) -> Vec<u8> {
    const HEADERS: u8 = 1;
    const CONTINUATION: u8 = 9;
    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;
    let (head, rest) = block.split_at(first.min(block.len()));
    let mut out = Vec::new();
    if rest.is_empty() {
        frame(&mut out, HEADERS, END_STREAM | END_HEADERS, stream, head);
    } else {
        frame(&mut out, HEADERS, END_STREAM, stream, head);
        frame(&mut out, CONTINUATION, END_HEADERS, stream, rest);
    }
    out
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}
