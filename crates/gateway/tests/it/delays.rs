//! Tests deliberate delays: none is shorter than configured, and each occurs on the configured
//! side.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{backends, gateway, upstream};
use gatebench_net::clock;
use gatebench_net::trace::{NONCE_HEADER, TIMES_HEADER, Times};
use gatebench_upstream::Kind;
use serde_json::json;

/// Sends a request. Returns two durations in nanoseconds: until the request arrives at the
/// upstream, and from the upstream's response until the client has received all of it.
fn halves(client: &mut crate::common::Client) -> (u64, u64) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let nonce = NEXT.fetch_add(1, Ordering::Relaxed);
    let request = format!("GET /ping HTTP/1.1\r\nHost: h\r\n{NONCE_HEADER}: {nonce:016x}\r\n\r\n");
    let sent_ns = clock::now_ns();
    let response = client.ask(&request);
    let done_ns = clock::now_ns();
    assert_eq!(response.status, 200);
    let times = Times::parse(response.field(TIMES_HEADER).unwrap().as_bytes()).unwrap();
    (
        times.received_ns - sent_ns,
        done_ns - times.received_ns - times.service_ns,
    )
}

#[test]
fn each_side_has_its_configured_delay() {
    let route =
        |delay| json!([{"name": "all", "path": "/", "upstream": "origin", "test_delay": delay}]);
    for backend in backends() {
        let origin = upstream(Kind::Ping, backend);
        for (request_ns, response_ns) in [(0, 5_000_000), (5_000_000, 0), (200_000, 200_000)] {
            let delay = json!({"request_ns": request_ns, "response_ns": response_ns});
            let gateway = gateway(backend, &[origin.address], route(delay));
            let mut client = gateway.client();
            for _ in 0..5 {
                let (before_ns, after_ns) = halves(&mut client);
                assert!(before_ns >= request_ns && after_ns >= response_ns);
            }
        }
        let bimodal = json!({"every": 3, "request_ns": 3_000_000, "response_ns": 7_000_000});
        let gateway = gateway(
            backend,
            &[origin.address],
            route(json!({"bimodal": bimodal})),
        );
        let mut client = gateway.client();
        for turn in 1..=9 {
            let (before_ns, after_ns) = halves(&mut client);
            if turn % 3 == 0 {
                assert!(before_ns >= 3_000_000 && after_ns >= 7_000_000);
            }
        }
    }
}
