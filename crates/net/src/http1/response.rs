//! One request and its response on a blocking stream, for clients that are not load generators.

use std::io::{self, Read, Write};

use super::{BodyLength, Decoder, Event, Limits, ProtocolError, write_request_head};

const CHUNK_BYTES: usize = 16 * 1024;

/// Reads one response from a blocking stream. If the stream has a timeout, it applies to each read.
///
/// The reader holds the head and the piece of the body that the last read returned. Its [`Read`]
/// implementation returns the body without its framing, and reports a truncated body as
/// [`io::ErrorKind::UnexpectedEof`].
///
/// ```
/// use std::io::Read as _;
///
/// use gatebench_net::http1::ResponseReader;
///
/// let stream: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
/// let mut response = ResponseReader::new(stream, false);
/// response.read_head().unwrap();
/// assert_eq!(response.status(), 200);
/// let mut body = String::new();
/// response.read_to_string(&mut body).unwrap();
/// assert_eq!(body, "hi");
/// ```
#[derive(Debug)]
pub struct ResponseReader<S> {
    stream: S,
    decoder: Decoder,
    head: Vec<u8>,
    status: u16,
    /// Bytes of the body from the last read.
    piece: Vec<u8>,
    /// The number of bytes in `piece` that have been taken.
    taken: usize,
    is_whole: bool,
}

impl<S: Read> ResponseReader<S> {
    /// A reader of one response. `is_head` is true if the method of the request was HEAD.
    pub fn new(stream: S, is_head: bool) -> Self {
        let mut decoder = Decoder::responses(Limits::default());
        decoder.expect(is_head);
        Self {
            stream,
            decoder,
            head: Vec::new(),
            status: 0,
            piece: Vec::new(),
            taken: 0,
            is_whole: false,
        }
    }

    /// Gives access to the connection, for its timeouts and its descriptor.
    pub fn stream(&self) -> &S {
        &self.stream
    }

    /// The head of the final response as sent; empty until it is complete.
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The status of the final response; 0 until its head is complete.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Reads from the stream once, unless the response is already complete. Returns true if the
    /// response is complete now. Bytes of the body that have not been taken are dropped.
    ///
    /// # Errors
    /// Every error that the stream reports, including [`io::ErrorKind::WouldBlock`] and
    /// [`io::ErrorKind::Interrupted`], after which this function may be called again;
    /// [`io::ErrorKind::UnexpectedEof`] if the stream ends before a response begins, and
    /// [`io::ErrorKind::InvalidData`] if a response is truncated or violates the protocol.
    pub fn advance(&mut self) -> io::Result<bool> {
        self.piece.clear();
        self.taken = 0;
        if self.is_whole {
            return Ok(true);
        }
        let mut chunk = [0; CHUNK_BYTES];
        let count = self.stream.read(&mut chunk)?;
        if count == 0 {
            self.is_whole = self.decoder.end_of_stream().map_err(invalid)?;
            return match self.is_whole {
                true => Ok(true),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        let mut input = &chunk[..count];
        while let Some(event) = self.decoder.next(&mut input).map_err(invalid)? {
            match event {
                Event::Informational(_) => {}
                Event::Head(head) => {
                    self.head = head.bytes().to_vec();
                    self.status = head.status();
                }
                Event::Body(bytes) => self.piece.extend_from_slice(bytes),
                Event::End => {
                    self.is_whole = true;
                    break;
                }
            }
        }
        Ok(self.is_whole)
    }

    /// Takes the bytes of the body that the last [`advance`](Self::advance) read and that have not
    /// been taken yet.
    pub fn take_piece(&mut self) -> &[u8] {
        let from = std::mem::replace(&mut self.taken, self.piece.len());
        &self.piece[from..]
    }

    /// Reads until the head is complete.
    ///
    /// # Errors
    /// Like [`advance`](Self::advance), except that reads interrupted by a signal are repeated.
    pub fn read_head(&mut self) -> io::Result<()> {
        while self.head.is_empty() {
            match self.advance() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    read?;
                }
            }
        }
        Ok(())
    }
}

impl<S: Read + Write> ResponseReader<S> {
    /// Sends a request and returns the reader of its response. `Host` must be one of `fields`; a
    /// body is framed by its length.
    ///
    /// # Errors
    /// Every error that the stream reports.
    pub fn send(
        mut stream: S,
        method: &str,
        target: &str,
        fields: &[(&str, &[u8])],
        body: Option<&[u8]>,
    ) -> io::Result<Self> {
        let length = body.map_or(BodyLength::None, |it| BodyLength::Length(it.len() as u64));
        let mut request = Vec::new();
        write_request_head(&mut request, method, target, fields.iter().copied(), length);
        request.extend_from_slice(body.unwrap_or_default());
        stream.write_all(&request)?;
        Ok(Self::new(stream, method == "HEAD"))
    }
}

impl<S: Read> Read for ResponseReader<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.piece.len() {
            if self.is_whole || buffer.is_empty() {
                return Ok(0);
            }
            self.advance().map_err(|error| match is_cut_off(&error) {
                true => io::ErrorKind::UnexpectedEof.into(),
                false => error,
            })?;
        }
        let count = (&self.piece[self.taken..]).read(buffer)?;
        self.taken += count;
        Ok(count)
    }
}

fn is_cut_off(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|it| it.downcast_ref());
    inner == Some(&ProtocolError::TruncatedBody)
}

fn invalid(error: ProtocolError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
