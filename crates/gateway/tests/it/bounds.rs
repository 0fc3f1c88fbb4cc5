//! Tests the limits on the connections and the memory that clients can occupy in a worker, and
//! deadlines that pass while a worker is busy.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::common::h2::Connection;
use crate::common::{Client, Server, backends, field, noting, scripted, serve};
use gatebench_gateway::{Gateway, GatewayConfig, Totals};
use gatebench_net::Backend;
use gatebench_net::http2::Settings;
use serde_json::{Value, json};

fn configuration(origin: SocketAddr, policies: &Value, more: &Value) -> Value {
    let mut config = json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "origin", "keepalive": 4,
                       "targets": [{"address": "127.0.0.1", "port": origin.port()}]}],
        "routes": [
            {"name": "all", "path": "/", "upstream": "origin"},
            {"name": "policies", "path": "/policies", "upstream": "origin", "policies": policies},
        ],
    });
    for (key, value) in more.as_object().unwrap() {
        config[key] = value.clone();
    }
    config
}

/// Returns policies with a contract that takes long to check, and a body of `count` + 1 strings
/// that is checked against the contract.
fn long_work(count: usize) -> (Value, String) {
    let lengths: Vec<Value> = (100..160).map(|most| json!({"maxLength": most})).collect();
    let schema = json!({"type": "array", "items": {"allOf": lengths}});
    let content = json!({"application/json": {"schema": schema}});
    let operation = json!({"requestBody": {"content": content}, "responses": {}});
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {"/policies": {"post": operation}},
    });
    let policies = json!([{"openapi": {"document": document.to_string()}}]);
    let body = format!("[{}\"x\"]", "\"x\",".repeat(count));
    (policies, body)
}

