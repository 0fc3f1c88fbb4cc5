//! Tests that a stopping gateway completes requests in flight over every protocol, unless the drain
//! time expires first.

use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::common::h2::Connection;
use crate::common::{Certificates, Client, backends, field, scripted, upstream, while_serving};
use gatebench_gateway::GatewayConfig;
use gatebench_net::http2::Settings;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

/// The time limit for each step of these tests.
const PATIENCE: Duration = Duration::from_secs(10);

fn config(origin: SocketAddr, more: &Value) -> GatewayConfig {
    let mut config = json!({
        "listen": ["127.0.0.1:0"], "workers": 2,
        "upstreams": [{"name": "origin", "keepalive": 4,
                       "targets": [{"address": "127.0.0.1", "port": origin.port()}]}],
        "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
    });
    let members = config.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    GatewayConfig::parse(&config.to_string()).unwrap()
}

fn until_closed(address: SocketAddr) {
    let begun = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "the gateway still listens");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An origin that counts requests, and responds to those for `/slow` when it is released.
struct Gate {
    address: SocketAddr,
    asked: Arc<AtomicUsize>,
    is_open: Arc<AtomicBool>,
}

impl Gate {
    fn new() -> Self {
        let (asked, is_open) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (count, opened) = (Arc::clone(&asked), Arc::clone(&is_open));
        let address = scripted(move |_, mut peer| {
            loop {
                let head = peer.head();
                if head.is_empty() {
                    return;
                }
                let length = field(&head, "Content-Length").map_or(0, |it| it.parse().unwrap());
                peer.exact(length);
                count.fetch_add(1, Ordering::Relaxed);
                while head.contains("/slow") && !opened.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        });
        Self {
            address,
            asked,
            is_open,
        }
    }

    fn until_asked(&self, times: usize) {
        let begun = Instant::now();
        while self.asked.load(Ordering::Relaxed) < times {
            assert!(
                begun.elapsed() < PATIENCE,
                "the origin got too few requests"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn open(&self) {
        self.is_open.store(true, Ordering::Relaxed);
    }
}

#[test]
fn pending_and_arriving_requests_get_responses() {
    for backend in backends() {
        let origin = Gate::new();
        let config = config(origin.address, &json!({}));
        let totals = while_serving(backend, &config, |gateway, address| {
            let [mut slow, mut idle, mut half] = [(); 3].map(|()| Client::connect(address));
            for client in [&mut slow, &mut idle, &mut half] {
                assert_eq!(client.get("/").field("Connection"), None);
            }
            slow.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
            half.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 8\r\n\r\nhalf");
            origin.until_asked(4);
            gateway.drain();
            let late = idle.get("/");
            until_closed(address);
            half.send(b"half");
            origin.open();
            let responses = [late, half.response(false), slow.response(false)];
            for (at, response) in responses.iter().enumerate() {
                assert_eq!(response.status, 200, "{response:?}");
                // The request on the idle connection may have arrived before the worker noticed the
                // stop.
                assert!(at == 0 || response.field("Connection") == Some("close"));
            }
            for mut client in [slow, idle, half] {
                assert_eq!(client.rest().unwrap(), b"");
            }
        });
        assert_eq!(totals.cut_off, 0);
    }
}

#[test]
fn http2_streams_get_responses_before_the_connection_ends() {
    for backend in backends() {
        let origin = Gate::new();
        let config = config(origin.address, &json!({}));
        let totals = while_serving(backend, &config, |gateway, address| {
            let mut connection = Connection::open(address, Settings::default());
            let slow = [(); 20].map(|()| connection.ask("GET", "/slow", &[], b""));
            connection.until(|_| true);
            origin.until_asked(20);
            gateway.drain();
            until_closed(address);
            origin.open();
            for stream in slow {
                assert_eq!(connection.response(stream).status, 200);
            }
            assert!(connection.is_ending, "the gateway has not sent GOAWAY");
            let mut rest = Vec::new();
            connection.socket.read_to_end(&mut rest).unwrap();
        });
        assert_eq!(totals.cut_off, 0);
    }
}

#[test]
fn under_load_no_request_is_lost() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let config = config(origin.address, &json!({}));
        let (answered, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        while_serving(backend, &config, |gateway, address| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let mut client = Client::connect(address);
                        loop {
                            let response = client.get("/size/350B");
                            assert_eq!((response.status, response.body.len()), (200, 350));
                            answered.fetch_add(1, Ordering::Relaxed);
                            if response.field("Connection") == Some("close") {
                                break;
                            }
                        }
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                    scope.spawn(|| {
                        let mut connection = Connection::open(address, Settings::default());
                        while !connection.is_ending {
                            let streams =
                                [(); 5].map(|()| connection.ask("GET", "/size/350B", &[], b""));
                            for stream in streams {
                                let response = connection.response(stream);
                                assert_eq!((response.status, response.body.len()), (200, 350));
                            }
                            answered.fetch_add(5, Ordering::Relaxed);
                        }
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                }
                while answered.load(Ordering::Relaxed) < 500 {
                    std::thread::yield_now();
                }
                gateway.drain();
            });
        });
        assert_eq!(ended.into_inner(), 8);
    }
}

#[test]
fn draining_works_over_tls() {
    let certificates = Certificates::new("drain");
    let (certificate, key) = certificates.make("gateway", "IP:127.0.0.1");
    for backend in backends() {
        let origin = Gate::new();
        let tls = json!({"tls": {"certificate": certificate, "key": key}});
        let config = config(origin.address, &tls);
        while_serving(backend, &config, |gateway, address| {
            let url = format!("https://{address}/slow");
            let slow = ["--http1.1", "--http2"].map(|version| {
                let mut curl = Command::new("curl");
                curl.args(["-sS", version, "--cacert", &certificate, &url]);
                curl.stdout(Stdio::piped()).spawn().unwrap()
            });
            origin.until_asked(2);
            gateway.drain();
            until_closed(address);
            origin.open();
            for curl in slow {
                let output = curl.wait_with_output().unwrap();
                assert!(
                    output.status.success() && output.stdout == b"ok",
                    "{output:?}"
                );
            }
        });
    }
}

#[test]
fn requests_over_the_drain_time_are_reset() {
    for backend in backends() {
        let origin = Gate::new();
        let config = config(origin.address, &json!({"timeouts": {"drain_ms": 100}}));
        let totals = while_serving(backend, &config, |gateway, address| {
            let mut client = Client::connect(address);
            client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
            origin.until_asked(1);
            gateway.drain();
            let begun = Instant::now();
            let kind = client.rest().unwrap_err().kind();
            assert_eq!(kind, std::io::ErrorKind::ConnectionReset);
            assert!(begun.elapsed() < PATIENCE);
        });
        assert_eq!(totals.cut_off, 1);
    }
}
