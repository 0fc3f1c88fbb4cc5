//! Outputs that fail: a failing server must not disturb a run or a load unless `--out-required` is
//! given, and invalid outputs are refused.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::bench::{Bench, Finished};
use crate::serving::Serving;
use crate::turns::turn;

/// The behavior of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behavior {
    /// Accepts a connection and never responds.
    Silent,
    /// Closes each connection on which it has received a request.
    Closes,
    /// Responds after this delay.
    Slow(Duration),
    /// Responds with this status.
    Status(u16),
    /// Responds with 413 to bodies larger than this number of bytes.
    TooLarge(usize),
    /// Resets each connection on which it has received a request.
    Resets,
    /// Closes each connection after the beginning of a TLS handshake.
    ClosesTls,
}

/// A request that a server has received.
#[derive(Clone, Debug)]
pub struct Received {
    /// The request line and the fields, in lowercase.
    pub head: String,
    pub body: Vec<u8>,
}

/// A server with a given behavior, which ends on drop.
pub struct Scripted {
    pub port: u16,
    over: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<Received>>>,
}

impl Scripted {
    pub fn start(behavior: Behavior) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let over = Arc::new(AtomicBool::new(false));
        let requests: Arc<Mutex<Vec<Received>>> = Arc::default();
        let (is_over, received) = (Arc::clone(&over), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                let (is_over, received) = (Arc::clone(&is_over), Arc::clone(&received));
                thread::spawn(move || serve(stream.unwrap(), behavior, &is_over, &received));
            }
        });
        Self {
            port,
            over,
            requests,
        }
    }

    /// Returns the requests in the order in which they arrived.
    pub fn requests(&self) -> Vec<Received> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(
    mut stream: TcpStream,
    behavior: Behavior,
    is_over: &AtomicBool,
    requests: &Mutex<Vec<Received>>,
) {
    let request = match behavior {
        Behavior::ClosesTls => begun_handshake(&mut stream),
        _ => receive(&mut stream),
    };
    let Some(request) = request else {
        return;
    };
    let bytes = request.body.len();
    requests.lock().unwrap().push(request);
    let status = match behavior {
        Behavior::Silent => {
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(10));
            }
            return;
        }
        Behavior::Closes | Behavior::ClosesTls => return,
        Behavior::Slow(after) => {
            thread::sleep(after);
            204
        }
        Behavior::Status(status) => status,
        Behavior::TooLarge(most) if bytes > most => 413,
        Behavior::TooLarge(_) => 204,
        Behavior::Resets => {
            rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
            return;
        }
    };
    let body = "words of the server";
    let length = if status == 204 { 0 } else { body.len() };
    let response = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n{}",
        &body[..length]
    );
    // The client may have given up.
    let _ = stream.write_all(response.as_bytes());
}

/// Reads the beginning of a TLS handshake; returns `None` if the connection ends first.
fn begun_handshake(stream: &mut TcpStream) -> Option<Received> {
    let mut first = [0; 1];
    stream.read_exact(&mut first).ok()?;
    // The content type of TLS records for handshakes (RFC 8446, section 5.1).
    assert_eq!(first, [22]);
    Some(Received {
        head: String::new(),
        body: Vec::new(),
    })
}

/// Reads a request; returns `None` if the connection ends first.
fn receive(stream: &mut TcpStream) -> Option<Received> {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&chunk[..count]);
        let head_end = request.windows(4).position(|it| it == b"\r\n\r\n");
        let Some(head_end) = head_end else { continue };
        let body_begin = head_end + 4;
        let head = String::from_utf8_lossy(&request[..body_begin]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |it| it.parse().unwrap());
        if request.len() >= body_begin + length {
            let body = request.split_off(body_begin);
            return Some(Received { head, body });
        }
    }
}

/// Returns the warnings about outputs.
pub fn warnings(finished: &Finished) -> Vec<&str> {
    let lines = finished.stderr.lines();
    lines
        .filter(|line| line.starts_with("warning: output"))
        .collect()
}

