//! Tests requests and responses that contain something twice, and requests whose field names or
//! targets other programs could mistake for different ones. The upstream must get what a policy
//! checked, or nothing.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::common::h2::Connection;
use crate::common::programs::run;
use crate::common::{Server, backends, field, gateway, scripted};
use gatebench_gateway::Totals;
use gatebench_net::Backend;
use gatebench_net::http2::{Block, Settings};
use serde_json::{Value, json};

/// The heads and bodies of requests.
type Requests = Arc<Mutex<Vec<(String, String)>>>;

/// An origin that records everything it gets, and responds with 200.
fn recording() -> (SocketAddr, Requests) {
    let seen = Requests::default();
    let noted = Arc::clone(&seen);
    let address = scripted(move |_, mut peer| {
        loop {
            let head = peer.head();
            if head.is_empty() {
                return;
            }
            let length = field(&head, "Content-Length");
            let body = peer.exact(length.map_or(0, |length| length.parse().unwrap()));
            let body = String::from_utf8_lossy(&body).into_owned();
            noted.lock().unwrap().push((head, body));
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    (address, seen)
}

fn before(backend: Backend, origin: SocketAddr, policies: &Value) -> Server<Totals> {
    let route = json!({"name": "all", "path": "/", "upstream": "origin", "policies": policies});
    gateway(backend, &[origin], json!([route]))
}

/// Calls `act` for each event loop, with two arguments: a gateway that has these policies, and the
/// requests that the origin records.
fn on_each_backend(policies: &Value, act: impl Fn(&Server<Totals>, &Requests)) {
    for backend in backends() {
        let (origin, seen) = recording();
        act(&before(backend, origin, policies), &seen);
    }
}

/// Sends a request. Returns the status of the response, and true if the request was forwarded.
fn asked(
    gateway: &Server<Totals>,
    seen: &Requests,
    target: &str,
    fields: &str,
    body: &str,
) -> (u16, bool) {
    let before = seen.lock().unwrap().len();
    let length = body.len();
    let response = gateway.client().ask(&format!(
        "POST {target} HTTP/1.1\r\nHost: h\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
    ));
    (response.status, seen.lock().unwrap().len() > before)
}

fn contract(schema: &Value) -> Value {
    let content = json!({
        "application/json": {"schema": schema}, "application/octet-stream": {},
        "application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {
            "one": {"type": "integer"}, "many": {"type": "array", "items": {"type": "integer"}}}}},
    });
    let parameter = |place: &str, name: &str, schema: Value| json!({"in": place, "name": name, "schema": schema});
    let (one, many) = (
        json!({"type": "integer"}),
        json!({"type": "array", "items": {"type": "integer"}}),
    );
    let deep = json!({"type": "object", "properties": {"a": one}});
    let operation = json!({
        "parameters": [
            parameter("query", "one", one.clone()),
            parameter("query", "many", many.clone()),
            {"in": "query", "name": "deep", "style": "deepObject", "schema": deep},
            {"in": "query", "name": "json", "content": {"application/json": {"schema": {}}}},
            parameter("header", "X-One", one.clone()),
            parameter("header", "X-Many", many),
            parameter("cookie", "one", one),
        ],
        "requestBody": {"content": content},
        "responses": {"default": {"description": "d"}},
    });
    let document = json!({
        "openapi": "3.1.0", "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"post": operation}, "/a/{id}": {"post": operation}, "/a/mine": {"post": operation}},
    });
    json!([{"openapi": {"document": document.to_string()}}])
}

const GZIP: &str = "Content-Encoding: gzip\r\n";
const IDENTITY: &str = "Content-Encoding: identity\r\n";