/// An origin that waits 100 ms before it responds to a request without a body.
fn unhurried() -> SocketAddr {
    scripted(|_, mut peer| {
        loop {
            let head = peer.head();
            if head.is_empty() {
                return;
            }
            match field(&head, "Content-Length") {
                Some(length) => drop(peer.exact(length.parse().unwrap())),
                None => std::thread::sleep(Duration::from_millis(100)),
            }
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    })
}

fn request(body: &str) -> String {
    let length = body.len();
    format!(
        "POST /policies HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

#[test]
fn deadlines_pause_while_the_worker_is_busy() {
    for backend in backends() {
        let origin = unhurried();
        let more = |wait_ms: u64| {
            let waits = json!({"upstream_ms": wait_ms, "connect_ms": wait_ms});
            json!({"collected_bytes_max": 64 << 20, "timeouts": waits})
        };
        // Finds an amount of work that takes at least 0.6 s on this machine.
        let (mut count, mut took) = (2000, Duration::ZERO);
        while took < Duration::from_millis(600) {
            count *= 2;
            assert!(count < 8 << 20, "checking the contract is too fast");
            let (policies, body) = long_work(count);
            let gateway = serve(backend, &configuration(origin, &policies, &more(30_000)));
            let mut client = gateway.client();
            let begun = Instant::now();
            assert_eq!(client.ask(&request(&body)).status, 200);
            took = begun.elapsed();
        }
        let (policies, body) = long_work(count);
        let wait_ms = took.as_millis() as u64 / 3;
        let gateway = serve(backend, &configuration(origin, &policies, &more(wait_ms)));
        let mut client = gateway.client();
        // The first request uses a new connection to the upstream, and the others reuse it.
        for _ in 0..3 {
            assert_eq!(
                client.ask(&request(&body)).status,
                200,
                "with a timeout of {wait_ms} ms and {took:?} of work"
            );
        }
        // The upstream's response for another client arrives while the worker is busy.
        let request = request(&body);
        let (most, last) = request.as_bytes().split_at(request.len() - 1);
        client.send(most);
        std::thread::sleep(Duration::from_millis(100));
        let mut neighbor = gateway.client();
        neighbor.send(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
        std::thread::sleep(Duration::from_millis(20));
        client.send(last);
        assert_eq!(neighbor.response(false).status, 200);
        assert_eq!(client.response(false).status, 200);
    }
}

/// Runs `act` while a gateway serves, and returns the gateway's messages for the operator.
fn with_notices(
    backend: Backend,
    config: &Value,
    act: impl FnOnce(SocketAddr) + std::panic::UnwindSafe,
) -> Vec<String> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&heard);
    let config = GatewayConfig::parse(&config.to_string()).unwrap();
    let gateway = Gateway::new(&config).unwrap();
    let gateway = gateway.with_notices(move |words| noted.lock().unwrap().push(words.to_owned()));
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let stopped = Arc::clone(&stop);
        let serving = scope.spawn(|| {
            let announce = |bound: &[SocketAddr]| sender.send(bound[0]).unwrap();
            gateway.serve(&[], Some(backend), stopped, announce)
        });
        let address = receiver.recv().unwrap();
        let outcome = std::panic::catch_unwind(|| act(address));
        stop.store(true, Ordering::Relaxed);
        serving.join().unwrap().unwrap();
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    let heard = heard.lock().unwrap();
    heard.clone()
}

/// Opens a connection and returns it if the gateway serves it rather than closing it.
fn served(address: SocketAddr) -> Option<Client> {
    let mut client = Client::connect(address);
    let asked = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
    // The connection may already be closed.
    let sent = client.stream.get_mut().write_all(asked);
    // Unlike `read_exact`, `read` would fail with EINTR when the kernel ends the io_uring of an
    // earlier gateway.
    let heard = sent.and_then(|()| client.stream.read_exact(&mut [0]));
    match heard {
        Ok(()) => {
            client.head();
            client.exact(2);
            Some(client)
        }
        Err(error) => {
            let is_late = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
            assert!(!is_late, "the connection was neither served nor closed");
            None
        }
    }
}

#[test]
fn a_worker_limits_its_connections() {
    for backend in backends() {
        let (origin, _) = noting();
        // A separate address, because another test may still be connecting to a port that this
        // gateway now uses.
        let more = json!({"listen": ["127.0.0.9:0"], "connections_max": 3});
        let config = configuration(origin, &json!([]), &more);
        let heard = with_notices(backend, &config, |address| {
            let mut clients: Vec<Client> = (0..3).map(|_| served(address).unwrap()).collect();
            for _ in 0..20 {
                assert!(
                    served(address).is_none(),
                    "a fourth connection was served, but the limit is three"
                );
            }
            for client in &mut clients {
                assert_eq!(
                    client.get("/a").status,
                    200,
                    "an open connection is no longer served"
                );
            }
            drop(clients.pop());
            let begun = Instant::now();
            while served(address).is_none() {
                assert!(
                    begun.elapsed() < Duration::from_secs(5),
                    "there is no room after a client has disconnected"
                );
            }
        });
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert!(heard[0].contains("connections_max"), "{heard:?}");
    }
}

/// A handwritten HTTP/2 connection whose client tracks and obeys the windows.
struct Windows {
    socket: TcpStream,
    input: Vec<u8>,
    initial: i64,
    of_connection: i64,
    /// The bytes that each stream may still send, minus `initial`.
    of_streams: BTreeMap<u32, i64>,
    answered: BTreeSet<u32>,
    sent: usize,
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;

impl Windows {
    fn open(address: SocketAddr) -> Self {
        let mut socket = TcpStream::connect(address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        socket
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        let mut windows = Self {
            socket,
            input: Vec::new(),
            initial: 65_535,
            of_connection: 65_535,
            of_streams: BTreeMap::new(),
            answered: BTreeSet::new(),
            sent: 0,
        };
        windows.frame(SETTINGS, 0, 0, b"");
        while windows.hear() {}
        windows
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = (payload.len() as u32).to_be_bytes();
        let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.socket
            .write_all(&[&head[..], payload].concat())
            .unwrap();
    }

    fn begin(&mut self, stream: u32, path: &str) {
        // POST and http are entries of the static table; the other fields take only their names
        // from it.
        let mut block = vec![0x83, 0x86, 0x01, 1, b'h', 0x04, path.len() as u8];
        block.extend_from_slice(path.as_bytes());
        block.extend_from_slice(&[0x0F, 0x10, 16]);
        block.extend_from_slice(b"application/json");
        self.of_streams.insert(stream, 0);
        self.frame(HEADERS, 4, stream, &block);
    }

    /// Returns the number of bytes, at most `bytes`, that the windows and the frame size allow.
    fn allowed(&self, stream: u32, bytes: usize) -> usize {
        let of_stream = self.initial + self.of_streams[&stream];
        let window = of_stream.min(self.of_connection).max(0) as usize;
        bytes.min(window).min(16_384)
    }

    fn data(&mut self, stream: u32, bytes: &[u8], ends: bool) {
        let length = bytes.len() as i64;
        self.of_connection -= length;
        *self.of_streams.get_mut(&stream).unwrap() -= length;
        self.sent += bytes.len();
        self.frame(DATA, ends.into(), stream, bytes);
    }

    /// Reads bytes and processes complete frames; returns false if nothing arrives for 100 ms.
    fn hear(&mut self) -> bool {
        let mut bytes = [0; 65_536];
        let length = match self.socket.read(&mut bytes) {
            Ok(0) => panic!("the gateway closed the connection"),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => return true,
            Err(error) => {
                let is_silent = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                assert!(is_silent, "{error}");
                return false;
            }
        };
        self.input.extend_from_slice(&bytes[..length]);
        while let Some(head) = self.input.first_chunk::<9>() {
            let [l0, l1, l2, kind, flags, id @ ..] = *head;
            let end = 9 + u32::from_be_bytes([0, l0, l1, l2]) as usize;
            if self.input.len() < end {
                break;
            }
            let payload: Vec<u8> = self.input.drain(..end).skip(9).collect();
            self.take(kind, flags, u32::from_be_bytes(id), &payload);
        }
        true
    }

    fn take(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        match kind {
            SETTINGS if flags == 0 => {
                for setting in payload.chunks_exact(6) {
                    if setting[..2] == [0, 4] {
                        let window = <[u8; 4]>::try_from(&setting[2..]).unwrap();
                        self.initial = u32::from_be_bytes(window).into();
                    }
                }
                self.frame(SETTINGS, 1, 0, b"");
            }
            WINDOW_UPDATE => {
                let more = u32::from_be_bytes(payload.try_into().unwrap());
                match self.of_streams.get_mut(&stream) {
                    Some(window) => *window += i64::from(more),
                    None => self.of_connection += i64::from(more),
                }
            }
            HEADERS => {
                self.answered.insert(stream);
            }
            // RST_STREAM and GOAWAY.
            3 | 7 => panic!("the gateway gave up stream {stream}: {payload:?}"),
            _ => {}
        }
    }

    /// Sends each body as far as the windows allow, until nothing more can be sent or every request
    /// has a response. The last byte is sent only if `ends` is true.
    fn send_all(&mut self, left: &mut BTreeMap<u32, usize>, length: usize, ends: bool) {
        let begun = Instant::now();
        let patience = if ends { 100 } else { 8 };
        let mut silences = 0;
        while silences < patience && self.answered.len() < left.len() {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "only {} responses have arrived",
                self.answered.len()
            );
            let sent_before = self.sent;
            for (&stream, left) in left.iter_mut() {
                loop {
                    let count = self.allowed(stream, *left - usize::from(!ends && *left > 0));
                    if count == 0 {
                        break;
                    }
                    let mut bytes = vec![b' '; count];
                    if *left == length {
                        bytes[0] = b'[';
                    }
                    *left -= count;
                    if *left == 0 {
                        bytes[count - 1] = b']';
                    }
                    self.data(stream, &bytes, *left == 0);
                }
            }
            let is_silent = !self.hear() && self.sent == sent_before;
            silences = if is_silent { silences + 1 } else { 0 };
        }
    }
}

#[test]
fn the_bodies_of_one_connection_share_their_memory() {
    const STREAMS: u32 = 24;
    const LENGTH: usize = (1 << 20) - 1;
    let policies = json!([{"request_json": {"add": {"/a": 1}}}]);
    for backend in backends() {
        let (origin, seen) = noting();
        let more = json!({"connection_collected_bytes_max": 4 << 20});
        let gateway = serve(backend, &configuration(origin, &policies, &more));
        let mut windows = Windows::open(gateway.address);
        let mut left = BTreeMap::new();
        for number in 0..STREAMS {
            windows.begin(2 * number + 1, "/policies");
            left.insert(2 * number + 1, LENGTH);
        }
        windows.send_all(&mut left, LENGTH, false);
        // The limit, plus the bytes that each stream may send before it is paused, plus the one
        // body that the gateway continues to read.
        let most = (4 << 20) + STREAMS as usize * (192 << 10) + (2 << 20);
        let sent = windows.sent;
        assert!(
            (4 << 20..most).contains(&sent),
            "{sent} of {} bytes were sent",
            LENGTH * STREAMS as usize
        );
        assert_eq!(gateway.client().get("/a").status, 200);
        windows.send_all(&mut left, LENGTH, true);
        assert_eq!(windows.answered.len(), STREAMS as usize);
        assert_eq!(seen.lock().unwrap().len(), STREAMS as usize + 1);
    }
}

#[test]
fn the_responses_of_one_connection_share_their_memory_and_all_arrive() {
    let policies = json!([{"response_json": {"add": {"/a": 1}}}]);
    let body = format!("[\"{}\"]", "x".repeat(900_000));
    let response = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for backend in backends() {
        let response = response.clone();
        let origin = scripted(move |_, mut peer| {
            while !peer.head().is_empty() {
                peer.send(response.as_bytes());
            }
        });
        let more = json!({"connection_collected_bytes_max": 1 << 20});
        let gateway: Server<Totals> = serve(backend, &configuration(origin, &policies, &more));
        let mut connection = Connection::open(gateway.address, Settings::default());
        let streams: Vec<_> = (0..24)
            .map(|_| connection.ask("GET", "/policies", &[], b""))
            .collect();
        for stream in streams {
            let response = connection.response(stream);
            assert_eq!((response.status, response.body.len()), (200, body.len()));
        }
    }
}
