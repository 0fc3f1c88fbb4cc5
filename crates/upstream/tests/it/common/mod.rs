//! An upstream on a thread of this process, and a client with blocking reads and a timeout.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use gatebench_net::tls::{ServerSettings, self_signed};
use gatebench_net::{Backend, choose};
use gatebench_upstream::{Kind, LEDGER_PATH, RESET_PATH, Snapshot, UpstreamConfig, serve};

/// Returns the event loops to test: epoll and, if this kernel allows it, io_uring. With
/// `GATEBENCH_REQUIRE_URING=1`, panics if the kernel does not allow it.
pub fn backends() -> Vec<Backend> {
    if choose(None) == Backend::Uring {
        return vec![Backend::Epoll, Backend::Uring];
    }
    assert!(
        std::env::var_os("GATEBENCH_REQUIRE_URING").is_none_or(|it| it != "1"),
        "this kernel refuses io_uring, which GATEBENCH_REQUIRE_URING=1 requires"
    );
    eprintln!("SKIPPED on io_uring, which this kernel refuses");
    vec![Backend::Epoll]
}

/// Reads once, and retries after a signal, because the kernel does not restart a read that has a
/// timeout (signal(7)).
pub fn receive(stream: &mut impl Read, buffer: &mut [u8]) -> usize {
    loop {
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            outcome => return outcome.unwrap(),
        }
    }
}

/// A running upstream, which is stopped when it is dropped.
pub struct Upstream {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Upstream {
    pub fn start(kind: Kind, backend: Backend) -> Self {
        Self::start_at(kind, backend, "127.0.0.1:0".parse().unwrap())
    }

    pub fn start_at(kind: Kind, backend: Backend, listen: SocketAddr) -> Self {
        Self::begin(kind, backend, listen, None)
    }

    pub fn start_tls(kind: Kind, backend: Backend) -> Self {
        let settings = ServerSettings::new(self_signed(&["127.0.0.1"]).unwrap());
        Self::begin(
            kind,
            backend,
            "127.0.0.1:0".parse().unwrap(),
            Some(settings),
        )
    }

    fn begin(
        kind: Kind,
        backend: Backend,
        listen: SocketAddr,
        tls: Option<ServerSettings>,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, addresses) = mpsc::channel();
        let config = UpstreamConfig {
            kind,
            listen,
            cores: Vec::new(),
            backend: Some(backend),
            tls,
            streams: gatebench_upstream::STREAMS,
        };
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            serve(config, stopped, |address| tell.send(address).unwrap()).unwrap();
        });
        Self {
            address: addresses.recv().unwrap(),
            stop,
            thread: Some(thread),
        }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }

    pub fn ledger(&self) -> Snapshot {
        let response = self
            .client()
            .ask(&format!("GET {LEDGER_PATH} HTTP/1.1\r\nHost: h\r\n\r\n"));
        serde_json::from_slice(&response.body).unwrap()
    }

    pub fn reset(&self) {
        let request = format!("POST {RESET_PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(self.client().ask(&request).status, 200);
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

pub struct Client {
    pub stream: BufReader<TcpStream>,
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn field(&self, name: &str) -> Option<&str> {
        let wanted = format!("{}:", name.to_ascii_lowercase());
        self.head.lines().find_map(|line| {
            let matches = line.to_ascii_lowercase().starts_with(&wanted);
            matches.then(|| line[wanted.len()..].trim())
        })
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    pub fn ask(&mut self, request: &str) -> Response {
        self.send(request.as_bytes());
        self.response(request.starts_with("HEAD "))
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: example:80\r\n\r\n"))
    }

    pub fn head(&mut self) -> (u16, String) {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(
                self.stream.read_line(&mut head).unwrap(),
                0,
                "closed after {head:?}"
            );
        }
        (head[9..12].parse().unwrap(), head)
    }

    pub fn response(&mut self, to_head: bool) -> Response {
        let (status, head) = self.head();
        let mut response = Response {
            status,
            head,
            body: Vec::new(),
        };
        let length = response
            .field("Content-Length")
            .map_or(0, |value| value.parse().unwrap());
        if !to_head {
            response.body.resize(length, 0);
            self.stream.read_exact(&mut response.body).unwrap();
        }
        response
    }

    pub fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        rest
    }
}
