//! The reference gateway: its configuration, and its policies, which parse the requests of clients.

use std::cell::RefCell;

use gatebench_gateway::fuzzing::{Outcome, Policies, Routes, is_json, replies};
use gatebench_gateway::{Document, GatewayConfig, Paths};
use serde_json::{Value, json};

use crate::cuts::Directions;

/// Parses text as a configuration. Every mistake must point to text within a single line.
pub fn configurations(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Err(mistakes) = Document::read("any.yaml", text) else {
        return;
    };
    assert!(!mistakes.all().is_empty());
    for mistake in mistakes.all() {
        let span = text.get(mistake.offset..mistake.offset + mistake.length);
        assert!(span.is_some_and(|it| !it.contains('\n')), "{mistake:?}");
        assert!(!mistake.message.is_empty() && !mistake.help.is_empty());
    }
}

thread_local! {
    static POLICIES: RefCell<Policies> = RefCell::new(policies());
}

/// Parses bytes as a request. The routes that require a password or a token must not be reachable
/// without a valid one.
pub fn requests(data: &[u8]) {
    let outcome = POLICIES.with_borrow_mut(|policies| policies.pass(data));
    if outcome == Outcome::None || outcome == Outcome::Answered {
        return;
    }
    let has = |secret: &str| data.windows(secret.len()).any(|it| it == secret.as_bytes());
    let is_at = |path: &str| {
        let line = data.split(|&byte| byte == b'\r').next().unwrap_or_default();
        let target = line.split(|&byte| byte == b' ').nth(1).unwrap_or_default();
        target.starts_with(path.as_bytes())
    };
    if is_at("/basic") {
        // YWxpY2U6c2VjcmV0 is `alice:secret` in Base64.
        assert!(has("YWxpY2U6c2VjcmV0"), "a password was guessed");
    }
    if is_at("/jwt") {
        assert!(
            has("cK2FPsq3Pop9aCm5uFmtpbmzBPMt1lcRyvPDYaxPi0Y"),
            "a token was forged"
        );
    }
}

thread_local! {
    static ROUTES: Routes = Routes::new(&[
        ("/", Paths::Strict), ("/v", Paths::Verbatim), ("/admin", Paths::Strict), ("/v/admin", Paths::Strict),
    ]);
}

/// Parses bytes as a request target. The target that the gateway forwards must lead to the same
/// route again. If an upstream may read this target as `/admin` or `/v/admin`, or as a path below
/// one of these, the gateway must have chosen the route with that path.
pub fn paths(data: &[u8]) {
    let Ok(target) = std::str::from_utf8(data) else {
        return;
    };
    ROUTES.with(|routes| {
        let Some((Some(route), sent)) = routes.find(target) else {
            return;
        };
        if sent.starts_with('/') {
            assert_eq!(routes.find(&sent), Some((Some(route), sent.clone())));
        }
        let path = &sent[..sent.find('?').unwrap_or(sent.len())];
        let admin = match resolved(path).as_slice() {
            [first, ..] if first == "admin" => 2,
            [first, second, ..] if first == "v" && second == "admin" => 3,
            _ => return,
        };
        assert_eq!(route, admin, "{target} is read as {path}");
    });
}

/// Returns the segments of a path as read by an upstream that decodes until nothing changes, treats
/// a backslash as a slash, drops parameters and empty segments, and resolves dot segments.
fn resolved(path: &str) -> Vec<String> {
    let mut text = path.as_bytes().to_vec();
    loop {
        let mut next = Vec::new();
        let mut rest = text.as_slice();
        while let Some((&byte, after)) = rest.split_first() {
            let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
            let code = digit(0).zip(digit(1)).filter(|_| byte == b'%');
            next.push(code.map_or(byte, |(high, low)| (high * 16 + low) as u8));
            rest = &after[if code.is_some() { 2 } else { 0 }..];
        }
        if next == text {
            break;
        }
        text = next;
    }
    let mut segments = Vec::new();
    for segment in text.split(|byte| matches!(byte, b'/' | b'\\')) {
        let name = segment
            .split(|&byte| byte == b';')
            .next()
            .unwrap_or_default();
        match name {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            name => segments.push(String::from_utf8_lossy(name).into_owned()),
        }
    }
    segments
}

