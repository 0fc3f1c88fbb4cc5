//! Tests how much memory the gateway uses for a client that opens every stream and reads nothing.

use std::io::Write;
use std::sync::Arc;

use crate::common::memory::{anonymous_kib, is_alone};
use crate::common::reader::Reader;
use crate::common::{backends, scripted, serve};
use serde_json::json;

/// The number of streams that a client may have open.
const STREAMS: u32 = 128;

/// The size of each response, in bytes: nearly the maximum that can be kept in full.
const LENGTH: usize = 1_000_000;

/// The permitted growth: the limit of a connection (16 MiB), plus twice that for allocation
/// overhead. All responses together are 128 MB.
const GROWN_KIB_MAX: usize = 48 << 10;

#[test]
fn unread_responses_take_little_memory() {
    if !is_alone("unread_memory::unread_responses_take_little_memory") {
        return;
    }
    let body = format!("[\"{}\"]", "x".repeat(LENGTH - 4));
    let response = Arc::new(format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {LENGTH}\r\n\r\n{body}"
    ));
    for backend in backends() {
        for path in ["/mock", "/kept"] {
            let response = Arc::clone(&response);
            let origin = scripted(move |_, mut peer| {
                while !peer.head().is_empty() {
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
            let mock = json!({"status": 200, "content_type": "text/plain", "body": body});
            let gateway = serve(
                backend,
                &json!({
                    "listen": ["127.0.0.1:0"],
                    "upstreams": [{"name": "origin", "keepalive": 4,
                                   "targets": [{"address": "127.0.0.1", "port": origin.port()}]}],
                    "routes": [
                        {"name": "mock", "path": "/mock", "policies": [{"mock": mock}]},
                        {"name": "kept", "path": "/kept", "upstream": "origin",
                         "policies": [{"response_json": {"add": {"/a": 1}}}]},
                    ],
                }),
            );
            let mut reader = Reader::open(gateway.address);
            reader.until_silent();
            let before = anonymous_kib();
            reader.get_all(1, STREAMS, path);
            reader.until(|reader| !reader.bodies.is_empty());
            reader.until_silent();
            let grown = anonymous_kib().saturating_sub(before);
            assert!(grown < GROWN_KIB_MAX, "{path}: {grown} KiB");
            assert_eq!(gateway.client().get("/mock").body.len(), LENGTH);
        }
    }
}
