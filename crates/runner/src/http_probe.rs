//! HTTP requests outside a load, such as those for parity, cold starts, a gateway's metrics, admin
//! interfaces, and the upstream's ledger.
//!
//! A probe is one request on a separate connection, plain or over TLS, and its response. The load
//! generator does not count these requests. This module must not depend on its callers, or on the
//! meaning of a response for a trial.

use std::borrow::Cow;
use std::io::ErrorKind::{TimedOut, WouldBlock};
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use gatebench_engine::gzip;
use gatebench_model::Request;
use gatebench_net::http1::{
    BodyLength, Decoder, Event, Head, Limits, ResponseReader, write_request_head,
};
use gatebench_net::trace::{NONCE_HEADER, Nonce, TIMES_HEADER, Times};
use gatebench_testbed::{Interrupt, Wire};

/// The timeout for a response. The bytes of the body extend it (see [`BODY_BYTES_PER_MS`]). On a
/// busy machine, some responses have taken seven seconds.
pub(crate) const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);
/// If the head of a response is incomplete after this time, and the process that must respond has
/// printed a fatal line, the wait ends.
const HANGING_AFTER: Duration = Duration::from_secs(1);
/// The minimum rate of a body, which even a slow gateway on a busy machine exceeds.
const BODY_BYTES_PER_MS: u64 = 4 * 1024;
/// The interval between checks for an interrupt.
const SLICE: Duration = Duration::from_millis(50);
/// The maximum number of body bytes that are kept, and of decompressed body bytes that are checked.
const BODY_BYTES_MAX: usize = 16 << 20;
/// The maximum number of body bytes that are read. They extend the deadline, so this limit also
/// bounds the time, to about 80 s.
const READ_BYTES_MAX: usize = 256 << 20;

#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    pub(crate) head: Vec<u8>,
    /// The body without its framing, or its first 16 MiB.
    pub(crate) body: Vec<u8>,
    /// The size of the whole body in bytes.
    pub(crate) body_bytes: usize,
    pub(crate) status: u16,
    /// The times that the upstream returned with the nonce.
    pub(crate) times: Option<Times>,
    is_head: bool,
}

/// Renders a request as HTTP/1.1, without replacing placeholders.
pub(crate) fn render(request: &Request, host: &str, nonce: Option<Nonce>) -> Vec<u8> {
    let hex = nonce.map(Nonce::to_hex);
    let host = request.host().unwrap_or(host);
    let mut fields: Vec<(&str, &[u8])> = vec![("Host", host.as_bytes())];
    fields.extend(hex.as_ref().map(|hex| (NONCE_HEADER, hex.as_slice())));
    let own = request.fields();
    fields.extend(own.map(|(name, value)| (name, value.as_bytes())));
    let body = request.body.as_ref().map_or(&[][..], |body| body.bytes());
    let expects_body = ["POST", "PUT", "PATCH"].contains(&request.method.as_str());
    let length = match body.len() as u64 {
        0 if !expects_body => BodyLength::None,
        length => BodyLength::Length(length),
    };
    let mut bytes = Vec::new();
    write_request_head(&mut bytes, &request.method, &request.path, fields, length);
    bytes.extend_from_slice(body);
    bytes
}

/// Renders a request, sends it on a new connection and reads the response.
///
/// # Errors
/// Like [`exchange`].
pub(crate) fn send(
    wire: &Wire,
    request: &Request,
    nonce: Option<Nonce>,
    interrupt: &Interrupt,
) -> io::Result<Response> {
    let bytes = render(request, &wire.address.to_string(), nonce);
    exchange(wire, &bytes, request.method == "HEAD", interrupt)
}

/// Sends these bytes on a new connection and reads the response.
///
/// # Errors
/// The system's error; [`io::ErrorKind::TimedOut`] if the response is not complete in time,
/// [`io::ErrorKind::UnexpectedEof`] if the connection is closed before the response begins,
/// [`io::ErrorKind::InvalidData`] if the response is truncated or violates the protocol,
/// [`io::ErrorKind::FileTooLarge`] if its body is too large, [`io::ErrorKind::Interrupted`] if the
/// run was interrupted, or [`io::ErrorKind::Other`] if the process that must respond has printed
/// the reason why it does not.
pub(crate) fn exchange(
    wire: &Wire,
    bytes: &[u8],
    is_head: bool,
    interrupt: &Interrupt,
) -> io::Result<Response> {
    let mut stream = wire.connect(RESPONSE_TIMEOUT, SLICE)?;
    stream.write_all(bytes)?;
    read_response(&mut stream, is_head, interrupt, || wire.fatal_line())
}

