//! Tests the messages that the gateway forwards, over real sockets, on each event loop.

use std::process::Command;

use crate::common::{all, backends, gateway, scripted, serve, upstream};
use gatebench_upstream::Kind;
use serde_json::json;

#[test]
fn requests_share_connections_on_both_sides() {
    for backend in backends() {
        let origin = upstream(Kind::Ping, backend);
        let gateway = gateway(backend, &[origin.address], all());
        let mut client = gateway.client();
        for _ in 0..5 {
            let response = client.get("/ping");
            assert_eq!((response.status, &response.body[..]), (200, &b"ok"[..]));
        }
        let ledger = origin.client().get("/.gatebench/ledger").body;
        let ledger: serde_json::Value = serde_json::from_slice(&ledger).unwrap();
        assert_eq!(ledger["requests"], 5);
        assert_eq!(ledger["connections_accepted"], 1);
        drop(client);
        assert_eq!(gateway.end().responses, 5);
    }
}

#[test]
fn curl_agrees() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let gateway = gateway(backend, &[origin.address], all());
        let url = format!("http://{}", gateway.address);
        let echo = Command::new("curl")
            .args([
                "-sS",
                "--data-binary",
                "@-",
                "-H",
                "Transfer-Encoding: chunked",
            ])
            .arg(format!("{url}/echo"))
            .stdin(
                std::fs::File::open(concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/tests/it/forwarding.rs"
                ))
                .unwrap(),
            )
            .output()
            .unwrap();
        assert!(echo.status.success(), "{echo:?}");
        assert_eq!(echo.stdout, include_bytes!("forwarding.rs"));
        let head = Command::new("curl")
            .args(["-sSI", &format!("{url}/size/5KB")])
            .output()
            .unwrap();
        let text = String::from_utf8(head.stdout).unwrap();
        assert!(text.contains("Content-Length: 5120\r\n"), "{text}");
    }
}

#[test]
fn routes_policies_and_stripping() {
    let routes = json!([
        {"name": "open", "path": "/open", "strip_path": true, "upstream": "origin"},
        {"name": "keyed", "path": "/anything", "upstream": "origin",
         "policies": [{"api_key": {"header": "X-Api-Key"}}]},
        {"name": "mock", "path": "/mock", "upstream": "origin",
         "policies": [{"mock": {"status": 201, "content_type": "text/x", "body": "Hello"}}]},
        {"name": "both", "path": "/mock/keyed", "upstream": "origin",
         "policies": [{"api_key": {"header": "X-Api-Key"}},
                      {"mock": {"status": 200, "content_type": "text/x", "body": "Key"}}]},
    ]);
    for backend in backends() {
        let origin = upstream(Kind::Httpbin, backend);
        let gateway = gateway(backend, &[origin.address], routes.clone());
        let mut client = gateway.client();
        let stripped = client.get("/open/anything/x?q=1");
        let echoed: serde_json::Value = serde_json::from_slice(&stripped.body).unwrap();
        assert_eq!(echoed["url"], "http://example/anything/x?q=1");
        assert_eq!(
            client.get("/open?q").status,
            404,
            "the upstream has no path `/`"
        );
        assert_eq!(client.get("/opener").status, 404);
        let refused = client.get("/anything");
        assert_eq!(
            (refused.status, refused.field("WWW-Authenticate")),
            (401, Some("ApiKey"))
        );
        let keyed = |key: &str, path: &str| {
            format!("GET {path} HTTP/1.1\r\nHost: h\r\nx-api-key: {key}\r\n\r\n")
        };
        assert_eq!(client.ask(&keyed("wrong", "/anything")).status, 401);
        assert_eq!(client.ask(&keyed("alice-key", "/anything")).status, 200);
        assert_eq!(client.ask(&keyed("alice-key", "/mock/keyed")).body, b"Key");
        assert_eq!(client.get("/mock/keyed").status, 401);
        let mock = client.ask("POST /mock HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc");
        assert_eq!(
            (mock.status, mock.field("Content-Type")),
            (201, Some("text/x"))
        );
        assert_eq!(mock.body, b"Hello");
        let head = client.ask("HEAD /mock HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(head.field("Content-Length"), Some("5"));
        assert_eq!(client.get("/mock/x").body, b"Hello");
    }
}

#[test]
fn pipelined_requests_get_responses_in_order() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let gateway = gateway(backend, &[origin.address], all());
        let mut client = gateway.client();
        let paths = [
            "/delay/20ms",
            "/size/300000",
            "/nowhere",
            "/xml",
            "/size/350B",
        ];
        let requests: String = paths
            .iter()
            .map(|path| format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n"))
            .collect();
        client.send(requests.repeat(20).as_bytes());
        for _ in 0..20 {
            let lengths = paths.map(|_| {
                let response = client.response(false);
                (response.status, response.body.len())
            });
            assert_eq!(lengths[0], (200, 8));
            assert_eq!(lengths[1], (200, 300_000));
            assert_eq!(lengths[2].0, 404);
            assert_eq!(lengths[4], (200, 350));
        }
    }
}

