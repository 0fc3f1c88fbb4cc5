//! Tests the gateway with clients and upstreams that misbehave, over real sockets, on each event
//! loop.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::common::{Client, all, backends, gateway, gateway_with, scripted, upstream};
use gatebench_upstream::Kind;
use serde_json::json;

/// Returns an address that no process listens on.
fn nowhere() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

#[test]
fn an_unreachable_upstream_causes_502_and_the_connection_stays_open() {
    for backend in backends() {
        let gateway = gateway(backend, &[nowhere()], all());
        let mut client = gateway.client();
        for _ in 0..3 {
            let response = client.get("/x");
            assert_eq!(response.status, 502);
            assert!(response.body.starts_with(b"gateway: the upstream"));
        }
        drop(client);
        assert_eq!(gateway.end().upstream_failures, 3);
    }
}

#[test]
fn an_upstream_that_hangs_causes_504() {
    for backend in backends() {
        let address = scripted(|_, mut peer| while !peer.head().is_empty() {});
        let timeouts = json!({"upstream_ms": 60});
        let gateway = gateway_with(backend, &[address], all(), timeouts);
        let mut client = gateway.client();
        assert_eq!(client.get("/x").status, 504);
        assert_eq!(client.get("/x").status, 504);
    }
}

#[test]
fn an_incomplete_response_resets_the_connection_of_the_client() {
    for backend in backends() {
        let address = scripted(|_, mut peer| {
            peer.head();
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
        assert!(
            client.rest().is_err(),
            "half a response must not end like a complete one"
        );
    }
}

#[test]
fn an_upstream_that_sends_garbage_causes_502() {
    for backend in backends() {
        for nonsense in [
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "",
        ] {
            let address = scripted(move |_, mut peer| {
                peer.head();
                peer.send(nonsense.as_bytes());
            });
            let gateway = gateway(backend, &[address], all());
            assert_eq!(gateway.client().get("/x").status, 502, "{nonsense:?}");
        }
    }
}

/// An upstream that responds to one request per connection. It closes the first connection when the
/// test says so, without responding to the second request, and closes the others after their
/// response.
fn closing_upstream(requests: Arc<AtomicUsize>) -> (SocketAddr, mpsc::Sender<()>) {
    let (close, closes) = mpsc::channel();
    let closes = std::sync::Mutex::new(closes);
    let address = scripted(move |number, mut peer| {
        if peer.head().is_empty() {
            return;
        }
        requests.fetch_add(1, Ordering::SeqCst);
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        if number == 0 {
            // The second request arrives before the connection is closed.
            peer.head();
            closes.lock().unwrap().recv().unwrap();
        }
    });
    (address, close)
}

#[test]
fn only_idempotent_requests_are_retried_after_a_kept_connection_closes() {
    for backend in backends() {
        for (method, expected, retries) in [("GET", 200, 1), ("POST", 502, 0)] {
            let requests = Arc::new(AtomicUsize::new(0));
            let (address, close) = closing_upstream(Arc::clone(&requests));
            let gateway = gateway(backend, &[address], all());
            let mut client = gateway.client();
            assert_eq!(client.get("/x").status, 200);
            close.send(()).unwrap();
            let response = client.ask(&format!("{method} /x HTTP/1.1\r\nHost: h\r\n\r\n"));
            assert_eq!(response.status, expected, "{method}");
            drop(client);
            assert_eq!(gateway.end().retries, retries);
        }
    }
}

#[test]
fn an_idle_connection_closed_by_the_upstream_is_not_used_again() {
    for backend in backends() {
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&connections);
        let address = scripted(move |_, mut peer| {
            counted.fetch_add(1, Ordering::SeqCst);
            peer.head();
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        for _ in 0..5 {
            let response = client.ask("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
            // A POST that is sent while the upstream closes the connection is not sent again.
            assert!(matches!(response.status, 200 | 502), "{response:?}");
        }
        assert!(connections.load(Ordering::SeqCst) >= 3);
    }
}

#[test]
fn a_client_that_leaves_cancels_its_request() {
    for backend in backends() {
        let (sender, receiver) = mpsc::channel();
        let sender = std::sync::Mutex::new(sender);
        let address = scripted(move |_, mut peer| {
            let sender = sender.lock().unwrap().clone();
            peer.head();
            sender.send("asked").unwrap();
            assert!(peer.head().is_empty());
            sender.send("closed").unwrap();
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(receiver.recv_timeout(Duration::from_secs(5)), Ok("asked"));
        drop(client);
        assert_eq!(receiver.recv_timeout(Duration::from_secs(5)), Ok("closed"));
    }
}

#[test]
fn a_response_before_the_request_is_whole_reaches_the_client() {
    for backend in backends() {
        let address = scripted(|_, mut peer| {
            peer.head();
            peer.send(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig");
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        client.send(b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 400000\r\n\r\n");
        assert_eq!(client.response(false).body, b"big");
        client.send(&vec![b'x'; 400_000]);
        // The rest of the request is discarded, and the connection carries the next one.
        assert_eq!(client.get("/x").status, 413);
    }
}

#[test]
fn shapes_of_request_smuggling_are_refused() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let gateway = gateway(backend, &[origin.address], all());
        for fields in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
            "Content-Length: 4\r\nContent-Length: 5\r\n",
            "Content-Length: +4\r\n",
            "Content-Length : 4\r\n",
            "Transfer-Encoding: chunked, chunked\r\n",
            "Transfer-Encoding:\r\n chunked\r\n",
            "X: a\rb\r\n",
        ] {
            let mut client = gateway.client();
            client.send(format!("POST /echo HTTP/1.1\r\nHost: h\r\n{fields}\r\n").as_bytes());
            let response = client.response(false);
            assert_eq!(
                (response.status, response.field("Connection")),
                (400, Some("close")),
                "{fields}"
            );
            assert_eq!(client.rest().unwrap(), b"");
        }
        let mut client = gateway.client();
        client.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n");
        assert_eq!(client.response(false).status, 501);
        let long = "x".repeat(100_000);
        let mut client = gateway.client();
        client.send(format!("GET /echo HTTP/1.1\r\nHost: h\r\nX: {long}\r\n\r\n").as_bytes());
        assert_eq!(client.response(false).status, 431);
        assert_eq!(gateway.client().get("/echo").status, 200);
    }
}

#[test]
fn slow_clients_get_an_error_or_are_closed() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let timeouts = json!({"request_head_ms": 50, "client_idle_ms": 80});
        let gateway = gateway_with(backend, &[origin.address], all(), timeouts);
        let mut in_head = gateway.client();
        in_head.send(b"GET /xml HTTP/1.1\r\nHost:");
        assert_eq!(in_head.response(false).status, 408);
        let mut in_body = gateway.client();
        in_body.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
        assert_eq!(in_body.response(false).status, 408);
        let mut idle = gateway.client();
        assert_eq!(idle.get("/xml").status, 200);
        assert_eq!(idle.rest().unwrap(), b"");
    }
}

/// Writes until the peer has accepted nothing for 300 ms; returns the number of bytes written.
fn write_until_stuck(peer: &mut Client) -> usize {
    let stream = peer.stream.get_mut();
    stream
        .set_write_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let piece = vec![b'x'; 64 * 1024];
    let mut written = 0;
    while let Ok(more) = stream.write(&piece) {
        written += more;
        assert!(written < 256 << 20, "nothing holds the writer back");
    }
    written
}

/// The maximum number of bytes that can be buffered between a writer and a peer that does not read:
/// in the kernel buffers of two connections (at most 4 MiB to send and 6 MiB to receive for each)
/// and in the gateway.
const BETWEEN_BYTES: usize = 24 << 20;

#[test]
fn a_client_that_does_not_read_stops_the_upstream() {
    for backend in backends() {
        let (sender, receiver) = mpsc::channel();
        let sender = std::sync::Mutex::new(sender);
        let address = scripted(move |_, mut peer| {
            peer.head();
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n");
            sender
                .lock()
                .unwrap()
                .send(write_until_stuck(&mut peer))
                .unwrap();
            // The connection stays open, because the gateway would reset the client's connection if
            // the response were cut off.
            peer.head();
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        client.send(b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
        let written = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(written < BETWEEN_BYTES, "{written} bytes were accepted");
        client.head();
        client.exact(written);
    }
}

#[test]
fn an_upstream_that_does_not_read_stops_the_client() {
    for backend in backends() {
        let (done, wait) = mpsc::channel::<()>();
        let wait = std::sync::Mutex::new(wait);
        let address = scripted(move |_, mut peer| {
            peer.head();
            let _ = wait.lock().unwrap().recv();
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        client.send(b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1073741824\r\n\r\n");
        let written = write_until_stuck(&mut client);
        assert!(written < BETWEEN_BYTES, "{written} bytes were accepted");
        drop(done);
    }
}

#[test]
fn surplus_responses_end_the_connection_to_the_upstream() {
    for backend in backends() {
        let address = scripted(|_, mut peer| {
            while !peer.head().is_empty() {
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil");
            }
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        for _ in 0..5 {
            assert_eq!(client.get("/x").body, b"ok");
        }
    }
}
