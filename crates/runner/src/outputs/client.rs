//! Delivers a body with a blocking HTTP request, or writes it to a file.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use gatebench_net::http1::ResponseReader;
use gatebench_net::tls::{ClientContext, ClientSettings, Verify};
use gatebench_testbed::Line;

use super::refusal::{Refusal, Response};
use super::target::{Endpoint, Place, Target};

pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// The interval at which a wait for a response checks its deadline.
const READ_SLICE: Duration = Duration::from_millis(50);
/// The maximum number of bytes of a response body that are kept for the error message.
const WORDS_BYTES: usize = 200;
/// The limit on the pause that a server requests with `Retry-After`.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

pub(super) struct Client {
    target: Target,
    /// True if a file keeps its contents; false if they are replaced.
    appends: bool,
    /// True if a line break must precede the next line of the file.
    breaks_line: bool,
    context: Option<ClientContext>,
    file: Option<File>,
}

impl Client {
    pub(super) fn new(target: Target, appends: bool) -> Self {
        Self {
            target,
            appends,
            breaks_line: false,
            context: None,
            file: None,
        }
    }

    /// Sends an empty body, which is valid for every kind of server, or opens the file. If
    /// necessary, first sends a request that creates a database.
    pub(super) fn probe(&mut self, until: &dyn Fn() -> Instant) -> Result<(), Refusal> {
        if let Place::Server(endpoint) = &self.target.place
            && let Some(first) = endpoint.first.clone()
        {
            let endpoint = endpoint.clone();
            // A refusal is ignored: if the database does not exist, the server also refuses the
            // body that follows, and that refusal is reported.
            let _ = self.post(&endpoint, &first, &[], until);
        }
        self.deliver(Vec::new(), until)
    }

    pub(super) fn deliver(
        &mut self,
        body: Vec<u8>,
        until: &dyn Fn() -> Instant,
    ) -> Result<(), Refusal> {
        let body = self.target.format.finished(body);
        let response = match self.target.place.clone() {
            Place::File(path) => self.write(&path, &body).map(|()| None),
            Place::Server(endpoint) => {
                let path = endpoint.url.target();
                self.post(&endpoint, &path, &body, until).map(Some)
            }
        };
        let response = response.map_err(|error| Refusal::of_io(&self.target, &error))?;
        match response {
            Some(response) if !(200..=299).contains(&response.status) => {
                Err(Refusal::of_response(&self.target, &response))
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, path: &Path, body: &[u8]) -> io::Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                self.breaks_line = self.appends && ends_within_line(path);
                open(path, self.appends)?
            }
        };
        let file = self.file.insert(file);
        if !body.is_empty() && std::mem::take(&mut self.breaks_line) {
            file.write_all(b"\n")?;
        }
        file.write_all(body)
    }

    fn post(
        &mut self,
        endpoint: &Endpoint,
        path: &str,
        body: &[u8],
        until: &dyn Fn() -> Instant,
    ) -> io::Result<Response> {
        let line = self.connected(endpoint, until)?;
        let host = endpoint.url.authority();
        let mut fields: Vec<(&str, &[u8])> =
            vec![("Host", host.as_bytes()), ("Connection", b"close")];
        let headers = endpoint.headers.iter();
        fields.extend(headers.map(|(name, value)| (name.as_str(), value.as_bytes())));
        let mut response = ResponseReader::send(line, "POST", path, &fields, Some(body))?;
        let mut words = Vec::new();
        loop {
            match response.advance() {
                Ok(is_whole) => {
                    words.extend_from_slice(response.take_piece());
                    if is_whole || words.len() >= WORDS_BYTES {
                        break;
                    }
                }
                Err(error) if is_pause(&error) => {}
                // The status of a partial response is enough.
                Err(_) if response.status() > 0 => break,
                Err(error) => return Err(error),
            }
            if Instant::now() >= until() {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        words.truncate(WORDS_BYTES);
        Ok(Response {
            status: response.status(),
            retry_after: retry_after(response.head()),
            words: String::from_utf8_lossy(&words).into_owned(),
        })
    }

    fn connected(&mut self, endpoint: &Endpoint, until: &dyn Fn() -> Instant) -> io::Result<Line> {
        let url = &endpoint.url;
        if url.is_tls && self.context.is_none() {
            let settings = ClientSettings {
                verify: if endpoint.insecure {
                    Verify::Skip
                } else {
                    Verify::System
                },
                alpn: vec![b"http/1.1".to_vec()],
                ..ClientSettings::default()
            };
            let context = ClientContext::new(&settings, &url.host);
            self.context = Some(context.map_err(io::Error::other)?);
        }
        let host = url.host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = (host, url.port).to_socket_addrs()?.collect();
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in addresses {
            let left = until().saturating_duration_since(Instant::now());
            // A timeout of zero is not valid.
            let left = left.max(Duration::from_millis(1));
            match Line::open(address, self.context.as_ref(), left, READ_SLICE) {
                Ok(line) => return Ok(line),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Opens a file to append to it, or creates or truncates it. For `-`, duplicates the descriptor of
/// standard output, so that both share one position.
fn open(path: &Path, appends: bool) -> io::Result<File> {
    match path == Path::new("-") {
        true => Ok(io::stdout().as_fd().try_clone_to_owned()?.into()),
        false if appends => File::options().append(true).create(true).open(path),
        false => File::create(path),
    }
}

/// Reports whether the last line of a file has no line break, for example because its writer was
/// interrupted.
fn ends_within_line(path: &Path) -> bool {
    let last = || {
        let mut file = File::open(path).ok().filter(|_| path.is_file())?;
        let mut last = [0];
        file.seek(SeekFrom::End(-1)).ok()?;
        file.read_exact(&mut last).ok().map(|()| last)
    };
    last().is_some_and(|last| last != *b"\n")
}

/// Reports whether no data arrived during a slice of the wait. A read with a timeout is not
/// restarted after a signal (signal(7)).
fn is_pause(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Returns the seconds in the field `Retry-After`; `None` for a date, in which case the usual pause
/// applies.
fn retry_after(head: &[u8]) -> Option<Duration> {
    let head = String::from_utf8_lossy(head);
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let mut named = fields.filter(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
    let (_, value) = named.next()?;
    let seconds: u64 = value.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_or_appended_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seconds.jsonl");
        let word = format!("jsonl={}", path.display());
        let target = Target::parse(&word, &|_| None).unwrap();
        let until = || Instant::now() + TIMEOUT;
        for (appends, expected) in [
            (true, "a\n"),
            (true, "a\na\n"),
            (false, "a\n"),
            (true, "a\nb\na\n"),
        ] {
            if expected.contains('b') {
                // A line whose writer was interrupted.
                std::fs::write(&path, "a\nb").unwrap();
            }
            let mut client = Client::new(target.clone(), appends);
            client.probe(&until).unwrap();
            client.deliver(b"a\n".to_vec(), &until).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        }
    }
}
