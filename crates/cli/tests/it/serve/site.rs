//! A `gatebench serve` process, with a client for its pages.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The timeout of a read, which is longer than any response takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, which is killed on drop.
pub struct Site {
    /// The process; `None` if [`Site::start`] did not start it.
    child: Option<Child>,
    pub port: u16,
    pub url: String,
    pub cookie: String,
}

/// The status, the head and the body of a response, as sent.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Site {
    pub fn start(folder: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gatebench"))
            .arg("serve")
            .args(words)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut url).unwrap();
        let mut site = Self::at(url.trim_end());
        site.child = Some(child);
        site
    }

    /// The folders of the server's threads in `/proc`.
    pub fn threads(&self) -> impl Iterator<Item = PathBuf> {
        let pid = self.child.as_ref().unwrap().id();
        let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        threads.flatten().map(|thread| thread.path())
    }

    /// The CPU time of the server's threads.
    pub fn cpu_time(&self) -> Duration {
        let on_cpu = self.threads().map(|thread| {
            let times = fs::read_to_string(thread.join("schedstat")).unwrap();
            let nanoseconds = times.split_whitespace().next().unwrap();
            nanoseconds.parse::<u64>().unwrap()
        });
        Duration::from_nanos(on_cpu.sum())
    }

    /// Connects to the server at a printed URL, and exchanges the token in the URL for a cookie.
    pub fn at(url: &str) -> Self {
        let (_, rest) = url.split_once("127.0.0.1:").unwrap();
        let (port, path) = rest.split_once('/').unwrap();
        let mut site = Self {
            child: None,
            port: port.parse().unwrap(),
            url: url.to_owned(),
            cookie: String::new(),
        };
        let response = site.request("GET", &format!("/{path}"), &[]);
        assert_eq!(response.status, 303, "{response:?}");
        let cookie = response.header("set-cookie").unwrap();
        site.cookie = cookie.split(';').next().unwrap().to_owned();
        site
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn token(&self) -> &str {
        self.url.split_once("token=").unwrap().1
    }

    pub fn send(&self, text: &str) -> Response {
        let mut stream = self.connect();
        stream.write_all(text.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Response::of(&String::from_utf8_lossy(&bytes))
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.host()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request with only the Host header and these header lines.
    pub fn request(&self, method: &str, path: &str, lines: &[&str]) -> Response {
        let host = format!("Host: {}", self.host());
        let lines = [&[&*host], lines].concat().join("\r\n");
        self.send(&format!("{method} {path} HTTP/1.1\r\n{lines}\r\n\r\n"))
    }

    pub fn get(&self, path: &str) -> Response {
        self.request("GET", path, &[&format!("Cookie: {}", self.cookie)])
    }

    /// Returns the text of a page that must exist, without superfluous escapes.
    #[track_caller]
    pub fn page(&self, path: &str) -> String {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {response:?}");
        shown(&response.body)
    }

    pub fn changes(&self, path: &str) -> Changes {
        let mut stream = self.connect();
        let (host, cookie) = (self.host(), &self.cookie);
        let text = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        Changes(BufReader::new(stream))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Killing fails if the process has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Response {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
        Self {
            status: status.unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|it| it.split_once(": "));
        let mut named = lines.filter(|(own, _)| own.eq_ignore_ascii_case(name));
        named.next().map(|(_, value)| value)
    }
}

/// The event stream of a page, line by line.
pub struct Changes(BufReader<TcpStream>);

impl Changes {
    #[track_caller]
    pub fn until(&mut self, words: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let count = self.0.read_line(&mut line).unwrap();
            assert!(count > 0, "the stream ended before '{words}':\n{all}");
            if shown(&line).contains(words) {
                return line;
            }
            all.push_str(&line);
        }
    }
}

fn shown(text: &str) -> String {
    text.replace("&#x2f;", "/").replace("&#x27;", "'")
}

pub fn links(page: &str, words: &str) -> Vec<String> {
    let targets = page.split("href=\"").skip(1);
    let targets = targets.filter_map(|it| it.split('"').next());
    let targets = targets.filter(|it| it.contains(words));
    targets.map(str::to_owned).collect()
}
