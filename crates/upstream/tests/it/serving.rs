//! Tests the origins over real sockets, with each event loop that the kernel allows.

use std::io::{ErrorKind, Read as _};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Client, Upstream, backends};
use gatebench_net::clock;
use gatebench_net::trace::{NONCE_HEADER, Nonce, TIMES_HEADER, Times};
use gatebench_upstream::{HEALTH_PATH, Kind};

fn on_each(kind: Kind, check: impl Fn(&Upstream)) {
    for backend in backends() {
        check(&Upstream::start(kind, backend));
    }
}

#[test]
fn ping_responds_over_one_connection() {
    on_each(Kind::Ping, |upstream| {
        let mut client = upstream.client();
        for _ in 0..3 {
            let response = client.get("/ping");
            assert_eq!((response.status, &response.body[..]), (200, &b"ok"[..]));
            assert_eq!(response.field("Content-Type"), Some("text/plain"));
        }
        assert_eq!(client.get("/other").status, 404);
        let refused = client.ask("DELETE /ping HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(
            (refused.status, refused.field("Allow")),
            (405, Some("GET, HEAD"))
        );
        let head = client.ask("HEAD /ping HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(
            (head.status, head.field("Content-Length")),
            (200, Some("2"))
        );
        assert_eq!(client.get("/ping").body, b"ok");
    });
}

#[test]
fn curl_agrees() {
    on_each(Kind::Ping, |upstream| {
        let url = format!("http://{}/ping", upstream.address);
        let output = Command::new("curl")
            .args(["-sS", "-i", &url, "-:", &url])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("ok"),
            "{text}"
        );
    });
}

#[test]
fn times_are_between_sending_and_receiving_and_include_the_nonce() {
    on_each(Kind::Ping, |upstream| {
        let mut client = upstream.client();
        for sequence in 0..20 {
            let nonce = Nonce::new(7, 1, sequence);
            let hex = String::from_utf8(nonce.to_hex().to_vec()).unwrap();
            let before_ns = clock::now_ns();
            let response = client.ask(&format!(
                "GET /ping HTTP/1.1\r\nHost: h\r\n{NONCE_HEADER}: {hex}\r\n\r\n"
            ));
            let after_ns = clock::now_ns();
            let times = Times::parse(response.field(TIMES_HEADER).unwrap().as_bytes()).unwrap();
            assert_eq!(times.nonce, nonce);
            assert!(before_ns < times.received_ns);
            assert!(times.received_ns + times.service_ns < after_ns);
        }
        let wrong = client.ask("GET /ping HTTP/1.1\r\nHost: h\r\ngatebench-nonce: x\r\n\r\n");
        assert_eq!((wrong.status, wrong.field(TIMES_HEADER)), (200, None));
        let ledger = upstream.ledger();
        assert_eq!(
            (ledger.requests, ledger.unique, ledger.without_nonce),
            (21, 20, 1)
        );
    });
}

#[test]
fn a_delay_is_service_time_and_blocks_no_other_request() {
    on_each(Kind::GoBench, |upstream| {
        let request = |nonce: usize| {
            format!("GET /delay/400ms HTTP/1.1\r\nHost: h\r\n{NONCE_HEADER}: {nonce:016x}\r\n\r\n")
        };
        let start = Instant::now();
        let mut clients: Vec<Client> = (0..50).map(|_| upstream.client()).collect();
        for (nonce, client) in clients.iter_mut().enumerate() {
            client.send(request(nonce).as_bytes());
        }
        for client in &mut clients {
            let response = client.response(false);
            let times = Times::parse(response.field(TIMES_HEADER).unwrap().as_bytes()).unwrap();
            assert!(times.service_ns >= 400_000_000);
        }
        // Served one after another, the requests would take 20 s. The limit leaves a margin for a
        // busy machine.
        assert!(
            start.elapsed() < Duration::from_secs(12),
            "{:?}",
            start.elapsed()
        );
    });
}

