//! Tests the timeouts and upstreams of individual routes, API keys in queries, and upstreams with
//! several targets, some of which refuse connections.

use std::net::{SocketAddr, TcpListener};

use crate::common::{backends, scripted, serve, upstream};
use gatebench_upstream::Kind;
use serde_json::{Value, json};

fn nowhere() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn target(address: SocketAddr) -> Value {
    json!({"address": "127.0.0.1", "port": address.port()})
}

#[test]
fn a_refusing_target_is_skipped() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"],
                "upstreams": [{"name": "origin", "keepalive": 4, "rest_after_failure_ms": 60_000,
                               "targets": [target(nowhere()), target(origin.address), target(nowhere())]}],
                "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
            }),
        );
        let mut client = gateway.client();
        for _ in 0..20 {
            // Not even a POST is lost, because no part of it was sent.
            let echoed =
                client.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
            assert_eq!(
                (echoed.status, echoed.body.as_slice()),
                (200, &b"hello"[..])
            );
        }
        drop(client);
        let totals = gateway.end();
        assert_eq!(totals.upstream_failures, 0);
        assert_eq!(totals.retries, 2, "each refusing target was tried once");
    }
}

#[test]
fn a_refusing_target_with_most_turns_loses_no_request() {
    for backend in backends() {
        let origin = upstream(Kind::GoBench, backend);
        let mut refusing = target(nowhere());
        refusing["weight"] = json!(9);
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"], "workers": 1,
                "upstreams": [{"name": "origin", "keepalive": 4, "rest_after_failure_ms": 0,
                               "targets": [refusing, target(origin.address)]}],
                "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
            }),
        );
        let mut client = gateway.client();
        for _ in 0..20 {
            assert_eq!(client.get("/size/350B").status, 200);
        }
    }
}

#[test]
fn the_response_is_502_if_all_targets_refuse() {
    for backend in backends() {
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"],
                "upstreams": [{"name": "origin", "keepalive": 4,
                               "targets": [target(nowhere()), target(nowhere())]}],
                "routes": [{"name": "all", "path": "/", "upstream": "origin"}],
            }),
        );
        for _ in 0..3 {
            assert_eq!(gateway.client().get("/x").status, 502);
        }
    }
}

#[test]
fn a_route_may_have_its_own_timeout_or_no_upstream() {
    for backend in backends() {
        let silent = scripted(|_, mut peer| while !peer.head().is_empty() {});
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"],
                "upstreams": [{"name": "silent", "keepalive": 4, "targets": [target(silent)]}],
                "routes": [
                    {"name": "quick", "path": "/quick", "upstream": "silent", "timeouts": {"upstream_ms": 50}},
                    {"name": "mock", "path": "/mock",
                     "policies": [{"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}}]},
                ],
                "timeouts": {"upstream_ms": 600_000},
            }),
        );
        let mut client = gateway.client();
        assert_eq!(client.get("/quick").status, 504);
        assert_eq!(client.get("/mock").body, b"Hello");
    }
}

#[test]
fn keys_in_the_query_name_the_consumer_to_the_upstream() {
    for backend in backends() {
        let origin = upstream(Kind::Httpbin, backend);
        let gateway = serve(
            backend,
            &json!({
                "listen": ["127.0.0.1:0"],
                "upstreams": [{"name": "origin", "keepalive": 4, "targets": [target(origin.address)]}],
                "consumers": [{"name": "alice", "keys": ["alice-key"]}, {"name": "bob", "keys": ["bob key"
                    .replace(' ', "+")]}],
                "routes": [{"name": "all", "path": "/", "upstream": "origin", "policies": [
                    {"api_key_query": {"name": "api key"}}, {"consumer_header": {"header": "X-Consumer"}}]}],
            }),
        );
        let mut client = gateway.client();
        for (query, name) in [
            ("api+key=alice-key", "alice"),
            ("x&api%20key=bob%2bkey", "bob"),
        ] {
            let response = client.ask(&format!(
                "GET /anything?{query} HTTP/1.1\r\nHost: h\r\nX-Consumer: mallory\r\n\r\n"
            ));
            let echoed: Value = serde_json::from_slice(&response.body).unwrap();
            assert_eq!(echoed["headers"]["X-Consumer"], name);
        }
        for query in ["", "?api+key=nobody", "?apikey=alice-key"] {
            assert_eq!(client.get(&format!("/anything{query}")).status, 401);
        }
    }
}
