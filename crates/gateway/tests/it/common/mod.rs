//! A gateway and upstreams on threads of this process, and an HTTP/1.1 client.

mod event_loops;
pub mod h2;
pub mod memory;
pub mod programs;
pub mod reader;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use gatebench_gateway::{Gateway, GatewayConfig, Totals};
use gatebench_net::Backend;
use gatebench_net::tls::{Identity, Pem, ServerSettings};
use gatebench_upstream::{Kind, UpstreamConfig};
use serde_json::{Value, json};

pub use event_loops::backends;

/// A server on a separate thread, ended when dropped.
pub struct Server<T> {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<T>>,
}

impl<T: Send + 'static> Server<T> {
    fn start(
        run: impl FnOnce(Arc<AtomicBool>, mpsc::Sender<SocketAddr>) -> T + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || run(stopped, sender));
        Self {
            address: receiver.recv().unwrap(),
            stop,
            thread: Some(thread),
        }
    }

    pub fn end(mut self) -> T {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl<T> Server<T> {
    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }
}

impl<T> Drop for Server<T> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

pub fn upstream(kind: Kind, backend: Backend) -> Server<()> {
    upstream_over(kind, backend, None)
}

pub fn upstream_with_tls(kind: Kind, backend: Backend, certificate: &str, key: &str) -> Server<()> {
    let read = |path: &str| Pem::read(std::path::Path::new(path)).unwrap();
    let identity = Identity {
        chain: read(certificate),
        key: read(key),
    };
    upstream_over(kind, backend, Some(ServerSettings::new(identity)))
}

fn upstream_over(kind: Kind, backend: Backend, tls: Option<ServerSettings>) -> Server<()> {
    Server::start(move |stop, sender| {
        let config = UpstreamConfig {
            kind,
            listen: "127.0.0.1:0".parse().unwrap(),
            cores: Vec::new(),
            backend: Some(backend),
            tls,
            streams: gatebench_upstream::STREAMS,
        };
        gatebench_upstream::serve(config, stop, |address| sender.send(address).unwrap()).unwrap();
    })
}

/// Starts a gateway with these routes in front of one upstream, named `origin`.
pub fn gateway(backend: Backend, targets: &[SocketAddr], routes: Value) -> Server<Totals> {
    gateway_with(backend, targets, routes, json!({}))
}

pub fn gateway_with(
    backend: Backend,
    targets: &[SocketAddr],
    routes: Value,
    timeouts: Value,
) -> Server<Totals> {
    let targets: Vec<_> = targets
        .iter()
        .map(|target| json!({"address": target.ip().to_string(), "port": target.port()}))
        .collect();
    let config = json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "origin", "keepalive": 4, "targets": targets}],
        "consumers": [{"name": "alice", "keys": ["alice-key"]}],
        "routes": routes,
        "timeouts": timeouts,
    });
    serve(backend, &config)
}

pub fn serve(backend: Backend, config: &Value) -> Server<Totals> {
    let config = GatewayConfig::parse(&config.to_string()).unwrap();
    Server::start(move |stop, sender| {
        let heard = |bound: &[SocketAddr]| sender.send(bound[0]).unwrap();
        gatebench_gateway::serve(&config, &[], Some(backend), stop, heard).unwrap()
    })
}

/// Serves while `act` runs, and then stops immediately, even if `act` has begun a graceful stop
/// that is still in progress.
pub fn while_serving(
    backend: Backend,
    config: &GatewayConfig,
    act: impl FnOnce(&Gateway, SocketAddr),
) -> Totals {
    let gateway = Gateway::new(config).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let stopped = Arc::clone(&stop);
        let serving = scope.spawn(|| {
            gateway.serve(&[], Some(backend), stopped, |bound| {
                sender.send(bound[0]).unwrap();
            })
        });
        let address = receiver.recv().unwrap();
        // The gateway must be stopped even if an assertion fails; otherwise, the scope would wait
        // forever.
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&gateway, address)));
        stop.store(true, Ordering::Relaxed);
        let totals = serving.join().unwrap().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
        totals
    })
}

