//! Tests policies over real sockets, and compares them with other tools that sign or edit.

use crate::common::programs::run;
use crate::common::{Client, Response, Server, backends, scripted, serve, upstream};
use gatebench_gateway::Totals;
use gatebench_net::Backend;
use gatebench_upstream::Kind;
use serde_json::{Value, json};

const SECRET: &str = "a secret of more than thirty-two bytes, for tests";

/// Starts a gateway in front of httpbin, with these policies on every path.
fn behind(backend: Backend, policies: &Value) -> (Server<()>, Server<Totals>) {
    let origin = upstream(Kind::Httpbin, backend);
    let gateway = before(backend, origin.address, policies);
    (origin, gateway)
}

fn before(backend: Backend, origin: std::net::SocketAddr, policies: &Value) -> Server<Totals> {
    serve(
        backend,
        &json!({
            "listen": ["127.0.0.1:0"],
            "upstreams": [{"name": "origin", "keepalive": 4,
                           "targets": [{"address": "127.0.0.1", "port": origin.port()}]}],
            "consumers": [{"name": "alice", "keys": ["alice-key"], "password": "secret"},
                          {"name": "bob", "keys": ["bob-key", "bob-other"]}],
            "routes": [{"name": "all", "path": "/", "upstream": "origin", "policies": policies}],
            "timeouts": {"client_idle_ms": 2000},
            "collected_bytes_max": 100_000,
        }),
    )
}

fn get(client: &mut Client, fields: &str) -> Response {
    client.ask(&format!(
        "GET /anything HTTP/1.1\r\nHost: h\r\n{fields}\r\n"
    ))
}

fn post(client: &mut Client, fields: &str, body: &str) -> Response {
    let length = body.len();
    client.ask(&format!(
        "POST /anything HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    ))
}

fn echoed(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap()
}

fn signed_by_python(secret: &str, claims: &Value) -> String {
    let script = r#"
import base64, hashlib, hmac, json, sys
secret, claims = json.load(sys.stdin)
part = lambda raw: base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
signed = part(b'{"alg": "HS256", "typ": "JWT"}') + "." + part(json.dumps(claims).encode())
print(signed + "." + part(hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest()), end="")
"#;
    let input = json!([secret, claims]).to_string();
    String::from_utf8(run("python3", &["-c", script], input.as_bytes())).unwrap()
}

#[test]
fn curl_authenticates_with_a_password() {
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &json!([{"basic_auth": {"realm": "here"}}]));
        let mut client = gateway.client();
        let refused = get(&mut client, "");
        let challenge = "Basic realm=\"here\", charset=\"UTF-8\"";
        assert_eq!(
            (refused.status, refused.field("WWW-Authenticate")),
            (401, Some(challenge))
        );
        let url = format!("http://{}/anything", gateway.address);
        let status = |user: &str| {
            let arguments = [
                "-sS",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                "-u",
                user,
                &url,
            ];
            run("curl", &arguments, b"")
        };
        assert_eq!(status("alice:secret"), b"200");
        for wrong in [
            "alice:secre",
            "alice:",
            "bob:",
            "bob:secret",
            "nobody:secret",
        ] {
            assert_eq!(status(wrong), b"401", "{wrong}");
        }
    }
}

#[test]
fn tokens_signed_by_python_are_valid() {
    let policies = json!([{"jwt": {"keys": [{"hs256": {"secret": SECRET}}], "issuer": "me"}}]);
    let good = signed_by_python(
        SECRET,
        &json!({"iss": "me", "sub": "alice", "exp": 4_102_444_800_u64}),
    );
    let expired = signed_by_python(SECRET, &json!({"iss": "me", "exp": 1_700_000_000}));
    let forged = signed_by_python(&SECRET.replace("more", "less"), &json!({"iss": "me"}));
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        let with = |token: &str| format!("Authorization: Bearer {token}\r\n");
        // The valid token is sent twice: it is first verified, and then found in the cache.
        for _ in 0..2 {
            assert_eq!(get(&mut client, &with(&good)).status, 200);
            for wrong in [&expired, &forged, "x.y.z"] {
                let refused = get(&mut client, &with(wrong));
                assert_eq!(refused.status, 401, "{wrong}");
                let challenge = refused.field("WWW-Authenticate");
                assert_eq!(challenge, Some("Bearer error=\"invalid_token\""));
            }
        }
        let refused = get(&mut client, "");
        assert_eq!(
            (refused.status, refused.field("WWW-Authenticate")),
            (401, Some("Bearer"))
        );
    }
}

