//! Tests that endless bodies that arrive one byte at a time are cut off, and that other clients are
//! served normally.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::common::{Server, backends, gateway_with, noting};
use gatebench_gateway::Totals;
use gatebench_net::Backend;
use serde_json::{Value, json};

/// A gateway that allows a long time for each piece of a body, but not for the whole body.
fn patient_with_pieces(backend: Backend, origin: SocketAddr) -> Server<Totals> {
    let route = |name: &str, policies: Value| json!({"name": name, "path": format!("/{name}"), "upstream": "origin", "policies": policies});
    let mock = json!({"status": 200, "content_type": "text/plain", "body": "mock"});
    let routes = json!([
        route("streamed", json!([])),
        route("edited", json!([{"request_json": {"add": {"/a": 1}}}])),
        route("soap", json!([{"soap": {"request": {}}}])),
        route(
            "limited",
            json!([{"request_size_limit": {"max_bytes": 10_000}}])
        ),
        route("mock", json!([{"mock": mock}])),
    ]);
    let timeouts = json!({"client_idle_ms": 5_000, "request_body_ms": 600});
    gateway_with(backend, &[origin], routes, timeouts)
}

/// Sends a piece every 20 ms until the gateway has responded or closed the connection; returns the
/// time until then.
fn dripped(stream: &mut TcpStream, piece: &[u8]) -> Duration {
    stream
        .set_read_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let begun = Instant::now();
    loop {
        assert!(
            begun.elapsed() < Duration::from_secs(4),
            "the gateway still accepts the body"
        );
        let is_over = match stream.peek(&mut [0]) {
            Ok(_) => true,
            Err(error) => !matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
            ),
        };
        if is_over || stream.write_all(piece).is_err() {
            let took = begun.elapsed();
            stream
                .set_read_timeout(Some(Duration::from_secs(10)))
                .unwrap();
            return took;
        }
    }
}

#[test]
fn an_endlessly_dripping_body_times_out() {
    for backend in backends() {
        let (origin, seen) = noting();
        let gateway = patient_with_pieces(backend, origin);
        for path in ["streamed", "edited", "soap", "limited", "mock", "nowhere"] {
            for (framing, piece) in [
                ("Content-Length: 100000", &b"x"[..]),
                ("Transfer-Encoding: chunked", b"1\r\nx\r\n"),
            ] {
                let mut stream = TcpStream::connect(gateway.address).unwrap();
                let head = format!(
                    "POST /{path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).unwrap();
                let took = dripped(&mut stream, piece);
                let mut said = String::new();
                let _ = stream.read_to_string(&mut said);
                assert!(said.starts_with("HTTP/1.1 408"), "{path} {framing}: {said}");
                assert!(said.contains("Connection: close\r\n"), "{said}");
                assert!(took > Duration::from_millis(500), "{path}: {took:?}");
            }
        }
        // A body that is completed in time passes, even after a pause and on a connection that was
        // idle for longer than a body may take.
        let mut client = gateway.client();
        for _ in 0..2 {
            client.send(b"POST /streamed HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na");
            std::thread::sleep(Duration::from_millis(300));
            client.send(b"b");
            assert_eq!(client.response(false).status, 200);
            std::thread::sleep(Duration::from_millis(700));
        }
        let seen = seen.lock().unwrap();
        let is_streamed = |line: &String| line.contains("/streamed") || line.contains("/limited");
        assert!(seen.iter().all(is_streamed), "{seen:?}");
    }
}

#[test]
fn an_endlessly_dripping_stream_times_out_and_the_connection_stays_open() {
    const HEADERS: u8 = 1;
    for backend in backends() {
        let (origin, _) = noting();
        let gateway = patient_with_pieces(backend, origin);
        for path in ["/streamed", "/edited", "/soap", "/mock"] {
            let mut stream = TcpStream::connect(gateway.address).unwrap();
            stream
                .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
                .unwrap();
            // POST, http, the path, and `:authority`.
            let fields = [
                &[0x83, 0x86, 0x04, path.len() as u8][..],
                path.as_bytes(),
                &[0x01, 1, b'h'],
            ]
            .concat();
            let head = [0, 0, fields.len() as u8, HEADERS, 4, 0, 0, 0, 1];
            stream.write_all(&[&head[..], &fields].concat()).unwrap();
            // Other frames, such as the gateway's settings, arrive before the response.
            let begun = Instant::now();
            let mut said = Vec::new();
            let piece = [0, 0, 1, 0, 0, 0, 0, 0, 1, b'x'];
            stream
                .set_read_timeout(Some(Duration::from_millis(20)))
                .unwrap();
            while !has_frame(&said, HEADERS) {
                assert!(
                    begun.elapsed() < Duration::from_secs(4),
                    "{path} still accepts the body"
                );
                stream.write_all(&piece).unwrap();
                let mut bytes = [0; 4096];
                if let Ok(length) = stream.read(&mut bytes) {
                    said.extend_from_slice(&bytes[..length]);
                }
            }
            assert!(begun.elapsed() > Duration::from_millis(500), "{path}");
            // `:status: 408`, as a literal.
            assert!(said.windows(3).any(|it| it == b"408"), "{path}: {said:?}");
            // The connection stays open for other streams: a ping gets its response.
            stream
                .write_all(&[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8])
                .unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(10)))
                .unwrap();
            let mut said = Vec::new();
            while !said.ends_with(&[1, 2, 3, 4, 5, 6, 7, 8]) {
                let mut bytes = [0; 4096];
                let length = stream.read(&mut bytes).unwrap();
                assert!(length > 0, "{path}: the connection was closed");
                said.extend_from_slice(&bytes[..length]);
            }
        }
        neighbor_of_streams_is_well(&gateway);
    }
}

/// Reports whether bytes that begin with a frame contain a complete frame of this type.
fn has_frame(mut bytes: &[u8], kind: u8) -> bool {
    while let [l0, l1, l2, found, ..] = *bytes {
        let length = 9 + u32::from_be_bytes([0, l0, l1, l2]) as usize;
        let Some(rest) = bytes.get(length..) else {
            return false;
        };
        if found == kind {
            return true;
        }
        bytes = rest;
    }
    false
}

fn neighbor_of_streams_is_well(gateway: &Server<Totals>) {
    assert_eq!(gateway.client().get("/streamed").status, 200);
}
