//! The access log: one line per request to standard output, written every half second or when the
//! buffer is half full. If its reader stops reading, the worker blocks.

use std::io::Write;

const BUFFER_BYTES: usize = 64 * 1024;
const FLUSH_NS: u64 = 500_000_000;

/// The log of one worker; it has no buffer if logging is off.
#[derive(Debug)]
pub(crate) struct AccessLog {
    buffer: Option<Vec<u8>>,
    flushed_ns: u64,
}

/// The part of a request that is kept until its line is written.
#[derive(Debug, Default)]
pub(crate) struct LogEntry {
    request_line: Vec<u8>,
    begun_ns: u64,
}

impl LogEntry {
    pub(crate) fn begin(&mut self, method: &str, target: &str, now_ns: u64) {
        self.request_line.clear();
        self.request_line.extend_from_slice(method.as_bytes());
        self.request_line.push(b' ');
        for &byte in target.as_bytes() {
            self.note(byte);
        }
        self.begun_ns = now_ns;
    }

    /// Adds a byte. A byte that would end the quotes or control a terminal is written as `\xHH`.
    fn note(&mut self, byte: u8) {
        if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\') {
            self.request_line.push(byte);
        } else {
            // Writing to a vector cannot fail.
            let _ = write!(self.request_line, "\\x{byte:02X}");
        }
    }
}

impl AccessLog {
    pub(crate) fn new(is_on: bool) -> Self {
        let buffer = is_on.then(|| Vec::with_capacity(BUFFER_BYTES));
        Self {
            buffer,
            flushed_ns: 0,
        }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.buffer.is_some()
    }

    /// Writes `route status duration_us "request line"`.
    pub(crate) fn line(&mut self, entry: &LogEntry, route: &str, status: u16, now_ns: u64) {
        let Some(buffer) = &mut self.buffer else {
            return;
        };
        let duration_us = now_ns.saturating_sub(entry.begun_ns) / 1000;
        // Writing to a vector cannot fail.
        let _ = write!(buffer, "{route} {status} {duration_us} \"");
        buffer.extend_from_slice(&entry.request_line);
        buffer.extend_from_slice(b"\"\n");
        if buffer.len() > BUFFER_BYTES / 2 {
            self.flush(now_ns);
        }
    }

    /// Called once per round.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        if self.is_on() && now_ns.saturating_sub(self.flushed_ns) > FLUSH_NS {
            self.flush(now_ns);
        }
    }

    pub(crate) fn flush(&mut self, now_ns: u64) {
        self.flushed_ns = now_ns;
        if let Some(buffer) = &mut self.buffer {
            // A blocked or closed log is no reason to stop serving.
            let _ = std::io::stdout().lock().write_all(buffer);
            let _ = std::io::stdout().lock().flush();
            buffer.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_is_one_line() {
        let mut log = AccessLog::new(true);
        let mut entry = LogEntry::default();
        entry.begin("GET", "/a?b", 1_000_000);
        log.line(&entry, "json", 200, 3_500_000);
        assert_eq!(
            log.buffer.as_deref(),
            Some(&b"json 200 2500 \"GET /a?b\"\n"[..])
        );
        entry.begin("GET", "/\"\\\u{9b}", 3_500_000);
        log.line(&entry, "json", 200, 3_500_000);
        let escaped = br#"json 200 0 "GET /\x22\x5C\xC2\x9B""#;
        assert!(
            log.buffer
                .as_ref()
                .unwrap()
                .ends_with(&[&escaped[..], b"\n"].concat())
        );
        let mut off = AccessLog::new(false);
        off.line(&entry, "json", 200, 3_500_000);
        assert!(off.buffer.is_none() && !off.is_on());
    }
}
