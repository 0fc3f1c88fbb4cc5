//! Tests with HTTP/2 clients: curl, and this project's client or handwritten frames for cases that
//! curl cannot produce.

use std::io::{BufRead as _, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::h2::Connection;
use crate::common::{Server, backends, gateway_with, scripted, serve, upstream};
use gatebench_gateway::Totals;
use gatebench_net::Backend;
use gatebench_net::http2::{Block, Settings};
use gatebench_upstream::Kind;
use serde_json::{Value, json};

fn before(backend: Backend, origin: SocketAddr, policies: &Value) -> Server<Totals> {
    let routes = json!([
        {"name": "all", "path": "/", "upstream": "origin"},
        {"name": "strict", "path": "/strict", "strip_path": true, "upstream": "origin", "policies": policies},
    ]);
    let timeouts = json!({"client_idle_ms": 2000, "upstream_ms": 3000});
    gateway_with(backend, &[origin], routes, timeouts)
}

fn curl(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("curl")
        .args(["-sS", "--max-time", "20"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output.stdout
}

#[test]
fn curl_gets_and_posts_over_http2() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let gateway = before(backend, origin.address, &json!([]));
        let url = |path: &str| format!("http://{}{path}", gateway.address);
        for (path, expected) in [
            ("/size/1M", "2 200 1048576"),
            ("/size/350B", "2 200 350"),
            ("/nowhere", "2 404 "),
        ] {
            let format = "%{http_version} %{http_code} %{size_download}";
            let asked = ["--http2-prior-knowledge", "-o", "/dev/null", "-w", format];
            let output = curl(&[&asked[..], &[&url(path)]].concat());
            assert!(output.starts_with(expected.as_bytes()), "{output:?}");
        }

        let body = "x".repeat(300_000);
        let file = std::env::temp_dir().join(format!("gatebench-h2-{}", std::process::id()));
        std::fs::write(&file, &body).unwrap();
        let data = format!("@{}", file.display());
        for framing in [&[][..], &["-H", "Transfer-Encoding: chunked"]] {
            let mut arguments = vec!["--http2-prior-knowledge", "--data-binary", &data];
            arguments.extend_from_slice(framing);
            let echo = url("/echo");
            arguments.push(&echo);
            assert_eq!(curl(&arguments).len(), body.len());
        }
        std::fs::remove_file(&file).unwrap();
        // The same port serves HTTP/1.1.
        assert_eq!(gateway.client().get("/size/350B").body.len(), 350);
    }
}

#[test]
fn a_hundred_streams_get_their_own_responses() {
    for backend in backends() {
        let origin = upstream(Kind::Httpbin, backend);
        let gateway = before(backend, origin.address, &json!([]));
        let mut connection = Connection::open(gateway.address, Settings::default());
        for round in 0..3 {
            let streams: Vec<_> = (0..100)
                .map(|number| {
                    let path = format!("/anything/{round}/{number}");
                    let body = format!("body {number}");
                    let fields = [
                        ("content-type", "text/plain"),
                        ("cookie", "a=1"),
                        ("cookie", "b=2"),
                    ];
                    let body = if number % 2 == 0 {
                        body.as_bytes()
                    } else {
                        b""
                    };
                    connection.ask(
                        if number % 2 == 0 { "POST" } else { "GET" },
                        &path,
                        &fields,
                        body,
                    )
                })
                .collect();
            for (number, stream) in streams.into_iter().enumerate() {
                let response = connection.response(stream);
                assert_eq!(response.status, 200);
                let echoed: Value = serde_json::from_slice(&response.body).unwrap();
                let url = echoed["url"].as_str().unwrap();
                assert!(
                    url.ends_with(&format!("example/anything/{round}/{number}")),
                    "{url}"
                );
                assert_eq!(echoed["headers"]["Cookie"], "a=1; b=2");
                if number % 2 == 0 {
                    assert_eq!(echoed["data"], format!("body {number}"));
                } else {
                    assert!(echoed["headers"].get("Transfer-Encoding").is_none());
                }
                assert!(!response.fields.contains_key("connection"));
            }
        }
    }
}

#[test]
fn policies_act_as_over_http1() {
    let policies = json!([
        {"api_key": {"header": "X-Api-Key"}},
        {"request_size_limit": {"max_bytes": 1000}},
        {"response_json": {"add": {"/hello": "world"}}},
    ]);
    for backend in backends() {
        let origin = upstream(Kind::Httpbin, backend);
        let gateway = before(backend, origin.address, &policies);
        let mut connection = Connection::open(gateway.address, Settings::default());
        let key = [("x-api-key", "alice-key")];
        let refused = connection.ask("GET", "/strict/json", &[], b"");
        let good = connection.ask("GET", "/strict/json", &key, b"");
        let to_head = connection.ask("HEAD", "/strict/json", &key, b"");
        let large = connection.ask("POST", "/strict/anything", &key, &[b'x'; 5000]);
        let empty = connection.ask("GET", "/strict/status/204", &key, b"");
        let refused = connection.response(refused);
        assert_eq!((refused.status, refused.is_whole), (401, true));
        assert_eq!(refused.fields["www-authenticate"], "ApiKey");
        let echoed: Value = serde_json::from_slice(&connection.response(good).body).unwrap();
        assert_eq!(echoed["hello"], "world");
        let to_head = connection.response(to_head);
        assert_eq!((to_head.status, to_head.body.len()), (200, 0));
        assert_eq!(connection.response(large).status, 413);
        assert_eq!(connection.response(empty).status, 204);
        let again = connection.ask("GET", "/strict/json", &key, b"");
        assert_eq!(connection.response(again).status, 200);
    }
}

#[test]
fn a_stalled_stream_blocks_no_other() {
    for backend in backends() {
        // The origin never reads the body of a POST, and responds to other requests.
        let origin = scripted(|_, mut peer| {
            let head = peer.head();
            if head.starts_with("POST") {
                std::thread::sleep(Duration::from_secs(20));
            } else if !head.is_empty() {
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
            }
        });
        let gateway = before(backend, origin, &json!([]));
        let mut connection = Connection::open(gateway.address, Settings::default());
        let stuck = connection.ask("POST", "/x", &[], &vec![b'x'; 64 << 20]);
        let quick = connection.ask("GET", "/y", &[], b"");
        let response = connection.response(quick);
        assert_eq!(
            (response.status, response.body.as_slice()),
            (200, &b"ok"[..])
        );
        // The timeouts end stuck requests.
        let response = connection.response(stuck);
        assert!(
            response.is_reset || matches!(response.status, 408 | 504),
            "{response:?}"
        );
        let after = connection.ask("GET", "/y", &[], b"");
        assert_eq!(connection.response(after).status, 200);
    }
}

/// Reads frames until one of this type arrives on this stream.
fn frame_of(socket: &mut TcpStream, kind: u8, stream: u32) {
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head).unwrap();
        let [l0, l1, l2, found, _, id @ ..] = head;
        let length = u32::from_be_bytes([0, l0, l1, l2]);
        socket.read_exact(&mut vec![0; length as usize]).unwrap();
        if (found, u32::from_be_bytes(id)) == (kind, stream) {
            return;
        }
    }
}

