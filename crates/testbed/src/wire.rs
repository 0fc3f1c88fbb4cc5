//! Connects to a gateway or an upstream, with or without TLS.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gatebench_net::http1::ResponseReader;
use gatebench_net::tls::{ClientContext, ClientSettings, Pem, Session, SettingsError, Verify};

/// The server name in a trial's certificate.
pub(crate) const SERVER_NAME: &str = "localhost";

const CHUNK_BYTES: usize = 16 * 1024;

/// The address and the protocol of a gateway or an upstream.
#[derive(Clone, Debug)]
pub struct Wire {
    pub address: SocketAddr,
    /// The file with the standard error of a gateway that gatebench started on this machine, which
    /// may explain a request that hangs; `None` for other processes.
    stderr: Option<PathBuf>,
    /// The certificate for TLS, which is its own CA.
    certificate: Option<Pem>,
}

impl Wire {
    pub fn plain(address: SocketAddr) -> Self {
        Self::new(address, None)
    }

    /// Returns the wire to an HTTP server, which uses TLS if there is a certificate.
    pub(crate) fn new(address: SocketAddr, certificate: Option<Pem>) -> Self {
        Self {
            address,
            stderr: None,
            certificate,
        }
    }

    pub fn explained_by(self, stderr: Option<PathBuf>) -> Self {
        Self { stderr, ..self }
    }

    /// Returns the first fatal line that the gateway wrote to standard error, which may explain why
    /// the gateway does not respond.
    pub fn fatal_line(&self) -> Option<String> {
        let log = fs::read(self.stderr.as_ref()?).ok()?;
        fatal_line(&String::from_utf8_lossy(&log)).map(str::to_owned)
    }

    /// Returns TLS settings that offer the protocol `alpn`; `None` for plain HTTP.
    ///
    /// # Errors
    /// The certificate cannot be used.
    pub fn tls(&self, alpn: &str) -> Result<Option<ClientContext>, SettingsError> {
        let Some(certificate) = &self.certificate else {
            return Ok(None);
        };
        let settings = ClientSettings {
            verify: Verify::Ca(certificate.clone()),
            alpn: vec![alpn.into()],
            ..ClientSettings::default()
        };
        ClientContext::new(&settings, SERVER_NAME).map(Some)
    }

    /// Connects, and completes the TLS handshake if necessary. Reads that receive no data within
    /// `read_slice` fail with [`io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// The system's error, or an error of TLS.
    pub fn connect(&self, timeout: Duration, read_slice: Duration) -> io::Result<Line> {
        self.connect_offering("http/1.1", timeout, read_slice)
    }

    /// Reports whether the server chooses HTTP/2 for a client that offers nothing else (RFC 7301).
    ///
    /// # Errors
    /// Like [`Self::connect`].
    pub fn agrees_on_http2(&self, timeout: Duration) -> io::Result<bool> {
        let line = self.connect_offering("h2", timeout, timeout)?;
        let agreed = line.tls.as_ref().and_then(|tls| tls.session.alpn());
        Ok(agreed == Some(b"h2"))
    }

    fn connect_offering(
        &self,
        alpn: &str,
        timeout: Duration,
        read_slice: Duration,
    ) -> io::Result<Line> {
        let context = self.tls(alpn).map_err(io::Error::other)?;
        Line::open(self.address, context.as_ref(), timeout, read_slice)
    }
}

/// A connection to a gateway or an upstream.
#[derive(Debug)]
pub struct Line {
    stream: TcpStream,
    tls: Option<Secured>,
}

#[derive(Debug)]
struct Secured {
    session: Box<Session>,
    /// Decrypted bytes that have not been read yet.
    plain: Vec<u8>,
}

impl Line {
    /// Connects and, if there is a context, completes the TLS handshake. Reads that receive no data
    /// within `read_slice` fail with [`io::ErrorKind::WouldBlock`].
    ///
    /// # Errors
    /// The system's error, or an error of TLS.
    pub fn open(
        address: SocketAddr,
        context: Option<&ClientContext>,
        timeout: Duration,
        read_slice: Duration,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(timeout))?;
        let Some(context) = context else {
            stream.set_read_timeout(Some(read_slice))?;
            return Ok(Self { stream, tls: None });
        };
        stream.set_read_timeout(Some(timeout))?;
        let mut out = Vec::new();
        let session = Session::client(context, &mut out).map_err(io::Error::other)?;
        let mut line = Self {
            stream,
            tls: Some(Secured {
                session: Box::new(session),
                plain: Vec::new(),
            }),
        };
        line.stream.write_all(&out)?;
        line.shake_hands()?;
        line.stream.set_read_timeout(Some(read_slice))?;
        Ok(line)
    }

    fn shake_hands(&mut self) -> io::Result<()> {
        while let Some(tls) = self.tls.as_mut().filter(|tls| tls.session.is_handshaking()) {
            if tls.receive(&mut self.stream)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(timeout))
    }
}

