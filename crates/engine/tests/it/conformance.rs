//! Tests HTTP between the engine and nginx, and between h2load and the upstream. This project's
//! client and server each meet an independent implementation, which reveals mistakes that the two
//! have in common. `scripts/install-test-deps` installs nginx and h2load.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::backends;
use gatebench_engine::{Control, ErrorKind, Group, Load, Outcome, Protocol, Target, run};
use gatebench_model::load::Closed;
use gatebench_model::{Check, Order, Request, Shape};
use gatebench_upstream::{Kind, UpstreamConfig, serve};
use rustix::process::{Pid, Signal, kill_process};

const REQUESTS: u64 = 200;
const CONNECTIONS: u32 = 4;
/// The number of requests after which nginx closes a connection or sends GOAWAY on it.
const PER_CONNECTION: u64 = 7;
const PATIENCE: Duration = Duration::from_secs(20);

/// nginx, listening on one Unix socket per protocol. Unlike ports, these sockets cannot be in use
/// by another program.
struct Nginx {
    child: Child,
    folder: tempfile::TempDir,
}

impl Nginx {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("large"), large()).unwrap();
        let config_path = folder.path().join("nginx.conf");
        fs::write(&config_path, config(folder.path())).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut child = Command::new("nginx")
            .args(["-e", "stderr", "-c"])
            .arg(&config_path)
            // A user's PATH often lacks the directories that contain daemons.
            .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin"))
            .spawn()
            .expect("nginx is missing; run scripts/install-test-deps");
        let limit = Instant::now() + PATIENCE;
        while UnixStream::connect(folder.path().join("http2")).is_err() {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "nginx ended: {ended:?}");
            assert!(Instant::now() < limit, "nginx does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Self { child, folder }
    }

    fn target(&self, protocol: Protocol) -> Target {
        let socket = match protocol {
            Protocol::Http2 { .. } => "http2",
            _ => "http1",
        };
        let mut target = Target::new(self.folder.path().join(socket).as_path(), "localhost");
        target.protocol = protocol;
        target
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// Returns a body of 320,000 bytes, which does not fit into one receive buffer.
fn large() -> String {
    "0123456789abcdef".repeat(20_000)
}

fn config(folder: &Path) -> String {
    let at = folder.display();
    format!(
        "daemon off; master_process off; pid {at}/pid; error_log stderr crit;
         events {{ worker_connections 64; }}
         http {{
             access_log off; default_type text/plain; root {at};
             client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f;
             uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;
             gzip on; gzip_min_length 0; gzip_types text/plain; keepalive_requests {PER_CONNECTION};
             server {{
                 listen unix:{at}/http1;
                 listen unix:{at}/http2 http2;
                 location = /small {{ return 200 small; }}
                 location = /none {{ return 204; }}
                 location = /moved {{ return 301 /small; }}
                 location = /asked {{ add_header X-Asked $http_x_asking; return 200 $request_method; }}
                 location = /close {{ keepalive_timeout 0; return 200 closed; }}
             }}
         }}"
    )
}

fn requests() -> Vec<Request> {
    let rows = serde_json::json!([
        {"method": "GET", "path": "/small", "checks": [{"status": 200}, {"body_equals": "small"}]},
        {"method": "HEAD", "path": "/large", "checks": [{"status": 200}, {"body_equals": ""}]},
        {"method": "GET", "path": "/none", "checks": [{"status": 204}, {"body_equals": ""}]},
        {"method": "GET", "path": "/moved", "checks": [{"status": 301}]},
        {"method": "GET", "path": "/missing", "checks": [{"status": 404}]},
        {"method": "GET", "path": "/close", "checks": [{"status": 200}, {"body_equals": "closed"}]},
        {"method": "PUT", "path": "/asked", "headers": {"X-Asking": "~^{}|<>\\\""}, "body": large(),
         "checks": [{"status": 200}, {"body_equals": "PUT"}]},
        {"method": "GET", "path": "/large", "checks": [{"status": 200}, {"body_equals": large()}]},
        // nginx compresses the body while sending it, so the length is unknown and the body is
        // chunked over HTTP/1.1.
        {"method": "GET", "path": "/large", "headers": {"Accept-Encoding": "gzip"},
         "checks": [{"status": 200}, {"body_equals": large()}, {"header": {"name": "content-encoding", "equals": "gzip"}}]},
    ]);
    let requests: Vec<Request> = serde_json::from_value(rows).unwrap();
    assert!(
        requests
            .iter()
            .all(|it| matches!(it.checks[0], Check::Status(_)))
    );
    requests
}

fn load(target: Target) -> Load {
    let shape = Closed {
        requests_max: Some(REQUESTS),
        ..Closed::new(CONNECTIONS)
    };
    let group = Group {
        name: "all".into(),
        target,
        requests: requests(),
        order: Order::default(),
        shape: Shape::Closed(shape),
        timeout: PATIENCE,
    };
    Load {
        groups: vec![group],
        data: Default::default(),
        warm_up: Duration::ZERO,
        measure: PATIENCE,
        drain: PATIENCE,
        cores: Vec::new(),
        backend: None,
        spin: false,
        trace_tag: None,
        shares_clock: true,
        part: None,
        seed: 1,
    }
}

fn outcomes(target: &Target) -> Vec<Outcome> {
    let each = backends().into_iter().map(|backend| {
        let mut load = load(target.clone());
        load.backend = Some(backend);
        run(&load, &Control::new(1), |_, _| {}).unwrap()
    });
    each.collect()
}

#[test]
fn nginx_is_understood_over_http1() {
    let nginx = Nginx::start();
    for outcome in outcomes(&nginx.target(Protocol::Http1)) {
        let counts = &outcome.counts;
        assert_eq!(counts.errors, [0; ErrorKind::ALL.len()], "{counts:?}");
        assert_eq!((counts.sent, counts.completed), (REQUESTS, REQUESTS));
        let failed: Vec<_> = outcome.checks.iter().zip(&counts.checks_failed).collect();
        assert_eq!(counts.responses_failing_checks, 0, "{failed:?}");
        assert!(counts.connections_opened >= REQUESTS / PER_CONNECTION);
    }
}

/// A request that nginx refuses after GOAWAY is counted as a reset stream. All other requests get
/// the expected responses.
#[test]
fn nginx_is_understood_over_http2() {
    let nginx = Nginx::start();
    for outcome in outcomes(&nginx.target(Protocol::Http2 { streams: 3 })) {
        let counts = &outcome.counts;
        let refused = counts.errors[ErrorKind::Reset as usize];
        assert_eq!(counts.errors.iter().sum::<u64>(), refused, "{counts:?}");
        assert_eq!(counts.sent, REQUESTS);
        assert_eq!(counts.completed + refused, REQUESTS, "{counts:?}");
        assert!(counts.completed >= REQUESTS / 2, "{counts:?}");
        let failed: Vec<_> = outcome.checks.iter().zip(&counts.checks_failed).collect();
        assert_eq!(counts.responses_failing_checks, 0, "{failed:?}");
    }
}

/// Runs the upstream on a thread for as long as `body` runs.
fn with_upstream(kind: Kind, body: impl FnOnce(&str)) {
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let config = UpstreamConfig {
        kind,
        listen: "127.0.0.1:0".parse().unwrap(),
        cores: Vec::new(),
        backend: None,
        tls: None,
        streams: gatebench_upstream::STREAMS,
    };
    let stopped = Arc::clone(&stop);
    let thread =
        std::thread::spawn(move || serve(config, stopped, |at| sender.send(at).unwrap()).unwrap());
    /// Stops the upstream even if `body` panics.
    struct Stop(Arc<AtomicBool>);
    impl Drop for Stop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stopping = Stop(stop);
    body(&receiver.recv_timeout(PATIENCE).unwrap().to_string());
    drop(stopping);
    thread.join().unwrap();
}

fn h2load(words: &[&str]) -> String {
    let output = Command::new("h2load")
        .args(words)
        .stdin(Stdio::null())
        .output()
        .expect("h2load is missing; run scripts/install-test-deps");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn h2load_finds_no_error_in_the_upstream() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::write(&data, large()).unwrap();
    let data = data.to_str().unwrap();
    with_upstream(Kind::GoBench, |address| {
        for protocol in [&["--h1"][..], &["-m", "10"]] {
            let get_url = format!("http://{address}/resource");
            let echo = format!("http://{address}/echo");
            let get = ["-n", "1000", "-c", "8", &get_url];
            let post = ["-n", "40", "-c", "4", "-d", data, &echo];
            for (count, words) in [(1000, &get[..]), (40, &post)] {
                let report = h2load(&[protocol, words].concat());
                let succeeded = format!("{count} succeeded, 0 failed, 0 errored, 0 timeout");
                assert!(report.contains(&succeeded), "{report}");
                assert!(report.contains(&format!("{count} 2xx")), "{report}");
            }
        }
    });
}