#[test]
fn a_stalled_request_times_out() {
    const HEADERS: u8 = 1;
    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;
    for backend in backends() {
        let origin = upstream(Kind::Ping, backend);
        let gateway = before(backend, origin.address, &json!([]));
        let mut socket = TcpStream::connect(gateway.address).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
            .unwrap();
        // The first request uses a new stream slot, and the others reuse it.
        for (stream, flags) in [(1, 0), (3, END_STREAM), (5, 0)] {
            let begun = Instant::now();
            // Method, scheme and path from the static table, and an authority.
            let block = [
                if flags == 0 { 0x83 } else { 0x82 },
                0x86,
                0x84,
                0x01,
                1,
                b'h',
            ];
            let head = [0, 0, block.len() as u8, HEADERS, END_HEADERS | flags];
            let id: u32 = stream;
            socket
                .write_all(&[&head[..], &id.to_be_bytes(), &block].concat())
                .unwrap();
            frame_of(&mut socket, HEADERS, stream);
            let took = begun.elapsed();
            assert_eq!(
                took > Duration::from_secs(1),
                flags == 0,
                "{stream}: {took:?}"
            );
        }
    }
}

#[test]
fn responses_wait_for_windows_and_incomplete_ones_reset_only_their_stream() {
    for backend in backends() {
        let origin = scripted(|_, mut peer| {
            let head = peer.head();
            if head.contains("/broken") {
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
            } else if !head.is_empty() {
                peer.send(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\nConnection: close\r\n\r\n",
                );
                peer.send(&vec![b'y'; 3_000_000]);
            }
        });
        let gateway = before(backend, origin, &json!([]));
        let narrow = Settings {
            stream_window_bytes: 20_000,
            ..Settings::default()
        };
        let mut connection = Connection::open(gateway.address, narrow);
        let large = connection.ask("GET", "/large", &[], b"");
        let broken = connection.ask("GET", "/broken", &[], b"");
        let nowhere = connection.ask("GET", "/large", &[], b"");
        assert!(connection.response(broken).is_reset);
        for stream in [large, nowhere] {
            let response = connection.response(stream);
            assert_eq!((response.status, response.body.len()), (200, 3_000_000));
        }
    }
}