impl Secured {
    /// Receives the next records and sends the replies. Returns the number of received bytes.
    fn receive(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        let mut chunk = [0; CHUNK_BYTES];
        let count = stream.read(&mut chunk)?;
        let mut out = Vec::new();
        let received = self.session.receive(&chunk[..count], &mut out, |plain| {
            self.plain.extend_from_slice(plain);
        });
        stream.write_all(&out)?;
        received.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(count)
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.stream.read(buffer);
        };
        while tls.plain.is_empty() && !tls.session.is_closed_by_peer() {
            if tls.receive(&mut self.stream)? == 0 {
                return Ok(0);
            }
        }
        let count = (&tls.plain[..]).read(buffer)?;
        tls.plain.drain(..count);
        Ok(count)
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.stream.write(bytes);
        };
        let mut out = Vec::new();
        let sent = tls.session.send(bytes, &mut out);
        sent.map_err(io::Error::other)?;
        self.stream.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Parts of fatal lines, as OpenResty, nginx, Kong, Rust, Go, the JVM and shells print them.
const MARKS: [&str; 8] = [
    "[emerg]",
    "worker initialization error",
    "this node must be restarted",
    "panicked at",
    "panic: ",
    "fatal error: ",
    "java.lang.OutOfMemoryError",
    "Segmentation fault",
];

/// Returns the first fatal line. A program may write one and still serve requests.
pub(crate) fn fatal_line(log: &str) -> Option<&str> {
    let is_fatal = |line: &&str| MARKS.iter().any(|mark| line.contains(mark));
    log.lines().find(is_fatal).map(str::trim)
}

impl Wire {
    /// Returns the status of the response to a GET of this path.
    ///
    /// # Errors
    /// The system's error, an error of TLS, [`io::ErrorKind::TimedOut`] if no head arrived in time,
    /// or [`io::ErrorKind::InvalidData`] if the response is not HTTP/1.
    pub(crate) fn status_of(&self, path: &str, timeout: Duration) -> io::Result<u16> {
        let deadline = Instant::now() + timeout;
        let stream = self.connect(timeout, timeout)?;
        let host = self.address.to_string();
        let fields: [(&str, &[u8]); 2] = [("Host", host.as_bytes()), ("Connection", b"close")];
        let mut response = ResponseReader::send(stream, "GET", path, &fields, None)?;
        while response.head().is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            response.stream().set_read_timeout(left)?;
            match response.advance() {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(io::ErrorKind::TimedOut.into());
                }
                // A read with a timeout is not restarted after a signal (signal(7)).
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    let what = format!("the response is not HTTP/1: {error}");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(response.status())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Sends a request to a server that responds with these bytes and then sends nothing more.
    fn asked(bytes: &'static [u8], timeout: Duration) -> io::Result<u16> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (done, is_done) = mpsc::channel();
        let serving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let count = stream.read(&mut request).unwrap();
            stream.write_all(bytes).unwrap();
            let () = is_done.recv().unwrap();
            String::from_utf8_lossy(&request[..count]).into_owned()
        });
        let status = Wire::plain(address).status_of("/a?b", timeout);
        done.send(()).unwrap();
        let expected = format!("GET /a?b HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        assert_eq!(serving.join().unwrap(), expected);
        status
    }

    #[test]
    fn a_status_line_is_read() {
        let status = |bytes| asked(bytes, Duration::from_secs(20));
        assert_eq!(status(b"HTTP/1.1 404 Not Found\r\n\r\n").unwrap(), 404);
        assert_eq!(status(b"HTTP/1.0 200\r\n\r\n").unwrap(), 200);
        let error = status(b"SSH-2.0-x\r\n").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().contains("not HTTP/1"), "{error}");
    }

    #[test]
    fn an_incomplete_head_causes_a_timeout() {
        let error = asked(b"HTTP/1.1 200 OK\r\n", Duration::from_millis(50)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
