//! Tests both ends of HTTP/2 against independent programs: nginx, curl and h2load.
//! `scripts/install-test-deps` installs these programs.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::receive;
use gatebench_net::http2::{Block, Client, ErrorCode, Event, Limits, Settings, StreamId};
use gatebench_net::run;
use tempfile::TempDir;

/// The time limit of a step, which is far longer than any step of these tests takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// nginx as one process on a Unix socket, whose path no other program uses.
struct Nginx {
    process: Child,
    folder: TempDir,
}

impl Nginx {
    fn start() -> Self {
        Self::start_for(1000)
    }

    /// Starts nginx so that it sends GOAWAY after `requests` requests on a connection.
    fn start_for(requests: u32) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().display();
        fs::write(folder.path().join("large"), large()).unwrap();
        let config = format!(
            "daemon off; master_process off; pid {path}/pid; error_log stderr;
             events {{ worker_connections 64; }}
             http {{
                 access_log off;
                 client_body_temp_path {path}/bodies; proxy_temp_path {path}/proxy;
                 fastcgi_temp_path {path}/fastcgi; uwsgi_temp_path {path}/uwsgi;
                 scgi_temp_path {path}/scgi;
                 client_max_body_size 100m; keepalive_requests {requests};
                 server {{
                     listen unix:{path}/socket http2;
                     root {path};
                     location = /small {{ return 200 small; }}
                     location = /fields {{ add_header X-Asked $http_x_asking; return 204; }}
                 }}
             }}"
        );
        let config_path = folder.path().join("nginx.conf");
        fs::write(&config_path, config).unwrap();
        let process = Command::new("nginx")
            .arg("-c")
            .arg(&config_path)
            .args(["-e", "stderr"])
            .env("PATH", path_with_daemons())
            .spawn()
            .expect("nginx is missing; run scripts/install-test-deps");
        Self { process, folder }
    }

    fn connect(&mut self) -> UnixStream {
        let socket = self.folder.path().join("socket");
        let limit = Instant::now() + PATIENCE;
        loop {
            if let Ok(stream) = UnixStream::connect(&socket) {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                return stream;
            }
            let status = self.process.try_wait().unwrap();
            assert!(status.is_none(), "nginx ended: {status:?}");
            assert!(Instant::now() < limit, "nginx does not listen");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns PATH with the directories of daemons, which a user's PATH often lacks.
fn path_with_daemons() -> String {
    let path = std::env::var("PATH").unwrap_or_default();
    format!("{path}:/usr/local/sbin:/usr/sbin:/sbin")
}

/// Returns a body of 1 MB, which takes many frames.
fn large() -> Vec<u8> {
    (0..1_000_000_u32).map(|at| (at / 3) as u8).collect()
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Response {
    status: u16,
    asked: Option<Vec<u8>>,
    body: Vec<u8>,
    complete: bool,
}

struct Connection {
    stream: UnixStream,
    client: Client,
    out: Vec<u8>,
    /// The responses by request index, which follows from the stream number.
    responses: Vec<Response>,
    gone: Option<ErrorCode>,
}

impl Connection {
    fn new(stream: UnixStream) -> Self {
        let client = Client::new(Settings::default(), Limits::default());
        let mut out = Vec::new();
        client.preface(&mut out);
        Self {
            stream,
            client,
            out,
            responses: Vec::new(),
            gone: None,
        }
    }

    fn request(&mut self, block: &Block, body: &[u8]) {
        let stream = self.client.request(block, body, &mut self.out).unwrap();
        assert_eq!(index_of(stream), self.responses.len());
        self.responses.push(Response::default());
    }

    /// Sends pending bytes and receives once; returns `false` at the end of the stream.
    fn turn(&mut self) -> bool {
        self.stream.write_all(&self.out).unwrap();
        self.out.clear();
        let mut buffer = [0; 8192];
        let length = receive(&mut self.stream, &mut buffer);
        let mut input = &buffer[..length];
        while let Some(event) = self.client.next(&mut input, &mut self.out).unwrap() {
            match event {
                Event::Head { stream, head } => {
                    let response = &mut self.responses[index_of(stream)];
                    response.status = head.status();
                    response.asked = head.field("X-Asked").map(<[u8]>::to_vec);
                }
                Event::Body { stream, bytes } => {
                    self.responses[index_of(stream)]
                        .body
                        .extend_from_slice(bytes);
                }
                Event::End { stream } => self.responses[index_of(stream)].complete = true,
                Event::GoAway { code, .. } => self.gone = Some(code),
                Event::Reset { code, .. } => assert_eq!(code, ErrorCode::REFUSED_STREAM),
                _ => {}
            }
        }
        length > 0
    }

    fn finish(&mut self) -> Vec<Response> {
        while self.client.open_count() > 0 {
            assert!(self.turn(), "nginx closed the connection");
        }
        self.responses.clone()
    }
}

fn index_of(stream: StreamId) -> usize {
    stream.number() as usize / 2
}

fn get(path: &str) -> Block {
    Block::request("GET", "http", "localhost", path)
}

#[test]
fn nginx_responds_to_a_hundred_concurrent_requests() {
    let mut nginx = Nginx::start();
    let mut connection = Connection::new(nginx.connect());
    for round in 0..3 {
        for _ in 0..100 {
            connection.request(&get("/small"), b"");
        }
        let responses = connection.finish();
        assert_eq!(responses.len(), 100 * (round + 1));
        let expected = Response {
            status: 200,
            asked: None,
            body: b"small".to_vec(),
            complete: true,
        };
        assert!(responses.iter().all(|response| *response == expected));
    }
}

#[test]
fn nginx_and_our_client_read_each_others_fields() {
    let mut nginx = Nginx::start();
    let mut connection = Connection::new(nginx.connect());
    let values = ["plain", "~^{}|<>\\\"", "a b; c=\"d\"", "0123456789abcdef"];
    for huffman in [true, false] {
        for value in values {
            let mut block = get("/fields");
            block.huffman(huffman).field("X-Asking", value.as_bytes());
            connection.request(&block, b"");
        }
    }
    let responses = connection.finish();
    let asked = responses
        .iter()
        .map(|response| response.asked.clone().unwrap());
    let expected = values
        .iter()
        .chain(&values)
        .map(|value| value.as_bytes().to_vec());
    assert!(asked.eq(expected));
    assert!(responses.iter().all(|response| response.status == 204));
}

#[test]
fn long_bodies_pass_both_ways() {
    let mut nginx = Nginx::start();
    let mut connection = Connection::new(nginx.connect());
    for _ in 0..3 {
        connection.request(&get("/large"), b"");
    }
    // nginx accepts the body and discards it.
    let post = Block::request("POST", "http", "localhost", "/small");
    connection.request(&post, &large());
    connection.request(&Block::request("HEAD", "http", "localhost", "/large"), b"");
    connection.request(&get("/missing"), b"");
    let responses = connection.finish();
    assert!(
        responses[..3]
            .iter()
            .all(|response| response.body == large())
    );
    assert_eq!(responses[3].body, b"small");
    assert_eq!((responses[4].status, responses[4].body.len()), (200, 0));
    assert_eq!(responses[5].status, 404);
    assert!(responses.iter().all(|response| response.complete));
}

#[test]
fn nginx_announces_its_end() {
    let mut nginx = Nginx::start_for(5);
    let mut connection = Connection::new(nginx.connect());
    for _ in 0..7 {
        connection.request(&get("/small"), b"");
    }
    let responses = connection.finish();
    assert_eq!(connection.gone, Some(ErrorCode::NO_ERROR));
    assert!(connection.client.is_closing());
    assert!(responses[..5].iter().all(|response| response.complete));
    assert!(!responses[5].complete && !responses[6].complete);
}

/// Runs the server of [`crate::serve`] while `body` runs.
fn with_server(body: impl FnOnce(SocketAddr)) {
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let serve = crate::serve::Serve {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            stop: &stop,
            on_listening: |address| sender.send(address).unwrap(),
        };
        scope.spawn(|| run(None, serve).unwrap().unwrap());
        /// Stops the server even if `body` panics, because the scope waits for the server.
        struct Stop<'s>(&'s AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let _stop = Stop(&stop);
        body(receiver.recv_timeout(PATIENCE).unwrap());
    });
}

fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .unwrap_or_else(|error| {
            panic!("{program}: {error}; scripts/install-test-deps installs it")
        });
    assert!(output.status.success(), "{program}: {}", output.status);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn curl_understands_our_server() {
    with_server(|address| {
        let url = format!("http://{address}/");
        let usual = ["--http2-prior-knowledge", "--silent", "--max-time", "20"];
        let got = output_of("curl", &[&usual[..], &["--include", &url]].concat());
        assert!(got.starts_with("HTTP/2 200"), "{got}");
        assert!(got.ends_with(std::str::from_utf8(crate::serve::GREETING).unwrap()));

        let folder = TempDir::new().unwrap();
        let sent = folder.path().join("sent");
        let came_back = folder.path().join("came-back");
        fs::write(&sent, large()).unwrap();
        let data = format!("@{}", sent.display());
        let output = came_back.to_str().unwrap();
        let post = ["--data-binary", &data, "--output", output, &url];
        output_of("curl", &[&usual[..], &post].concat());
        assert!(fs::read(came_back).unwrap() == large());
    });
}

#[test]
fn h2load_finds_no_error_in_our_server() {
    with_server(|address| {
        let url = format!("http://{address}/");
        let folder = TempDir::new().unwrap();
        let data: PathBuf = folder.path().join("data");
        fs::write(&data, large()).unwrap();
        assert_all_succeed(&["-n", "2000", "-c", "4", "-m", "50", &url], 2000);
        let data: &Path = &data;
        let data = data.to_str().unwrap();
        assert_all_succeed(&["-n", "20", "-c", "2", "-m", "5", "-d", data, &url], 20);
        // With a window of 2^10 − 1 bytes for each stream, our server must often wait.
        assert_all_succeed(
            &[
                "-n", "4", "-m", "2", "-w", "10", "-W", "11", "-d", data, &url,
            ],
            4,
        );
    });
}

fn assert_all_succeed(arguments: &[&str], count: u32) {
    let report = output_of("h2load", arguments);
    let succeeded = format!("{count} succeeded, 0 failed, 0 errored, 0 timeout");
    assert!(report.contains(&succeeded), "{report}");
    assert!(
        report.contains(&format!("status codes: {count} 2xx")),
        "{report}"
    );
}