#[test]
fn a_token_without_a_consumer_keeps_the_one_that_a_key_names() {
    let policies = json!([
        {"api_key": {"header": "X-Api-Key"}},
        {"jwt": {"keys": [{"hs256": {"secret": SECRET}}]}},
        {"consumer_header": {"header": "X-Consumer"}},
    ]);
    let (_origin, gateway) = behind(Backend::Epoll, &policies);
    for (subject, consumer) in [("nobody", "alice"), ("bob", "bob")] {
        let token = signed_by_python(SECRET, &json!({"sub": subject}));
        let fields = format!("X-Api-Key: alice-key\r\nAuthorization: Bearer {token}\r\n");
        let response = get(&mut gateway.client(), &fields);
        assert_eq!(echoed(&response)["headers"]["X-Consumer"], consumer);
    }
}

#[test]
fn two_credentials_are_refused() {
    let (key, password) = (
        json!([{"api_key": {"header": "X-Api-Key"}}]),
        json!([{"basic_auth": {}}]),
    );
    // The credentials alice:secret and bob:guess, encoded in Base64.
    let (alice, bob) = ("Basic YWxpY2U6c2VjcmV0", "Basic Ym9iOmd1ZXNz");
    for (policies, name, good, other) in [
        (&key, "X-Api-Key", "alice-key", "bob-key"),
        (&password, "Authorization", alice, bob),
    ] {
        let (_origin, gateway) = behind(Backend::Epoll, policies);
        let status = |fields: &str| get(&mut gateway.client(), fields).status;
        assert_eq!(status(&format!("{name}: {good}\r\n")), 200);
        for two in [[good, other], [other, good]] {
            let fields = two.map(|value| format!("{name}: {value}\r\n")).concat();
            assert_eq!(status(&fields), 401, "{fields}");
        }
    }
}

#[test]
fn tokens_signed_by_openssl_are_valid() {
    let key = run(
        "openssl",
        &[
            "genpkey",
            "-quiet",
            "-algorithm",
            "RSA",
            "-pkeyopt",
            "rsa_keygen_bits:2048",
        ],
        b"",
    );
    let public = run("openssl", &["pkey", "-pubout"], &key);
    let file = std::env::temp_dir().join(format!("gatebench-key-{}.pem", std::process::id()));
    std::fs::write(&file, &key).unwrap();
    // {"alg":"RS256"} and {"sub":"bob"}
    let signed = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJib2IifQ";
    let arguments = ["dgst", "-sha256", "-sign", file.to_str().unwrap()];
    let signature = run("openssl", &arguments, signed.as_bytes());
    std::fs::remove_file(&file).unwrap();
    let script = "import base64, sys; print(base64.urlsafe_b64encode(sys.stdin.buffer.read()).rstrip(b'=').decode(), end='')";
    let signature = run("python3", &["-c", script], &signature);
    let token = format!("{signed}.{}", String::from_utf8(signature).unwrap());
    let public = String::from_utf8(public).unwrap();
    let policies = json!([{"jwt": {"keys": [{"rs256": {"public_key": public}}]}}]);
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        assert_eq!(
            get(&mut client, &format!("Authorization: Bearer {token}\r\n")).status,
            200
        );
        // {"sub":"bot"}
        let changed = token.replace("eyJzdWIiOiJib2IifQ", "eyJzdWIiOiJib3QifQ");
        assert_eq!(
            get(&mut client, &format!("Authorization: Bearer {changed}\r\n")).status,
            401
        );
    }
}

