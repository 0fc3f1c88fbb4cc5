//! Tests rate limits that are counted in a real redis-server, which several gateways share, and the
//! fallback while it is unavailable.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Server, backends, serve, upstream};
use gatebench_gateway::Totals;
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

/// A redis-server for this test, which stores nothing on disk and is killed when dropped.
struct Redis {
    child: Child,
    address: SocketAddr,
}

impl Redis {
    fn start(password: Option<&str>) -> Self {
        // Another process may take a free port before Redis uses it; Redis then exits immediately.
        let started = (0..5).find_map(|_| Self::start_at(nowhere(), password));
        started.expect("there was no free port in five attempts")
    }

    fn start_at(address: SocketAddr, password: Option<&str>) -> Option<Self> {
        let mut command = Command::new("redis-server");
        command.args(["--port", &address.port().to_string(), "--bind", "127.0.0.1"]);
        command.args(["--save", "", "--appendonly", "no", "--dir", "/tmp"]);
        if let Some(password) = password {
            command.args(["--requirepass", password]);
        }
        let spawned = command.stdout(Stdio::piped()).spawn();
        let mut child = spawned.expect("redis-server is missing; run scripts/install-test-deps");
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_ready = lines
            .map_while(Result::ok)
            .any(|line| line.contains("Ready to accept connections"));
        if is_ready {
            return Some(Self { child, address });
        }
        let _ = child.wait();
        None
    }