#[test]
fn malformed_streams_are_refused_and_others_continue() {
    for backend in backends() {
        let origin = upstream(Kind::Ping, backend);
        let gateway = before(backend, origin.address, &json!([]));
        let mut neighbor = Connection::open(gateway.address, Settings::default());
        for path in [
            "/a b",
            "/a\r\nX-Injected: y",
            "/a HTTP/1.1\r\n\r\nGET /ping",
        ] {
            let mut connection = Connection::open(gateway.address, Settings::default());
            let stream = connection.ask("GET", path, &[], b"");
            let response = connection.response(stream);
            assert!(
                response.is_reset || response.status == 400,
                "{path:?}: {response:?}"
            );
        }
        for (name, value) in [
            ("transfer-encoding", "chunked"),
            ("connection", "close"),
            ("content-length", "5"),
        ] {
            let mut connection = Connection::open(gateway.address, Settings::default());
            let stream = connection.ask("POST", "/ping", &[(name, value)], b"ab");
            let response = connection.response(stream);
            assert!(
                response.is_reset || response.status == 400,
                "{name}: {response:?}"
            );
        }
        let mut noise = TcpStream::connect(gateway.address).unwrap();
        noise
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nthis is no frame at all, whatever it says")
            .unwrap();
        let mut said = Vec::new();
        noise.read_to_end(&mut said).unwrap();
        assert!(
            said.len() > 9,
            "the gateway must send GOAWAY before it closes"
        );
        let stream = neighbor.ask("GET", "/ping", &[], b"");
        assert_eq!(neighbor.response(stream).status, 200);
    }
}

