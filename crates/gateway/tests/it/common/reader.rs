//! A handwritten HTTP/2 client whose streams receive no body bytes until a test opens their
//! windows.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;

const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The maximum length of a frame's payload, in bytes.
const FRAME_BYTES: usize = 16_384;

/// The time limit for expected bytes.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Reader {
    socket: TcpStream,
    input: Vec<u8>,
    /// The total number of bytes that the gateway may send on each stream.
    allowed: BTreeMap<u32, usize>,
    /// The number of bytes received of each body, for responses that have begun.
    pub bodies: BTreeMap<u32, usize>,
    /// Streams whose response is complete.
    pub whole: BTreeSet<u32>,
    pub reset: BTreeSet<u32>,
    /// The error code of GOAWAY, if it was received.
    pub go_away: Option<u32>,
    pub is_closed: bool,
}

impl Reader {
    pub fn open(address: SocketAddr) -> Self {
        let mut socket = TcpStream::connect(address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        socket
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        let mut reader = Self {
            socket,
            input: Vec::new(),
            allowed: BTreeMap::new(),
            bodies: BTreeMap::new(),
            whole: BTreeSet::new(),
            reset: BTreeSet::new(),
            go_away: None,
            is_closed: false,
        };
        // Allows no bytes on a stream, and 1 GiB more on the connection.
        reader.frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
        reader.widen(0, 1 << 30);
        reader
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let bytes = frame_bytes(kind, flags, stream, payload);
        self.socket.write_all(&bytes).unwrap();
    }

    /// Allows the gateway to send this many more bytes on a stream, or on the connection if
    /// `stream` is 0.
    pub fn widen(&mut self, stream: u32, bytes: u32) {
        *self.allowed.entry(stream).or_default() += bytes as usize;
        self.frame(WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes());
    }

    pub fn get(&mut self, stream: u32, path: &str) {
        self.get_all(stream, 1, path);
    }

    /// Begins a request whose body of one byte follows; `has_length` adds a content-length.
    pub fn post(&mut self, stream: u32, path: &str, has_length: bool) {
        // POST and http are entries of the static table; the other fields take only their names
        // from it.
        let mut block = vec![0x83, 0x86, 0x01, 1, b'h', 0x04, path.len() as u8];
        block.extend_from_slice(path.as_bytes());
        if has_length {
            // `content-length` is entry 28 of the static table.
            block.extend_from_slice(&[0x0f, 0x0d, 1, b'1']);
        }
        self.frame(HEADERS, END_HEADERS, stream, &block);
    }

    /// Begins a request whose body is JSON of unknown length.
    pub fn post_json(&mut self, stream: u32, path: &str) {
        const JSON: &[u8] = b"application/json";
        let mut block = vec![0x83, 0x86, 0x01, 1, b'h', 0x04, path.len() as u8];
        block.extend_from_slice(path.as_bytes());
        // `content-type` is entry 31 of the static table.
        block.extend_from_slice(&[0x0f, 0x10, JSON.len() as u8]);
        block.extend_from_slice(JSON);
        self.frame(HEADERS, END_HEADERS, stream, &block);
    }

    pub fn send(&mut self, stream: u32, body: &[u8], is_last: bool) {
        let (last, parts) = match body.chunks(FRAME_BYTES).collect::<Vec<_>>() {
            mut parts if is_last => (parts.pop(), parts),
            parts => (None, parts),
        };
        for part in parts {
            self.frame(DATA, 0, stream, part);
        }
        if let Some(last) = last {
            self.frame(DATA, END_STREAM, stream, last);
        }
    }

    /// Sends the body of a request that [`Self::post`] began.
    pub fn end(&mut self, stream: u32) {
        self.frame(DATA, END_STREAM, stream, b"x");
    }

    /// Sends requests on this many new streams, beginning with `first`, in one write. With pauses
    /// between them, the first responses could use up the room for the last requests.
    pub fn get_all(&mut self, first: u32, count: u32, path: &str) {
        // GET and http are entries of the static table; the other fields take only their names from
        // it.
        let mut block = vec![0x82, 0x86, 0x01, 1, b'h', 0x04, path.len() as u8];
        block.extend_from_slice(path.as_bytes());
        let streams = (0..count).map(|number| first + 2 * number);
        let frame = |stream| frame_bytes(HEADERS, END_STREAM | END_HEADERS, stream, &block);
        let frames: Vec<u8> = streams.flat_map(frame).collect();
        self.socket.write_all(&frames).unwrap();
    }

    /// Reads bytes and processes complete frames; returns false if the gateway closes the
    /// connection or nothing arrives for 100 ms.
    pub fn hear(&mut self) -> bool {
        let mut bytes = [0; 65_536];
        match self.socket.read(&mut bytes) {
            Ok(0) => self.is_closed = true,
            Ok(length) => {
                self.input.extend_from_slice(&bytes[..length]);
                self.take_frames();
                return true;
            }
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => return true,
                ErrorKind::WouldBlock | ErrorKind::TimedOut => {}
                _ => self.is_closed = true,
            },
        }
        false
    }

    fn take_frames(&mut self) {
        let input = std::mem::take(&mut self.input);
        let mut rest = &input[..];
        while let Some((head, after)) = rest.split_first_chunk::<9>() {
            let [l0, l1, l2, kind, flags, id @ ..] = *head;
            let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
            let Some((payload, after)) = after.split_at_checked(length) else {
                break;
            };
            self.take(kind, flags, u32::from_be_bytes(id), payload);
            rest = after;
        }
        self.input = rest.to_vec();
    }

    fn take(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        match kind {
            SETTINGS if flags & ACK == 0 => self.frame(SETTINGS, ACK, 0, b""),
            RST_STREAM => {
                self.reset.insert(stream);
            }
            GOAWAY => {
                let code = payload.get(4..8).and_then(|code| code.first_chunk());
                self.go_away = code.map(|code| u32::from_be_bytes(*code));
            }
            HEADERS => {
                self.bodies.entry(stream).or_default();
            }
            DATA => *self.bodies.entry(stream).or_default() += payload.len(),
            _ => {}
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            self.whole.insert(stream);
        }
    }

    pub fn until(&mut self, enough: impl Fn(&Self) -> bool) {
        let begun = Instant::now();
        while !enough(self) {
            let count = self.bodies.len();
            assert!(begun.elapsed() < PATIENCE, "{count} responses have begun");
            self.hear();
        }
    }

    /// Reads until nothing has arrived for a second.
    pub fn until_silent(&mut self) {
        let mut silences = 0;
        while silences < 10 {
            silences = if self.hear() { 0 } else { silences + 1 };
        }
    }

    /// Reads this many bytes at a time from each response that has begun, until `count` responses
    /// are complete.
    pub fn read_slowly(&mut self, count: usize, bytes: u32) {
        let begun = Instant::now();
        while self.whole.len() < count {
            let whole = self.whole.len();
            assert!(begun.elapsed() < PATIENCE, "{whole} responses are complete");
            let is_open = |(stream, length): (&u32, &usize)| {
                let allowed = self.allowed.get(stream).copied().unwrap_or_default();
                let is_due = !self.whole.contains(stream) && *length >= allowed;
                is_due.then_some(*stream)
            };
            let open: Vec<u32> = self.bodies.iter().filter_map(is_open).collect();
            for stream in open {
                self.widen(stream, bytes);
            }
            self.hear();
            let end = (self.go_away, self.is_closed, self.reset.len());
            assert_eq!(end, (None, false, 0), "{whole} responses are complete");
        }
    }
}

fn frame_bytes(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head[..], payload].concat()
}
