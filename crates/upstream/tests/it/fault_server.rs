//! Tests the responses, resets and counts of the pathology origin over real sockets. The only
//! assertion about time is that nothing arrives too early.

use std::io::{ErrorKind, Read};
use std::time::{Duration, Instant};

use crate::common::{Client, Upstream, backends};
use gatebench_upstream::Kind;
use gatebench_upstream::fault_server::{ACCOUNT_PATH, Account, BEGIN_PATH};

fn start(backend: gatebench_net::Backend) -> Upstream {
    Upstream::start(Kind::Pathology, backend)
}

fn account(upstream: &Upstream) -> Account {
    let response = upstream.client().get(ACCOUNT_PATH);
    serde_json::from_slice(&response.body).unwrap()
}

fn begin(upstream: &Upstream, query: &str) -> u16 {
    let request =
        format!("POST {BEGIN_PATH}{query} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    upstream.client().ask(&request).status
}

/// Reads until the peer closes or resets the connection. Returns the bytes, and true for a reset.
fn until_broken(client: &mut Client) -> (Vec<u8>, bool) {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match client.stream.read(&mut buffer) {
            Ok(0) => return (bytes, false),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (bytes, error.kind() == ErrorKind::ConnectionReset),
        }
    }
}

#[test]
fn every_request_is_numbered_from_the_beginning() {
    for backend in backends() {
        let upstream = start(backend);
        let mut client = upstream.client();
        for _ in 0..2 {
            let mut slow = Vec::new();
            for index in 0..6 {
                let began = Instant::now();
                assert_eq!(
                    client.get("/bimodal?fast=0s&slow=30ms&slow_every=3").body,
                    b"ab"
                );
                if began.elapsed() >= Duration::from_millis(30) {
                    slow.push(index);
                }
            }
            assert!(slow.contains(&2) && slow.contains(&5), "{slow:?}");
            let found = account(&upstream);
            assert_eq!(
                (found.received, found.answered, found.body_bytes),
                (6, 6, 12)
            );
            assert!(found.service_ns.p99 >= 30_000_000 && found.epoch_ns.is_some());
            assert_eq!(begin(&upstream, ""), 200);
            assert_eq!(account(&upstream), Account::default());
        }
    }
}

#[test]
fn requests_do_not_wait_for_each_other() {
    for backend in backends() {
        let upstream = start(backend);
        let mut slow: Vec<_> = (0..50).map(|_| upstream.client()).collect();
        for client in &mut slow {
            client.send(b"GET /constant?service=1h HTTP/1.1\r\nHost: h\r\n\r\n");
        }
        while account(&upstream).received < 50 {
            std::thread::yield_now();
        }
        assert_eq!(upstream.client().get("/constant?service=1ms").status, 200);
        let found = account(&upstream);
        assert_eq!((found.received, found.answered), (51, 1));
    }
}

#[test]
fn a_response_is_reset_in_its_middle() {
    for backend in backends() {
        let upstream = start(backend);
        let mut client = upstream.client();
        let path = "/reset?every=2&service=1ms&bytes=1000";
        assert_eq!(client.get(path).body.len(), 1_000);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n").as_bytes());
        let (bytes, was_reset) = until_broken(&mut client);
        assert!(was_reset, "{}", String::from_utf8_lossy(&bytes));
        // The reset may discard bytes that the kernel has not delivered, but the client never
        // receives more than half.
        let head_bytes = bytes
            .windows(4)
            .position(|it| it == b"\r\n\r\n")
            .map_or(0, |at| at + 4);
        assert!(bytes.len() - head_bytes <= 500);
        let found = account(&upstream);
        assert_eq!((found.received, found.answered, found.reset), (2, 1, 1));
        assert_eq!(found.body_bytes, 1_000);
    }
}

#[test]
fn a_trickled_response_arrives_complete() {
    for backend in backends() {
        let upstream = start(backend);
        let mut client = upstream.client();
        let expected: Vec<u8> =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-\n"
                .iter()
                .copied()
                .cycle()
                .take(1_001)
                .collect();
        let began = Instant::now();
        let response = client.get("/trickle?bytes=1001&piece=100&every=2ms&service=3ms");
        assert_eq!(response.body, expected);
        // The response has eleven pieces, with ten pauses between them.
        assert!(began.elapsed() >= Duration::from_millis(23));
        assert_eq!(account(&upstream).body_bytes, 1_001);
    }
}

#[test]
fn pipelined_requests_get_responses_in_order_and_head_has_no_body() {
    for backend in backends() {
        let upstream = start(backend);
        let mut client = upstream.client();
        client.send(
            b"GET /constant?service=5ms HTTP/1.1\r\nHost: h\r\n\r\n\
              HEAD /trickle?bytes=64&piece=8 HTTP/1.1\r\nHost: h\r\n\r\n\
              GET /nowhere HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        );
        assert_eq!(client.response(false).body, b"ab");
        assert_eq!(client.response(true).field("Content-Length"), Some("64"));
        let wrong = client.response(false);
        assert_eq!(
            (wrong.status, wrong.field("Connection")),
            (404, Some("close"))
        );
        assert!(String::from_utf8_lossy(&wrong.body).contains("/stall?"));
        assert_eq!(client.rest(), b"");
        assert_eq!(account(&upstream).answered, 2);
        assert_eq!(upstream.ledger().requests, 3);
    }
}

#[test]
fn a_client_that_disconnects_is_counted() {
    for backend in backends() {
        let upstream = start(backend);
        assert_eq!(begin(&upstream, "?rate=1000"), 200);
        assert_eq!(begin(&upstream, "?rate=none"), 400);
        let mut client = upstream.client();
        client.send(b"GET /constant?service=1h HTTP/1.1\r\nHost: h\r\n\r\n");
        while account(&upstream).received == 0 {
            std::thread::yield_now();
        }
        reset(client);
        while account(&upstream).abandoned == 0 {
            std::thread::yield_now();
        }
        let found = account(&upstream);
        assert_eq!((found.received, found.answered, found.reset), (1, 0, 0));
        assert_eq!(found.at_rate.unwrap().rate_per_second, 1_000.0);
    }
}

/// Closes the connection with RST, so that the upstream notices the disconnection while it serves.
/// A FIN would close only the client's half of the connection.
fn reset(client: Client) {
    let at_once = Some(Duration::ZERO);
    rustix::net::sockopt::set_socket_linger(client.stream.get_ref(), at_once).unwrap();
}