#[test]
fn no_request_hides_in_a_stream() {
    const GOOD: (&str, &str, &str) = ("POST", "example", "/a");
    let lines = [
        ("GET /hidden HTTP/1.1", GOOD.1, GOOD.2),
        ("GET http://h/hidden HTTP/1.1\r\nX:", GOOD.1, GOOD.2),
        ("G T", GOOD.1, GOOD.2),
        ("GET\t/hidden", GOOD.1, GOOD.2),
        ("G:T", GOOD.1, GOOD.2),
        ("", GOOD.1, GOOD.2),
        ("CONNECT", GOOD.1, GOOD.2),
        (GOOD.0, "h\r\nX: y", GOOD.2),
        (GOOD.0, "h /hidden HTTP/1.1", GOOD.2),
        (GOOD.0, "user@h", GOOD.2),
        (GOOD.0, "h/hidden", GOOD.2),
        (GOOD.0, "h?hidden", GOOD.2),
        (GOOD.0, "h\u{e4}", GOOD.2),
        (GOOD.0, "", GOOD.2),
        (GOOD.0, GOOD.1, "http://h/hidden"),
        (GOOD.0, GOOD.1, "hidden"),
        (GOOD.0, GOOD.1, "?hidden"),
        (GOOD.0, GOOD.1, ""),
        (GOOD.0, GOOD.1, "/a\t/hidden"),
        (GOOD.0, GOOD.1, "/a HTTP/1.1"),
        (GOOD.0, GOOD.1, "/a\u{7f}"),
        (GOOD.0, GOOD.1, "\\hidden"),
    ];
    let fields = [
        ("te", "chunked"),
        ("upgrade", "h2c"),
        ("proxy-connection", "keep-alive"),
        ("keep-alive", "1"),
        ("x", "a\r\nTransfer-Encoding: chunked"),
        ("x", "a\nb"),
        ("x", "a\0b"),
        ("x", " a"),
        ("x y", "a"),
        ("x:", "a"),
        ("", "a"),
        ("content-length", "0"),
        ("content-length", "1"),
        ("content-length", "3"),
        ("content-length", "2,2"),
        ("content-length", "+2"),
        ("content-length", "99999999999999999999"),
        (":path", "/hidden"),
        (":status", "200"),
        (":other", "x"),
    ];
    for backend in backends() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        let origin = scripted(move |_, mut peer| {
            let mut line = String::new();
            while peer
                .stream
                .read_line(&mut line)
                .is_ok_and(|length| length > 0)
            {
                noted.lock().unwrap().push(std::mem::take(&mut line));
                if noted
                    .lock()
                    .unwrap()
                    .last()
                    .is_some_and(|line| line == "\r\n")
                {
                    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            }
        });
        let gateway = before(backend, origin, &json!([]));
        let refused = |(method, authority, path): (&str, &str, &str),
                       field: Option<(&str, &str)>| {
            let mut connection = Connection::open(gateway.address, Settings::default());
            let mut block = Block::request(method, "http", authority, path);
            if let Some((name, value)) = field {
                block.field(name, value.as_bytes());
            }
            let stream = connection
                .client
                .request(&block, b"ab", &mut connection.out)
                .unwrap();
            let response = connection.response(stream);
            // The stream is reset, the response is an error, or the connection ends.
            let is_refused =
                matches!(response.status, 400..=599) || response.is_reset || response.status == 0;
            assert!(
                is_refused,
                "{method:?} {authority:?} {path:?} {field:?}: {response:?}"
            );
        };
        for line in lines {
            refused(line, None);
        }
        for field in fields {
            refused(GOOD, Some(field));
        }
        // If a body's length contradicts its content-length, at most the head and a part of the
        // body may have been forwarded.
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let may_be = ["POST /a HTTP/1.1\r\n", "Host: example\r\n", "\r\n"];
        let is_known = |line: &String| {
            may_be.contains(&line.as_str())
                || ["Content-Length: ", "a"]
                    .iter()
                    .any(|begin| line.starts_with(begin))
        };
        assert!(seen.iter().all(is_known), "{seen:?}");
        let mut neighbor = Connection::open(gateway.address, Settings::default());
        let stream = neighbor.ask("GET", "/neighbor", &[], b"");
        assert_eq!(neighbor.response(stream).status, 200);
    }
}

#[test]
fn http2_can_be_switched_off() {
    for backend in backends() {
        let gateway = serve(
            backend,
            &json!({"listen": ["127.0.0.1:0"], "http2": false, "routes": []}),
        );
        let mut peer = TcpStream::connect(gateway.address).unwrap();
        peer.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        let mut said = String::new();
        peer.read_to_string(&mut said).unwrap();
        assert!(
            said.starts_with("HTTP/1.1 4") || said.starts_with("HTTP/1.1 505"),
            "{said}"
        );
    }
}