#[test]
fn a_contract_refuses_repeated_values() {
    let json = "Content-Type: application/json\r\n";
    let bytes = "Content-Type: application/octet-stream\r\n";
    let list = "Content-Type: application/octet-stream, application/json\r\n";
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let small = json!({"type": "object", "properties": {"amount": {"maximum": 10}}});
    let targets = [
        ("/a?one=1&many=1&many=2&deep[a]=1&other=1&other=2", 200),
        ("/a?one=1&one=1", 400),
        ("/a?one=x&one=1", 400),
        ("/a?one=1&one=x", 400),
        ("/a?one=1&b&%6Fne=2", 400),
        ("/a?deep[a]=1&deep[a]=2", 400),
        ("/a?json={%22b%22:1,%22b%22:2}", 400),
        ("/a?json=%7B%22b%22:1%7D", 200),
        ("/a?json=%7B%22b%22:1,%22b%22:2%7D", 400),
        // Some upstreams drop the part after `;`, and the rest may then select another operation.
        ("/a/7;b=c", 200),
        ("/a/mine;b=c", 400),
        ("/a/x;/b", 404),
        ("/a;b/x", 400),
    ];
    let further_fields: &[(&str, u16)] = &[
        ("X-One: 1\r\nX-Many: 1\r\nX-Many: 2\r\n", 200),
        ("X-One: 1\r\nx-one: 1\r\n", 400),
        ("Cookie: one=1; b=2\r\n", 200),
        ("Cookie: one=1; one=x\r\n", 400),
        ("Cookie: one=x; one=1\r\n", 400),
        ("Cookie: one=1\r\nCookie: one =x\r\n", 400),
        ("Cookie: b=2\r\nCookie: one=x\r\n", 400),
        (json, 400),
        (IDENTITY, 200),
        (GZIP, 415),
        (&format!("{IDENTITY}{GZIP}"), 400),
    ];
    let bodies: &[(&str, &str, u16)] = &[
        (bytes, "{\"amount\":500}", 200),
        (json, "{\"amount\":5}", 200),
        (json, "{\"amount\":500}", 400),
        (json, "{\"amount\":500,\"amount\":5}", 400),
        (json, "{\"amount\":5,\"amo\\u0075nt\":500}", 400),
        (&format!("{bytes}{json}"), "{\"amount\":500}", 400),
        (&format!("{json}{bytes}"), "{\"amount\":500}", 400),
        (list, "{}", 400),
        (form, "one=1&many=1&many=2", 200),
        (form, "one=1&one=2", 400),
    ];
    on_each_backend(&contract(&small), |gateway, seen| {
        let hold = |target: &str, fields: &str, body: &str, status: u16| {
            let found = asked(gateway, seen, target, fields, body);
            let expected = (status, status == 200);
            assert_eq!(found, expected, "{target} {fields:?} {body}");
        };
        for (target, status) in targets {
            hold(target, json, "{}", status);
        }
        for (fields, status) in further_fields {
            hold("/a", &format!("{json}{fields}"), "{}", *status);
        }
        for (fields, body, status) in bodies {
            hold("/a", fields, body, *status);
        }
    });
}

/// JSON bodies with equal, different and almost equal member names, and some bodies that are not
/// JSON.
fn bodies() -> Vec<String> {
    let names = [
        "a",
        "\\u0061",
        "A",
        "b",
        "",
        "a\\u0000",
        "\\ud83d\\ude00",
        "😀",
    ];
    let mut bodies = Vec::new();
    for one in names {
        for other in names {
            bodies.extend([
                format!("{{\"{one}\":1,\"{other}\":2}}"),
                format!("[{{\"{one}\":1}},{{\"{other}\":2}}]"),
                format!("{{\"x\":{{\"{one}\":[],\"y\":0,\"{other}\":{{}}}}}}"),
                format!("{{\"{one}\":{{\"{other}\":1}}}}"),
                format!("[[{{\"y\":null,\"{one}\":1.5e3}},{{\"z\":\"\",\"{one}\":1 ,\n\"{other}\" : 2}}]]"),
            ]);
        }
    }
    let others = [
        "",
        "{",
        "{\"a\":1,}",
        "[1,]",
        "{\"a\" 1}",
        "{a:1}",
        "7",
        "\"a\"",
        "null",
        "tru",
        "01",
        "1 2",
    ];
    bodies.extend(others.map(String::from));
    bodies
}

/// Returns Python's verdict on each string: true for JSON without a repeated member.
fn python_says(texts: &[String]) -> Vec<bool> {
    let script = r#"
import json, sys
def unique(pairs):
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("twice")
    return dict(pairs)
def is_fine(text):
    try:
        json.loads(text, object_pairs_hook=unique)
        return True
    except ValueError:
        return False
print(json.dumps([is_fine(text) for text in json.load(sys.stdin)]))
"#;
    let input = json!(texts).to_string();
    serde_json::from_slice(&run("python3", &["-c", script], input.as_bytes())).unwrap()
}

#[test]
fn members_that_python_finds_twice_are_refused() {
    let texts = bodies();
    let said = python_says(&texts);
    let fine = said.iter().filter(|is_fine| **is_fine).count();
    assert!(
        fine > 200 && said.len() - fine > 30,
        "{fine} of {}",
        said.len()
    );
    let backend = backends()[0];
    let (origin, seen) = recording();
    let gateway = before(backend, origin, &contract(&json!({})));
    let json = "Content-Type: application/json\r\n";
    for (text, is_fine) in texts.iter().zip(said) {
        assert!(
            !is_fine || serde_json::from_str::<Value>(text).is_ok(),
            "{text}"
        );
        // An empty body is not JSON, but the contract does not require a body.
        let is_fine = is_fine || text.is_empty();
        let status = if is_fine { 200 } else { 400 };
        let found = asked(&gateway, &seen, "/a", json, text);
        assert_eq!(found, (status, is_fine), "{text}");
    }
}

