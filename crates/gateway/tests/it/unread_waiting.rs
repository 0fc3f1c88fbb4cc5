//! Tests requests that wait for room on a client's connection, and upstream connections that are
//! paused until there is room.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::reader::Reader;
use crate::common::{Client, Server, backends, field, scripted, serve};
use gatebench_gateway::Totals;
use gatebench_net::Backend;
use serde_json::{Value, json};

/// The maximum size of one body, and of all bytes held for a connection.
const BOUND: usize = 40_000;

/// The size of a response, in bytes: more than the gateway reads ahead of a client.
const LARGE: usize = 600_000;

/// Starts an upstream that responds to `/large` as soon as it has the head, and to other requests
/// once they are complete; also returns the number of its connections.
fn origin() -> (SocketAddr, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let connections = Arc::clone(&count);
    let address = scripted(move |_, mut peer| {
        connections.fetch_add(1, Ordering::Relaxed);
        loop {
            let head = peer.head();
            let Some(path) = head.split(' ').nth(1) else {
                return;
            };
            let body = if path == "/large" {
                "y".repeat(LARGE)
            } else {
                read_body(&mut peer, &head);
                "ok".to_owned()
            };
            let length = body.len();
            let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}");
            // The gateway may have closed the connection.
            if peer
                .stream
                .get_mut()
                .write_all(response.as_bytes())
                .is_err()
            {
                return;
            }
            if path == "/large" {
                read_body(&mut peer, &head);
            }
        }
    });
    (address, count)
}

fn read_body(peer: &mut Client, head: &str) {
    let length = field(head, "Content-Length");
    peer.exact(length.map_or(0, |length| length.parse().unwrap()));
}

fn before(backend: Backend, origin: SocketAddr, more: &Value) -> Server<Totals> {
    let mut config = json!({
        "listen": ["127.0.0.1:0"],
        "upstreams": [{"name": "origin", "keepalive": 4,
                       "targets": [{"address": "127.0.0.1", "port": origin.port()}]}],
        "routes": [
            {"name": "all", "path": "/", "upstream": "origin"},
            {"name": "edited", "path": "/edited", "upstream": "origin",
             "policies": [{"request_json": {"add": {"/a": 1}}}]},
        ],
    });
    let more = more.as_object().unwrap().clone();
    config.as_object_mut().unwrap().extend(more);
    serve(backend, &config)
}

#[test]
fn a_request_continues_when_an_older_one_makes_room() {
    for backend in backends() {
        let limits = json!({"collected_bytes_max": BOUND, "connection_collected_bytes_max": BOUND});
        let gateway = before(backend, origin().0, &limits);
        let mut reader = Reader::open(gateway.address);
        // The newest request reuses the slot of the first request, which precedes the slots of the
        // older requests.
        let (first, oldest, older, newest) = (1, 3, 5, 7);
        reader.get(first, "/near");
        for stream in [oldest, older] {
            reader.post_json(stream, "/edited");
        }
        reader.until(|reader| reader.bodies.contains_key(&first));
        reader.widen(first, 2);
        reader.until(|reader| reader.whole.contains(&first));
        reader.post_json(newest, "/edited");
        for (stream, length) in [(oldest, 100), (older, 26_000), (newest, 16_000)] {
            reader.send(
                stream,
                format!("{{{}", " ".repeat(length - 1)).as_bytes(),
                false,
            );
        }
        // The last bytes of these bodies wait, because the three bodies together exceed the bound.
        for stream in [newest, older] {
            reader.send(stream, b"  }", true);
        }
        reader.until_silent();
        assert_eq!(reader.bodies.len(), 1, "{:?}", reader.bodies);
        // Even without the oldest request, too much is held until the second oldest has ended too.
        reader.send(oldest, b"  }", true);
        reader.until(|reader| reader.bodies.len() == 4);
        reader.read_slowly(4, 2);
    }
}

#[test]
fn an_upstream_has_no_deadline_while_the_client_reads_nothing() {
    for backend in backends() {
        let timeouts = json!({"timeouts": {"upstream_ms": 500}});
        let gateway = before(backend, origin().0, &timeouts);
        let mut reader = Reader::open(gateway.address);
        reader.post(1, "/large", true);
        reader.until(|reader| reader.bodies.contains_key(&1));
        // Wait until the gateway has read ahead as far as it ever does.
        reader.until_silent();
        reader.end(1);
        reader.until_silent();
        std::thread::sleep(Duration::from_secs(1));
        reader.read_slowly(1, 65_536);
        assert_eq!(reader.bodies[&1], LARGE);
    }
}

#[test]
fn a_connection_that_was_paused_serves_the_next_request() {
    const WHOLE: usize = 200_000;
    for backend in backends() {
        // The kernel accepts connections to this Redis, which never replies.
        let redis = TcpListener::bind("127.0.0.1:0").unwrap();
        let limit = json!({"limit": 5, "window": "1h", "timeout": "3s", "without_redis": "refuse",
                           "redis": redis.local_addr().unwrap().to_string()});
        let (origin, connections) = origin();
        let more = json!({
            "routes": [
                {"name": "all", "path": "/", "upstream": "origin"},
                {"name": "mock", "path": "/mock", "policies": [
                    {"mock": {"status": 200, "content_type": "text/plain", "body": "m".repeat(WHOLE)}}]},
                {"name": "limited", "path": "/limited", "upstream": "origin", "policies": [
                    {"redis_rate_limit": limit}, {"response_json": {"add": {"/a": 1}}}]},
            ],
            "workers": 1,
            "collected_bytes_max": 256 << 10,
            "connection_collected_bytes_max": 256 << 10,
        });
        let gateway = before(backend, origin, &more);
        let mut reader = Reader::open(gateway.address);
        reader.get(1, "/limited");
        // While the request waits for Redis, its connection to the upstream is opened. That
        // connection is paused as soon as the client has left too much unread.
        std::thread::sleep(Duration::from_millis(300));
        reader.get_all(3, 10, "/mock");
        reader.until(|reader| reader.bodies.contains_key(&1));
        let response = gateway.client().get("/near");
        assert_eq!((response.status, &response.body[..]), (200, &b"ok"[..]));
        assert_eq!(
            connections.load(Ordering::Relaxed),
            1,
            "the connection was not kept"
        );
    }
}
