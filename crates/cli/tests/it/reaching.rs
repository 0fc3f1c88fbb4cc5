//! Connections of `gatebench load`: Unix sockets, TLS, client certificates, and connections without
//! requests.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use gatebench_net::tls::self_signed;
use rustix::process::{Pid, Signal, kill_process};

use crate::bench::Bench;
use crate::load::{json, number};
use crate::serving::Serving;

#[test]
fn a_unix_socket_is_reached_and_missing_http2_is_reported() {
    let bench = Bench::new();
    let listener = UnixListener::bind(bench.path("server.sock")).unwrap();
    // The thread ends with the test process: it waits for a connection that never comes.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 1024];
            while stream.read(&mut request).is_ok_and(|bytes| bytes > 0) {
                let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                stream.write_all(response).unwrap();
            }
        }
    });
    let words = "load --json -n 10 -c 1 --check body=ok --unix-socket server.sock http://any.test/";
    assert_eq!(
        number(&json(&bench.gatebench(words), 0), "/checks/passed"),
        10
    );
    let nobody = bench.gatebench("load -n 1 --unix-socket nobody.sock http://any.test/");
    nobody
        .assert_code(3)
        .assert_says(&["unix:nobody.sock", "path of the socket"]);
    let http2 = bench.gatebench("load -n 1 --http2 --unix-socket server.sock http://any.test/");
    http2.assert_code(3).assert_says(&["HTTP/2"]);
}

#[test]
fn https_is_verified_unless_insecure_is_given() {
    let bench = Bench::new();
    let upstream = Serving::start(&bench, &["upstream", "ping", "--tls"]);
    let url = format!("https://{}/ping", upstream.address());
    let refused = bench.gatebench(&format!("load -n 2 {url}"));
    refused
        .assert_code(3)
        .assert_says(&["certificate", "(--cacert FILE; -k accepts any certificate)"]);
    assert!(!refused.stderr.contains("--sni"), "{}", refused.stderr);
    for version in ["1.2", "1.3"] {
        let words = format!("load --json -k --tls {version} -n 20 -c 2 --check body=ok {url}");
        assert_eq!(
            number(&json(&bench.gatebench(&words), 0), "/checks/passed"),
            20
        );
    }
    let plain = bench.gatebench(&format!("load -n 2 {}", url.replace("https", "http")));
    assert_ne!(plain.code, Some(0));
}

#[test]
fn the_response_to_an_unknown_path_lists_the_known_ones() {
    let bench = Bench::new();
    let help = bench.gatebench("upstream --help");
    for (kind, path) in [
        ("ping", "/ping"),
        ("go-bench", "/json/valid"),
        ("httpbin", "/anything"),
        ("pathology", "/stall"),
    ] {
        assert!(help.stdout.contains(path), "{path}: {}", help.stdout);
        let upstream = Serving::start(&bench, &["upstream", kind]);
        let url = format!("http://{}/no-such-path", upstream.address());
        let words = format!("load -n 2 -c 1 --check status=404 --check contains={path} {url}");
        bench.gatebench(&words).assert_code(0);
    }
    assert!(
        help.stdout.lines().all(|line| line.chars().count() <= 100),
        "{}",
        help.stdout
    );
}

/// An nginx that accepts only clients with a specific certificate.
struct Guarded {
    nginx: Child,
    port: u16,
}

impl Guarded {
    /// Starts nginx, and writes the certificates and keys of the server and the client to the
    /// bench's folder.
    fn start(bench: &Bench) -> Self {
        let server = self_signed(&["localhost"]).unwrap();
        let client = self_signed(&["client"]).unwrap();
        for (name, bytes) in [
            ("server.pem", server.chain.bytes),
            ("server.key", server.key.bytes),
            ("client.pem", client.chain.bytes),
            ("client.key", client.key.bytes),
        ] {
            fs::write(bench.path(name), bytes).unwrap();
        }
        // Another process may take the port before nginx does.
        (0..5)
            .find_map(|_| Self::try_start(bench))
            .expect("nginx does not start; install it: apt-get install nginx-light")
    }