#[test]
fn contradictory_requests_do_not_bypass_edits() {
    let policies = json!([{"request_json": {"remove": ["/admin"]}}]);
    let json = "Content-Type: application/json\r\n";
    let suffix = "Content-Type: application/a+json\r\n";
    let text = "Content-Type: text/plain\r\n";
    let both = "Content-Encoding: gzip, identity\r\n";
    let (admin, twice) = (r#"{"admin":1,"a":2}"#, r#"{"admin":1,"\u0061dmin":2}"#);
    let cases: &[(&str, &str, u16)] = &[
        (json, admin, 200),
        ("Content-Type: text/json; charset=utf-8\r\n", admin, 200),
        (&format!("{suffix}{IDENTITY}"), admin, 200),
        (json, twice, 400),
        (&format!("{text}{json}"), admin, 400),
        (&format!("{json}{text}"), admin, 400),
        (&format!("{json}{json}"), admin, 400),
        ("Content-Type: text/plain, application/json\r\n", admin, 400),
        (
            "Content-Type: text/plain;a=b,application/json\r\n",
            admin,
            400,
        ),
        ("Content-Type: \"application/json\"\r\n", admin, 400),
        ("Content-Type: application/json/\r\n", admin, 400),
        (&format!("{json}{GZIP}"), admin, 415),
        (&format!("{both}{json}"), admin, 415),
        (&format!("{json}{IDENTITY}{GZIP}"), admin, 400),
        (&format!("{text}{IDENTITY}{GZIP}"), "a", 400),
        (text, "a", 200),
        (&format!("{text}{GZIP}"), "a", 200),
        (&format!("{text}{json}"), "", 200),
    ];
    on_each_backend(&policies, |gateway, seen| {
        for (fields, body, status) in cases {
            let found = asked(gateway, seen, "/a", fields, body);
            assert_eq!(found, (*status, *status == 200), "{fields:?} {body}");
        }
        let seen = seen.lock().unwrap();
        assert!(
            seen.iter().all(|(_, body)| !body.contains("dmin")),
            "{seen:?}"
        );
    });
}

#[test]
fn contradictory_responses_are_neither_edited_nor_forwarded() {
    let policies = json!([{"response_json": {"remove": ["/secret"]}}]);
    for backend in backends() {
        let origin = scripted(|_, mut peer| {
            let head = peer.head();
            let kind = match head.contains("/twice") {
                true => "Content-Type: text/plain\r\nContent-Type: application/json\r\n",
                false => "Content-Type: application/json\r\n",
            };
            let body = match head.contains("/member") {
                true => r#"{"secret":1,"secret":2}"#,
                false => r#"{"secret":1}"#,
            };
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\n{kind}Connection: close\r\nContent-Length: {length}\r\n\r\n"
            );
            peer.send(format!("{head}{body}").as_bytes());
        });
        let gateway = before(backend, origin, &policies);
        for (path, status) in [("/a", 200), ("/twice", 502), ("/member", 502)] {
            let response = gateway.client().get(path);
            let body = String::from_utf8_lossy(&response.body).into_owned();
            assert_eq!(response.status, status, "{path}: {body}");
            assert!(!body.contains("secret"), "{path}: {body}");
        }
    }
}

#[test]
fn two_keys_in_a_query_are_refused() {
    let policies = json!([{"api_key_query": {"name": "key"}}]);
    on_each_backend(&policies, |gateway, seen| {
        for (target, status) in [
            ("/a?key=alice-key", 200),
            ("/a?key=alice-key&key=nobody", 401),
            ("/a?key=nobody&key=alice-key", 401),
            ("/a?key=alice-key&k%65y=alice-key", 401),
        ] {
            let found = asked(gateway, seen, target, "", "");
            assert_eq!(found, (status, status == 200), "{target}");
        }
    });
}

