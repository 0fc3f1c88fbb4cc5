//! Tests TLS, HTTP/2 and PROXY headers against nginx. An independent server reveals mistakes that
//! this project's client and server have in common.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use gatebench_engine::{
    Control, EngineError, ErrorKind, Load, Outcome, Protocol, ProxyProtocol, Target, run,
};
use gatebench_model::load::{Closed, ConnectionStage, Open, Think};
use gatebench_model::{Check, HumanDuration, Request, Shape};
use gatebench_net::Backend;
use gatebench_net::tls::{ClientContext, ClientSettings, Pem, Verify, Version, self_signed};

use crate::common;

const REQUESTS: u64 = 500;

/// nginx, with one port per tested configuration.
struct Nginx {
    child: Child,
    folder: tempfile::TempDir,
    ports: [u16; 4],
}

const PLAIN: usize = 0;
const SECURE: usize = 1;
const H2C: usize = 2;
const PROXIED: usize = 3;

impl Nginx {
    fn start() -> Self {
        // Another process may take a port before nginx does.
        (0..5)
            .find_map(|_| Self::try_start())
            .expect("nginx did not listen in any of five attempts")
    }

    fn try_start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let ports = free_ports();
        let identity = self_signed(&["localhost"]).unwrap();
        fs::write(folder.path().join("chain.pem"), identity.chain.bytes).unwrap();
        fs::write(folder.path().join("key.pem"), identity.key.bytes).unwrap();
        fs::write(
            folder.path().join("nginx.conf"),
            config(folder.path(), ports),
        )
        .unwrap();
        let mut child = Command::new("nginx")
            .args(["-e", "stderr", "-c"])
            .arg(folder.path().join("nginx.conf"))
            .spawn()
            .unwrap();
        let limit = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", ports[PROXIED])).is_err() {
            if child.try_wait().unwrap().is_some() || Instant::now() > limit {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(Self {
            child,
            folder,
            ports,
        })
    }

    fn address(&self, port: usize) -> SocketAddr {
        ([127, 0, 0, 1], self.ports[port]).into()
    }

