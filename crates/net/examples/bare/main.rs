//! Measures the lowest cost of a request, with a client that checks the status of one response in
//! advance, and then only counts bytes. The benchmarks run both this client and the engine. The
//! difference between the two costs is the cost of correct measurement.
//!
//! `bare MODE http://ADDR:PORT/PATH CONNECTIONS SECONDS [BODY_FILE]` prints one line of JSON.
//! Modes: `ring`, the engine's loop (io_uring, multishot receive, a ring of buffers, batched
//! submission) without any work in it; `spin` and `block`, one connection, on which the client
//! waits for each response by polling or by sleeping. These two modes also print percentiles of the
//! round trip. A response is complete when it has the size of the first one.

mod one;
mod ring;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

type Failure = Box<dyn std::error::Error>;

/// The first response counts as complete after this time without further bytes.
const QUIET: Duration = Duration::from_millis(100);

struct Work {
    address: SocketAddr,
    request: Vec<u8>,
    response_bytes: usize,
    connections: usize,
    length: Duration,
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [mode, url, connections, seconds, rest @ ..] = words.as_slice() else {
        return Err(
            "usage: bare ring|spin|block http://ADDR:PORT/PATH CONNECTIONS SECONDS [BODY_FILE]"
                .into(),
        );
    };
    let work = Work::new(url, connections, seconds, rest.first())?;
    let found = match (mode.as_str(), work.connections) {
        ("ring", _) => ring::run(&work)?,
        ("spin", 1) => one::run(&work, true)?,
        ("block", 1) => one::run(&work, false)?,
        ("spin" | "block", _) => return Err("spin and block need exactly one connection".into()),
        _ => return Err(format!("there is no mode '{mode}'; choose ring, spin or block").into()),
    };
    println!(
        "{{\"requests\":{},\"seconds\":{:.6},\"response_bytes\":{}{}}}",
        found.requests, found.seconds, work.response_bytes, found.percentiles
    );
    Ok(())
}

struct Found {
    requests: u64,
    seconds: f64,
    /// JSON fields to append, each after a comma; empty for `ring`.
    percentiles: String,
}

impl Work {
    fn new(
        url: &str,
        connections: &str,
        seconds: &str,
        body: Option<&String>,
    ) -> Result<Self, Failure> {
        let rest = url
            .strip_prefix("http://")
            .ok_or("the URL must begin with http://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut request = match body {
            None => format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes(),
            Some(file) => {
                let body = std::fs::read(file)?;
                let length = body.len();
                let head = format!(
                    "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
                );
                [head.into_bytes(), body].concat()
            }
        };
        request.shrink_to_fit();
        let address = host.parse()?;
        Ok(Self {
            response_bytes: first_response(address, &request)?,
            address,
            request,
            connections: connections.parse()?,
            length: Duration::from_secs_f64(seconds.parse()?),
        })
    }

    fn connect(&self) -> std::io::Result<TcpStream> {
        connect(self.address)
    }
}

fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Returns the size of the response: all bytes that arrive before a pause of [`QUIET`].
fn first_response(address: SocketAddr, request: &[u8]) -> Result<usize, Failure> {
    let mut stream = connect(address)?;
    stream.write_all(request)?;
    let mut response = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => {
                return Err("the server closed the connection instead of keeping it alive".into());
            }
            Ok(bytes) => response.extend_from_slice(&chunk[..bytes]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                break;
            }
            Err(error) => return Err(error.into()),
        }
        stream.set_read_timeout(Some(QUIET))?;
    }
    if response.starts_with(b"HTTP/1.1 200 ") {
        Ok(response.len())
    } else {
        let line = response
            .split(|byte| *byte == b'\r')
            .next()
            .unwrap_or_default();
        Err(format!(
            "the response is not 200, but '{}'",
            String::from_utf8_lossy(line)
        )
        .into())
    }
}
