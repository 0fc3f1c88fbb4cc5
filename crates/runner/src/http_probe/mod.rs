//! HTTP requests outside a load: for parity, for the upstream's ledger and for admin interfaces.
//!
//! A probe is one request on a connection of its own, plain or over TLS, and its response. Nothing
//! here is measured. It must not know who asks, or what a response means for a trial.

pub(crate) mod wire;

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use gatebench_engine::gzip;
use gatebench_model::Request;
use gatebench_net::http1::{
    BodyLength, Decoder, Event, Head, Limits, ResponseReader, write_request_head,
};
use gatebench_net::trace::{NONCE_HEADER, Nonce, TIMES_HEADER, Times};
use gatebench_testbed::fatal_line;

use crate::interrupt::Interrupt;
use wire::Wire;

/// The time that a response may take, apart from its body. On a machine that is busy with other
/// things, some have taken seven seconds.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(15);
/// The wait for a gateway that wrote a fatal line and does not respond.
const HANGING_AFTER: Duration = Duration::from_secs(1);
/// A body comes faster than this, through any gateway and on a machine that is busy.
const BODY_BYTES_PER_MS: u64 = 4 * 1024;
/// How often an interrupt is looked for meanwhile.
const SLICE: Duration = Duration::from_millis(50);
/// What is kept of a body, and looked at of a compressed one: as much as the engine keeps for checks.
const BODY_BYTES_MAX: usize = 16 << 20;
/// What is read of a body: twice what the upstream responds with at most. Since each byte earns time, this bounds
/// the time as well: at [`BODY_BYTES_PER_MS`] to a minute.
const READ_BYTES_MAX: usize = 256 << 20;

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The head as it was on the wire.
    pub(crate) head: Vec<u8>,
    /// The body without its framing, or its first 16 MiB.
    pub(crate) body: Vec<u8>,
    /// Bytes of the whole body.
    pub(crate) body_bytes: usize,
    /// Its status.
    pub(crate) status: u16,
    /// The times that the upstream gave back with the nonce.
    pub(crate) times: Option<Times>,
    /// Whether the request was HEAD.
    is_head: bool,
}

