//! HTTP over the Unix socket of a container engine, with one request per connection.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use gatebench_net::http1::ResponseReader;

/// The maximum number of bytes that are read from a response body.
const BODY_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The timeout of each read of [`Api::call`]. Some requests take seconds, because the engine
/// unpacks an image's layers before it responds.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) socket: PathBuf,
}

/// A response with its body, which is cut off at [`BODY_BYTES_MAX`].
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Api {
    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> io::Result<Response> {
        Response::read(self.open(method, path, body, Some(RESPONSE_TIMEOUT))?)
    }

    /// Sends a request and returns the response with an unread body. `timeout` applies to each
    /// read.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        body: Option<&str>,
        timeout: Option<Duration>,
    ) -> io::Result<ResponseReader<UnixStream>> {
        let stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(timeout)?;
        let fields: [(&str, &[u8]); 3] = [
            ("Host", b"localhost"),
            ("Connection", b"close"),
            ("Content-Type", b"application/json"),
        ];
        let body = body.unwrap_or_default().as_bytes();
        let mut response = ResponseReader::send(stream, method, path, &fields, Some(body))?;
        response.read_head().map_err(foreign)?;
        Ok(response)
    }
}

impl Response {
    pub(crate) fn read(response: ResponseReader<UnixStream>) -> io::Result<Self> {
        let status = response.status();
        let mut body = Vec::new();
        let mut limited = response.take(BODY_BYTES_MAX);
        limited.read_to_end(&mut body).map_err(foreign)?;
        Ok(Self { status, body })
    }
}

/// Explains a protocol error by its likely cause: the program at the socket does not speak HTTP.
/// Other errors are returned unchanged.
fn foreign(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::InvalidData {
        return error;
    }
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the program at the socket does not speak HTTP: {error}"),
    )
}

/// Percent-encodes a string for use in a path or query.
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
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    /// Calls a socket that responds with these bytes. Returns the response and the request.
    fn called(method: &str, bytes: &'static [u8]) -> (io::Result<Response>, String) {
        let home = tempfile::tempdir().unwrap();
        let socket = home.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let serving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let count = stream.read(&mut request).unwrap();
            stream.write_all(bytes).unwrap();
            String::from_utf8_lossy(&request[..count]).into_owned()
        });
        let response = Api { socket }.call(method, "/a", Some("{}"));
        (response, serving.join().unwrap())
    }

    #[test]
    fn a_call_is_one_request_and_its_response() {
        let (response, request) = called("POST", b"HTTP/1.1 200 OK\r\n\r\nabc");
        let response = response.unwrap();
        assert_eq!(
            (response.status, response.body.as_slice()),
            (200, &b"abc"[..])
        );
        let expected = "POST /a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                        Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(request, expected);
    }

    #[test]
    fn a_head_contains_status_and_framing() {
        let received = |bytes| {
            let response = called("GET", bytes).0.unwrap();
            (response.status, String::from_utf8(response.body).unwrap())
        };
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
        assert_eq!(received(chunked), (200, "ab".into()));
        let counted = b"HTTP/1.1 404 No\r\ncontent-length: 7\r\n\r\nno such";
        assert_eq!(received(counted), (404, "no such".into()));
        assert_eq!(received(b"HTTP/1.1 204 No\r\n\r\n"), (204, String::new()));
        let to_head = called("HEAD", counted).0.unwrap();
        assert_eq!((to_head.status, to_head.body.len()), (404, 0));
    }

    #[test]
    fn a_program_that_does_not_speak_http_is_reported() {
        let whole = |bytes| called("GET", bytes).0.unwrap_err();
        for bytes in [
            &b"SSH-2.0\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        ] {
            let error = whole(bytes);
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
            assert!(error.to_string().contains("does not speak HTTP"), "{error}");
        }
        let cut_off = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc";
        for bytes in [&cut_off[..], b""] {
            assert_eq!(whole(bytes).kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn names_of_images_are_escaped() {
        assert_eq!(escaped("localhost/a:1"), "localhost%2Fa%3A1");
    }
}
