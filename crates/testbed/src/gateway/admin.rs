//! Rendered requests to a gateway's admin interface.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gatebench_model::Route;
use gatebench_model::admin::{Admin, AdminCall, AdminRounds, AdminVerb};
use gatebench_model::gateway::InputRoute;
use gatebench_net::http1::ResponseReader;
use serde::{Deserialize, Serialize};

use super::render::Renderer;
use crate::error::DriverError;
use crate::system::command::wait_until;
use crate::system::unix_socket;

/// The time that an admin interface may take to open its socket.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum length of the body of a response, in bytes.
const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The admin requests of one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminCalls {
    /// The absolute path of the admin interface's Unix socket.
    socket: PathBuf,
    /// The requests in the order of a round, each with the operation that it performs.
    pub calls: Vec<(AdminVerb, AdminRequest)>,
}

impl AdminCalls {
    pub fn connect(&self) -> io::Result<UnixStream> {
        unix_socket::connect(&self.socket)
    }
}

/// A request to an admin interface, with its templates rendered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdminRequest {
    pub method: String,
    pub path: String,
    /// The JSON body; none if the request has no body.
    pub body: Option<String>,
}

impl AdminRequest {
    /// Sends the request to a Unix socket on a new connection; a status from 200 to 299 is a
    /// success. `timeout` applies to each write and to the whole response.
    pub(crate) fn send(&self, socket: &Path, timeout: Duration) -> Result<(), String> {
        let Self { method, path, body } = self;
        let exchange = || {
            let stream = connect(socket)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            // A Unix socket has no host name, but nginx rejects an empty `Host` field, and Caddy
            // accepts 127.0.0.1 and rejects most other hosts.
            let fields: [(&str, &[u8]); 2] = [
                ("Host", b"127.0.0.1"),
                ("Content-Type", b"application/json"),
            ];
            let body = body.as_deref().map(str::as_bytes);
            let mut response = ResponseReader::send(stream, method, path, &fields, body)?;
            let text = read_whole(&mut response, Instant::now() + timeout)?;
            Ok::<_, io::Error>((response.status(), text))
        };
        match exchange() {
            Ok((200..=299, _)) => Ok(()),
            Ok((status, text)) => {
                let text = String::from_utf8_lossy(&text);
                Err(format!(
                    "{method} {path} returned {status}: {}",
                    text.trim()
                ))
            }
            Err(error) => Err(format!("{method} {path} got no complete response: {error}")),
        }
    }
}

/// Reads a response until it is complete, and returns its body. A gateway that sends it in small
/// pieces cannot extend the deadline.
fn read_whole(response: &mut ResponseReader<UnixStream>, until: Instant) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let is_whole = match response.advance() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
            read => read?,
        };
        body.extend_from_slice(response.take_piece());
        if body.len() > RESPONSE_BYTES_MAX {
            let message = format!("the response body has more than {RESPONSE_BYTES_MAX} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        if is_whole {
            return Ok(body);
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        response.stream().set_read_timeout(Some(left))?;
    }
}

/// Connects to an interface. Tries repeatedly for [`OPEN_TIMEOUT`], because the interface may open
/// its socket shortly after the gateway's other listeners.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let mut last = io::ErrorKind::TimedOut.into();
    let connected = wait_until(Instant::now() + OPEN_TIMEOUT, || {
        unix_socket::connect(socket)
            .map_err(|error| last = error)
            .ok()
    });
    connected.ok_or(last)
}

/// Renders the requests of one round. `work` is the working folder with the socket.
pub(crate) fn calls(
    admin: &Admin,
    rounds: &AdminRounds,
    renderer: &Renderer<'_>,
    work: &Path,
    route: impl Fn(&Route) -> InputRoute,
) -> Result<AdminCalls, DriverError> {
    let request = |verb: AdminVerb| {
        let route = match verb {
            AdminVerb::Create | AdminVerb::Read => route(&rounds.route),
            AdminVerb::Update | AdminVerb::Delete => route(&rounds.updated()),
        };
        let of_route = renderer.with_route(&route)?;
        let AdminCall { method, path, body } = admin.call(verb);
        let field = format!("admin.{}", verb.as_str());
        let body = body.as_ref().map(|body| of_route.inline(&field, body));
        let request = AdminRequest {
            method: method.clone(),
            path: of_route.inline(&field, path)?,
            body: body.transpose()?,
        };
        Ok::<_, DriverError>((verb, request))
    };
    Ok(AdminCalls {
        socket: work.join(&admin.socket),
        calls: AdminVerb::ALL
            .into_iter()
            .map(request)
            .collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::thread;

    use super::*;

    /// Reads a response that begins with `head`, followed by another `piece` in each interval until
    /// the reader closes the connection.
    fn read_endless(
        head: &[u8],
        piece: Vec<u8>,
        every: Duration,
        timeout: Duration,
    ) -> io::Result<Vec<u8>> {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(head).unwrap();
        let sending = thread::spawn(move || {
            while theirs.write_all(&piece).is_ok() {
                thread::sleep(every);
            }
        });
        let mut response = ResponseReader::new(ours, false);
        let read = read_whole(&mut response, Instant::now() + timeout);
        drop(response);
        sending.join().unwrap();
        read
    }

    #[test]
    fn a_response_that_drips_ends_at_the_deadline() {
        let (every, timeout) = (Duration::from_millis(10), Duration::from_millis(200));
        for head in ["HTTP/1.1 200 OK\r\nx: ", "HTTP/1.1 200 OK\r\n\r\n"] {
            let error = read_endless(head.as_bytes(), vec![b'a'], every, timeout).unwrap_err();
            let is_timeout = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock];
            assert!(is_timeout.contains(&error.kind()), "{error}");
        }
    }

    #[test]
    fn a_response_without_end_is_refused() {
        let (head, piece) = (b"HTTP/1.1 200 OK\r\n\r\n", vec![b'a'; 1 << 20]);
        let minute = Duration::from_secs(60);
        let error = read_endless(head, piece, Duration::ZERO, minute).unwrap_err();
        assert!(error.to_string().contains("16777216 bytes"), "{error}");
    }
}
