//! One plain HTTP request, to see whether somebody answers.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A status line longer than this is none.
const STATUS_LINE_BYTES_MAX: usize = 256;

/// The status with which a GET of this path is answered.
///
/// # Errors
/// What the system says, [`io::ErrorKind::TimedOut`] where no status line came in time, and
/// [`io::ErrorKind::InvalidData`] where something else than HTTP/1 came.
pub(crate) fn status_of(address: SocketAddr, path: &str, timeout: Duration) -> io::Result<u16> {
    let deadline = Instant::now() + timeout;
    let mut stream = TcpStream::connect_timeout(&address, timeout)?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes(),
    )?;
    let mut head = Vec::new();
    let mut chunk = [0_u8; STATUS_LINE_BYTES_MAX];
    while !head.contains(&b'\n') && head.len() < STATUS_LINE_BYTES_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => head.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            // A read with a timeout is not restarted after a signal (signal(7)).
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    status_in(&head)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP/1"))
}

fn status_in(head: &[u8]) -> Option<u16> {
    let line = str::from_utf8(head.split(|&byte| byte == b'\n').next()?).ok()?;
    line.strip_prefix("HTTP/1.")?
        .split(' ')
        .nth(1)?
        .trim_end()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_is_read() {
        assert_eq!(status_in(b"HTTP/1.1 404 Not Found\r\n"), Some(404));
        assert_eq!(status_in(b"HTTP/1.0 200\r\n"), Some(200));
        assert_eq!(status_in(b"SSH-2.0-x\r\n"), None);
    }
}
