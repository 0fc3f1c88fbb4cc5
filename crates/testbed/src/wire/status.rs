//! A plain HTTP request that shows whether a server responds.

use std::io;
use std::time::{Duration, Instant};

use gatebench_net::http1::ResponseReader;

use super::Wire;

impl Wire {
    /// Returns the status of the response to a GET of this path.
    ///
    /// # Errors
    /// The system's error, [`io::ErrorKind::TimedOut`] if no head arrived in time, and
    /// [`io::ErrorKind::InvalidData`] if the response is not HTTP/1.
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