#[test]
fn large_bodies_pass_both_ways() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let gateway = gateway(backend, &[origin.address], all());
        let body: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
        let mut client = gateway.client();
        client.send(
            format!(
                "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n",
                body.len()
            )
            .as_bytes(),
        );
        client.send(&body);
        assert!(client.response(false).body == body);
        client.send(b"POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
        for piece in body.chunks(70_001) {
            client.send(format!("{:x}\r\n", piece.len()).as_bytes());
            client.send(piece);
            client.send(b"\r\n");
        }
        client.send(b"0\r\n\r\n");
        assert!(client.response(false).body == body);
    }
}

#[test]
fn heads_are_rewritten_on_both_sides() {
    for backend in backends() {
        let address = scripted(|_, mut peer| {
            while let request = peer.head()
                && !request.is_empty()
            {
                let body = request.replace('\r', "");
                let response = format!(
                    "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\nX-Open: 1\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\nX-Trailer: 1\r\n\r\n",
                    body.len()
                );
                peer.send(response.as_bytes());
            }
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        let response = client.ask(
            "GET /a?b HTTP/1.1\r\nHost: example\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nX-Kept: 1\r\n\r\n",
        );
        assert_eq!(
            response.head,
            "HTTP/1.1 200 OK\r\nX-Open: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        let seen = String::from_utf8(response.body).unwrap();
        assert_eq!(seen, "GET /a?b HTTP/1.1\nHost: example\nX-Kept: 1\n\n");
        // An HTTP/1.0 client cannot read chunks, so the end of the connection marks the end of the
        // body.
        client.send(b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        let rest = String::from_utf8(client.rest().unwrap()).unwrap();
        let (head, body) = rest.split_once("\r\n\r\n").unwrap();
        assert!(
            head.ends_with("Connection: close") && !head.contains("chunked"),
            "{head}"
        );
        assert_eq!(body, format!("GET /a HTTP/1.1\nHost: {address}\n\n"));
    }
}

#[test]
fn responses_without_bodies_and_responses_until_close() {
    for backend in backends() {
        let address = scripted(|_, mut peer| {
            loop {
                let request = peer.head();
                let response = match request.split(' ').nth(1) {
                    Some("/204") => "HTTP/1.1 204 No Content\r\n\r\n",
                    Some("/304") => "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
                    Some("/head") => "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
                    Some("/hints") => {
                        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nh"
                    }
                    Some(_) => {
                        peer.send(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
                        return;
                    }
                    None => return,
                };
                peer.send(response.as_bytes());
            }
        });
        let gateway = gateway(backend, &[address], all());
        let mut client = gateway.client();
        for _ in 0..2 {
            assert_eq!(client.get("/204").status, 204);
            client.send(b"GET /304 HTTP/1.1\r\nHost: h\r\n\r\n");
            assert_eq!(client.response(true).field("Content-Length"), Some("9"));
            let head = client.ask("HEAD /head HTTP/1.1\r\nHost: h\r\n\r\n");
            assert_eq!(head.field("Content-Length"), Some("9"));
            assert_eq!(client.get("/hints").body, b"h");
            let endless = client.get("/endless");
            assert_eq!(endless.field("Transfer-Encoding"), Some("chunked"));
            assert_eq!(endless.body, b"until the end");
        }
    }
}

#[test]
fn a_client_that_waits_for_100_continue_gets_it_from_the_upstream() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let routes = json!([
            {"name": "all", "path": "/", "upstream": "origin"},
            {"name": "keyed", "path": "/keyed", "upstream": "origin",
             "policies": [{"api_key": {"header": "X-Api-Key"}}]},
        ]);
        let gateway = gateway(backend, &[origin.address], routes);
        let mut client = gateway.client();
        for _ in 0..2 {
            client.send(
                b"POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
            );
            assert!(client.head().starts_with("HTTP/1.1 100 "));
            client.send(b"hi");
            assert_eq!(client.response(false).body, b"hi");
        }
        client.send(
            b"POST /keyed HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
        );
        let refused = client.response(false);
        assert_eq!(
            (refused.status, refused.field("Connection")),
            (401, Some("close"))
        );
        assert_eq!(client.rest().unwrap(), b"");
    }
}

#[test]
fn targets_take_turns() {
    for backend in backends() {
        let origins = [upstream(Kind::Ping, backend), upstream(Kind::Ping, backend)];
        let gateway = gateway(backend, &[origins[0].address, origins[1].address], all());
        let mut client = gateway.client();
        for _ in 0..10 {
            assert_eq!(client.get("/ping").status, 200);
        }
        for origin in &origins {
            let ledger = origin.client().get("/.gatebench/ledger").body;
            let ledger: serde_json::Value = serde_json::from_slice(&ledger).unwrap();
            assert_eq!(ledger["requests"], 5);
        }
    }
}

#[test]
fn several_workers_share_a_port_of_ipv6() {
    for backend in backends() {
        let origin = upstream(Kind::Ping, backend);
        let config = json!({
            "listen": ["[::1]:0"], "workers": 3,
            "upstreams": [{"name": "origin", "keepalive": 0, "targets":
                [{"address": "127.0.0.1", "port": origin.address.port()}]}],
            "routes": all(),
        });
        let gateway = serve(backend, &config);
        for _ in 0..20 {
            assert_eq!(gateway.client().get("/ping").status, 200);
        }
        let ledger = origin.client().get("/.gatebench/ledger").body;
        let ledger: serde_json::Value = serde_json::from_slice(&ledger).unwrap();
        assert_eq!(ledger["connections_accepted"], 20, "no connection is kept");
        assert_eq!(gateway.end().responses, 20);
    }
}
