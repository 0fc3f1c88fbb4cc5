//! Writes HTTP/2 frames and header blocks by hand, so that they can contain deliberate errors, and
//! reads the frames that the gateway sends.

use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;

use crate::client::{Heard, Response};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const ACK: u8 = 0x1;
pub const END_STREAM: u8 = 0x1;
pub const END_HEADERS: u8 = 0x4;
pub const PADDED: u8 = 0x8;
pub const HAS_PRIORITY: u8 = 0x20;

/// The beginning of a connection: the preface and empty settings (RFC 9113 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The stream of a vector's request; the request after it uses [`AFTER_STREAM`].
pub const STREAM: u32 = 1;
pub const AFTER_STREAM: u32 = 3;

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [head.as_slice(), payload].concat()
}

/// Encodes a field as a literal without indexing, with a literal name (RFC 7541 6.2.2).
pub fn field(name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut field = vec![0];
    for text in [name, value] {
        write_length(&mut field, text.len());
        field.extend_from_slice(text);
    }
    field
}

/// Writes the length of a string as an integer with a seven-bit prefix (RFC 7541 5.1). The eighth
/// bit is 0, because the string is not Huffman-coded.
pub fn write_length(out: &mut Vec<u8>, length: usize) {
    if length < 0x7f {
        out.push(length as u8);
        return;
    }
    out.push(0x7f);
    let mut rest = length - 0x7f;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

pub fn block<N: AsRef<[u8]>, V: AsRef<[u8]>>(fields: &[(N, V)]) -> Vec<u8> {
    let written = fields
        .iter()
        .map(|(name, value)| field(name.as_ref(), value.as_ref()));
    written.collect::<Vec<_>>().concat()
}

pub fn request_fields<'a>(method: &'a str, path: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![
        (":method", method),
        (":scheme", "http"),
        (":authority", "h"),
        (":path", path),
    ]
}

pub fn get(stream: u32, path: &str) -> Vec<u8> {
    let block = block(&request_fields("GET", path));
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &block)
}

/// The head of a request whose body follows.
pub fn post(stream: u32, path: &str) -> Vec<u8> {
    let block = block(&request_fields("POST", path));
    frame(HEADERS, END_HEADERS, stream, &block)
}

/// The frames from a server, decoded as far as the tests need.
#[derive(Debug, Default)]
pub struct Said {
    bytes: Vec<u8>,
    /// The statuses of final responses, by stream.
    pub statuses: HashMap<u32, u16>,
    /// The streams that have ended; `resets` counts those that were reset with an error.
    pub over: Vec<u32>,
    pub resets: usize,
    /// The error code of GOAWAY, if it was received.
    pub go_away: Option<u32>,
    pub pongs: Vec<Vec<u8>>,
}

impl Said {
    pub fn take(&mut self, received: &[u8]) {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.extend_from_slice(received);
        let mut rest = bytes.as_slice();
        while let Some((frame, after)) = first_frame(rest) {
            self.note(frame);
            rest = after;
        }
        self.bytes = rest.to_vec();
    }

    /// Reports whether nothing more will arrive on the streams of a vector.
    fn is_over(&self) -> bool {
        [STREAM, AFTER_STREAM]
            .iter()
            .all(|it| self.over.contains(it))
    }

    fn note(&mut self, frame: Frame<'_>) {
        let Frame {
            kind,
            flags,
            stream,
            payload,
        } = frame;
        let code = |at: usize| {
            let bytes = payload.get(at..at + 4).and_then(|it| it.first_chunk());
            bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
        };
        match kind {
            HEADERS => {
                let status = status(payload);
                if status >= 200 || status == 0 {
                    self.statuses.insert(stream, status);
                }
            }
            RST_STREAM => {
                // Code 0 is not an error: a server that has responded asks the client to stop
                // sending the request (RFC 9113 8.1).
                self.resets += usize::from(code(0) != 0);
                self.over.push(stream);
            }
            GOAWAY => self.go_away = Some(code(4)),
            PING if flags & ACK != 0 => self.pongs.push(payload.to_vec()),
            _ => {}
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            self.over.push(stream);
        }
    }
}

