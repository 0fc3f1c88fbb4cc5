//! Floods of connections, of slowly arriving bytes, of requests, and of endless parts of requests.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::{End, Ends, Flood, all_end, open, poured};

const fn flood(
    name: &'static str,
    attack: fn(SocketAddr) -> Result<End, String>,
    ends: Ends,
) -> Flood {
    Flood { name, attack, ends }
}

pub(super) const FLOODS: &[Flood] = &[
    flood("heads a byte at a time", slow_heads, Ends::Cut),
    flood("bodies a byte at a time", slow_bodies, Ends::Cut),
    flood("responses that no client reads", slow_readers, Ends::Cut),
    flood("2,000 requests at once", pipelined, Ends::Served),
    flood(
        "requests whose responses no client reads",
        unread,
        Ends::Cut,
    ),
    flood("silent connections", silent, Ends::Cut),
    flood("connections that come and go", fleeting, Ends::Served),
    flood("empty lines", empty_lines, Ends::Either),
    flood("chunks of one byte", small_chunks, Ends::Either),
    flood("an endless chunk extension", long_extension, Ends::Cut),
    flood("endless trailers", long_trailers, Ends::Cut),
    flood("50,000 fields", many_fields, Ends::Cut),
    flood("an endless field", long_field, Ends::Cut),
    flood("an endless target", long_target, Ends::Cut),
];

/// Sends the byte on every connection at intervals, until all connections have ended. Fails if this
/// takes more than 5 s.
fn dripped(mut streams: Vec<TcpStream>, byte: u8) -> Result<End, String> {
    let begun = Instant::now();
    let mut open = Vec::new();
    while !streams.is_empty() {
        if begun.elapsed() > Duration::from_secs(5) {
            return Err(format!("{} connections are still open", streams.len()));
        }
        for mut stream in streams.drain(..) {
            stream
                .set_nonblocking(true)
                .map_err(|error| error.to_string())?;
            // True once the gateway has sent bytes or closed the connection.
            let has_ended = stream.peek(&mut [0]).is_ok();
            if !has_ended && stream.write_all(&[byte]).is_ok() {
                open.push(stream);
            }
        }
        std::mem::swap(&mut streams, &mut open);
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(End::Cut)
}

fn begun(address: SocketAddr, count: usize, bytes: &[u8]) -> Result<Vec<TcpStream>, String> {
    let connection = |_: usize| -> Result<TcpStream, String> {
        let mut stream = open(address)?;
        stream.write_all(bytes).map_err(|error| error.to_string())?;
        Ok(stream)
    };
    (0..count).map(connection).collect()
}

fn slow_heads(address: SocketAddr) -> Result<End, String> {
    let head = b"GET /mock HTTP/1.1\r\nHost: h\r\nX: ";
    dripped(begun(address, 200, head)?, b'x')
}

fn slow_bodies(address: SocketAddr) -> Result<End, String> {
    let head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n";
    dripped(begun(address, 100, head)?, b'x')
}

fn slow_readers(address: SocketAddr) -> Result<End, String> {
    let streams = begun(address, 30, b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")?;
    // Longer than the gateway waits for a client that does not read.
    std::thread::sleep(Duration::from_millis(800));
    all_end(streams)
}

fn pipelined(address: SocketAddr) -> Result<End, String> {
    const COUNT: usize = 2000;
    let mut stream = open(address)?;
    let requests = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(COUNT - 1);
    let last = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    let (said, _) = poured(&mut stream, &[requests.as_slice(), last].concat());
    let said = String::from_utf8_lossy(&said);
    match said.matches("HTTP/1.1 204 ").count() {
        COUNT => Ok(End::Served),
        count => Err(format!("{count} of {COUNT} requests got responses")),
    }
}

fn unread(address: SocketAddr) -> Result<End, String> {
    let mut stream = open(address)?;
    let short = Some(Duration::from_millis(800));
    stream
        .set_write_timeout(short)
        .map_err(|error| error.to_string())?;
    let requests = b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n".repeat(2000);
    // The client reads no responses, so the gateway eventually stops reading requests.
    for _ in 0..200 {
        if stream.write_all(&requests).is_err() {
            break;
        }
    }
    std::thread::sleep(Duration::from_millis(800));
    all_end(vec![stream])
}

fn silent(address: SocketAddr) -> Result<End, String> {
    all_end(begun(address, 400, b"")?)
}

fn fleeting(address: SocketAddr) -> Result<End, String> {
    for number in 0..1000 {
        let bytes: &[u8] = if number % 2 == 0 { b"" } else { b"GET / HT" };
        drop(begun(address, 1, bytes)?);
    }
    Ok(End::Served)
}

/// Sends a request that must get 204, a 4xx error or no response, after which the connection must
/// end.
fn asked(address: SocketAddr, request: &[u8]) -> Result<End, String> {
    let mut stream = open(address)?;
    let (said, has_ended) = poured(&mut stream, request);
    if !has_ended {
        return Err("the connection stays open".into());
    }
    let served = said.starts_with(b"HTTP/1.1 204 ");
    let refused = said.is_empty() || said.starts_with(b"HTTP/1.1 4");
    match (served, refused) {
        (true, _) => Ok(End::Served),
        (_, true) => Ok(End::Cut),
        _ => {
            let first = &said[..said.len().min(80)];
            Err(format!("the gateway sent {}", first.escape_ascii()))
        }
    }
}

fn empty_lines(address: SocketAddr) -> Result<End, String> {
    let lines = b"\r\n".repeat(500_000);
    let last = b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    asked(address, &[lines.as_slice(), last].concat())
}

const CHUNKED: &[u8] =
    b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";

fn small_chunks(address: SocketAddr) -> Result<End, String> {
    let chunks = b"1\r\nx\r\n".repeat(5_000);
    asked(address, &[CHUNKED, &chunks, b"0\r\n\r\n"].concat())
}

fn long_extension(address: SocketAddr) -> Result<End, String> {
    asked(address, &[CHUNKED, b"1;", &b"x".repeat(4 << 20)].concat())
}

fn long_trailers(address: SocketAddr) -> Result<End, String> {
    let trailers = b"X: y\r\n".repeat(500_000);
    asked(address, &[CHUNKED, b"1\r\nx\r\n0\r\n", &trailers].concat())
}

const BEGUN: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n";

fn many_fields(address: SocketAddr) -> Result<End, String> {
    let fields = b"X: y\r\n".repeat(50_000);
    asked(address, &[BEGUN, &fields, b"\r\n"].concat())
}

fn long_field(address: SocketAddr) -> Result<End, String> {
    asked(address, &[BEGUN, b"X: ", &b"y".repeat(4 << 20)].concat())
}

fn long_target(address: SocketAddr) -> Result<End, String> {
    asked(address, &[&b"GET /"[..], &b"x".repeat(4 << 20)].concat())
}