/// Reads a response from a stream with a read timeout. `fatal` returns the line in which the other
/// side reports that it will not respond, if there is one.
///
/// # Errors
/// Like [`exchange`].
pub(crate) fn read_response(
    stream: &mut impl io::Read,
    is_head: bool,
    interrupt: &Interrupt,
    fatal: impl Fn() -> Option<String>,
) -> io::Result<Response> {
    let begun = Instant::now();
    let deadline = begun + RESPONSE_TIMEOUT;
    let mut reader = ResponseReader::new(stream, is_head);
    let mut response = Response {
        is_head,
        ..Response::default()
    };
    loop {
        match reader.advance() {
            Ok(is_whole) => {
                response.keep(reader.take_piece())?;
                if is_whole {
                    response.begin(reader.head());
                    return Ok(response);
                }
            }
            Err(error) if [WouldBlock, TimedOut].contains(&error.kind()) => {
                let hangs = reader.head().is_empty() && begun.elapsed() >= HANGING_AFTER;
                if let Some(line) = hangs.then(&fatal).flatten() {
                    return Err(io::Error::other(format!("the process wrote: {line}")));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if interrupt.is_raised() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let for_body = Duration::from_millis(response.body_bytes as u64 / BODY_BYTES_PER_MS);
        if Instant::now() >= deadline + for_body {
            return Err(TimedOut.into());
        }
    }
}

impl Response {
    fn begin(&mut self, head: &[u8]) {
        self.head = head.to_vec();
        let times = |head: &Head<'_>| head.field(TIMES_HEADER).and_then(Times::parse);
        let read = self.with_head(|head| (head.status(), times(head)));
        (self.status, self.times) = read.unwrap_or_default();
    }

    /// Applies a function to the head; `None` if the head cannot be parsed.
    fn with_head<T>(&self, read: impl FnOnce(&Head<'_>) -> T) -> Option<T> {
        let mut decoder = Decoder::responses(Limits::default());
        decoder.expect(self.is_head);
        match decoder.next(&mut self.head.as_slice()) {
            Ok(Some(Event::Head(head))) => Some(read(&head)),
            _ => None,
        }
    }

    fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.body_bytes += bytes.len();
        if self.body_bytes > READ_BYTES_MAX {
            let what = format!("the body does not end within {} MiB", READ_BYTES_MAX >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        let room = BODY_BYTES_MAX - self.body.len();
        self.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(())
    }

    pub(crate) fn failed_checks(&self, checks: &[gatebench_model::Check]) -> Vec<String> {
        let failed = self.with_head(|head| {
            let coding = head.field("content-encoding");
            let is_gzip = coding.is_some_and(|it| it.eq_ignore_ascii_case(b"gzip"));
            let body = match is_gzip {
                true => Cow::Owned(gzip::decoded(&self.body, BODY_BYTES_MAX)),
                false => Cow::Borrowed(&self.body),
            };
            gatebench_engine::failed_checks(checks, head, &body, self.body_bytes as u64)
        });
        // A complete response has a head that can be parsed, so there is always a result.
        failed.unwrap_or_else(|| vec!["the response is HTTP/1.1".into()])
    }

    /// Returns the response as text, truncated after `chars_max` characters.
    pub(crate) fn text(&self, chars_max: usize) -> String {
        let [head, body] = [&self.head, &self.body].map(|it| String::from_utf8_lossy(it));
        shorten(&format!("{head}{body}"), chars_max)
    }
}

/// Returns the text with LF instead of CRLF, truncated after `chars_max` characters.
pub(crate) fn shorten(text: &str, chars_max: usize) -> String {
    let text = text.replace("\r\n", "\n");
    match text.char_indices().nth(chars_max) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Read as _;
    use std::net::{SocketAddr, TcpListener};
    use std::thread;

    use super::*;

    const CHUNK_BYTES: usize = 16 * 1024;

    /// Starts a server that responds to one request with these parts, each in a separate write.
    pub(crate) fn server(parts: Vec<&'static [u8]>) -> (SocketAddr, thread::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serve = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut seen = [0; 1024];
            let _ = stream.read(&mut seen).unwrap();
            for part in parts {
                stream.write_all(part).unwrap();
            }
        };
        (address, thread::spawn(serve))
    }

    fn ask(parts: Vec<&'static [u8]>) -> io::Result<Response> {
        let (address, thread) = server(parts);
        let response = exchange(
            &Wire::plain(address),
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            false,
            &Interrupt::new(),
        );
        thread.join().unwrap();
        response
    }

    #[test]
    fn a_chunked_response_is_reassembled() {
        let response = ask(vec![
            b"HTTP/1.1 200 OK\r\nTransfer-Enc",
            b"oding: chunked\r\n\r\n2\r\nab\r\n1",
            b"\r\nc\r\n0\r\n\r\n",
        ]);
        let response = response.unwrap();
        assert_eq!(
            (response.status, response.body.as_slice()),
            (200, &b"abc"[..])
        );
        let check = gatebench_model::Check::BodyEquals("abd".into());
        assert_eq!(response.failed_checks(&[check]), ["body is 'abd'"]);
        assert!(
            response
                .failed_checks(&[gatebench_model::Check::Status(200)])
                .is_empty()
        );
    }

    #[test]
    fn partial_responses_and_other_protocols_are_errors() {
        let kind = |parts| ask(parts).unwrap_err().kind();
        assert_eq!(
            kind(vec![b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"]),
            io::ErrorKind::InvalidData
        );
        assert_eq!(kind(vec![b"SSH-2.0-x\r\n"]), io::ErrorKind::InvalidData);
        assert_eq!(kind(vec![]), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn the_beginning_of_a_long_body_is_kept() {
        let length = BODY_BYTES_MAX + 3 * CHUNK_BYTES + 1;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let body = io::repeat(b'x').take(length as u64);
        let mut stream = io::Cursor::new(head).chain(body);
        let response = read_response(&mut stream, false, &Interrupt::new(), || None).unwrap();
        assert_eq!(
            (response.body.len(), response.body_bytes),
            (BODY_BYTES_MAX, length)
        );
        assert!(response.body.capacity() <= 2 * BODY_BYTES_MAX);
    }

    #[test]
    fn an_endless_body_is_an_error_at_any_speed() {
        let endless = |head: &'static str, body: &'static [u8]| {
            let mut stream = io::Cursor::new(head).chain(Again { body, at: 0 });
            read_response(&mut stream, false, &Interrupt::new(), || None).unwrap_err()
        };
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk: &[u8] = b"1000\r\n";
        let chunk: &'static [u8] = [chunk, &[b'x'; 0x1000], b"\r\n"].concat().leak();
        for error in [
            endless("HTTP/1.1 200 OK\r\n\r\n", &[b'x'; CHUNK_BYTES]),
            endless(chunked, chunk),
        ] {
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
            assert_eq!(error.to_string(), "the body does not end within 256 MiB");
        }
    }

    /// A reader that repeats the same bytes forever.
    struct Again {
        body: &'static [u8],
        at: usize,
    }

    impl io::Read for Again {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = (&self.body[self.at..]).read(buffer)?;
            self.at = (self.at + count) % self.body.len();
            Ok(count)
        }
    }

    #[test]
    fn an_interrupt_ends_the_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let interrupt = Interrupt::new();
        interrupt.raise();
        let error = exchange(
            &Wire::plain(listener.local_addr().unwrap()),
            b"GET / HTTP/1.1\r\n\r\n",
            false,
            &interrupt,
        );
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_request_is_rendered_with_its_nonce() {
        let request = Request {
            headers: [("X-A".to_owned(), "1".to_owned())].into(),
            body: Some(gatebench_model::Body::new("hi")),
            ..Request::new("POST", "/a?b")
        };
        let bytes = render(&request, "h:1", Some(Nonce(1)));
        let expected = "POST /a?b HTTP/1.1\r\nHost: h:1\r\ngatebench-nonce: 0000000000000001\r\nX-A: 1\r\n\
                        Content-Length: 2\r\n\r\nhi";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