    /// Returns the lines of the access log.
    fn log(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("access.log")).unwrap();
        text.lines().map(Into::into).collect()
    }

    /// Returns the log lines after the first `before` ones. nginx writes a line after the response,
    /// so this function waits until there are `count` lines, for at most ten seconds.
    fn log_after(&self, before: usize, count: u64) -> Vec<String> {
        let begun = Instant::now();
        loop {
            let lines = self.log().split_off(before);
            if lines.len() as u64 >= count || begun.elapsed() > Duration::from_secs(10) {
                return lines;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the number of connections that nginx has accepted so far, excluding that of this
    /// query.
    fn accepted(&self) -> u64 {
        let mut stream = TcpStream::connect(self.address(PLAIN)).unwrap();
        stream.write_all(b"GET /count HTTP/1.0\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let counts = text.split("requests\n").nth(1).unwrap();
        let accepted: u64 = counts.split_whitespace().next().unwrap().parse().unwrap();
        accepted - 1
    }

    fn context(&self, alpn: &str, max: Version, resumption: bool) -> ClientContext {
        let chain = fs::read(self.folder.path().join("chain.pem")).unwrap();
        let settings = ClientSettings {
            verify: Verify::Ca(Pem::new("chain.pem", chain)),
            alpn: vec![alpn.into()],
            max,
            resumption,
            ..ClientSettings::default()
        };
        ClientContext::new(&settings, "localhost").unwrap()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The worker process ends if the master receives SIGTERM, but survives if the master is
        // killed.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

fn free_ports() -> [u16; 4] {
    let listeners = [(); 4].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|it| it.local_addr().unwrap().port())
}

fn config(folder: &Path, ports: [u16; 4]) -> String {
    let at = folder.display();
    let [plain, secure, h2c, proxied] = ports;
    format!(
        "daemon off; worker_processes 1; pid {at}/pid; error_log {at}/error.log;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n\
         log_format own '$server_port $server_protocol $request_method $uri $request_length \
                         $ssl_protocol $ssl_session_reused $proxy_protocol_addr $remote_addr $connection';\n\
         access_log {at}/access.log own;\n\
         keepalive_requests 1000000; default_type text/plain;\n\
         client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f;\n\
         uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
         ssl_certificate {at}/chain.pem; ssl_certificate_key {at}/key.pem; ssl_session_cache shared:s:1m;\n\
         ssl_protocols TLSv1.2 TLSv1.3;\n\
         server {{ listen 127.0.0.1:{plain}; location / {{ return 200 ok; }} \
                   location = /count {{ stub_status; access_log off; }} }}\n\
         server {{ listen 127.0.0.1:{secure} ssl http2; location / {{ return 200 ok; }} }}\n\
         server {{ listen 127.0.0.1:{h2c} http2; location / {{ return 200 ok; }} }}\n\
         server {{ listen 127.0.0.1:{proxied} proxy_protocol; location / {{ return 200 ok; }} }}\n\
         }}\n"
    )
}

fn load(target: Target, shape: Shape, backend: Backend) -> Load {
    let request: Request = serde_json::from_value(serde_json::json!({
        "method": "POST",
        "path": "/things?q=1",
        "headers": {"X-One": "1"},
        "body": "0123456789".repeat(30),
        "checks": [{"status": 200}, {"body_equals": "ok"}],
    }))
    .unwrap();
    assert_eq!(request.checks[0], Check::Status(200));
    Load {
        backend: Some(backend),
        ..common::load(target, request, shape, Duration::from_secs(20))
    }
}

fn closed(connections: u32) -> Closed {
    Closed {
        requests_max: Some(REQUESTS),
        ..Closed::new(connections)
    }
}

fn each_backend(target: &Target, shape: &Shape, check: impl Fn(&Outcome)) {
    for backend in [Backend::Epoll, gatebench_net::choose(None)] {
        let load = load(target.clone(), shape.clone(), backend);
        let outcome = run(&load, &Control::new(1), |_, _| {}).unwrap();
        let counts = &outcome.counts;
        assert_eq!(counts.errors, [0; ErrorKind::ALL.len()], "{counts:?}");
        assert_eq!((counts.sent, counts.completed), (REQUESTS, REQUESTS));
        assert_eq!(counts.responses_failing_checks, 0);
        check(&outcome);
    }
}

#[test]
fn https_in_both_versions_with_and_without_resumption() {
    let nginx = Nginx::start();
    for (version, name) in [(Version::Tls12, "TLSv1.2"), (Version::Tls13, "TLSv1.3")] {
        for resumption in [true, false] {
            let before = nginx.log().len();
            let mut target = Target::new(nginx.address(SECURE), "localhost");
            target.tls = Some(nginx.context("http/1.1", version, resumption));
            let mut shape = closed(4);
            shape.requests_per_connection = Some(50);
            each_backend(&target, &Shape::Closed(shape), |outcome| {
                assert!(outcome.counts.connections_opened >= 10);
                assert_eq!(outcome.resumed > 0, resumption, "{version}");
                assert_eq!(
                    outcome.connects.histogram.len(),
                    outcome.counts.connections_opened
                );
            });
            let log = nginx.log_after(before, 2 * REQUESTS);
            assert_eq!(log.len() as u64, 2 * REQUESTS);
            assert!(
                log.iter()
                    .all(|line| line.contains("HTTP/1.1 POST /things") && line.contains(name))
            );
            assert_eq!(log.iter().any(|line| line.contains(" r ")), resumption);
        }
    }
}

#[test]
fn http2_with_one_and_many_streams_in_cleartext_and_over_tls() {
    let nginx = Nginx::start();
    for (port, tls) in [
        (H2C, None),
        (SECURE, Some(nginx.context("h2", Version::Tls13, true))),
    ] {
        for streams in [1, 10, 300] {
            let before = nginx.log().len();
            let mut target = Target::new(nginx.address(port), "localhost");
            (target.protocol, target.tls) = (Protocol::Http2 { streams }, tls.clone());
            each_backend(&target, &Shape::Closed(closed(2)), |_| {});
            let log = nginx.log_after(before, 2 * REQUESTS);
            assert_eq!(log.len() as u64, 2 * REQUESTS);
            assert!(
                log.iter()
                    .all(|line| line.contains("HTTP/2.0 POST /things")),
                "{}",
                log[0]
            );
        }
    }
}

#[test]
fn http2_connections_end_after_their_requests_and_keep_a_rate() {
    let nginx = Nginx::start();
    let mut target = Target::new(nginx.address(H2C), "localhost");
    target.protocol = Protocol::Http2 { streams: 5 };
    let shape = Open {
        connections_max: 3,
        requests_max: Some(REQUESTS),
        requests_per_connection: Some(20),
        ..Open::new(1_000.0)
    };
    each_backend(&target, &Shape::Open(shape), |outcome| {
        assert!(
            outcome.counts.connections_opened >= REQUESTS / 20,
            "{:?}",
            outcome.counts
        );
    });
    let mut shape = closed(3);
    shape.requests_per_connection = Some(1);
    let before = nginx.log().len();
    each_backend(&target, &Shape::Closed(shape), |_| {});
    let mut connections = nginx.log_after(before, 2 * REQUESTS);
    connections.retain_mut(|line| {
        *line = line.rsplit(' ').next().unwrap().to_owned();
        true
    });
    connections.sort();
    connections.dedup();
    assert_eq!(connections.len() as u64, 2 * REQUESTS);
}

#[test]
fn users_think_after_the_last_request_of_an_http2_connection() {
    let nginx = Nginx::start();
    let mut target = Target::new(nginx.address(H2C), "localhost");
    target.protocol = Protocol::Http2 { streams: 2 };
    let think = Think::Constant(HumanDuration::from_millis(100));
    // A connection for one request has one stream, so it serves one user.
    for (requests_per_connection, users) in [(1, 2), (3, 4)] {
        let shape = Shape::Closed(Closed {
            think: Some(think.clone()),
            requests_per_connection: Some(requests_per_connection),
            ..Closed::new(2)
        });
        let mut load = load(target.clone(), shape, gatebench_net::choose(None));
        load.measure = Duration::from_secs(1);
        let outcome = run(&load, &Control::new(1), |_, _| {}).unwrap();
        // Each user sends at most one request in each tenth of a second.
        let sent = outcome.counts.sent;
        assert!((4..=11 * users).contains(&sent), "{:?}", outcome.counts);
    }
}

#[test]
fn surplus_http2_connections_end_after_their_responses() {
    let nginx = Nginx::start();
    let mut target = Target::new(nginx.address(H2C), "localhost");
    target.protocol = Protocol::Http2 { streams: 10 };
    let stage = |connections: u32| ConnectionStage {
        connections,
        over: HumanDuration::from_millis(200),
    };
    let shape = Shape::Closed(Closed {
        stages: vec![stage(1), stage(12), stage(2)],
        ..Closed::new(12)
    });
    for backend in [Backend::Epoll, gatebench_net::choose(None)] {
        let before = nginx.log().len();
        let mut load = load(target.clone(), shape.clone(), backend);
        load.measure = Duration::from_millis(600);
        let outcome = run(&load, &Control::new(1), |_, _| {}).unwrap();
        let counts = &outcome.counts;
        assert_eq!(counts.errors, [0; ErrorKind::ALL.len()], "{counts:?}");
        assert_eq!(counts.completed, counts.sent);
        assert!(counts.connections_opened > 12, "{counts:?}");
        assert_eq!(
            nginx.log_after(before, counts.sent).len() as u64,
            counts.sent
        );
    }
}

#[test]
fn a_worker_without_connections_gets_no_requests() {
    let nginx = Nginx::start();
    let target = Target::new(nginx.address(PLAIN), "localhost");
    let open = Open {
        connections_max: 1,
        requests_max: Some(REQUESTS),
        ..Open::new(1_000.0)
    };
    for shape in [Shape::Closed(closed(1)), Shape::Open(open)] {
        let mut load = load(target.clone(), shape, gatebench_net::choose(None));
        load.cores = vec![0, 0];
        let outcome = run(&load, &Control::new(2), |_, _| {}).unwrap();
        assert_eq!(outcome.counts.completed, REQUESTS);
        assert_eq!(outcome.counts.dropped, 0);
    }
}

#[test]
fn proxy_headers_name_the_source() {
    let nginx = Nginx::start();
    for proxy in [ProxyProtocol::V1, ProxyProtocol::V2] {
        let before = nginx.log().len();
        let mut target = Target::new(nginx.address(PROXIED), "localhost");
        target.proxy = Some(proxy);
        let sources = ["127.0.0.8", "127.0.0.9"];
        target.sources = sources.map(|it| it.parse().unwrap()).into();
        each_backend(&target, &Shape::Closed(closed(4)), |_| {});
        let log = nginx.log_after(before, 2 * REQUESTS);
        assert_eq!(log.len() as u64, 2 * REQUESTS);
        // The header of each connection contains the address that the kernel reports.
        for source in sources {
            let said = format!(" {source} {source} ");
            assert!(log.iter().any(|line| line.contains(&said)), "{}", log[0]);
        }
        let differs = |line: &&String| {
            !sources
                .iter()
                .any(|it| line.contains(&format!(" {it} {it} ")))
        };
        assert_eq!(log.iter().find(differs), None);
    }
}

#[test]
fn handshakes_are_a_load_without_requests() {
    let nginx = Nginx::start();
    let secure = Some(nginx.context("http/1.1", Version::Tls13, false));
    for (port, tls) in [(PLAIN, None), (SECURE, secure)] {
        let open = Open {
            requests_max: Some(REQUESTS),
            ..Open::new(1_000.0)
        };
        for shape in [Shape::Closed(closed(4)), Shape::Open(open)] {
            let before = nginx.accepted();
            let mut target = Target::new(nginx.address(port), "localhost");
            (target.protocol, target.tls) = (Protocol::Handshakes, tls.clone());
            each_backend(&target, &shape, |outcome| {
                assert_eq!(outcome.counts.connections_opened, REQUESTS);
                assert_eq!(outcome.connects.histogram.len(), REQUESTS);
                assert_eq!(outcome.counts.completed_in_window, REQUESTS);
                assert_eq!(outcome.resumed, 0);
            });
            // Each of the two loads makes one more connection to test the target, and the query for
            // `before` made one.
            assert_eq!(nginx.accepted() - before, 2 * (REQUESTS + 1) + 1);
        }
    }
    assert_eq!(nginx.log().len(), 0, "no request was sent");
}

#[test]
fn an_unsupported_protocol_is_an_error() {
    let nginx = Nginx::start();
    let unreachable = |target: Target| {
        let load = load(target, Shape::Closed(closed(2)), Backend::Epoll);
        match run(&load, &Control::new(1), |_, _| {}) {
            Err(EngineError::Unreachable { reason, .. }) => reason.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let mut target = Target::new(nginx.address(PLAIN), "localhost");
    target.protocol = Protocol::Handshakes;
    target.tls = Some(nginx.context("http/1.1", Version::Tls13, true));
    let reason = unreachable(target.clone());
    assert!(reason.contains("TLS"), "{reason}");
    (target.protocol, target.tls) = (Protocol::Http2 { streams: 1 }, None);
    let reason = unreachable(target.clone());
    assert!(reason.contains("HTTP/2"), "{reason}");
    target.tls = Some(nginx.context("h2", Version::Tls13, true));
    let reason = unreachable(target.clone());
    assert!(reason.contains("TLS"), "{reason}");
    // The client trusts only CAs that have not signed the certificate.
    let settings = ClientSettings::default();
    target.address = nginx.address(SECURE).into();
    target.tls = Some(ClientContext::new(&settings, "localhost").unwrap());
    let reason = unreachable(target);
    assert!(reason.contains("certificate"), "{reason}");
}