#[test]
fn pipelined_requests_get_responses_in_order_past_a_delay() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        let one = |path: &str, nonce: u64| {
            format!("GET {path} HTTP/1.1\r\nHost: h\r\n{NONCE_HEADER}: {nonce:016x}\r\n\r\n")
        };
        let all: String = [
            ("/xml", 1),
            ("/delay/30ms", 2),
            ("/size/200000", 3),
            ("/resource/9", 4),
        ]
        .map(|(path, nonce)| one(path, nonce))
        .concat();
        client.send(all.as_bytes());
        for nonce in 1..=4 {
            let response = client.response(false);
            let times = Times::parse(response.field(TIMES_HEADER).unwrap().as_bytes()).unwrap();
            assert_eq!((response.status, times.nonce), (200, Nonce(nonce)));
        }
    });
}

#[test]
fn go_bench_serves_its_paths() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        let valid = client.get("/json/valid");
        assert_eq!(
            (valid.body.len(), valid.field("Content-Type")),
            (65, Some("application/json"))
        );
        assert!(valid.json()["time"].is_string());
        let invalid = client.get("/json/invalid");
        assert!(serde_json::from_slice::<serde_json::Value>(&invalid.body).is_err());
        for (path, length) in [
            ("/size/350B", 350),
            ("/size/5KB", 5120),
            ("/size/1M", 1 << 20),
        ] {
            let response = client.get(path);
            assert_eq!(response.body.len(), length, "{path}");
            assert_eq!(
                response.field("Content-Type"),
                Some("text/plain; charset=utf-8")
            );
        }
        assert_eq!(client.get("/size/many").status, 400);
        assert_eq!(client.get("/size/999999M").status, 400);
        assert_eq!(client.get("/delay/soon").status, 400);
        assert!(client.get("/resource").json().is_array());
        let odd = client.get("/resource/a%22b?x=1");
        assert_eq!(odd.json()["name"], "resource a%22b");
        assert_eq!(client.get("/resource/").status, 404);
        assert!(client.get("/xml").body.starts_with(b"<?xml"));
        assert_eq!(client.get("/nowhere").status, 404);
    });
}

#[test]
fn any_serves_every_path_as_requested() {
    on_each(Kind::Any, |upstream| {
        let mut client = upstream.client();
        let plain = client.get("/a/b?c=d");
        assert_eq!((plain.status, plain.body.len()), (200, 2));
        let mut asked = |status: &str, bytes: &str| {
            let fields = format!("X-Response-Status: {status}\r\nX-Response-Bytes: {bytes}\r\n");
            let request = format!("DELETE /x HTTP/1.1\r\nHost: h\r\n{fields}\r\n");
            let response = client.ask(&request);
            (response.status, response.body.len())
        };
        assert_eq!(asked("404", "5KB"), (404, 5120));
        assert_eq!(asked("204", "9"), (204, 0));
        assert_eq!(asked("99", "9").0, 400);
        assert_eq!(asked("200", "many").0, 400);
        assert_eq!(asked("503", "999999M").0, 400);
    });
}

#[test]
fn x_delay_delays_a_share_of_requests() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        let mut nonce = 0;
        let mut ask = |fields: &str| {
            nonce += 1;
            let request = format!(
                "GET /xml HTTP/1.1\r\nHost: h\r\n{NONCE_HEADER}: {nonce:016x}\r\n{fields}\r\n"
            );
            let response = client.ask(&request);
            let times = response
                .field(TIMES_HEADER)
                .map(|value| Times::parse(value.as_bytes()).unwrap());
            (response.status, times.unwrap().service_ns)
        };
        assert!(ask("X-Delay: 20ms\r\n").1 >= 20_000_000);
        assert!(ask("X-Delay: 10s\r\nX-Delay-Percent: 0\r\n").1 < 5_000_000_000);
        assert_eq!(ask("X-Delay: soon\r\n").0, 400);
        assert_eq!(ask("X-Delay: 1ms\r\nX-Delay-Percent: 101\r\n").0, 400);
        let both = "X-Delay: 10ms\r\nX-Slowdown: 20ms\r\n";
        assert!(ask(both).1 >= 30_000_000);
        let past = ask(&format!("{both}X-Slowdown-From: 2001-01-01T00:00:00Z\r\n"));
        assert!(past.1 >= 30_000_000);
        let future = "X-Slowdown: 10s\r\nX-Slowdown-From: 2999-01-01T00:00:00+01:00\r\n";
        assert!(ask(future).1 < 5_000_000_000);
        assert_eq!(ask("X-Slowdown: soon\r\n").0, 400);
        assert_eq!(ask("X-Slowdown: 1s\r\nX-Slowdown-From: noon\r\n").0, 400);
    });
}