#[test]
fn lookalikes_of_trusted_fields_are_removed() {
    let policies = json!([
        {"api_key": {"header": "X-Api-Key"}},
        {"consumer_header": {"header": "X-Consumer"}},
        {"rate_limit": {"limit": 1000, "window": "1s", "per": "header", "header": "X-Client"}},
        {"request_headers": {"set": {"X-Set-Here": "1"}, "remove": ["X-Remove-Me"]}},
        {"request_json": {"remove": ["/admin"]}},
    ]);
    let twins = [
        "x_consumer",
        "x.consumer",
        "x_api_key",
        "x-api_key",
        "x_client",
        "x_set_here",
        "x_remove_me",
        "transfer_encoding",
        "content_length",
        "content_type",
        "content_encoding",
        "keep_alive",
        "proxy_connection",
    ];
    on_each_backend(&policies, |gateway, seen| {
        let key = "X-Api-Key: alice-key\r\nX-Client: 1\r\nX_Other: kept\r\n";
        let fields: String = twins
            .iter()
            .map(|name| format!("{name}: root\r\n"))
            .collect();
        let found = asked(gateway, seen, "/a", &format!("{key}{fields}"), "");
        assert_eq!(found, (200, true));
        let mut connection = Connection::open(gateway.address, Settings::default());
        let mut all = vec![
            ("x-api-key", "alice-key"),
            ("x-client", "1"),
            ("x_other", "kept"),
        ];
        all.extend(twins.map(|name| (name, "root")));
        let stream = connection.ask("GET", "/a", &all, b"");
        assert_eq!(connection.response(stream).status, 200);
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 2);
        for (head, _) in seen.iter() {
            let head = head.to_ascii_lowercase();
            assert!(!head.contains("root"), "{head}");
            for wanted in [
                "x-consumer: alice",
                "x-set-here: 1",
                "x_other: kept",
                "x-api-key: alice-key",
            ] {
                assert!(head.contains(wanted), "{wanted}: {head}");
            }
        }
    });
}

/// Targets that RFC 3986 forbids, or that some readers could mistake for a different target.
const NO_TARGETS: [&str; 26] = [
    "/a#b",
    "/a?b#c",
    "/a\"b",
    "/a?\"",
    "/a<b>",
    "/a?<",
    "/a\\b",
    "/a?\\",
    "/a{b}",
    "/a?{b}",
    "/a|b",
    "/a?|",
    "/a^b",
    "/a?^",
    "/a`b",
    "/a[b]",
    "/\u{e4}",
    "/a?\u{e4}",
    "/\u{2028}",
    "/\u{85}",
    "/%",
    "/%0",
    "/%zz",
    "/%u002e",
    "/%00",
    "/a%0d%0aX:y",
];

const NO_HOSTS: [&str; 14] = [
    "a:b:c", "a,b", "x%00y", "[::1", "::1]", "[::1]x", "[a]", "a:80:80", "a:x", ":80", "a;b",
    "a@b", "a/b", "a b",
];

#[test]
fn invalid_targets_and_hosts_are_refused() {
    on_each_backend(&json!([]), |gateway, seen| {
        let status = |line: &str, host: &str| {
            let request = format!("GET {line} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            gateway.client().ask(&request).status
        };
        for target in NO_TARGETS {
            assert_eq!(status(target, "h"), 400, "{target:?}");
            assert_eq!(status(&format!("http://h{target}"), "h"), 400, "{target:?}");
        }
        for host in NO_HOSTS {
            assert_eq!(status("/a", host), 400, "{host:?}");
            if !host.contains([' ', '/']) {
                assert_eq!(status(&format!("http://{host}/a"), "h"), 400, "{host:?}");
            }
        }
        let over_http2 = |authority: &str, path: &str| {
            let mut connection = Connection::open(gateway.address, Settings::default());
            let block = Block::request("GET", "http", authority, path);
            let stream = connection.client.request(&block, b"", &mut connection.out);
            let response = connection.response(stream.unwrap());
            assert!(
                response.status == 400 || response.is_reset,
                "{authority:?} {path:?}: {response:?}"
            );
        };
        for target in NO_TARGETS {
            over_http2("h", target);
        }
        for host in NO_HOSTS {
            over_http2(host, "/a");
        }
        let heads = std::mem::take(&mut *seen.lock().unwrap());
        assert!(heads.is_empty(), "{heads:?}");
        for (target, host) in [
            ("/a?b[c]=d&e=/../&f=%zz;'()*!$,:@~", "h_1-2.test:8080"),
            ("/a'()*!$,:@~b", "[::1]:80"),
            ("/a", "127.0.0.1"),
            ("/a", "h:"),
        ] {
            assert_eq!(status(target, host), 200, "{target} {host}");
            let (head, _) = seen.lock().unwrap().pop().unwrap();
            assert!(
                head.starts_with(&format!("GET {target} HTTP/1.1\r\n")),
                "{head}"
            );
            assert_eq!(field(&head, "Host"), Some(host));
        }
    });
}