#[test]
fn limits_are_counted_per_consumer_and_reported() {
    let policies = json!([
        {"api_key": {"header": "X-Api-Key"}},
        {"rate_limit": {"limit": 2, "window": "1h", "per": "consumer", "headers": true}},
    ]);
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        let mut ask = |key: &str| get(&mut client, &format!("X-Api-Key: {key}\r\n"));
        let first = ask("bob-key");
        assert_eq!(
            (first.status, first.field("RateLimit-Limit")),
            (200, Some("2"))
        );
        assert_eq!(first.field("RateLimit-Remaining"), Some("1"));
        assert_eq!(
            (first.field("RateLimit-Reset"), first.field("Retry-After")),
            (Some("1800"), None)
        );
        assert_eq!(
            ask("bob-other").status,
            200,
            "another key of the same consumer"
        );
        let refused = ask("bob-key");
        assert_eq!(
            (refused.status, refused.field("RateLimit-Remaining")),
            (429, Some("0"))
        );
        let wait: u32 = refused.field("Retry-After").unwrap().parse().unwrap();
        assert!((1..=1800).contains(&wait), "{wait}");
        assert_eq!(ask("alice-key").status, 200);
        assert_eq!(ask("nobody").status, 401, "unknown clients are not counted");
    }
}

#[test]
fn a_limit_without_headers_does_not_hide_another_limit() {
    let policies = json!([
        {"rate_limit": {"limit": 5, "window": "1h", "headers": true}},
        {"rate_limit": {"limit": 1, "window": "1h"}},
    ]);
    let (_origin, gateway) = behind(Backend::Epoll, &policies);
    let passed = get(&mut gateway.client(), "");
    assert_eq!(
        (passed.status, passed.field("RateLimit-Remaining")),
        (200, Some("4"))
    );
    let refused = get(&mut gateway.client(), "");
    assert_eq!(
        (refused.status, refused.field("RateLimit-Remaining")),
        (429, None)
    );
    assert!(refused.field("Retry-After").is_some());
}

#[test]
fn limits_hold_over_all_workers_and_connections() {
    for backend in backends() {
        let origin = upstream(Kind::Httpbin, backend);
        let config = json!({
            "listen": ["127.0.0.1:0"], "workers": 3,
            "upstreams": [{"name": "origin", "keepalive": 4,
                           "targets": [{"address": "127.0.0.1", "port": origin.address.port()}]}],
            "routes": [{"name": "all", "path": "/", "upstream": "origin",
                        "policies": [{"rate_limit": {"limit": 25, "window": "1h", "per": "header", "header": "X-Client"}}]}],
        });
        let gateway = serve(backend, &config);
        let statuses: Vec<u16> = (0..60)
            .map(|_| get(&mut gateway.client(), "X-Client: one\r\n").status)
            .collect();
        let passed = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!((passed, statuses.len() - passed), (25, 35));
        assert_eq!(get(&mut gateway.client(), "X-Client: two\r\n").status, 200);
    }
}