#[test]
fn bodies_are_echoed_in_either_framing() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        let body = "x".repeat(300_000);
        let counted = client.ask(&format!(
            "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: text/x\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(counted.field("Content-Type"), Some("text/x"));
        assert_eq!(counted.body, body.as_bytes());
        let chunked = client.ask(
            "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n",
        );
        assert_eq!(chunked.body, b"abcde");
        assert_eq!(client.get("/echo").body, b"");
    });
}

#[test]
fn a_client_that_waits_for_100_continue_gets_it() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        client.send(
            b"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
        );
        assert_eq!(client.head().0, 100);
        client.send(b"hi");
        assert_eq!(client.response(false).body, b"hi");
    });
}

#[test]
fn a_client_that_reads_slowly_gets_every_byte() {
    on_each(Kind::GoBench, |upstream| {
        let mut client = upstream.client();
        let requests = "GET /size/8M HTTP/1.1\r\nHost: h\r\n\r\n".repeat(3);
        client.send(requests.as_bytes());
        client.send(b"GET /xml HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        for _ in 0..3 {
            assert_eq!(client.response(false).body.len(), 8 << 20);
        }
        let last = client.response(false);
        assert_eq!(last.field("Connection"), Some("close"));
        assert_eq!(client.rest(), b"");
    });
}

