//! Tests the ledger's counts of requests on the wire, and the pause that a request sets for its
//! response.

use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Upstream, backends, receive};
use gatebench_upstream::{Kind, PAUSE_HEADER};

fn on_each(kind: Kind, check: impl Fn(&Upstream)) {
    for backend in backends() {
        check(&Upstream::start(kind, backend));
    }
}

#[test]
fn versions_fields_and_bytes_are_counted() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        let old = "GET /json/valid HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
        let new = "POST /echo HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nContent-Length: 3\r\n\r\n";
        assert_eq!(client.ask(old).status, 200);
        assert_eq!(client.ask(&format!("{new}abc")).body, b"abc");
        let ledger = upstream.ledger();
        assert_eq!((ledger.begun, ledger.http10, ledger.http2), (2, 1, 0));
        assert_eq!((ledger.fields, ledger.body_bytes), (4, 3));
        assert_eq!(ledger.head_bytes, (old.len() + new.len()) as u64);
        upstream.reset();
        assert_eq!(upstream.ledger().fields, 0);
    });
}

#[test]
fn http2_is_distinguished() {
    on_each(Kind::Ping, |upstream| {
        let url = format!("http://{}/ping", upstream.address);
        let asked = Command::new("curl")
            .args(["-sS", "--http2-prior-knowledge", "-A", "me", &url])
            .status();
        assert!(asked.unwrap().success());
        let ledger = upstream.ledger();
        // The fields are `user-agent: me` and `accept: */*`.
        assert_eq!((ledger.begun, ledger.http2, ledger.fields), (1, 1, 2));
        assert_eq!(ledger.head_bytes, 10 + 2 + 6 + 3);
    });
}

#[test]
fn a_request_counts_as_begun_before_it_is_complete() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        let half = b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\na";
        client.stream.get_mut().write_all(half).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while upstream.ledger().begun == 0 {
            assert!(Instant::now() < deadline);
        }
        assert_eq!(upstream.ledger().requests, 0);
    });
}

#[test]
fn a_response_pauses_in_the_middle_of_its_body() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        let begun = Instant::now();
        let request = format!("GET /size/100B HTTP/1.1\r\nHost: h\r\n{PAUSE_HEADER}: 200\r\n\r\n");
        client
            .stream
            .get_mut()
            .write_all(request.as_bytes())
            .unwrap();
        let mut first = [0; 4096];
        let count = receive(client.stream.get_mut(), &mut first);
        let text = String::from_utf8_lossy(&first[..count]).into_owned();
        let body = text.split("\r\n\r\n").nth(1).unwrap();
        assert!(body.len() <= 50, "{text}");
        let mut rest = 100 - body.len();
        while rest > 0 {
            rest -= receive(client.stream.get_mut(), &mut first);
        }
        assert!(begun.elapsed() >= Duration::from_millis(200));
        // The next response on the connection does not pause.
        assert_eq!(client.get("/size/100B").body.len(), 100);
    });
}
