//! Outputs that fail: a failing server must not disturb a run or a load unless `--out-required` is
//! given, and invalid outputs are refused.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Finished};
use crate::serving::Serving;

/// The behavior of a failing server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// Accepts a connection and never responds.
    Silent,
    /// Responds after this delay.
    Slow(Duration),
    /// Responds with this status.
    Status(u16),
    /// Responds with 413 to bodies larger than this number of bytes.
    TooLarge(usize),
    /// Resets each connection on which it has received a request.
    Resets,
}

/// A failing server, which ends on drop.
struct Failing {
    port: u16,
    over: Arc<AtomicBool>,
    requests: Arc<AtomicU32>,
}

impl Failing {
    fn start(fault: Fault) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let over = Arc::new(AtomicBool::new(false));
        let requests = Arc::new(AtomicU32::new(0));
        let (is_over, counted) = (Arc::clone(&over), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                counted.fetch_add(1, Ordering::Relaxed);
                let is_over = Arc::clone(&is_over);
                thread::spawn(move || serve(stream.unwrap(), fault, &is_over));
            }
        });
        Self {
            port,
            over,
            requests,
        }
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

fn serve(mut stream: TcpStream, fault: Fault, is_over: &AtomicBool) {
    let Some(bytes) = body_bytes(&mut stream) else {
        return;
    };
    let status = match fault {
        Fault::Silent => {
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(10));
            }
            return;
        }
        Fault::Slow(after) => {
            thread::sleep(after);
            204
        }
        Fault::Status(status) => status,
        Fault::TooLarge(most) if bytes > most => 413,
        Fault::TooLarge(_) => 204,
        Fault::Resets => {
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

/// Reads a request and returns the number of bytes in its body.
fn body_bytes(stream: &mut TcpStream) -> Option<usize> {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&chunk[..count]);
        let head_end = request.windows(4).position(|it| it == b"\r\n\r\n");
        let Some(head_end) = head_end else { continue };
        let head = String::from_utf8_lossy(&request[..head_end]).to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |it| it.parse().unwrap());
        if request.len() >= head_end + 4 + length {
            return Some(length);
        }
    }
}

fn warnings(finished: &Finished) -> Vec<&str> {
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
        (Fault::Silent, "the server does not respond"),
        (
            Fault::Slow(Duration::from_secs(10)),
            "the server does not respond",
        ),
        (
            Fault::Status(500),
            "the server responds with 500: words of the server; read the server's log",
        ),
        (
            Fault::Status(404),
            "start Prometheus with --web.enable-remote-write-receiver",
        ),
        (Fault::Status(401), "set K6_PROMETHEUS_RW_USERNAME"),
        (Fault::TooLarge(10), "raise the server's request size limit"),
        (Fault::Resets, "cannot reach the server"),
    ];
    let servers = cases.map(|(fault, _)| Failing::start(fault));
    let begun = Instant::now();
    let sessions: Vec<_> = servers
        .iter()
        .map(|server| {
            let out = format!("prometheus=http://127.0.0.1:{}/api/v1/write", server.port);
            bench.start(&format!(
                "load {target} -r 50 -d 2s --warm-up 0s -q --out {out}"
            ))
        })
        .collect();
    for ((session, server), (fault, words)) in sessions.into_iter().zip(&servers).zip(cases) {
        let finished = session.wait_for_end();
        finished.assert_code(0);
        finished.assert_prints(&["100"]);
        let warnings = warnings(&finished);
        assert_eq!(warnings.len(), 1, "{fault:?}: {}", finished.stderr);
        assert!(warnings[0].contains(words), "{fault:?}: {}", warnings[0]);
        // The probe and three parts, each of which is sent at most four times, cause at most 13
        // requests; one more is tolerated.
        let requests = server.requests.load(Ordering::Relaxed);
        assert!(
            (2..=14).contains(&requests),
            "{fault:?}: {requests} requests"
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
    let bench = Bench::new();
    let server = Failing::start(Fault::Status(404));
    let out = format!("prometheus=http://127.0.0.1:{}/", server.port);
    let run = bench.gatebench(&format!(
        "run suite.yaml --dir run --out {out} --out-required"
    ));
    run.assert_code(3);
    run.assert_says(&[
        "the server responds with 404",
        "--web.enable-remote-write-receiver",
    ]);
    assert!(bench.kept_trials("run").is_empty());
}

#[test]
fn standard_output_as_a_target_contains_only_json() {
    let bench = Bench::new();
    let words = "run suite.yaml --gateway reference --smoke --dir run --out jsonl=-";
    let finished = bench.gatebench(words);
    finished.assert_code(0).assert_says(&["works"]);
    let lines = finished.stdout.lines();
    let facts = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).expect(line));
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