#[test]
fn a_failing_server_only_causes_a_warning() {
    let bench = Bench::new();
    let upstream = ["upstream", "ping", "--listen", "127.0.0.1:0", "--json"];
    let upstream = Serving::start(&bench, &upstream);
    let target = format!("http://127.0.0.1:{}/ping", upstream.port);
    let cases = [
        (Behavior::Silent, "the server does not respond"),
        (
            Behavior::Slow(Duration::from_secs(10)),
            "the server does not respond",
        ),
        (
            Behavior::Status(500),
            "the server responds with 500: words of the server; read the server's log",
        ),
        (
            Behavior::Status(404),
            "start Prometheus with --web.enable-remote-write-receiver",
        ),
        (Behavior::Status(401), "set K6_PROMETHEUS_RW_USERNAME"),
        (
            Behavior::TooLarge(10),
            "raise the server's request size limit",
        ),
        (Behavior::Resets, "cannot reach the server"),
        (Behavior::Closes, "cannot reach the server"),
        (Behavior::ClosesTls, "cannot reach the server"),
    ];
    let servers = cases.map(|(behavior, _)| Scripted::start(behavior));
    let begun = Instant::now();
    let sessions: Vec<_> = servers
        .iter()
        .zip(cases)
        .map(|(server, (behavior, _))| {
            let scheme = match behavior {
                Behavior::ClosesTls => "https",
                _ => "http",
            };
            let out = format!(
                "prometheus={scheme}://127.0.0.1:{}/api/v1/write",
                server.port
            );
            bench.start(&format!(
                "load {target} -r 50 -d 2s --warm-up 0s -q --out {out}"
            ))
        })
        .collect();
    for ((session, server), (behavior, words)) in sessions.into_iter().zip(&servers).zip(cases) {
        let finished = session.wait_for_end();
        finished.assert_code(0);
        finished.assert_prints(&["100"]);
        let warnings = warnings(&finished);
        assert_eq!(warnings.len(), 1, "{behavior:?}: {}", finished.stderr);
        assert!(warnings[0].contains(words), "{behavior:?}: {}", warnings[0]);
        // The probe and three parts, each of which is sent at most four times, cause at most 13
        // requests; one more is tolerated.
        let requests = server.requests().len();
        assert!(
            (2..=14).contains(&requests),
            "{behavior:?}: {requests} requests"
        );
    }
    // Two seconds for the probe, two for the load, five for the rest, and a margin for a busy
    // machine.
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_required_output_that_does_not_respond_ends_the_run_before_a_trial() {
    let _turn = turn();
    let bench = Bench::new();
    let cases = [
        (
            Behavior::Status(404),
            [
                "the server responds with 404",
                "--web.enable-remote-write-receiver",
            ],
        ),
        (
            Behavior::Closes,
            ["cannot reach the server", "start the server"],
        ),
        (
            Behavior::Silent,
            ["the server does not respond", "check the host and the port"],
        ),
    ];
    let took = cases.map(|(behavior, words)| {
        let server = Scripted::start(behavior);
        let dir = format!("run-{}", server.port);
        let out = format!("prometheus=http://127.0.0.1:{}/", server.port);
        let begun = Instant::now();
        let run = bench.gatebench(&format!(
            "run suite.yaml --dir {dir} --out {out} --out-required"
        ));
        let took = begun.elapsed();
        run.assert_code(3).assert_says(&words);
        assert!(bench.kept_trials(&dir).is_empty());
        assert_eq!(server.requests().len(), 1, "{behavior:?}");
        took
    });
    // The other checks before a run take equally long in each case. A server that does not respond
    // adds the two seconds of the probe; a margin allows for a busy machine.
    assert!(took[2] < took[0] + Duration::from_secs(4), "{took:?}");
}

#[test]
fn a_clock_that_is_set_back_does_not_set_timestamps_back() {
    let bench = Bench::new();
    let upstream = ["upstream", "ping", "--listen", "127.0.0.1:0", "--json"];
    let upstream = Serving::start(&bench, &upstream);
    // libfaketime adds the offset in this file to the wall clock, but not to CLOCK_MONOTONIC.
    bench.write("offset", &format!("+{AHEAD_S}s"));
    let mut command = bench.command();
    command
        .args(["load", &format!("http://127.0.0.1:{}/ping", upstream.port)])
        .args([
            "-r",
            "50",
            "-d",
            "5s",
            "--warm-up",
            "0s",
            "-q",
            "--out",
            "jsonl=seconds",
        ])
        .env("LD_PRELOAD", libfaketime())
        .env("FAKETIME_TIMESTAMP_FILE", bench.path("offset"))
        .env("FAKETIME_NO_CACHE", "1")
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let session = bench.spawn(command);
    let seconds = bench.path("seconds");
    bench.wait_for("the first second", || {
        let text = fs::read_to_string(&seconds).ok()?;
        text.contains('\n').then_some(())
    });
    bench.write("back", "+0s");
    fs::rename(bench.path("back"), bench.path("offset")).unwrap();
    session.wait_for_end().assert_code(0);
    let text = bench.read("seconds");
    let facts = text
        .lines()
        .map(|it| serde_json::from_str::<Value>(it).unwrap());
    let ends_ms: Vec<u64> = facts.map(|it| it["to_ms"].as_u64().unwrap()).collect();
    assert!(ends_ms.len() >= 5 && ends_ms.is_sorted(), "{ends_ms:?}");
    let took_ms = ends_ms[ends_ms.len() - 1] - ends_ms[0];
    assert!((3_000..60_000).contains(&took_ms), "{ends_ms:?}");
    let real_ms = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_millis() as u64;
    assert!(
        ends_ms[0] > real_ms + AHEAD_S * 500,
        "{ends_ms:?} is not ahead of {real_ms}"
    );
}

/// The number of seconds by which a clock is fast before it is set back.
const AHEAD_S: u64 = 100_000;

/// Returns the path of the library that changes the time of a program.
fn libfaketime() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").unwrap();
    let mut paths = folders.map(|it| it.unwrap().path().join("faketime/libfaketimeMT.so.1"));
    let found = paths.find(|it| it.exists());
    found.expect("libfaketime is missing: run scripts/install-test-deps")
}

