//! `gatebench gateway FILE` with several workers: failing requests alongside good ones, on every
//! worker.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::thread;

use crate::gateway_process::Gateway;
use gatebench_model::{Check, Request, Scenario};
use serde_json::json;

const WORKERS: usize = 3;
/// Threads that send at the same time, each over several connections of each kind.
const THREADS: usize = 8;
const CONNECTIONS: usize = 8;
const ROUNDS: usize = 20;

fn scenario(name: &str) -> Scenario {
    let file = format!("../../scenarios/published/soap/{name}.yaml");
    gatebench_config::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn configuration(scenario: &Scenario, origin: &str) -> String {
    let (address, port) = origin.rsplit_once(':').unwrap();
    let port: u16 = port.parse().unwrap();
    let mut routes = serde_json::to_value(&scenario.routes).unwrap();
    for route in routes.as_array_mut().unwrap() {
        route["upstream"] = json!("origin");
    }
    json!({
        "listen": ["127.0.0.1:0"],
        "workers": WORKERS,
        "metrics": {"path": "/metrics"},
        "upstreams": [{"name": "origin", "keepalive": 4, "targets": [{"address": address, "port": port}]}],
        "routes": routes,
    })
    .to_string()
}

struct Connection {
    stream: BufReader<TcpStream>,
}

struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Connection {
    fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Self {
            stream: BufReader::new(stream),
        }
    }

    fn ask(&mut self, request: &[u8]) -> Response {
        self.stream.get_mut().write_all(request).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(self.stream.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).unwrap();
        Response {
            status: head[9..12].parse().unwrap(),
            head,
            body: String::from_utf8(body).unwrap(),
        }
    }
}

fn bytes(request: &Request) -> Vec<u8> {
    let fields = request.headers.iter();
    let fields: String = fields
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let body = request.body.as_ref().unwrap().text().unwrap();
    let line = format!("{} {} HTTP/1.1", request.method, request.path);
    let length = body.len();
    format!("{line}\r\nHost: h\r\n{fields}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

fn assert_right(response: &Response, checks: &[Check]) {
    let Response { head, body, .. } = response;
    for check in checks {
        match check {
            Check::Status(status) => assert_eq!(response.status, *status, "{body}"),
            Check::Header(wanted) => {
                let line = format!("{}: {}\r\n", wanted.name, wanted.equals);
                assert!(head.contains(&line), "{line} in {head}");
            }
            Check::BodyEquals(wanted) => assert_eq!(body, wanted),
            Check::BodyContains(part) => assert!(body.contains(part), "{body}"),
            other => panic!("this test does not support {other:?}"),
        }
    }
}

/// Sends good and failing requests in turn, each kind over its own connections, and asserts that
/// each response is correct.
fn load(scenario: &Scenario, address: &str) {
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let requests = scenario.groups.iter().map(|group| &group.requests[0]);
                let mut all: Vec<_> = requests
                    .cycle()
                    .take(CONNECTIONS * scenario.groups.len())
                    .map(|request| (Connection::open(address), bytes(request), &request.checks))
                    .collect();
                for _ in 0..ROUNDS {
                    for (connection, bytes, checks) in &mut all {
                        assert_right(&connection.ask(bytes), checks);
                    }
                }
            });
        }
    });
}

/// Returns the number of responses per worker and status class.
fn by_worker(address: &str) -> BTreeMap<(String, String), usize> {
    let asked = b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
    let text = Connection::open(address).ask(asked).body;
    let counts = text.lines().filter_map(|line| {
        let line = line.strip_prefix("gatebench_gateway_worker_requests_total{worker=\"")?;
        let (worker, line) = line.split_once("\",code=\"")?;
        let (class, count) = line.split_once("\"} ")?;
        Some((
            (worker.to_owned(), class.to_owned()),
            count.parse().unwrap(),
        ))
    });
    counts.collect()
}

#[test]
fn failing_requests_do_not_affect_good_ones_on_any_worker() {
    let origin = ["upstream", "calculator", "--listen", "127.0.0.1:0"];
    let origin = Gateway::run(origin.map(OsStr::new));
    let folder = tempfile::tempdir().unwrap();
    for name in ["soap-1-errors", "soap-3-errors"] {
        let scenario = scenario(name);
        let kinds = scenario.groups.iter();
        let kinds: Vec<_> = kinds.map(|group| &*group.name).collect();
        assert_eq!(kinds, ["good", "failing"]);
        let file = folder.path().join(format!("{name}.json"));
        std::fs::write(&file, configuration(&scenario, &origin.address)).unwrap();
        let gateway = Gateway::start(&file);
        load(&scenario, &gateway.address);
        let counted = by_worker(&gateway.address);
        let sent_of_each = THREADS * CONNECTIONS * ROUNDS;
        for (class, expected) in [
            ("2xx", sent_of_each),
            ("3xx", 0),
            ("4xx", 0),
            ("5xx", sent_of_each),
        ] {
            let counts: Vec<usize> = (0..WORKERS)
                .map(|worker| counted[&(worker.to_string(), class.to_owned())])
                .collect();
            assert_eq!(
                counts.iter().sum::<usize>(),
                expected,
                "{name} {class}: {counts:?}"
            );
            // A connection stays with its worker, and each connection sends the same number of
            // requests.
            assert!(counts.iter().all(|count| count % ROUNDS == 0), "{counts:?}");
            assert_eq!(
                counts.iter().all(|count| *count > 0),
                expected > 0,
                "{name} {class}: {counts:?}"
            );
        }
        assert_eq!(counted.len(), 5 * WORKERS);
    }
}
