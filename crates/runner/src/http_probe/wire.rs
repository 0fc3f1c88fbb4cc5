//! The address of requests outside a load, and a connection to it: plain, or over TLS.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use gatebench_engine::{Protocol, Target};
use gatebench_net::tls::{ClientContext, ClientSettings, Pem, Session, SettingsError, Verify};

/// A name that the trial's certificate is for.
pub(crate) use gatebench_testbed::SERVER_NAME;

/// What is read from the socket at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// A gateway or an upstream, and what is spoken with it.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The standard error of the process that listens, which may explain a request that hangs; none
    /// for a process that is not ours or is on another host.
    pub(crate) stderr: Option<PathBuf>,
    tls: Option<Pem>,
}

impl Wire {
    /// Plain HTTP.
    pub(crate) fn plain(address: SocketAddr) -> Self {
        Self {
            address,
            stderr: None,
            tls: None,
        }
    }

    /// HTTP over TLS, with a certificate that is its own authority.
    pub(crate) fn over_tls(address: SocketAddr, certificate: Pem) -> Self {
        Self {
            address,
            stderr: None,
            tls: Some(certificate),
        }
    }

    /// The same, with the file of the listening process's standard error.
    pub(crate) fn explained_by(self, stderr: Option<PathBuf>) -> Self {
        Self { stderr, ..self }
    }

    /// The target of a load, with HTTP/2 where so many streams are asked for.
    pub(crate) fn target(&self, http2_streams: Option<u32>) -> Result<Target, SettingsError> {
        let mut target = Target::new(self.address, self.address.to_string());
        if let Some(streams) = http2_streams {
            target.protocol = Protocol::Http2 { streams };
        }
        let alpn = if http2_streams.is_some() {
            "h2"
        } else {
            "http/1.1"
        };
        target.tls = self.context(alpn)?;
        Ok(target)
    }

    fn context(&self, alpn: &str) -> Result<Option<ClientContext>, SettingsError> {
        let Some(certificate) = &self.tls else {
            return Ok(None);
        };
        let settings = ClientSettings {
            verify: Verify::Ca(certificate.clone()),
            alpn: vec![alpn.into()],
            ..ClientSettings::default()
        };
        ClientContext::new(&settings, SERVER_NAME).map(Some)
    }

    /// Connects, over TLS with its handshake. Reads that find nothing for `read_slice` fail with [`io::ErrorKind::WouldBlock`].
    pub(crate) fn connect(&self, timeout: Duration, read_slice: Duration) -> io::Result<Line> {
        self.connect_offering("http/1.1", timeout, read_slice)
    }

    /// Whether HTTP/2 is agreed on with a client that offers nothing else (RFC 7301).
    pub(crate) fn agrees_on_http2(&self, timeout: Duration) -> io::Result<bool> {
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
        let stream = TcpStream::connect_timeout(&self.address, timeout)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(timeout))?;
        let context = self.context(alpn).map_err(io::Error::other)?;
        let Some(context) = context else {
            stream.set_read_timeout(Some(read_slice))?;
            return Ok(Line { stream, tls: None });
        };
        stream.set_read_timeout(Some(timeout))?;
        let mut out = Vec::new();
        let session = Session::client(&context, &mut out).map_err(io::Error::other)?;
        let mut line = Line {
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
}

/// A connection.
pub(crate) struct Line {
    stream: TcpStream,
    tls: Option<Secured>,
}

struct Secured {
    session: Box<Session>,
    /// What was decrypted and not read yet.
    plain: Vec<u8>,
}

impl Line {
    fn shake_hands(&mut self) -> io::Result<()> {
        while let Some(tls) = self.tls.as_mut().filter(|tls| tls.session.is_handshaking()) {
            if tls.hear(&mut self.stream)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }
}

impl Secured {
    /// Takes what arrives next, and answers it; tells how many bytes came.
    fn hear(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        let mut chunk = [0; CHUNK_BYTES];
        let count = stream.read(&mut chunk)?;
        let mut out = Vec::new();
        let heard = self.session.receive(&chunk[..count], &mut out, |plain| {
            self.plain.extend_from_slice(plain);
        });
        stream.write_all(&out)?;
        heard.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(count)
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.stream.read(buffer);
        };
        while tls.plain.is_empty() && !tls.session.is_closed_by_peer() {
            if tls.hear(&mut self.stream)? == 0 {
                return Ok(0);
            }
        }
        let count = tls.plain.len().min(buffer.len());
        buffer[..count].copy_from_slice(&tls.plain[..count]);
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
        tls.session
            .send(bytes, &mut out)
            .map_err(io::Error::other)?;
        self.stream.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