#[test]
fn standard_output_as_a_target_contains_only_json() {
    let bench = Bench::new();
    let words = "run suite.yaml --gateway reference --smoke --dir run --out jsonl=-";
    let finished = bench.gatebench(words);
    finished.assert_code(0).assert_says(&["works"]);
    let lines = finished.stdout.lines();
    let facts = lines.map(|line| serde_json::from_str::<Value>(line).expect(line));
    let seconds = facts.filter(|fact| fact["type"] == "second");
    assert!(seconds.count() > 0, "{}", finished.stdout);
}

#[test]
fn a_mistake_in_an_output_is_reported_before_anything_starts() {
    let bench = Bench::new();
    for (words, says) in [
        ("--out prometheus=localhost", "'localhost' is not a URL"),
        (
            "--out statsd=http://h",
            "the kind of output 'statsd' is unknown",
        ),
        (
            "--out influxdb=http://u:hidden@h/k6",
            "K6_INFLUXDB_PASSWORD",
        ),
        ("--out influxdb=http://h/k6?p=hidden", "K6_INFLUXDB_ADDR"),
        (
            "--out otlp=http://u:hidden@h:99999/",
            "'...@h:99999/' is not a URL",
        ),
        ("--out prometheus=http://h/?schema=9", "write 0 to 8"),
        (
            "--out experimental-prometheus-rw",
            "the output has no target",
        ),
        (
            "--out jsonl=x --tag gateway=x",
            "gatebench sets the label 'gateway' itself",
        ),
    ] {
        let run = bench.gatebench(&format!("run suite.yaml {words}"));
        run.assert_code(2);
        run.assert_says(&[says]);
        assert!(!run.stderr.contains("hidden"), "{}", run.stderr);
    }
    assert!(!bench.path("gatebench-runs").exists());
    let plan = bench.gatebench("run suite.yaml --dry-run --out otlp=http://h:4318");
    plan.assert_code(0)
        .assert_prints(&["output   otlp=http://h:4318/v1/metrics"]);
}
