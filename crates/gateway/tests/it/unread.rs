//! Tests responses that an HTTP/2 client does not read. The gateway must hold a bounded amount of
//! them, serve other clients, and deliver all of them to a client that reads slowly.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::reader::Reader;
use crate::common::{Server, backends, scripted, serve};
use gatebench_gateway::Totals;
use gatebench_net::Backend;
use serde_json::{Value, json};

/// The configured limit on the bytes held for a connection.
const BOUND: usize = 2 << 20;

/// The size, in bytes, of a response that the gateway generates or keeps until it is complete.
const WHOLE: usize = 200_000;

/// The size, in bytes, of a response that is forwarded as it arrives: more than the gateway reads
/// ahead of a client.
const LARGE: usize = 600_000;

/// An allowance for the bytes that arrive in one round. All of them are processed, even if the
/// first ones already exceed the limit.
const ROUND: usize = 2 << 20;

/// Starts an origin that sends long responses; also returns the paths that were requested.
fn origin() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let address = scripted(move |_, mut peer| {
        loop {
            let head = peer.head();
            let Some(path) = head.split(' ').nth(1) else {
                return;
            };
            noted.lock().unwrap().push(path.to_owned());
            let body = match path {
                "/large" => "y".repeat(LARGE),
                "/kept" => format!("[\"{}\"]", "x".repeat(WHOLE - 4)),
                _ => "ok".to_owned(),
            };
            let length = body.len();
            let response = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
            );
            // The gateway may have closed the connection.
            if peer
                .stream
                .get_mut()
                .write_all(response.as_bytes())
                .is_err()
            {
                return;
            }
        }
    });
    (address, seen)
}

fn before(backend: Backend, origin: SocketAddr, timeouts: &Value) -> Server<Totals> {
    let mock = json!({"status": 200, "content_type": "text/plain", "body": "m".repeat(WHOLE)});
    serve(
        backend,
        &json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [{"name": "origin", "keepalive": 4,
                           "targets": [{"address": "127.0.0.1", "port": origin.port()}]}],
            "routes": [
                {"name": "all", "path": "/", "upstream": "origin"},
                {"name": "mock", "path": "/mock", "policies": [{"mock": mock}]},
                {"name": "kept", "path": "/kept", "upstream": "origin",
                 "policies": [{"response_json": {"add": {"/a": 1}}}]},
            ],
            "collected_bytes_max": 256 << 10,
            "connection_collected_bytes_max": BOUND,
            "timeouts": timeouts,
        }),
    )
}

fn neighbor_is_well(gateway: &Server<Totals>) {
    let response = gateway.client().get("/near");
    assert_eq!(
        (response.status, response.body.as_slice()),
        (200, &b"ok"[..])
    );
}

#[test]
fn unread_whole_responses_are_bounded() {
    const STREAMS: u32 = 100;
    for backend in backends() {
        for path in ["/mock", "/kept"] {
            let (origin, _) = origin();
            let gateway = before(backend, origin, &json!({}));
            let mut reader = Reader::open(gateway.address);
            reader.get_all(1, STREAMS, path);
            reader.until(|reader| !reader.bodies.is_empty());
            reader.until_silent();
            // The gateway sends the head of a response only once it has the whole body, and the
            // client reads none of the bodies, so each response that has begun is held in full.
            let held = reader.bodies.len() * WHOLE;
            let most = BOUND + ROUND + 2 * WHOLE;
            assert!(
                held < most,
                "{path}: {held} bytes are held; the limit is {most}"
            );
            assert_eq!(reader.bodies.values().sum::<usize>(), 0, "{path}");
            neighbor_is_well(&gateway);
            reader.read_slowly(STREAMS as usize, 32_768);
            assert!(reader.bodies.values().all(|&length| length == WHOLE));
        }
    }
}

#[test]
fn requests_whose_bodies_end_while_much_is_unread_wait_too() {
    const STREAMS: u32 = 60;
    for backend in backends() {
        let (origin, _) = origin();
        let gateway = before(backend, origin, &json!({}));
        let mut reader = Reader::open(gateway.address);
        // There is room for all of these requests to begin.
        for number in 0..STREAMS {
            reader.post(2 * number + 1, "/mock", number % 2 == 0);
        }
        reader.until_silent();
        assert!(reader.bodies.is_empty());
        for number in 0..STREAMS {
            reader.end(2 * number + 1);
        }
        reader.until(|reader| !reader.bodies.is_empty());
        reader.until_silent();
        let held = reader.bodies.len() * WHOLE;
        let most = BOUND + 2 * WHOLE;
        assert!(held < most, "{held} bytes are held; the limit is {most}");
        neighbor_is_well(&gateway);
        reader.read_slowly(STREAMS as usize, 32_768);
        assert!(reader.bodies.values().all(|&length| length == WHOLE));
    }
}

#[test]
fn no_request_begins_while_too_much_is_unread() {
    const FIRST: u32 = 20;
    const LATER: u32 = 40;
    for backend in backends() {
        let (origin, seen) = origin();
        let asked = || {
            let seen = seen.lock().unwrap();
            seen.iter().filter(|path| *path == "/large").count()
        };
        let gateway = before(backend, origin, &json!({}));
        let mut reader = Reader::open(gateway.address);
        reader.get_all(1, FIRST, "/large");
        reader.until(|reader| reader.bodies.len() == FIRST as usize);
        // Wait until the gateway has read as much of each response as it reads ahead of a client.
        reader.until_silent();
        reader.get_all(1 + 2 * FIRST, LATER, "/large");
        reader.until_silent();
        assert_eq!(asked(), FIRST as usize);
        neighbor_is_well(&gateway);
        let all = (FIRST + LATER) as usize;
        reader.read_slowly(all, 65_536);
        assert!(reader.bodies.values().all(|&length| length == LARGE));
        assert_eq!(asked(), all);
    }
}

#[test]
fn a_client_that_never_reads_gets_go_away() {
    const ENHANCE_YOUR_CALM: u32 = 11;
    for backend in backends() {
        let (origin, _) = origin();
        let gateway = before(backend, origin, &json!({"client_idle_ms": 1000}));
        let mut reader = Reader::open(gateway.address);
        reader.get_all(1, 60, "/mock");
        reader.until(|reader| reader.bodies.contains_key(&1));
        // The connection stays open if the client reads one byte from time to time.
        for taken in 0..10 {
            assert_eq!((reader.go_away, reader.is_closed), (None, false));
            reader.widen(1, 1);
            reader.until(|reader| reader.bodies[&1] > taken || reader.is_closed);
            std::thread::sleep(Duration::from_millis(200));
        }
        assert!(!reader.is_closed);
        // No response was cut off either, although each waited longer than its own timeout.
        assert_eq!(reader.reset.len(), 0);
        reader.until(|reader| reader.is_closed);
        assert_eq!(reader.go_away, Some(ENHANCE_YOUR_CALM));
        neighbor_is_well(&gateway);
    }
}
