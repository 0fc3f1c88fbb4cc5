//! Two clients: one sends vectors, and the other (the neighbor) sends ordinary requests.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::vector::position;

/// A connection that receives nothing for this long is considered hung. The time is longer than the
/// client timeouts that the batteries configure.
const HANGS_AFTER: Duration = Duration::from_secs(8);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Whole,
    /// In a few pieces.
    Cut,
    Bytes,
}

/// The gateway's responses to a vector.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The final responses: in the order of arrival over HTTP/1.1, in any order over HTTP/2.
    pub responses: Vec<Response>,
    /// Over HTTP/1.1, true if the gateway closed the connection without a response. Over HTTP/2,
    /// true if it closed the connection before both streams ended, reset a stream, or sent GOAWAY
    /// with an error.
    pub is_cut: bool,
    pub hangs: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// The target of the request, as the origin reports it.
    pub target: Option<String>,
}

pub fn connect(address: SocketAddr) -> Option<TcpStream> {
    let stream = TcpStream::connect(address).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(HANGS_AFTER)).ok()?;
    stream.set_write_timeout(Some(HANGS_AFTER)).ok()?;
    Some(stream)
}

/// Sends a vector. The gateway may close the connection before it has received the whole vector.
pub fn send(stream: &mut TcpStream, bytes: &[u8], manner: Manner, seed: usize) {
    let mut rest = bytes;
    for cut in cuts(bytes.len(), manner, seed) {
        let (piece, others) = rest.split_at(cut);
        if stream.write_all(piece).is_err() {
            return;
        }
        rest = others;
        // The pause is usually long enough for the gateway to read the pieces separately.
        std::thread::sleep(Duration::from_micros(200));
    }
    let _ = stream.write_all(rest);
}

/// Returns the lengths of all pieces except the last one.
fn cuts(length: usize, manner: Manner, seed: usize) -> Vec<usize> {
    match manner {
        Manner::Whole => Vec::new(),
        Manner::Bytes => vec![1; length.saturating_sub(1)],
        Manner::Cut => {
            // The generator from Numerical Recipes. Any generator would do, as long as every run
            // gets the same numbers.
            let mut state = seed as u32;
            let mut left = length;
            let mut pieces = Vec::new();
            while pieces.len() < 4 && left > 1 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let piece = 1 + (state >> 8) as usize % (left - 1).min(length / 2 + 1);
                pieces.push(piece);
                left -= piece;
            }
            pieces
        }
    }
}

/// Reads until the gateway closes the connection; returns false if a read times out first.
pub fn rest(stream: &mut TcpStream, said: &mut Vec<u8>) -> bool {
    let mut piece = [0; 16 * 1024];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return true,
            Ok(length) => said.extend_from_slice(&piece[..length]),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::TimedOut => return false,
                _ => return true,
            },
        }
    }
}

pub fn hear(stream: &mut TcpStream) -> Heard {
    let mut said = Vec::new();
    let has_ended = rest(stream, &mut said);
    let responses = responses(&said);
    Heard {
        is_cut: responses.is_empty() && has_ended,
        responses,
        hangs: !has_ended,
    }
}

/// Splits consecutive responses. Bytes that are not a response become a response with status 0.
fn responses(said: &[u8]) -> Vec<Response> {
    let mut responses = Vec::new();
    let mut rest = said;
    while !rest.is_empty() {
        let end = position(rest, b"\r\n\r\n");
        let head = String::from_utf8_lossy(&rest[..end.unwrap_or(rest.len())]).into_owned();
        let line = head.strip_prefix("HTTP/1.1 ");
        let status: Option<u16> = line.and_then(|line| line.get(..3)?.parse().ok());
        let (Some(end), Some(status)) = (end, status) else {
            responses.push(Response::default());
            return responses;
        };
        rest = &rest[end + 4..];
        if status < 200 {
            continue;
        }
        let field = |name: &str| {
            let mut lines = head.lines();
            lines.find_map(|line| line.strip_prefix(name).map(str::to_owned))
        };
        if status != 204 {
            let length = field("Content-Length: ");
            let length: Option<usize> = length.and_then(|length| length.parse().ok());
            rest = rest.get(length.unwrap_or(0)..).unwrap_or_default();
        }
        let target = field("T: ");
        responses.push(Response { status, target });
    }
    responses
}

/// Another client, which sends only valid requests and keeps its connection open.
pub struct Neighbor {
    address: SocketAddr,
    stream: Option<TcpStream>,
    pub longest_delay: Duration,
    pub complaints: Vec<String>,
}

impl Neighbor {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            stream: None,
            longest_delay: Duration::ZERO,
            complaints: Vec::new(),
        }
    }

    /// Sends an ordinary request, and records its duration if it is the longest so far.
    pub fn ask(&mut self) {
        let begun = Instant::now();
        if let Err(said) = self.try_ask() {
            self.complaints
                .push(format!("the neighbor received {said:?}"));
            self.stream = None;
        }
        self.longest_delay = self.longest_delay.max(begun.elapsed());
    }

    fn try_ask(&mut self) -> Result<(), String> {
        if self.stream.is_none() {
            self.stream = connect(self.address);
        }
        let stream = self.stream.as_mut().ok_or("no connection")?;
        let request = b"GET /neighbor HTTP/1.1\r\nHost: h\r\n\r\n";
        stream
            .write_all(request)
            .map_err(|error| error.to_string())?;
        let mut said = Vec::new();
        let mut piece = [0; 4096];
        while position(&said, b"\r\n\r\n").is_none() {
            match stream.read(&mut piece) {
                Ok(length @ 1..) => said.extend_from_slice(&piece[..length]),
                Ok(0) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        let said = String::from_utf8_lossy(&said).into_owned();
        let is_right = said.starts_with("HTTP/1.1 204 ")
            && said.contains("\r\nT: /neighbor\r\n")
            && said.ends_with("\r\n\r\n");
        if is_right { Ok(()) } else { Err(said) }
    }
}
