//! Tests HTTP/2 on the same port as HTTP/1.1, with prior knowledge and by ALPN. The clients are
//! curl and gatebench's own client.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use crate::common::{Upstream, backends, receive};
use gatebench_net::clock;
use gatebench_net::http2::{Block, Client, ErrorCode, Event, Limits, Settings, StreamId};
use gatebench_net::trace::{NONCE_HEADER, Nonce, TIMES_HEADER, Times};
use gatebench_upstream::{Kind, LEDGER_PATH, Snapshot};

fn curl(words: &[&str]) -> String {
    let output = Command::new("curl")
        .args(["-sSk", "--max-time", "20"])
        .args(words)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The arguments that make curl use HTTP/1.1 and HTTP/2 without TLS.
const CLEARTEXT: [&str; 2] = ["--http1.1", "--http2-prior-knowledge"];
/// The arguments that make curl use HTTP/1.1 and HTTP/2 over TLS.
const OVER_TLS: [&str; 2] = ["--http1.1", "--http2"];

fn on_each(kind: Kind, check: impl Fn(&Upstream, &str, [&str; 2])) {
    for backend in backends() {
        let upstream = Upstream::start(kind, backend);
        check(
            &upstream,
            &format!("http://{}", upstream.address),
            CLEARTEXT,
        );
        let upstream = Upstream::start_tls(kind, backend);
        check(
            &upstream,
            &format!("https://{}", upstream.address),
            OVER_TLS,
        );
    }
}

#[test]
fn curl_speaks_either_protocol_on_one_port() {
    on_each(Kind::Ping, |_, url, protocols| {
        let ping = format!("{url}/ping");
        for (protocol, version) in protocols.into_iter().zip(["1.1", "2"]) {
            let output = curl(&[protocol, "-w", " %{http_version} %{http_code}", &ping]);
            assert_eq!(output, format!("ok {version} 200"));
            let head = curl(&[protocol, "-I", &ping]).to_ascii_lowercase();
            assert!(head.contains("content-length: 2"), "{head}");
            let refused = curl(&[protocol, "-i", "-X", "DELETE", &ping]);
            assert!(refused.contains(" 405"), "{refused}");
        }
        let ledger: Snapshot =
            serde_json::from_str(&curl(&[protocols[1], &format!("{url}{LEDGER_PATH}")])).unwrap();
        assert_eq!((ledger.requests, ledger.connections_accepted), (6, 6));
        assert!(ledger.bytes_out > 0 && ledger.protocol_errors == 0);
    });
}

#[test]
fn routes_respond_alike_in_either_protocol() {
    on_each(Kind::GoBench, |_, url, [old, new]| {
        let body = "x".repeat(200_000);
        let file = std::env::temp_dir().join(format!("upstream-echo-{}", std::process::id()));
        std::fs::write(&file, &body).unwrap();
        let data = format!("@{}", file.display());
        for words in [
            &["/size/1M"][..],
            &["/xml"],
            &["/resource/7"],
            &["/delay/20ms"],
            &["/nowhere"],
            &[
                "/echo",
                "--data-binary",
                &data,
                "-H",
                "Expect: 100-continue",
            ],
        ] {
            let target = format!("{url}{}", words[0]);
            let ask = |protocol| {
                let first = [protocol, "-w", "%{content_type} %{http_code}", &target];
                curl(&[&first[..], &words[1..]].concat())
            };
            assert!(ask(old) == ask(new), "{words:?}");
        }
        std::fs::remove_file(&file).unwrap();
    });
}

#[test]
fn httpbin_compresses_and_streams() {
    on_each(Kind::Httpbin, |_, url, protocols| {
        for protocol in protocols {
            let zipped = curl(&[protocol, "--compressed", &format!("{url}/gzip")]);
            let output: serde_json::Value = serde_json::from_str(&zipped).unwrap();
            assert_eq!(
                (&output["gzipped"], &output["method"]),
                (&true.into(), &"GET".into())
            );
            let lines = curl(&[protocol, &format!("{url}/stream/3?a=1")]);
            let lines: Vec<serde_json::Value> = lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            assert_eq!(lines.len(), 3);
            assert_eq!(
                (&lines[2]["id"], &lines[2]["args"]["a"]),
                (&2.into(), &"1".into())
            );
            assert_eq!(
                curl(&[protocol, &format!("{url}/stream/1000")])
                    .lines()
                    .count(),
                100
            );
            assert!(curl(&[protocol, &format!("{url}/xml")]).starts_with("<?xml"));
            let output = curl(&[protocol, "-d", "{}", &format!("{url}/anything/x?q=1")]);
            let output: serde_json::Value = serde_json::from_str(&output).unwrap();
            let host = url.split_once("://").unwrap().1;
            assert_eq!(output["headers"]["Host"], host);
            assert_eq!(output["url"], format!("http://{host}/anything/x?q=1"));
        }
    });
}

#[test]
fn a_failed_handshake_is_counted() {
    for backend in backends() {
        let upstream = Upstream::start_tls(Kind::Ping, backend);
        let mut stream = TcpStream::connect(upstream.address).unwrap();
        stream
            .write_all(b"GET /ping HTTP/1.1\r\nHost: h\r\n\r\n")
            .unwrap();
        // The upstream states the reason in an alert, and closes the connection.
        stream.read_to_end(&mut Vec::new()).unwrap();
        let output = curl(&[&format!("https://{}{LEDGER_PATH}", upstream.address)]);
        let ledger: Snapshot = serde_json::from_str(&output).unwrap();
        assert_eq!(ledger.tls_handshakes_failed, 1);
        assert_eq!((ledger.requests, ledger.protocol_errors), (0, 0));
    }
}

/// A connection of gatebench's own client.
struct Own {
    stream: TcpStream,
    client: Client,
    out: Vec<u8>,
    /// The responses, by stream number.
    responses: BTreeMap<u32, Response>,
}

#[derive(Debug, Default)]
struct Response {
    status: u16,
    times: Option<Times>,
    body: Vec<u8>,
    ended: bool,
    reset: Option<ErrorCode>,
}

impl Own {
    fn connect(upstream: &Upstream) -> Self {
        let stream = TcpStream::connect(upstream.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let client = Client::new(Settings::default(), Limits::default());
        let mut out = Vec::new();
        client.preface(&mut out);
        Self {
            stream,
            client,
            out,
            responses: BTreeMap::new(),
        }
    }

    fn ask(&mut self, path: &str, nonce: Option<Nonce>) -> StreamId {
        let mut block = Block::request("GET", "http", "h", path);
        if let Some(nonce) = nonce {
            block.field(NONCE_HEADER, &nonce.to_hex());
        }
        let id = self.client.request(&block, b"", &mut self.out).unwrap();
        self.responses.insert(id.number(), Response::default());
        id
    }

    fn wait(&mut self) {
        while self.client.open_count() > 0 {
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.stream.write_all(&self.out).unwrap();
        self.out.clear();
        let mut bytes = [0; 8192];
        let got = receive(&mut self.stream, &mut bytes);
        assert!(got > 0, "closed");
        let mut input = &bytes[..got];
        while let Some(event) = self.client.next(&mut input, &mut self.out).unwrap() {
            match event {
                Event::Head { stream, head } => {
                    let response = self.responses.get_mut(&stream.number()).unwrap();
                    response.status = head.status();
                    response.times = head.field(TIMES_HEADER).and_then(Times::parse);
                }
                Event::Body { stream, bytes } => {
                    let response = self.responses.get_mut(&stream.number()).unwrap();
                    response.body.extend_from_slice(bytes);
                }
                Event::End { stream } => {
                    self.responses.get_mut(&stream.number()).unwrap().ended = true;
                }
                Event::Reset { stream, code, .. } => {
                    self.responses.get_mut(&stream.number()).unwrap().reset = Some(code);
                }
                _ => {}
            }
        }
    }
}

#[test]
fn times_and_ledger_are_as_over_http1() {
    for backend in backends() {
        let upstream = Upstream::start(Kind::GoBench, backend);
        let mut own = Own::connect(&upstream);
        let before_ns = clock::now_ns();
        let mut asked = BTreeMap::new();
        for sequence in 0..100 {
            let nonce = Nonce::new(3, 1, sequence);
            let path = if sequence % 10 == 0 {
                "/delay/30ms"
            } else {
                "/json/valid"
            };
            asked.insert(own.ask(path, Some(nonce)).number(), (nonce, path));
        }
        // A repeated nonce is counted but not timed.
        let repeated = own.ask("/json/valid", Some(Nonce::new(3, 1, 99))).number();
        let plain = own.ask("/json/valid", None).number();
        own.wait();
        let after_ns = clock::now_ns();
        for (number, (nonce, path)) in &asked {
            let response = &own.responses[number];
            assert!(response.ended && response.status == 200);
            let times = response.times.unwrap();
            assert_eq!(times.nonce, *nonce);
            assert!(before_ns < times.received_ns);
            assert!(times.received_ns + times.service_ns < after_ns);
            assert!(*path == "/json/valid" || times.service_ns >= 30_000_000);
        }
        assert!(own.responses[&repeated].times.is_none());
        assert!(own.responses[&plain].times.is_none());
        let ledger = upstream.ledger();
        assert_eq!((ledger.requests, ledger.unique), (102, 100));
        assert_eq!((ledger.repeated, ledger.without_nonce), (1, 1));
        assert_eq!(ledger.connections_accepted, 1);
    }
}

#[test]
fn long_responses_share_a_connection() {
    for backend in backends() {
        let upstream = Upstream::start(Kind::GoBench, backend);
        let mut own = Own::connect(&upstream);
        let long: Vec<u32> = (0..3).map(|_| own.ask("/size/3M", None).number()).collect();
        let short = own.ask("/resource/1", None).number();
        while !own.responses[&short].ended {
            own.turn();
        }
        assert!(long.iter().all(|number| !own.responses[number].ended));
        own.wait();
        for number in long {
            assert_eq!(own.responses[&number].body.len(), 3 << 20);
        }
    }
}

#[test]
fn a_canceled_stream_does_not_affect_the_others() {
    for backend in backends() {
        let upstream = Upstream::start(Kind::GoBench, backend);
        let mut own = Own::connect(&upstream);
        let long = own.ask("/size/64M", None);
        let late = own.ask("/delay/1h", None);
        own.turn();
        for stream in [long, late] {
            own.client.reset(stream, ErrorCode::CANCEL, &mut own.out);
        }
        let short = own.ask("/resource/1", None).number();
        own.wait();
        assert!(own.responses[&short].ended);
        assert_eq!(upstream.ledger().protocol_errors, 0);
    }
}

#[test]
fn faults_are_the_same_over_http2() {
    for backend in backends() {
        let upstream = Upstream::start(Kind::Pathology, backend);
        let mut own = Own::connect(&upstream);
        let whole = own.ask(
            "/trickle?bytes=1000&piece=300&every=1ms",
            Some(Nonce::new(1, 0, 0)),
        );
        let broken = own.ask("/reset?every=1&bytes=1000", None).number();
        let wrong = own.ask("/nowhere", None).number();
        own.wait();
        let whole = &own.responses[&whole.number()];
        assert!(whole.ended && whole.body.len() == 1000);
        assert_eq!(whole.times.unwrap().nonce, Nonce::new(1, 0, 0));
        assert_eq!(
            own.responses[&broken].reset,
            Some(ErrorCode::INTERNAL_ERROR)
        );
        assert_eq!(own.responses[&broken].body.len(), 500);
        assert_eq!(own.responses[&wrong].status, 404);
        let account = upstream
            .client()
            .get(gatebench_upstream::fault_server::ACCOUNT_PATH)
            .json();
        assert_eq!(account["received"], 2);
        assert_eq!(
            (&account["answered"], &account["reset"]),
            (&1.into(), &1.into())
        );
    }
}