    fn try_start(bench: &Bench) -> Option<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let at = bench.path("").display().to_string();
        let config = format!(
            "daemon off; worker_processes 1; pid {at}/pid; error_log {at}/error.log;\n\
             events {{ }}\n\
             http {{ access_log off; client_body_temp_path {at}/b; proxy_temp_path {at}/p; \
             fastcgi_temp_path {at}/f; uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
             server {{ listen 127.0.0.1:{port} ssl; \
             ssl_certificate {at}/server.pem; ssl_certificate_key {at}/server.key; \
             ssl_client_certificate {at}/client.pem; ssl_verify_client on; \
             location / {{ return 200 $ssl_client_s_dn; }} }} }}\n"
        );
        fs::write(bench.path("nginx.conf"), config).unwrap();
        let mut nginx = Command::new("nginx")
            .args(["-e", "stderr", "-c"])
            .arg(bench.path("nginx.conf"))
            .spawn()
            .unwrap();
        let limit = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if nginx.try_wait().unwrap().is_some() || Instant::now() > limit {
                return None;
            }
            thread::sleep(Duration::from_millis(5));
        }
        Some(Self { nginx, port })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The worker ends if the master is terminated, but not if the master is killed.
        let _ = kill_process(Pid::from_child(&self.nginx), Signal::TERM);
        let _ = self.nginx.wait();
    }
}

#[test]
fn a_client_certificate_is_presented_and_a_given_authority_is_trusted() {
    let bench = Bench::new();
    let guarded = Guarded::start(&bench);
    let load = |flags: &str| {
        let words = format!(
            "load --json -n 10 -c 2 --cacert server.pem {flags} https://localhost:{}/",
            guarded.port
        );
        bench.gatebench(&words)
    };
    let shown = "--cert client.pem --key client.key --check status=200 --check contains=CN=";
    assert_eq!(number(&json(&load(shown), 0), "/checks/passed"), 10);
    // nginx returns 400 to clients without a certificate.
    assert_eq!(number(&json(&load(""), 0), "/status/4xx"), 10);
    load("--sni other.test").assert_code(3).assert_says(&[
        "certificate",
        "not valid for other.test, but for localhost",
        "--sni",
    ]);
    assert!(!load("--sni other.test").stderr.contains("--cacert"));
    load("--cert nowhere.pem --key client.key")
        .assert_code(2)
        .assert_says(&["nowhere.pem"]);
}

#[test]
fn connections_are_measured_without_requests() {
    let bench = Bench::new();
    let guarded = Guarded::start(&bench);
    let words = "load -k --handshakes -n 30 -c 3";
    let made = bench.gatebench(&format!(
        "{words} --json https://localhost:{}",
        guarded.port
    ));
    let made = json(&made, 0);
    assert_eq!(number(&made, "/requests"), 30);
    assert_eq!(number(&made, "/bytes_sent"), 0);
    assert_eq!(number(&made, "/tls_sessions_resumed"), 0);
    assert_eq!(made["protocol"], "none");
    let screen = bench.gatebench(&format!("{words} https://localhost:{}", guarded.port));
    assert!(
        screen.stdout.contains("30 connections in"),
        "{}",
        screen.stdout
    );
    assert!(screen.stdout.contains("all opened"), "{}", screen.stdout);
    let paced = format!("{words} --rate 100 https://localhost:{}", guarded.port);
    bench
        .gatebench(&paced)
        .assert_prints(&["open: 100 connections/s"]);
    let nobody = bench.gatebench("load --handshakes -n 3 http://127.0.0.1:1");
    nobody.assert_code(3).assert_says(&["127.0.0.1:1"]);
    let checked = bench.gatebench("load --handshakes --check status=200 http://127.0.0.1:1");
    checked.assert_code(2).assert_says(&["--handshakes"]);
}