pub fn all() -> Value {
    json!([{"name": "all", "path": "/", "upstream": "origin"}])
}

/// Starts an upstream that a test controls: `act` gets each connection, numbered from 0.
pub fn scripted(act: impl Fn(usize, Client) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let act = Arc::new(act);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let act = Arc::clone(&act);
            let client = Client::from_stream(stream.unwrap());
            std::thread::spawn(move || act(number, client));
        }
    });
    address
}

/// Starts an origin that records the request line of every request and responds with 200.
pub fn noting() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let address = scripted(move |_, mut peer| {
        loop {
            let head = peer.head();
            let Some(line) = head.lines().next() else {
                return;
            };
            noted.lock().unwrap().push(line.to_owned());
            if field(&head, "Transfer-Encoding").is_some() {
                // Reads the chunked body, which ends with an empty chunk.
                loop {
                    let more = peer.head();
                    if more.is_empty() {
                        return;
                    }
                    if more.ends_with("0\r\n\r\n") {
                        break;
                    }
                }
            } else {
                let length = field(&head, "Content-Length");
                peer.exact(length.map_or(0, |length| length.parse().unwrap()));
            }
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    (address, seen)
}

/// A folder of certificates for one test, deleted when dropped.
pub struct Certificates(PathBuf);

impl Certificates {
    pub fn new(test: &str) -> Self {
        let name = format!("gatebench-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Creates a self-signed certificate; returns the paths of its file and of its key's file.
    pub fn make(&self, name: &str, alternative: &str) -> (String, String) {
        let paths = (
            self.path(&format!("{name}.pem")),
            self.path(&format!("{name}.key")),
        );
        let curve = [
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ];
        let made = Command::new("openssl")
            .args(["req", "-x509", "-days", "2", "-subj", "/CN=test"])
            .args(curve)
            .args(["-addext", &format!("subjectAltName={alternative}")])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-out", &paths.0, "-keyout", &paths.1])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        paths
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
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
        field(&self.head, name)
    }
}

pub fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let wanted = format!("{}:", name.to_ascii_lowercase());
    head.lines().find_map(|line| {
        let matches = line.to_ascii_lowercase().starts_with(&wanted);
        matches.then(|| line[wanted.len()..].trim())
    })
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        Self::from_stream(TcpStream::connect(address).unwrap())
    }

    fn from_stream(stream: TcpStream) -> Self {
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
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: example\r\n\r\n"))
    }

    /// Returns the head of a request or response, or an empty string if the peer has closed the
    /// connection.
    pub fn head(&mut self) -> String {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head).unwrap() == 0 {
                return String::new();
            }
        }
        head
    }

    pub fn response(&mut self, to_head: bool) -> Response {
        let head = self.head();
        assert!(
            !head.is_empty(),
            "the connection was closed without a response"
        );
        let mut response = Response {
            status: head[9..12].parse().unwrap(),
            head,
            body: Vec::new(),
        };
        if to_head {
            return response;
        }
        if response.field("Transfer-Encoding") == Some("chunked") {
            response.body = self.chunks();
        } else if let Some(length) = response.field("Content-Length") {
            response.body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut response.body).unwrap();
        }
        response
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line).unwrap();
            let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
            let start = body.len();
            body.resize(start + size + 2, 0);
            self.stream.read_exact(&mut body[start..]).unwrap();
            assert!(body.ends_with(b"\r\n"));
            body.truncate(start + size);
            if size == 0 {
                return body;
            }
        }
    }

    pub fn exact(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// Returns the bytes that arrive until the peer closes, or the error that ends the connection.
    pub fn rest(&mut self) -> std::io::Result<Vec<u8>> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest)?;
        Ok(rest)
    }
}
