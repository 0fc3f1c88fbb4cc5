//! HTTP over a Unix socket, as container engines speak it: one request on a connection, then its end.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Heads of container engines are a few hundred bytes.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// So many header fields a head may have.
const FIELDS_MAX: usize = 64;

/// An answer that says more than this is none of ours.
const BODY_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How long an engine may take to answer; one that pulls layers apart takes seconds.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A container engine at its socket.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) socket: PathBuf,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Api {
    /// Sends a request, with a body of JSON or without, and reads the answer to its end.
    pub(crate) fn call(&self, method: &str, path: &str, body: Option<&str>) -> io::Result<Answer> {
        let (status, stream) = self.open(method, path, body, Some(ANSWER_TIMEOUT))?;
        let mut body = Vec::new();
        stream.take(BODY_BYTES_MAX).read_to_end(&mut body)?;
        Ok(Answer { status, body })
    }

    /// Sends a request and gives the status and the body as it comes, however long that takes.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
        timeout: Option<Duration>,
    ) -> io::Result<(u16, Body<BufReader<UnixStream>>)> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(timeout)?;
        let body = body.unwrap_or_default();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut reader = BufReader::new(stream);
        let head = read_head(&mut reader)?;
        let (status, framing) = understand(&head)?;
        Ok((status, Body { reader, framing }))
    }
}

fn read_head(reader: &mut BufReader<UnixStream>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let read = reader
            .by_ref()
            .take(HEAD_BYTES_MAX as u64)
            .read_until(b'\n', &mut head)?;
        if read == 0 || head.len() > HEAD_BYTES_MAX {
            return Err(invalid("no whole head came"));
        }
    }
    Ok(head)
}

fn understand(head: &[u8]) -> io::Result<(u16, Framing)> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    response
        .parse(head)
        .map_err(|error| invalid(&error.to_string()))?;
    let status = response.code.ok_or_else(|| invalid("no status came"))?;
    let field = |name: &str| {
        let mut fields = response.headers.iter();
        let field = fields.find(|field| field.name.eq_ignore_ascii_case(name))?;
        str::from_utf8(field.value).ok().map(str::trim)
    };
    let chunked =
        field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    let framing = match field("content-length").and_then(|length| length.parse().ok()) {
        _ if matches!(status, 100..=199 | 204 | 304) => Framing::Counted(0),
        _ if chunked => Framing::Chunked(0),
        Some(length) => Framing::Counted(length),
        None => Framing::UntilClosed,
    };
    Ok((status, framing))
}

/// Where a body ends; the numbers are the bytes that are left, of the body or of its chunk.
#[derive(Debug)]
enum Framing {
    Counted(u64),
    Chunked(u64),
    UntilClosed,
}

/// A body without its framing.
#[derive(Debug)]
pub(crate) struct Body<R> {
    reader: R,
    framing: Framing,
}

impl<R: io::BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = match &mut self.framing {
            Framing::UntilClosed => return self.reader.read(buffer),
            Framing::Counted(left) => left,
            Framing::Chunked(left) => {
                if *left == 0 {
                    *left = next_chunk(&mut self.reader)?;
                    if *left == 0 {
                        self.framing = Framing::Counted(0);
                        return Ok(0);
                    }
                }
                left
            }
        };
        if *left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        let most = usize::try_from(*left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.reader.read(&mut buffer[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        *left -= read as u64;
        if let Framing::Chunked(0) = self.framing {
            line(&mut self.reader)?;
        }
        Ok(read)
    }
}

/// The length of the chunk that follows; 0 after the last one.
fn next_chunk(reader: &mut impl io::BufRead) -> io::Result<u64> {
    let line = line(reader)?;
    let length = line.split(';').next().unwrap_or_default().trim();
    u64::from_str_radix(length, 16).map_err(|_| invalid("a chunk has no length"))
}

fn line(reader: &mut impl io::BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    reader.take(256).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("what answers at the socket does not speak HTTP: {what}"),
    )
}

/// A word as a part of a path or query.
pub(crate) fn escaped(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    word.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn body(framing: Framing, bytes: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        let mut body = Body {
            reader: bytes,
            framing,
        };
        body.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn bodies_end_where_their_framing_says() {
        assert_eq!(body(Framing::Counted(2), b"abc").unwrap(), "ab");
        assert_eq!(body(Framing::UntilClosed, b"abc").unwrap(), "abc");
        let chunks = b"2\r\nab\r\n1;x=y\r\nc\r\n0\r\n\r\n";
        assert_eq!(body(Framing::Chunked(0), chunks).unwrap(), "abc");
        assert!(body(Framing::Counted(4), b"abc").is_err(), "cut off");
        assert!(body(Framing::Chunked(0), b"x\r\n").is_err());
    }

    #[test]
    fn a_head_tells_status_and_framing() {
        let told = |head: &str| understand(format!("{head}\r\n\r\n").as_bytes());
        let (status, framing) = told("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked").unwrap();
        assert!(status == 200 && matches!(framing, Framing::Chunked(0)));
        let (status, framing) = told("HTTP/1.1 404 No\r\ncontent-length: 7").unwrap();
        assert!(status == 404 && matches!(framing, Framing::Counted(7)));
        assert!(matches!(
            told("HTTP/1.1 204 No").unwrap().1,
            Framing::Counted(0)
        ));
        assert!(told("SSH-2.0").is_err());
    }

    #[test]
    fn names_of_images_are_escaped() {
        assert_eq!(escaped("localhost/a:1"), "localhost%2Fa%3A1");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = understand(&bytes);
            let _ = body(Framing::Chunked(0), &bytes);
        }
    }
}