/// The bytes of a request, rendered as the load's are.
pub(crate) fn render(request: &Request, host: &str, nonce: Option<Nonce>) -> Vec<u8> {
    let hex = nonce.map(Nonce::to_hex);
    let mut fields: Vec<(&str, &[u8])> = vec![("Host", host.as_bytes())];
    fields.extend(hex.as_ref().map(|hex| (NONCE_HEADER, hex.as_slice())));
    fields.extend(
        request
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    );
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

/// Sends bytes on a connection of their own and reads the answer.
///
/// # Errors
/// What the system says; [`io::ErrorKind::TimedOut`] where the answer is not whole in time,
/// [`io::ErrorKind::InvalidData`] where it is not HTTP/1.1, [`io::ErrorKind::FileTooLarge`] where its body goes
/// on and on, [`io::ErrorKind::Interrupted`] where the run shall end, [`io::ErrorKind::Other`] if the process
/// wrote why it does not respond.
pub(crate) fn exchange(
    wire: &Wire,
    bytes: &[u8],
    is_head: bool,
    interrupt: &Interrupt,
) -> io::Result<Answer> {
    let mut stream = wire.connect(ANSWER_TIMEOUT, SLICE)?;
    stream.write_all(bytes)?;
    let fatal = || {
        let log = fs::read(wire.stderr.as_ref()?).ok()?;
        fatal_line(&String::from_utf8_lossy(&log)).map(str::to_owned)
    };
    read_answer(&mut stream, is_head, interrupt, fatal)
}

/// Reads a response from a reader whose reads time out. `fatal` is the line in which the other side
/// reports that it will not respond, if it has written one.
///
/// # Errors
/// As [`exchange`].
pub(crate) fn read_answer(
    stream: &mut impl io::Read,
    is_head: bool,
    interrupt: &Interrupt,
    fatal: impl Fn() -> Option<String>,
) -> io::Result<Answer> {
    let begun = Instant::now();
    let deadline = begun + ANSWER_TIMEOUT;
    let mut response = ResponseReader::new(stream, is_head);
    let mut answer = Answer {
        head: Vec::new(),
        body: Vec::new(),
        body_bytes: 0,
        status: 0,
        times: None,
        is_head,
    };
    loop {
        match response.advance() {
            Ok(is_whole) => {
                answer.keep(response.take_piece())?;
                if is_whole {
                    answer.begin(response.head());
                    return Ok(answer);
                }
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                ) =>
            {
                let hangs = response.head().is_empty() && begun.elapsed() >= HANGING_AFTER;
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
        let for_body = Duration::from_millis(answer.body_bytes as u64 / BODY_BYTES_PER_MS);
        if Instant::now() >= deadline + for_body {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

impl Answer {
    /// Takes the head.
    fn begin(&mut self, head: &[u8]) {
        self.head = head.to_vec();
        let read = self.with_head(|head| {
            let times = head.field(TIMES_HEADER).and_then(Times::parse);
            (head.status(), times)
        });
        (self.status, self.times) = read.unwrap_or_default();
    }

    /// The result of a function of the head; none where the head is not HTTP/1.1.
    fn with_head<T>(&self, read: impl FnOnce(&Head<'_>) -> T) -> Option<T> {
        let mut decoder = Decoder::responses(Limits::default());
        decoder.expect(self.is_head);
        match decoder.next(&mut self.head.as_slice()) {
            Ok(Some(Event::Head(head))) => Some(read(&head)),
            _ => None,
        }
    }

    /// Keeps a piece of the body, as far as there is room.
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

    /// The checks that the answer fails, in words.
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
        // The same bytes were understood before.
        failed.unwrap_or_else(|| vec!["the answer is HTTP/1.1".into()])
    }

    /// The answer as a person reads it, at most `chars_max` characters.
    pub(crate) fn text(&self, chars_max: usize) -> String {
        let whole = format!(
            "{}{}",
            String::from_utf8_lossy(&self.head),
            String::from_utf8_lossy(&self.body)
        );
        shorten(&whole, chars_max)
    }
}

/// A text with plain line ends, cut where it is longer than `chars_max` characters.
pub(crate) fn shorten(text: &str, chars_max: usize) -> String {
    let text = text.replace("\r\n", "\n");
    match text.char_indices().nth(chars_max) {
        None => text,
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Read as _;
    use std::net::{SocketAddr, TcpListener};
    use std::thread;

    use super::*;

    const CHUNK_BYTES: usize = 16 * 1024;

    /// Answers one request with these parts, one write each.
    fn server(parts: Vec<&'static [u8]>) -> (SocketAddr, thread::JoinHandle<()>) {
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

    fn ask(parts: Vec<&'static [u8]>) -> io::Result<Answer> {
        let (address, thread) = server(parts);
        let answer = exchange(
            &Wire::plain(address),
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            false,
            &Interrupt::new(),
        );
        thread.join().unwrap();
        answer
    }

    #[test]
    fn a_chunked_answer_is_put_together() {
        let answer = ask(vec![
            b"HTTP/1.1 200 OK\r\nTransfer-Enc",
            b"oding: chunked\r\n\r\n2\r\nab\r\n1",
            b"\r\nc\r\n0\r\n\r\n",
        ]);
        let answer = answer.unwrap();
        assert_eq!((answer.status, answer.body.as_slice()), (200, &b"abc"[..]));
        let check = gatebench_model::Check::BodyEquals("abd".into());
        assert_eq!(answer.failed_checks(&[check]), ["body is 'abd'"]);
        assert!(
            answer
                .failed_checks(&[gatebench_model::Check::Status(200)])
                .is_empty()
        );
    }

    #[test]
    fn half_an_answer_and_no_http_are_errors() {
        let kind = |parts| ask(parts).unwrap_err().kind();
        assert_eq!(
            kind(vec![b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"]),
            io::ErrorKind::InvalidData
        );
        assert_eq!(kind(vec![b"SSH-2.0-x\r\n"]), io::ErrorKind::InvalidData);
        assert_eq!(kind(vec![]), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn of_a_long_body_the_beginning_is_kept() {
        let length = BODY_BYTES_MAX + 3 * CHUNK_BYTES + 1;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let body = io::repeat(b'x').take(length as u64);
        let mut stream = io::Cursor::new(head).chain(body);
        let answer = read_answer(&mut stream, false, &Interrupt::new(), || None).unwrap();
        assert_eq!(
            (answer.body.len(), answer.body_bytes),
            (BODY_BYTES_MAX, length)
        );
        assert!(answer.body.capacity() <= 2 * BODY_BYTES_MAX);
    }

    #[test]
    fn a_body_without_an_end_is_an_error_however_fast_it_comes() {
        let endless = |head: &'static str, body: &'static [u8]| {
            let mut stream = io::Cursor::new(head).chain(Again { body, at: 0 });
            read_answer(&mut stream, false, &Interrupt::new(), || None).unwrap_err()
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

    /// The same bytes again and again.
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
    fn an_interrupt_ends_the_waiting() {
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