#[test]
fn httpbin_echoes_the_request() {
    on_each(Kind::Httpbin, |upstream| {
        let mut client = upstream.client();
        let body = r#"{"a": [1, 2.50]}"#;
        let response = client.ask(&format!(
            "POST /anything/x?q=1&q=2 HTTP/1.1\r\nHost: example:80\r\nx-one: 1\r\nX-ONE: 2\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        let json = response.json();
        assert_eq!(json["args"]["q"], serde_json::json!(["1", "2"]));
        assert_eq!(json["data"], body);
        assert_eq!(
            json["json"],
            serde_json::from_str::<serde_json::Value>(body).unwrap()
        );
        assert_eq!(json["headers"]["X-One"], "1,2");
        assert_eq!(json["method"], "POST");
        assert_eq!(json["url"], "http://example:80/anything/x?q=1&q=2");
        let form = client.ask(
            "PUT /anything HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\na=1+2",
        );
        assert_eq!(form.json()["form"]["a"], "1 2");
        assert_eq!(client.get("/status/418").status, 418);
        assert_eq!(client.get("/status/204").status, 204);
        assert_eq!(client.get("/status/101").status, 400);
        assert_eq!(client.get("/bytes/1000").body.len(), 1000);
        assert_eq!(
            client.get("/uuid").json()["uuid"].as_str().unwrap().len(),
            36
        );
        assert_eq!(
            client.get("/headers").json()["headers"]["Host"],
            "example:80"
        );
        assert_eq!(client.get("/delay/0.01").json()["method"], "GET");
        assert!(client.get("/json").json()["slideshow"].is_object());
    });
}

#[test]
fn the_ledger_counts_requests_and_leaves_control_out() {
    on_each(Kind::Ping, |upstream| {
        let mut client = upstream.client();
        let request =
            format!("GET /ping HTTP/1.1\r\nHost: h\r\n{NONCE_HEADER}: 0001000000000009\r\n\r\n");
        let response_bytes = {
            client.ask(&request);
            client.ask(&request);
            let response = client.get("/ping");
            assert_eq!(response.status, 200);
            response.head.len() as u64 + 2
        };
        let times_bytes = (TIMES_HEADER.len() + 2 + 50 + 2) as u64;
        let ledger = upstream.ledger();
        assert_eq!((ledger.requests, ledger.unique), (3, 1));
        assert_eq!((ledger.repeated, ledger.without_nonce), (1, 1));
        assert_eq!(
            (ledger.connections_accepted, ledger.connections_open),
            (1, 1)
        );
        let plain = "GET /ping HTTP/1.1\r\nHost: example:80\r\n\r\n".len();
        assert_eq!(ledger.bytes_in, (2 * request.len() + plain) as u64);
        // The response to a repeated nonce has no times.
        assert_eq!(ledger.bytes_out, 3 * response_bytes + times_bytes);
        assert_eq!(ledger.workers.len(), 1);
        assert!(ledger.workers[0].cpu_ns.is_none_or(|cpu_ns| cpu_ns > 0));
        upstream.reset();
        let ledger = upstream.ledger();
        assert_eq!(
            (
                ledger.requests,
                ledger.bytes_in,
                ledger.connections_accepted
            ),
            (0, 0, 0)
        );
        assert_eq!(ledger.connections_open, 1);
        client.ask(&request);
        assert_eq!(upstream.ledger().unique, 1);
        assert_eq!(
            client
                .ask("GET /.gatebench/ledger/reset HTTP/1.1\r\nHost: h\r\n\r\n")
                .status,
            405
        );
        assert_eq!(client.get("/.gatebench/other").status, 404);
    });
}

#[test]
fn input_that_is_not_http_is_refused_and_counted() {
    on_each(Kind::GoBench, |upstream| {
        for (bytes, status) in [
            ("nonsense\r\n\r\n", 400),
            (
                "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                400,
            ),
            (
                "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 999999999999\r\n\r\n",
                413,
            ),
        ] {
            let mut client = upstream.client();
            client.send(bytes.as_bytes());
            let response = client.response(false);
            assert_eq!(
                (response.status, response.field("Connection")),
                (status, Some("close"))
            );
            assert_eq!(client.rest(), b"");
        }
        assert_eq!(upstream.ledger().protocol_errors, 3);
        assert_eq!(upstream.ledger().requests, 0);
    });
}

#[test]
fn http_1_0_closes_unless_asked_not_to() {
    on_each(Kind::Ping, |upstream| {
        let mut client = upstream.client();
        let kept = client.ask("GET /ping HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(kept.field("Connection"), Some("keep-alive"));
        let closed = client.ask("GET /ping HTTP/1.0\r\n\r\n");
        assert_eq!(closed.field("Connection"), Some("close"));
        assert_eq!(client.rest(), b"");
    });
}

#[test]
fn an_ended_upstream_frees_its_port() {
    for backend in backends() {
        let mut address = "127.0.0.1:0".parse().unwrap();
        for _ in 0..10 {
            let upstream = Upstream::start_at(Kind::Ping, backend, address);
            let mut client = upstream.client();
            assert_eq!(client.get("/ping").status, 200);
            address = upstream.address;
        }
    }
}

#[test]
fn an_origin_is_slow_or_resets_while_the_fault_is_set() {
    on_each(Kind::GoBench, |upstream| {
        let become_what = |word: &str| {
            let path = format!(
                "POST {HEALTH_PATH}{word} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
            );
            upstream.client().ask(&path).status
        };
        let mut client = upstream.client();
        assert_eq!(
            (client.get("/json/valid").status, become_what("slow/60")),
            (200, 200)
        );
        let began = Instant::now();
        assert_eq!(client.get("/json/valid").status, 200);
        assert!(began.elapsed() >= Duration::from_millis(60));
        assert_eq!(
            (become_what("resetting"), become_what("unknown")),
            (200, 404)
        );
        client.send(b"GET /json/valid HTTP/1.1\r\nHost: h\r\n\r\n");
        let reset = loop {
            let error = client.stream.read(&mut [0; 64]).unwrap_err();
            if error.kind() != ErrorKind::Interrupted {
                break error;
            }
        };
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
        assert_eq!(become_what("well"), 200);
        assert_eq!(upstream.client().get("/json/valid").status, 200);
        assert_eq!(
            upstream.ledger().begun,
            4,
            "requests whose connections are reset are counted too"
        );
    });
}