/// `head` must end with a line break and contain neither Host nor Content-Length.
fn pass(head: &str, body: &[u8]) -> Outcome {
    let length = body.len();
    let mut request = format!("{head}Host: h\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    request.extend_from_slice(body);
    POLICIES.with_borrow_mut(|policies| policies.pass(&request))
}

/// Parses bytes as a JSON body that a policy edits. JSON without duplicate members must pass and
/// must still be JSON, and an object must have been edited.
pub fn json(data: &[u8]) {
    let outcome = pass(
        "POST /json HTTP/1.1\r\nContent-Type: application/json\r\n",
        data,
    );
    let Ok(before) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let Outcome::Passed(edited) = outcome else {
        assert!(!is_json(data), "valid JSON was refused");
        return;
    };
    let after: Value = serde_json::from_slice(&edited).expect("JSON stays JSON");
    assert_eq!(before.is_object(), after.is_object());
    if after.is_object() {
        assert_eq!(after.get("a"), Some(&json!(1)));
        assert_eq!((after.get("b"), after.get("c")), (None, None));
    }
}

/// Parses bytes as a token. Only a signed token may be accepted.
pub fn tokens(data: &[u8]) {
    let mut request = b"GET /jwt HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer ".to_vec();
    request.extend_from_slice(data);
    request.extend_from_slice(b"\r\n\r\n");
    requests(&request);
}

/// Parses the first three lines as the path, query and cookie, and the rest as the body, of a
/// request that is checked against a contract. The check must not change the body.
pub fn contract(data: &[u8]) {
    let mut parts = data.splitn(4, |&byte| byte == b'\n');
    let mut line = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (path, query, cookie) = (line(), line(), line());
    let body = parts.next().unwrap_or_default();
    let kind = match body.first() {
        Some(b'{' | b'[') => "application/json",
        _ => "application/x-www-form-urlencoded",
    };
    let outcome = pass(
        &format!(
            "POST /contract/{path}?{query} HTTP/1.1\r\nCookie: {cookie}\r\nContent-Type: {kind}\r\n"
        ),
        body,
    );
    if let Outcome::Passed(passed) = outcome {
        assert!(passed == body, "a policy that only checks changed the body");
    }
}

/// Parses text as an OpenAPI document. Every mistake must have a message, and a document without
/// mistakes must be usable.
pub fn documents(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let config = json!({
        "listen": ["127.0.0.1:0"],
        "routes": [{"name": "a", "path": "/", "policies": [
            {"openapi": {"document": text}}, {"mock": {"status": 200, "content_type": "a/b", "body": ""}}]}],
    });
    let Ok(config) = GatewayConfig::parse(&config.to_string()) else {
        return;
    };
    match config.validate() {
        Ok(()) => drop(Policies::new(&config).expect("a valid configuration can be served")),
        Err(wrong) => assert!(wrong.0.iter().all(|one| !one.message.is_empty())),
    }
}

/// Parses bytes as replies from Redis. The result must be the same whether they arrive whole or in
/// pieces.
pub fn redis(data: &[u8]) {
    let Some((directions, said)) = Directions::take(data) else {
        return;
    };
    assert_eq!(replies(&directions.cut(said)), replies(&[said]));
}

fn policies() -> Policies {
    let config = GatewayConfig::parse(CONFIGURATION).expect("the configuration is valid");
    Policies::new(&config).expect("the configuration is valid")
}

/// A configuration whose routes have the policies that parse parts of a request, except those for
/// SOAP and XML.
pub const CONFIGURATION: &str = r#"
listen: ["127.0.0.1:0"]
upstreams:
  - {name: origin, keepalive: 1, targets: [{address: 127.0.0.1, port: 1}]}
consumers:
  - {name: alice, keys: [alice-key], password: secret}
routes:
  - {name: key, path: /key, upstream: origin, policies: [{api_key: {header: X-Api-Key}}]}
  - {name: query, path: /query, upstream: origin, policies: [{api_key_query: {name: key}}, {consumer_header: {header: X-Consumer}}]}
  - {name: basic, path: /basic, upstream: origin, policies: [{basic_auth: {}}]}
  - {name: jwt, path: /jwt, upstream: origin, policies: [{jwt: {keys: [{hs256: {secret: your-256-bit-secret-of-enough-bytes}}]}}]}
  - {name: json, path: /json, upstream: origin, policies: [{request_json: {add: {/a: 1}, remove: [/b], rename: {/c: d}, default: {/e/f: [2]}}}]}
  - name: contract
    path: /contract
    upstream: origin
    policies:
      - openapi:
          document: |
            openapi: 3.0.3
            paths:
              /contract/{id}:
                parameters:
                  - {name: id, in: path, required: true, schema: {type: array, items: {type: integer}}}
                  - {name: filter, in: query, style: deepObject, schema: {type: object, properties: {a: {type: number}}}}
                  - {name: list, in: query, explode: false, schema: {type: array, items: {type: boolean}}}
                  - {name: session, in: cookie, schema: {type: string, pattern: "^(a+)+$"}}
                post:
                  requestBody:
                    content:
                      application/json: {schema: {type: object, additionalProperties: {type: string, format: date}}}
                      application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {type: array, items: {type: integer}}}}}
                  responses: {default: {description: any}}
"#;