    fn command(&self, words: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .write_all(format!("{words}\r\nQUIT\r\n").as_bytes())
            .unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn before(
    backend: Backend,
    origin: SocketAddr,
    redis: SocketAddr,
    settings: &Value,
) -> Server<Totals> {
    let mut limit =
        json!({"limit": 5, "window": "1h", "redis": redis.to_string(), "timeout": "1s"});
    limit
        .as_object_mut()
        .unwrap()
        .extend(settings.as_object().unwrap().clone());
    let target = json!({"address": "127.0.0.1", "port": origin.port()});
    serve(
        backend,
        &json!({
            "listen": ["127.0.0.1:0"], "workers": 1,
            "upstreams": [{"name": "origin", "keepalive": 4, "targets": [target]}],
            "consumers": [{"name": "alice", "keys": ["alice-key"]}, {"name": "bob", "keys": ["bob-key"]}],
            "routes": [
                {"name": "limited", "path": "/", "upstream": "origin", "policies": [
                    {"api_key": {"header": "X-Api-Key"}}, {"redis_rate_limit": limit}]},
                {"name": "edited", "path": "/anything", "upstream": "origin", "policies": [
                    {"redis_rate_limit": limit}, {"request_json": {"add": {"/hello": "world"}}}]},
                {"name": "mock", "path": "/mock", "policies": [
                    {"redis_rate_limit": limit},
                    {"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}}]},
            ],
        }),
    )
}

fn get(gateway: &Server<Totals>, path: &str, key: &str) -> crate::common::Response {
    let mut client = gateway.client();
    client.ask(&format!(
        "GET {path} HTTP/1.1\r\nHost: h\r\nX-Api-Key: {key}\r\n\r\n"
    ))
}

#[test]
fn gateways_share_a_limit_exactly() {
    let redis = Redis::start(None);
    for backend in backends() {
        redis.command("FLUSHALL");
        let origin = upstream(Kind::Httpbin, backend);
        let settings = json!({"per": "consumer", "headers": true});
        let gateways = [0, 1].map(|_| before(backend, origin.address, redis.address, &settings));
        for round in 0..8 {
            let response = get(&gateways[round % 2], "/uuid", "alice-key");
            let expected = if round < 5 { 200 } else { 429 };
            assert_eq!(response.status, expected, "{round}");
            let remaining = response.field("RateLimit-Remaining").unwrap().to_owned();
            assert_eq!(remaining, 5_usize.saturating_sub(round + 1).to_string());
            assert_eq!(response.field("RateLimit-Limit"), Some("5"));
            let reset: u64 = response.field("RateLimit-Reset").unwrap().parse().unwrap();
            assert!((3500..=3600).contains(&reset), "{reset}");
            assert_eq!(response.field("Retry-After").is_some(), round >= 5);
        }
        assert_eq!(get(&gateways[0], "/uuid", "bob-key").status, 200);
        assert_eq!(
            get(&gateways[0], "/uuid", "nobody").status,
            401,
            "unknown clients are not counted"
        );
        assert!(
            redis
                .command("GET gatebench:limited:1:consumer:alice")
                .contains("\r\n8\r\n")
        );
        assert!(
            redis
                .command("GET gatebench:limited:1:consumer:bob")
                .contains("\r\n1\r\n")
        );
    }
}

#[test]
fn forwarded_mocked_and_refused_requests_wait_for_their_count() {
    let redis = Redis::start(Some("secret"));
    for backend in backends() {
        redis.command("AUTH secret\r\nFLUSHALL");
        let origin = upstream(Kind::Httpbin, backend);
        let settings = json!({"limit": 3, "window": "2s", "password": "secret"});
        let gateway = before(backend, origin.address, redis.address, &settings);
        let mut client = gateway.client();
        let posted = "POST /anything HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
        let mut statuses = Vec::new();
        for _ in 0..5 {
            let response = client.ask(posted);
            statuses.push(response.status);
            if response.status == 200 {
                let echoed: Value = serde_json::from_slice(&response.body).unwrap();
                assert_eq!(echoed["json"], json!({"a": 1, "hello": "world"}));
            }
        }
        assert_eq!(statuses, [200, 200, 200, 429, 429]);
        let mocked: Vec<_> = (0..4).map(|_| client.get("/mock").status).collect();
        assert_eq!(mocked, [200, 200, 200, 429]);
        // Wait until the window ends and another begins.
        let begun = Instant::now();
        while client.get("/mock").status == 429 {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A client that waits for 100 Continue gets the mock's response as soon as the request is counted.
#[test]
fn a_mock_responds_before_a_body_that_is_held_back() {
    let redis = Redis::start(None);
    for backend in backends() {
        redis.command("FLUSHALL");
        let origin = upstream(Kind::Httpbin, backend);
        let gateway = before(backend, origin.address, redis.address, &json!({}));
        let mut client = gateway.client();
        let response = client.ask(
            "POST /mock HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        );
        assert_eq!((response.status, &response.body[..]), (200, &b"Hello"[..]));
        assert_eq!(response.field("Connection"), Some("close"));
    }
}

#[test]
fn pipelined_requests_wait_their_turn() {
    let redis = Redis::start(None);
    for backend in backends() {
        redis.command("FLUSHALL");
        let origin = upstream(Kind::Httpbin, backend);
        let gateway = before(backend, origin.address, redis.address, &json!({}));
        let mut client = gateway.client();
        let post = |number: u8| {
            format!(
                "POST /anything HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n{{\"a\":{number}}}"
            )
        };
        let mock = "GET /mock HTTP/1.1\r\nHost: h\r\n\r\n";
        client.send((post(1) + mock + &post(2) + mock).as_bytes());
        for number in [1, 2] {
            let echoed: Value = serde_json::from_slice(&client.response(false).body).unwrap();
            assert_eq!(echoed["json"], json!({"a": number, "hello": "world"}));
            assert_eq!(client.response(false).body, b"Hello");
        }
    }
}

#[test]
fn counts_are_exchanged_without_waiting() {
    let redis = Redis::start(None);
    for backend in backends() {
        redis.command("FLUSHALL");
        let origin = upstream(Kind::Httpbin, backend);
        let settings =
            json!({"counting": "asynchronous", "interval": "20ms", "limit": 50, "headers": true});
        let gateways = [0, 1].map(|_| before(backend, origin.address, redis.address, &settings));
        for gateway in &gateways {
            let mut client = gateway.client();
            let allowed = (0..20)
                .filter(|_| client.get("/mock").status == 200)
                .count();
            assert_eq!(allowed, 20);
        }
        let begun = Instant::now();
        while !redis
            .command("GET gatebench:mock:0:all")
            .contains("\r\n40\r\n")
        {
            assert!(begun.elapsed() < Duration::from_secs(10));
            std::thread::sleep(Duration::from_millis(10));
        }
        // Each gateway receives the other's counts: otherwise the first would allow 30 more.
        let mut client = gateways[0].client();
        let mut allowed = 0;
        while client.get("/mock").status == 200 {
            allowed += 1;
            assert!(allowed < 25, "{allowed}");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(allowed >= 10, "{allowed}");
        let refused = client.get("/mock");
        assert_eq!(
            (refused.status, refused.field("RateLimit-Remaining")),
            (429, Some("0"))
        );
    }
}

#[test]
fn without_redis_the_configured_fallback_applies_until_it_returns() {
    for backend in backends() {
        let origin = upstream(Kind::Httpbin, backend);
        for (counting, word, status) in [
            ("synchronous", "allow", 200),
            ("synchronous", "refuse", 503),
            ("asynchronous", "allow", 200),
        ] {
            let settings = json!({"counting": counting, "without_redis": word, "interval": "10ms"});
            let gateway = before(backend, origin.address, nowhere(), &settings);
            let is_so = || get(&gateway, "/uuid", "alice-key").status == status;
            // A gateway whose requests do not wait counts them itself until it notices that Redis
            // is unavailable.
            let begun = Instant::now();
            while !(0..10).all(|_| is_so()) {
                assert!(
                    begun.elapsed() < Duration::from_secs(10),
                    "{counting} {word}"
                );
            }
        }
        // If Redis hangs, the fallback applies after the timeout.
        let silent = crate::common::scripted(|_, mut peer| drop(peer.rest()));
        let settings = json!({"timeout": "100ms", "without_redis": "refuse"});
        let gateway = before(backend, origin.address, silent, &settings);
        let response = get(&gateway, "/uuid", "alice-key");
        assert_eq!(response.status, 503);
        assert!(
            response
                .body
                .starts_with(b"gateway: requests are counted in Redis")
        );
        // The origin is an HTTP server, not Redis.
        let gateway = before(backend, origin.address, origin.address, &settings);
        assert_eq!(get(&gateway, "/uuid", "alice-key").status, 503);
    }
}

#[test]
fn a_short_timeout_holds_while_other_limits_wait_longer() {
    for backend in backends() {
        let silent = crate::common::scripted(|_, mut peer| drop(peer.rest()));
        let route = |path: &str, timeout: &str| {
            let limit = json!({"limit": 5, "window": "1h", "redis": silent.to_string(),
                               "timeout": timeout, "without_redis": "refuse"});
            let mock = json!({"status": 200, "content_type": "text/plain", "body": "Hello"});
            json!({"name": path, "path": path, "policies": [{"redis_rate_limit": limit}, {"mock": mock}]})
        };
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"], "workers": 1,
                "routes": [route("/slow", "1h"), route("/quick", "50ms")],
            }),
        );
        let mut slow = [0, 1].map(|_| gateway.client());
        for client in &mut slow {
            client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
        }
        // The slow requests are sent to Redis first.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(get(&gateway, "/quick", "").status, 503);
        // The slow requests still wait: the short timeout does not apply to them.
        let timeout = Some(Duration::from_millis(200));
        let waiting = slow[0].stream.get_ref();
        waiting.set_read_timeout(timeout).unwrap();
        assert!(slow[0].stream.fill_buf().is_err());
    }
}

/// Limits with the same timeout share a worker's connection to Redis. If requests of one limit have
/// shown that Redis is unavailable, a limit that has counted nothing must also notice that Redis is
/// available again.
#[test]
fn limits_that_share_a_lost_redis_find_it_again() {
    for backend in backends() {
        let origin = upstream(Kind::Httpbin, backend);
        let address = nowhere();
        let limit = |counting: &str, word: &str| {
            json!({"redis_rate_limit": {"limit": 1000, "window": "1h", "redis": address.to_string(),
                   "timeout": "1s", "interval": "10ms", "counting": counting, "without_redis": word}})
        };
        let target = json!({"address": "127.0.0.1", "port": origin.address.port()});
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"], "workers": 1,
                "upstreams": [{"name": "origin", "keepalive": 4, "targets": [target]}],
                "routes": [
                    {"name": "waits", "path": "/", "upstream": "origin", "policies": [limit("synchronous", "allow")]},
                    {"name": "alone", "path": "/delay", "upstream": "origin", "policies": [limit("asynchronous", "refuse")]},
                ],
            }),
        );
        let status = |path: &str| get(&gateway, path, "").status;
        assert_eq!((status("/uuid"), status("/delay/0")), (200, 503));
        let Some(_redis) = Redis::start_at(address, None) else {
            // Another process has taken the port in the meantime.
            continue;
        };
        let begun = Instant::now();
        while status("/delay/0") != 200 {
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "the limits do not use Redis again"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// If a target closes a kept connection while a request waits for its count, the request is sent
/// over another connection, because no part of it has been sent.
#[test]
fn a_body_waits_with_its_request() {
    let redis = Redis::start(None);
    for backend in backends() {
        redis.command("FLUSHALL");
        let closes = Duration::from_millis(50);
        let origin = crate::common::scripted(move |number, mut peer| {
            let head = peer.head();
            let length =
                crate::common::field(&head, "Content-Length").map_or(0, |it| it.parse().unwrap());
            let body = peer.exact(length);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            peer.send(head.as_bytes());
            peer.send(&body);
            if number == 0 {
                std::thread::sleep(closes);
            } else {
                let _ = peer.rest();
            }
        });
        let gateway = before(backend, origin, redis.address, &json!({"timeout": "5s"}));
        let mut client = gateway.client();
        let post = |body: &str| {
            let length = body.len();
            format!(
                "POST / HTTP/1.1\r\nHost: h\r\nX-Api-Key: alice-key\r\nContent-Length: {length}\r\n\r\n"
            )
        };
        assert_eq!(client.ask(&(post("first") + "first")).body, b"first");
        redis.command("CLIENT PAUSE 300 ALL");
        client.send((post("second") + "sec").as_bytes());
        std::thread::sleep(closes * 3);
        client.send(b"ond");
        let response = client.response(false);
        assert_eq!((response.status, response.body), (200, b"second".to_vec()));
    }
}

/// The excess over the limit is at most the number of requests that other workers allow before
/// their counts arrive.
#[test]
fn without_waiting_a_limit_is_exceeded_by_one_interval_at_most() {
    let redis = Redis::start(None);
    for backend in backends() {
        redis.command("FLUSHALL");
        let origin = upstream(Kind::Httpbin, backend);
        let settings = json!({"counting": "asynchronous", "interval": "10ms", "limit": 100});
        let gateways = [0, 1].map(|_| before(backend, origin.address, redis.address, &settings));
        let allowed: Vec<usize> = std::thread::scope(|scope| {
            let clients = gateways.iter().map(|gateway| {
                scope.spawn(|| {
                    let mut client = gateway.client();
                    let begun = Instant::now();
                    let mut allowed = 0;
                    while client.get("/mock").status == 200 {
                        allowed += 1;
                        assert!(begun.elapsed() < Duration::from_secs(10));
                    }
                    allowed
                })
            });
            let clients: Vec<_> = clients.collect();
            clients.into_iter().map(|it| it.join().unwrap()).collect()
        });
        assert!(allowed.iter().all(|&one| one <= 100), "{allowed:?}");
        assert!(allowed.iter().sum::<usize>() >= 100, "{allowed:?}");
        // Once Redis has all counts, no worker allows another request.
        let begun = Instant::now();
        let sum = format!("\r\n{}\r\n", allowed.iter().sum::<usize>());
        while !redis.command("GET gatebench:mock:0:all").contains(&sum) {
            assert!(begun.elapsed() < Duration::from_secs(10), "{allowed:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        for gateway in &gateways {
            assert_eq!(gateway.client().get("/mock").status, 429);
        }
    }
}
