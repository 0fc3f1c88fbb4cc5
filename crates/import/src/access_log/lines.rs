//! Reads the lines of a log, plain or compressed with gzip. Lines longer than [`LINE_BYTES_MAX`]
//! are truncated.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use memchr::memchr;

const LINE_BYTES_MAX: usize = 256 << 10;

const CHUNK_BYTES: usize = 1 << 20;

/// The first bytes of a gzip file (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(super) struct Lines<'r> {
    reader: Box<dyn BufRead + 'r>,
    line: Vec<u8>,
    /// The number of bytes read, after decompression.
    pub(super) bytes: u64,
}

impl<'r> Lines<'r> {
    pub(super) fn new(reader: impl Read + 'r) -> io::Result<Self> {
        let mut plain = BufReader::with_capacity(CHUNK_BYTES, reader);
        let is_gzip = plain.fill_buf()?.starts_with(&GZIP);
        let reader: Box<dyn BufRead + 'r> = match is_gzip {
            false => Box::new(plain),
            true => {
                let decoder = MultiGzDecoder::new(plain);
                Box::new(BufReader::with_capacity(CHUNK_BYTES, decoder))
            }
        };
        Ok(Self {
            reader,
            line: Vec::new(),
            bytes: 0,
        })
    }

    /// Returns the next line without its line ending, or `None` at the end of the log.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut has_line = false;
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                break;
            }
            has_line = true;
            let end = memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            self.bytes += used as u64;
            if end.is_some() {
                break;
            }
        }
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        Ok(has_line.then_some(line))
    }
}