struct Frame<'b> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'b [u8],
}

/// Returns the first frame and the bytes after it; `None` if the frame is incomplete.
fn first_frame(bytes: &[u8]) -> Option<(Frame<'_>, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<9>()?;
    let [l0, l1, l2, kind, flags, stream @ ..] = *head;
    let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
    let (payload, after) = rest.split_at_checked(length)?;
    let frame = Frame {
        kind,
        flags,
        stream: u32::from_be_bytes(stream),
        payload,
    };
    Some((frame, after))
}

/// Reads the status at the start of a header block: an entry of the static table, or a literal.
fn status(block: &[u8]) -> u16 {
    const STATIC: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
    match *block {
        [index @ 0x88..=0x8e, ..] => STATIC[usize::from(index - 0x88)],
        [0x08, 3, a, b, c, ..] => [a, b, c].iter().fold(0, |number, digit| {
            number * 10 + u16::from(digit.wrapping_sub(b'0'))
        }),
        [0x08, length @ 0x81..=0x83, ..] => {
            let coded = block.get(2..2 + usize::from(length & 0x7f));
            huffman_digits(coded.unwrap_or_default())
        }
        _ => 0,
    }
}

/// Decodes three digits (RFC 7541 appendix B): 0 to 2 have five-bit codes, the others six-bit
/// codes.
fn huffman_digits(coded: &[u8]) -> u16 {
    let bits = coded
        .iter()
        .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
    let mut left = 8 * coded.len() as u32;
    let mut number = 0;
    for _ in 0..3 {
        let take = |count: u32| {
            let mask = (1 << count) - 1;
            (left >= count).then(|| (bits >> (left - count)) & mask)
        };
        let (digit, used) = match (take(5), take(6)) {
            (Some(digit @ 0..=2), _) => (digit, 5),
            (_, Some(code @ 0x19..=0x1f)) => (code - 0x19 + 3, 6),
            _ => return 0,
        };
        number = number * 10 + digit as u16;
        left -= used;
    }
    number
}

pub fn hear(stream: &mut TcpStream) -> Heard {
    let mut said = Said::default();
    let mut piece = [0; 16 * 1024];
    let (mut has_ended, mut hangs) = (false, false);
    while !(has_ended || hangs || said.is_over()) {
        match stream.read(&mut piece) {
            Ok(0) => has_ended = true,
            Ok(length) => said.take(&piece[..length]),
            Err(error) => match error.kind() {
                ErrorKind::Interrupted => {}
                ErrorKind::WouldBlock | ErrorKind::TimedOut => hangs = true,
                _ => has_ended = true,
            },
        }
    }
    let responses = said.statuses.values().map(|&status| Response {
        status,
        target: None,
    });
    Heard {
        responses: responses.collect(),
        is_cut: has_ended || said.resets > 0 || said.go_away.is_some_and(|code| code != 0),
        hangs,
    }
}

#[test]
fn statuses_are_read_in_each_form() {
    assert_eq!(status(&[0x89, 0]), 204);
    assert_eq!(status(&[0x08, 3, b'4', b'0', b'8']), 408);
    // RFC 7541 C.6.1: "302".
    assert_eq!(status(&[0x08, 0x82, 0x64, 0x02]), 302);
    assert_eq!(status(&[0x40, 0]), 0);
}

#[test]
fn frames_are_written_as_they_are_read() {
    let mut said = Said::default();
    let ping = frame(PING, ACK, 0, &[7; 8]);
    let reset = frame(RST_STREAM, 0, STREAM, &[0, 0, 0, 8]);
    let bytes = [ping, reset, frame(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 11])].concat();
    for byte in bytes {
        said.take(&[byte]);
    }
    assert_eq!(said.pongs, [vec![7; 8]]);
    assert_eq!((said.over.as_slice(), said.resets), (&[STREAM][..], 1));
    assert_eq!(said.go_away, Some(11));
}