#[test]
fn headers_change_both_ways() {
    let policies = json!([
        {"request_headers": {"remove": ["x-secret"], "rename": {"X-Old": "X-New"}, "set": {"X-Set": "1"}}},
        {"response_headers": {"set": {"Cache-Control": "no-store"}, "rename": {"content-type": "X-Was"}}},
        {"request_headers": {"add": {"X-Set": "2"}}},
    ]);
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        let response = get(&mut client, "X-Secret: s\r\nX-Old: o\r\nX-Set: 0\r\n");
        let headers = &echoed(&response)["headers"];
        assert_eq!(
            (&headers["X-Secret"], &headers["X-Old"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(headers["X-New"], "o");
        assert_eq!(headers["X-Set"], "1,2");
        assert_eq!(response.field("Cache-Control"), Some("no-store"));
        assert_eq!(
            (response.field("X-Was"), response.field("Content-Type")),
            (Some("application/json"), None)
        );
    }
}

#[test]
fn bodies_change_both_ways_in_any_framing() {
    let policies = json!([
        {"request_json": {"remove": ["/password"], "default": {"/currency": "EUR"}}},
        {"response_json": {"remove": ["/headers"], "add": {"/seen": [1, 2.50]}}},
    ]);
    let edited = json!({"user": "alice", "currency": "EUR"});
    let json = "Content-Type: application/json; charset=utf-8\r\n";
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        let whole = post(&mut client, json, r#"{"user":"alice","password":"p"}"#);
        assert_eq!(
            (&echoed(&whole)["json"], &echoed(&whole)["seen"]),
            (&edited, &json!([1, 2.5]))
        );
        assert_eq!(echoed(&whole)["headers"], Value::Null);
        let head = format!(
            "POST /anything HTTP/1.1\r\nHost: h\r\n{json}Transfer-Encoding: chunked\r\n\r\n"
        );
        client.send(head.as_bytes());
        for piece in [r#"{"user":"al"#, r#"ice","passw"#, r#"ord":"p"}"#] {
            client.send(format!("{:x}\r\n{piece}\r\n", piece.len()).as_bytes());
        }
        client.send(b"0\r\n\r\n");
        assert_eq!(echoed(&client.response(false))["json"], edited);
        let text = post(
            &mut client,
            "Content-Type: text/plain\r\n",
            r#"{"password":"p"}"#,
        );
        assert_eq!(echoed(&text)["data"], r#"{"password":"p"}"#);
        let broken = post(&mut client, json, r#"{"password":"p"}}"#);
        assert_eq!(broken.status, 400);
        let large = post(&mut client, json, &format!("\"{}\"", "x".repeat(100_000)));
        assert_eq!(large.status, 413);
    }
}

#[test]
fn an_empty_body_in_chunks_is_not_edited() {
    let edits = json!({"default": {"/a": 1}});
    let policies = json!([{"request_json": edits}, {"response_json": edits}]);
    let fields = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n";
    let origin = scripted(move |_, mut peer| {
        while !peer.head().is_empty() {
            peer.send(format!("HTTP/1.1 200 OK\r\n{fields}\r\n0\r\n\r\n").as_bytes());
        }
    });
    for backend in backends() {
        let gateway = before(backend, origin, &policies);
        let request = format!("POST / HTTP/1.1\r\nHost: h\r\n{fields}\r\n0\r\n\r\n");
        let response = gateway.client().ask(&request);
        assert_eq!((response.status, response.body.len()), (200, 0));
    }
}

#[test]
fn a_waiting_client_is_asked_for_a_body_that_is_edited() {
    let policies = json!([{"request_json": {"default": {"/a": 1}}}]);
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        client.send(
            b"POST /anything HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n",
        );
        assert!(client.head().starts_with("HTTP/1.1 100 "));
        client.send(b"{}");
        let response = echoed(&client.response(false));
        assert_eq!(response["json"], json!({"a": 1}));
        assert_eq!(response["headers"]["Expect"], Value::Null);
    }
}

#[test]
fn mislabeled_responses_are_errors() {
    let policies = json!([{"response_json": {"default": {"/a": 1}}}]);
    for backend in backends() {
        let origin = scripted(|_, mut client| {
            let head = client.head();
            let body = if head.contains("/broken") {
                "{\"a\":"
            } else {
                "{\"b\":2}"
            };
            let coding = if head.contains("/coded") {
                "Content-Encoding: gzip\r\n"
            } else {
                ""
            };
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/problem+json\r\n{coding}Connection: close\r\n\r\n{body}"
            );
            client.send(head.as_bytes());
        });
        let gateway = before(backend, origin, &policies);
        let mut client = gateway.client();
        assert_eq!(client.get("/x").body, br#"{"b":2,"a":1}"#);
        assert_eq!(client.get("/coded").body, br#"{"b":2}"#);
        let broken = client.get("/broken");
        assert_eq!(broken.status, 502);
        assert_eq!(
            broken.body,
            b"gateway: the upstream's response is invalid JSON or repeats an edited member\n"
        );
        assert_eq!(
            client.get("/x").body,
            br#"{"b":2,"a":1}"#,
            "the connection stays open"
        );
    }
}

#[test]
fn large_requests_are_refused_at_once() {
    let policies = json!([{"request_size_limit": {"max_bytes": 10}}]);
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        assert_eq!(post(&mut client, "", "0123456789").status, 200);
        assert_eq!(post(&mut client, "", "0123456789a").status, 413);
        assert_eq!(
            post(&mut client, "", "0123456789").status,
            200,
            "the connection stays open"
        );
        client.send(b"POST /anything HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n");
        let refused = client.response(false);
        assert_eq!(
            (refused.status, refused.field("Connection")),
            (413, Some("close"))
        );
        let mut client = gateway.client();
        client.send(b"POST /anything HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n012345\r\n");
        client.send(b"6\r\n012345\r\n");
        assert_eq!(client.response(false).status, 413);
    }
    // The limit also applies to requests to which the gateway itself responds.
    let mock = json!({"mock": {"status": 200, "content_type": "text/plain", "body": "Hello"}});
    let (_origin, gateway) = behind(Backend::Epoll, &json!([policies[0], mock]));
    let mut client = gateway.client();
    assert_eq!(post(&mut client, "", "0123456789").body, b"Hello");
    client.send(b"POST /anything HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n0123456789a\r\n0\r\n\r\n");
    assert_eq!(client.response(false).status, 413);
}

#[test]
fn edits_agree_with_python() {
    let script = r#"
import json, sys
document = json.load(sys.stdin)
document.pop("password", None)
document["items"].pop(0)
document["customer"] = document.pop("user")
document["meta"]["tags"].append("edited")
document["source"] = {"by": "gateway"}
document.setdefault("currency", "EUR")
json.dump(document, sys.stdout)
"#;
    let policies = json!([{"request_json": {
        "remove": ["/password", "/items/0"], "rename": {"/user": "customer"},
        "add": {"/meta/tags/-": "edited", "/source": {"by": "gateway"}}, "default": {"/currency": "EUR"},
    }}]);
    let documents = [
        r#"{"user":"a","password":1,"items":[{"x":1},2],"meta":{"tags":[]}}"#,
        "{\n  \"items\" : [ null , \"\\u00e9\\n\" ],\n  \"meta\": {\"tags\": [[[]]], \"n\": -1.5e3},\n  \"user\": {\"password\": 1}, \"currency\": null\n}",
    ];
    for backend in backends() {
        let (_origin, gateway) = behind(backend, &policies);
        let mut client = gateway.client();
        for document in documents {
            let response = post(&mut client, "Content-Type: application/json\r\n", document);
            let expected: Value =
                serde_json::from_slice(&run("python3", &["-c", script], document.as_bytes()))
                    .unwrap();
            assert_eq!(echoed(&response)["json"], expected);
        }
    }
}

#[test]
fn policies_judge_in_the_listed_order() {
    let (key, limit) = (
        json!({"api_key": {"header": "X-Api-Key"}}),
        json!({"rate_limit": {"limit": 2, "window": "1h"}}),
    );
    let mock = json!({"mock": {"status": 204, "content_type": "text/plain", "body": ""}});
    for backend in backends() {
        // Requests without a key are counted only if the limit comes first; policies after a mock
        // have no effect.
        for (policies, expected) in [
            (json!([key, limit]), [401, 401, 401, 200, 200, 429]),
            (json!([limit, key]), [401, 401, 429, 429, 429, 429]),
            (json!([mock, key, limit]), [204; 6]),
            (json!([key, mock, limit]), [401, 401, 401, 204, 204, 204]),
        ] {
            let (_origin, gateway) = behind(backend, &policies);
            let mut client = gateway.client();
            for (at, status) in expected.into_iter().enumerate() {
                let fields = if at < 3 {
                    ""
                } else {
                    "X-Api-Key: alice-key\r\n"
                };
                assert_eq!(get(&mut client, fields).status, status, "{policies}: {at}");
            }
        }
    }
}
