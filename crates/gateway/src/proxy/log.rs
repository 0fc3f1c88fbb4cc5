//! The access log. It gets one line for each request, when the response is completely queued or the
//! request is aborted (499). The lines are buffered and written to standard output every 0.5 s, or
//! earlier if the buffer is more than half full. If nothing reads standard output, the worker
//! blocks.

use std::io::Write;

use super::client::Exchange;
use super::exchange::Core;

/// The status in the line of an aborted request, as in nginx.
pub(super) const ABORTED: u16 = 499;

const BUFFER_BYTES: usize = 64 * 1024;
const FLUSH_NS: u64 = 500_000_000;

#[derive(Debug)]
pub(crate) struct AccessLog {
    /// `None` if logging is off.
    buffer: Option<Vec<u8>>,
    flushed_ns: u64,
}

/// The part of a request that is kept until its line is written.
#[derive(Debug, Default)]
pub(crate) struct LogEntry(Vec<u8>);

impl LogEntry {
    /// Records the method and the target. In the target, quotes, backslashes and bytes that are not
    /// visible ASCII are written as `\xHH`, so they can neither end the quotes nor control a
    /// terminal.
    pub(crate) fn begin(&mut self, method: &str, target: &str) {
        self.0.clear();
        self.0.extend_from_slice(method.as_bytes());
        self.0.push(b' ');
        for byte in target.bytes() {
            if byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\') {
                self.0.push(byte);
            } else {
                // Writing to a vector cannot fail.
                let _ = write!(self.0, "\\x{byte:02X}");
            }
        }
    }
}

impl Exchange {
    pub(super) fn write_log<I>(&self, status: u16, core: &mut Core<I>) {
        if !core.log.is_on() {
            return;
        }
        let routes = &self.active.compiled.routes;
        let route = self.route.map_or("-", |route| &routes[route].name);
        core.log
            .line(&self.log, route, status, self.begun_ns, core.now_ns);
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

    /// Adds the line `route status duration_us "method target"`.
    pub(crate) fn line(
        &mut self,
        entry: &LogEntry,
        route: &str,
        status: u16,
        begun_ns: u64,
        now_ns: u64,
    ) {
        let Some(buffer) = &mut self.buffer else {
            return;
        };
        let duration_us = now_ns.saturating_sub(begun_ns) / 1000;
        // Writing to a vector cannot fail.
        let _ = write!(buffer, "{route} {status} {duration_us} \"");
        buffer.extend_from_slice(&entry.0);
        buffer.extend_from_slice(b"\"\n");
        if buffer.len() > BUFFER_BYTES / 2 {
            self.flush(now_ns);
        }
    }

    /// Writes the buffered lines if the last write was long enough ago; called once per round.
    pub(crate) fn tick(&mut self, now_ns: u64) {
        if self.is_on() && now_ns.saturating_sub(self.flushed_ns) > FLUSH_NS {
            self.flush(now_ns);
        }
    }

    pub(crate) fn flush(&mut self, now_ns: u64) {
        self.flushed_ns = now_ns;
        if let Some(buffer) = &mut self.buffer {
            // If standard output is closed, the gateway continues to serve without the log.
            let _ = std::io::stdout().lock().write_all(buffer);
            let _ = std::io::stdout().lock().flush();
            buffer.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_one_line() {
        let mut log = AccessLog::new(true);
        let mut entry = LogEntry::default();
        entry.begin("GET", "/a?b");
        log.line(&entry, "json", 200, 1_000_000, 3_500_000);
        entry.begin("GET", "/\"\\\u{9b}");
        log.line(&entry, "json", 200, 3_500_000, 3_500_000);
        let written = String::from_utf8(log.buffer.unwrap()).unwrap();
        let expected = "json 200 2500 \"GET /a?b\"\njson 200 0 \"GET /\\x22\\x5C\\xC2\\x9B\"\n";
        assert_eq!(written, expected);
        let mut off = AccessLog::new(false);
        off.line(&entry, "json", 200, 3_500_000, 3_500_000);
        assert!(off.buffer.is_none() && !off.is_on());
    }
}
